"""Which configs ask for a storage that versioned tables don't have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.vcs.project.manifest import asked_by


class Config(dict[str, Any]):
    @property
    def materialized(self) -> str:
        return str(self.get("materialized", "table"))


def node(kind: str = "model", *, stores: bool = False, **configs: Any) -> Any:
    return SimpleNamespace(
        resource_type=kind, config=Config(configs), should_store_failures=stores
    )


@pytest.mark.parametrize(
    ("configs", "asked"),
    [
        ({}, set()),
        ({"file_format": ""}, set()),
        ({"file_format": None}, set()),
        ({"file_format": "Parquet"}, set()),
        ({"file_format": "vcs"}, set()),
        ({"file_format": "delta"}, {"file_format"}),
        ({"file_format": "iceberg", "materialized": "view"}, set()),
        ({"file_format": "iceberg", "materialized": "ephemeral"}, set()),
        ({"file_format": "iceberg", "materialized": "mine"}, {"file_format"}),
        ({"clustered_by": "id"}, set()),
        ({"buckets": 4}, set()),
        ({"clustered_by": ["id"], "buckets": 4}, {"clustered_by", "buckets"}),
        ({"location_root": "/x"}, {"location_root"}),
    ],
)
def test_what_asks_for_another_storage(configs: dict[str, Any], asked: set[str]) -> None:
    assert set(asked_by(node(**configs))) == asked


def test_a_test_asks_only_where_its_failures_are_stored() -> None:
    assert asked_by(node("test", file_format="delta", materialized="test")) == {}
    stored = node("test", stores=True, file_format="delta", materialized="test")
    assert asked_by(stored) == {"file_format": "delta"}
