"""Clients that have no credentials of their own read files in an object store."""

from __future__ import annotations

import os
from itertools import chain

import pytest
from pyiceberg.catalog.rest import RestCatalog

from dbt.adapters.vcs.core.store.opening import open_blobs
from tests.contract.conftest import s3_endpoint, s3_options
from tests.unit.serve.server_process import serving
from tests.unit.warehouse import Warehouse

__all__ = ["s3_endpoint", "s3_options"]


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def test_a_client_reads_with_the_credentials_that_it_is_handed(
    s3_options: dict[str, str],
) -> None:
    location = "s3://bucket/served/repository"
    Warehouse(open_blobs(location, s3_options)).put(schema="s", orders="1 2")
    given = chain(*(("--storage-option", f"{key}={value}") for key, value in s3_options.items()))
    with serving(location, *given, "--vended") as server:
        table = RestCatalog("vcs", uri=server.url, warehouse="main").load_table("s.orders")
        assert table.scan().to_arrow().num_rows == 10
        assert table.metadata_location is not None
        assert table.metadata_location.startswith(f"{location}/iceberg/")
    assert s3_options["aws_secret_access_key"] not in "".join(server.lines)
