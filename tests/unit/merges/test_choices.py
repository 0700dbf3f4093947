"""Choices for rows in conflict that can't be made, and why."""

import pyarrow as pa
import pytest

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice, choose
from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import ConflictTable
from dbt.adapters.vcs.changes.merges.conflicts.policy import Order
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Field, RelationName


def conflicts(*rows: tuple[int, int, int]) -> ConflictTable:
    """Return conflicts of a key: for each row the value in base, ours and theirs."""
    columns = {name: ["modified"] * len(rows) for name in ("our_diff_type", "their_diff_type")}
    columns |= {f"{side}_k": [1] * len(rows) for side in ("base", "our", "their")}
    columns |= dict(zip(("base_v", "our_v", "their_v"), zip(*rows, strict=True), strict=True))
    table = pa.table(columns)
    fields = [
        Field(id="", name=name, type="string" if name.endswith("type") else "bigint")
        for name in table.column_names
    ]
    return ConflictTable.of(RelationName("s", "t"), table, fields, key=("k",), required=())


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(0, 4, 4)], "Neither v of the row k=1 of s.t is larger (ours: 4, theirs: 4)"),
        # A key that nobody enforces.
        ([(0, 5, 3), (1, 6, 2)], "k=1 of s.t has several rows on one side"),
    ],
)
def test_the_larger_value_is_told_to_be_none_for_the_right_reason(
    rows: list[tuple[int, int, int]], why: str
) -> None:
    with pytest.raises(InputError) as error:
        choose(conflicts(*rows), RowChoice(choice=Order.LARGER, by="v", key={"k": "1"}))
    assert str(error.value).startswith(why)
