"""The profile as dbt loads it: which method it may have."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.vcs.credentials import VcsCredentials

# A profile as dbt-spark's documentation has it.
THRIFT = {
    "method": "thrift",
    "schema": "analytics",
    "host": "spark.example.com",
    "port": 10001,
    "user": "ann",
    "auth": "KERBEROS",
    "kerberos_service_name": "hive",
    "connect_retries": 5,
    "server_side_parameters": {"spark.driver.memory": "4g"},
}


def load(output: dict[str, Any]) -> VcsCredentials:
    """Load an output of a profile, in dbt's two steps."""
    VcsCredentials.validate(output)
    return VcsCredentials.from_dict(output)


@pytest.mark.parametrize(
    "output",
    [
        THRIFT,
        {**THRIFT, "method": "http", "host": "https://example.com", "port": "443", "cluster": "x"},
        {**THRIFT, "method": "odbc", "driver": "/opt/lib.so", "endpoint": "x", "token": "hunter2"},
    ],
    ids=lambda output: output["method"],
)
def test_a_profile_of_dbt_spark_is_told_of_its_method_first(output: dict[str, Any]) -> None:
    with pytest.raises(DbtRuntimeError) as raised:
        load(output)
    told = str(raised.value)
    assert f"method: {output['method']} is not supported by type: vcs" in told
    assert "set method: connect with host: sc://" in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"method": "sesion"}, "did you mean session?"),
        ({"method": 5}, "5 is not of type 'string'"),
        ({"method": "connect"}, "auth is unknown to type: vcs"),
        ({"method": "connect", "host": "http://spark"}, "auth is unknown to type: vcs"),
    ],
)
def test_other_mistakes_are_told_as_before(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(Exception, match=told):
        load({**THRIFT, **changes})


def test_a_wrong_address_is_dbts_own_error() -> None:
    with pytest.raises(DbtRuntimeError, match="should look like sc://host:15002"):
        load({"schema": "analytics", "method": "connect", "host": "spark:x"})


def test_a_host_needs_the_method_of_a_server() -> None:
    with pytest.raises(DbtRuntimeError, match="needs method: connect"):
        load({"schema": "analytics", "host": "spark.example.com"})


def test_secrets_are_never_shown() -> None:
    options = {"spark_config": {"spark.a": "hidden"}, "storage_options": {"key": "hidden"}}
    assert "hidden" not in repr(load({"schema": "s", "repository": "data", **options}))
