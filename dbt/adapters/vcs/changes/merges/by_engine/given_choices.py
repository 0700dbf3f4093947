"""Given choices: what somebody chose for single conflicts, as rows that an engine joins.

| column       | holds                                                                    |
|--------------|--------------------------------------------------------------------------|
| `said`       | the choice, a code of `rowwise/decide.py`                                |
| `voided`     | true if the table had other columns then, so ours has another row now    |
| `checked`    | true if the choice is void once ours has another row                     |
| `there`      | whether ours had a row then                                              |
| `k0`, `k1`...| the key; without one, all columns: by the number of the table's column   |
| `s0`, `s1`...| the row of ours at that time                                             |
| `d0`, `d1`...| the row given by hand                                                    |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.rowwise.choice import Choice
from dbt.adapters.vcs.changes.merges.rowwise.decide import CHOICES
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import Decided, RowPolicy, key_table
from dbt.adapters.vcs.changes.writes.stage import unlimited
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.engines.port import RowSession
from dbt.adapters.vcs.table.equality import equals, group_ids
from dbt.adapters.vcs.table.files.block_reader import Positions, shown_type
from dbt.adapters.vcs.table.python_values import arrow_array
from dbt.adapters.vcs.table.quoting import sql_type

_NAME: Final = "__vcs_choices"


@dataclass(frozen=True, slots=True)
class GivenChoices:
    """The choices of one merge; a key has one of them.

    Attributes:
        relation: SQL for their rows, to put after `from`.
    """

    relation: str

    def joined(self, fields: Sequence[Field], by: Sequence[Field]) -> str:
        """Return the join that adds the choice for each row's group, NULLs for none.

        Args:
            fields: The table's columns, `c0`, `c1`... of the rows.
            by: Those that tell groups.
        """
        same = " and ".join(
            equals(f"c{n}", f"chosen.k{n}", field.type)
            for n, field in enumerate(fields)
            if field in by
        )
        return f"left join {self.relation} chosen on {same}"

    def is_void(self, fields: Sequence[Field]) -> str:
        """Return SQL for whether ours has another row now; false without a choice.

        The rows have `single`, `no` and `row_o`: whether their group is one row on each side,
        whether ours has one, and that row.
        """
        same = " and ".join(
            equals(f"row_o.c{n}", f"s{n}", field.type) for n, field in enumerate(fields)
        )
        is_there = "(single and no is not null)"
        now = f"there = {is_there} and (not there or {same})"
        return f"coalesce(checked and (voided or not ({now})), false)"


def given_choices(
    session: RowSession, policy: RowPolicy, fields: Sequence[Field], by: Sequence[Field]
) -> GivenChoices | None:
    """Return the decisions of a policy; None if there are none.

    Raises:
        InputError: A key has the wrong number of values, or a value of the wrong type; or a row
            was given with other columns than the table has now.
    """
    if not policy.decisions:
        return None
    mounted = session.mount_arrow(_NAME, _table(policy, fields, by))
    listed = ["said", "voided", "checked", "there"]
    for n, field in enumerate(fields):
        names = [f"s{n}", f"d{n}", *([f"k{n}"] if field in by else [])]
        listed += [f"cast({name} as {sql_type(unlimited(field.type))}) {name}" for name in names]
    return GivenChoices(f"(select {', '.join(listed)} from {mounted})")


def _table(policy: RowPolicy, fields: Sequence[Field], by: Sequence[Field]) -> pa.Table:
    keys = key_table([item.key for item in policy.decisions], by)
    places = _last_of_each(keys)
    keys = keys.take(pa.array(places))
    decided = [policy.decisions[place] for place in places.tolist()]
    seen, voided = _seen(decided, fields)
    given = _given(policy, places, decided, voided, fields, by)
    columns: dict[str, Any] = {
        "said": pa.array([CHOICES[item.choice] for item in decided], pa.int32()),
        "voided": pa.array(voided, pa.bool_()),
        "checked": pa.array([item.seen is not None for item in decided], pa.bool_()),
        "there": pa.array([bool(item.seen and item.seen.row) for item in decided], pa.bool_()),
    }
    for n, field in enumerate(fields):
        columns |= {f"s{n}": seen[n], f"d{n}": given.column(field.id)}
        if field in by:
            columns[f"k{n}"] = keys.column(field.id)
    return pa.table(columns)


def _seen(
    decided: Sequence[Decided], fields: Sequence[Field]
) -> tuple[list[pa.Array], Sequence[bool]]:
    """Return the columns of the rows of ours then, and which choices are void at once."""
    rows = [None if item.seen is None else item.seen.row for item in decided]
    names = {field.name for field in fields}
    voided = [row is not None and row.keys() != names for row in rows]
    columns = []
    for field in fields:
        found = _values(rows, field)
        if found is None:
            # The column had another type at that time.
            voided = [item.seen is not None for item in decided]
            found = pa.nulls(len(decided), shown_type(field))
        columns.append(found)
    return columns, voided


def _last_of_each(keys: pa.Table) -> Positions:
    """Return the place of the last row of each key."""
    codes = group_ids(keys.columns, keys.num_rows)
    last = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    last[codes] = np.arange(len(codes))
    return np.sort(last)


def _values(rows: Sequence[Mapping[str, Any] | None], field: Field) -> pa.Array | None:
    """Return a column of some rows; None if their values are of another type."""
    try:
        return arrow_array([(row or {}).get(field.name) for row in rows], shown_type(field))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _given(
    policy: RowPolicy,
    places: Positions,
    decided: Sequence[Decided],
    voided: Sequence[bool],
    fields: Sequence[Field],
    by: Sequence[Field],
) -> pa.Table:
    """Return the rows given by hand, columns by field id; NULLs for other choices."""
    mine = np.array(
        [
            item.choice is Choice.CUSTOM and not is_void
            for item, is_void in zip(decided, voided, strict=True)
        ],
        np.bool_,
    )
    rows = policy.rows(places[mine], by, fields)
    numbers = np.where(mine, np.cumsum(mine) - 1, -1)
    return rows.take(pa.array(numbers, mask=~mine))
