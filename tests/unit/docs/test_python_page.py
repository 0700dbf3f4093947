"""The examples of the guide's page on Python run as they are written."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest

from tests.unit.iceberg.lake import Lake

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake(tmp_path / "warehouse")
    lake.run("create schema analytics")
    columns = "id bigint, amount decimal(9,2), region string"
    lake.run(f"create table s.orders ({columns})")
    lake.add("orders", [(1, Decimal("120.00"), "EU"), (2, Decimal("5.00"), "EU")])
    lake.run("create table analytics.orders shallow clone s.orders")
    lake.run("alter table analytics.orders add columns (note string)")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(PAGE), "exec"), {})
