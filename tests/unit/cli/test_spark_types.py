"""Rows with values of a type that only Spark has, which both sides of a merge changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli import extremes
from tests.unit.cli.conftest import Call
from tests.unit.cli.scenes import Scene
from tests.unit.warehouse import Warehouse


@pytest.mark.spark
@pytest.mark.slow
def test_a_mode_decides_what_can_not_be_decided_one_by_one(
    vcs: Call, warehouse: Warehouse, folder: Path
) -> None:
    extremes.needs_spark(Scene(warehouse, folder, vcs))
    before = warehouse.head()
    said = vcs("merge", "dev", "main", code=1).output
    assert "1 row changed differently, and can't be decided one by one" in said
    assert "waited (interval day to second). Nothing was changed." in said
    assert warehouse.head() == before
    assert [branch.name for branch in warehouse.repository.branches()] == ["dev", "main"]
    assert "+0 -0 ~1" in vcs("merge", "dev", "main", "--on-conflict", "accept").output
