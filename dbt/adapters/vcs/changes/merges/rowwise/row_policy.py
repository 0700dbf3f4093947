"""Policy: what a merge does when both sides changed a row, and which rows it covers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode
from dbt.adapters.vcs.changes.merges.rowwise.decide import CHOICES
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.plan.schema_merge import Side
from dbt.adapters.vcs.table.compare.located import Mask, hits
from dbt.adapters.vcs.table.equality import Codes, equal_rows, group_ids
from dbt.adapters.vcs.table.files.block_reader import Positions, shown_type
from dbt.adapters.vcs.table.python_values import arrow_array
from dbt.adapters.vcs.table.types import arrow_type

Keys: TypeAlias = Sequence[tuple[Any, ...]] | pa.Table


class Seen(NamedTuple):
    """The row of ours at the time of a decision: its values by column, None for no row."""

    row: Mapping[str, Any] | None


class Decided(NamedTuple):
    """A decision about one conflict.

    Attributes:
        key: The values of the primary key, in its order; without one, of all columns.
        choice: The side whose row is kept; `delete` for no row; `custom` for `row`.
        row: With `custom` the other columns of that row, by name.
        seen: The row of ours at that time; if ours has another row now, the decision is void.
            None if that doesn't matter.
    """

    key: tuple[Any, ...]
    choice: Choice
    row: Mapping[str, Any] | None = None
    seen: Seen | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """The only rows whose changes are wanted; all rows without keys and condition.

    Attributes:
        keys: Their keys, in the order of the primary key; without one, all columns. Many are a
            table with a column for each, by place.
        where: A condition that the row must meet in theirs or in the base; columns by name.
    """

    keys: Keys | None = None
    where: pc.Expression | None = None

    def rows(self, table: pa.Table, key: Sequence[Field], fields: Sequence[Field]) -> Mask:
        """Return a mask of the rows that are picked.

        Args:
            table: The rows, all columns by field id.
            key: The key's columns; all columns without a key.
            fields: All columns.
        """
        is_all = self.keys is None and self.where is None
        chosen = np.full(table.num_rows, is_all, np.bool_)
        if self.keys is not None:
            chosen[matches(table, self.keys, key)[0]] = True
        if self.where is not None:
            chosen[hits(table.rename_columns([item.name for item in fields]), self.where)] = True
        return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPolicy:
    """How to merge.

    Attributes:
        mode: What to do about conflicts.
        decisions: Decisions about single conflicts. The last one for a key counts; those for rows
            not in conflict are ignored.
        only: The rows whose changes are wanted; None for all.
        prefer: The side that is right where both changed the definition differently; None for the
            one that the mode keeps, if any.
    """

    mode: Mode = Mode.FAIL
    decisions: Sequence[Decided] = ()
    only: Pick | None = None
    prefer: Side | None = None

    def check(self, key: Sequence[Field]) -> None:
        """Refuse decisions that can't be made for a table with this key.

        Raises:
            InputError: Without a key, rows are to be deleted or given by hand.
        """
        if not key and any(item.choice is Choice.DELETE for item in self.decisions):
            raise InputError(
                "Without a primary key a conflict is about how often a row is there: decide for "
                "ours, theirs or base. Delete rows with a statement, or give the table a key."
            )
        if not key and any(item.choice is Choice.CUSTOM for item in self.decisions):
            raise InputError(
                "Without a primary key no row is told from its like, so no values can be chosen "
                "for one: decide for ours, theirs or base, or give the table a key."
            )

    @property
    def given(self) -> int:
        """Number of keys whose row was given by hand."""
        # Without a key the values of all columns count, and lists can't be hashed.
        last = {repr(item.key): item.choice for item in self.decisions}
        return sum(choice is Choice.CUSTOM for choice in last.values())

    def decided(
        self,
        read: Callable[[Sequence[Field]], pa.Table],
        group: Codes,
        fields: Sequence[Field],
    ) -> tuple[Positions, Positions]:
        """Return each group's choice and the index of its decision, both -1 for none.

        Args:
            read: Reads columns of rows, by field id; used only if there are decisions.
            group: The group of each row, dense from 0.
            fields: The key's columns.
        """
        choices = np.full(int(group.max(initial=-1)) + 1, -1)
        indexes = choices.copy()
        if self.decisions:
            rows, number = matches(read(fields), [item.key for item in self.decisions], fields)
            codes = np.array([CHOICES[item.choice] for item in self.decisions], np.int64)
            choices[group[rows]] = codes[number]
            indexes[group[rows]] = number
        return choices, indexes

    def outdated(
        self,
        indexes: Positions,
        ours: Positions,
        read: Callable[[Positions], pa.Table],
        fields: Sequence[Field],
    ) -> Mask:
        """Return a mask of the groups whose row in ours has changed since the decision.

        Args:
            indexes: For each group the index of its decision, -1 for none.
            ours: For each group the number of its row in ours, -1 for none.
            read: Reads all columns of rows, by field id.
            fields: All columns.
        """
        found = np.zeros(len(indexes), np.bool_)
        seen = [
            (group, item.row)
            for group, index in enumerate(indexes.tolist())
            if index >= 0 and (item := self.decisions[index].seen) is not None
        ]
        if not seen:
            return found
        groups = np.array([group for group, _ in seen], np.int64)
        rows = [row for _, row in seen]
        names = {field.name for field in fields}
        same = np.array(
            [
                # A row of other columns was seen under another definition.
                is_there == (row is not None) and (row is None or row.keys() == names)
                for row, is_there in zip(rows, (ours[groups] >= 0).tolist(), strict=True)
            ]
        )
        same &= _are_equal([row or {} for row in rows], read(ours[groups]), fields)
        found[groups[~same]] = True
        return found

    def rows(self, indexes: Positions, key: Sequence[Field], fields: Sequence[Field]) -> pa.Table:
        """Return the rows given by decisions, columns by field id.

        Args:
            indexes: The decisions; each gives a row.
            key: The key's columns.
            fields: All columns.

        Raises:
            InputError: They give columns other than those the table has now.
        """
        some = [self.decisions[index] for index in indexes]
        rows = []
        for item in some:
            known = {field.id: value for field, value in zip(key, item.key, strict=True)}
            given = dict(item.row or {})
            others = [field for field in fields if field.id not in known]
            if {field.name for field in others} != given.keys():
                now = ", ".join(field.name for field in others)
                raise InputError(
                    f"Values were chosen for {', '.join(given)}, and by now the columns are "
                    f"{now}. Give this merge up, merge again, and choose."
                )
            rows.append({**known, **{field.id: given[field.name] for field in others}})
        columns = [arrow_array([row[f.id] for row in rows], shown_type(f)) for f in fields]
        return pa.table(columns, names=[field.id for field in fields])


def _are_equal(
    rows: Sequence[Mapping[str, Any]], table: pa.Table, fields: Sequence[Field]
) -> Mask:
    """Return a mask of the rows that equal the table's rows, compared one by one."""
    columns = []
    for field in fields:
        column = table.column(field.id)
        try:
            old = arrow_array([row.get(field.name) for row in rows], column.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # The column had another type at that time.
            return np.zeros(len(rows), np.bool_)
        columns.append(pa.chunked_array([old]))
    return equal_rows(columns, [table.column(field.id) for field in fields], len(rows))


def key_table(keys: Keys, fields: Sequence[Field]) -> pa.Table:
    """Return keys as columns by field id.

    Raises:
        InputError: A key has the wrong number of values, or a value of the wrong type.
        UnsupportedError: Arrow has no such type.
    """
    # Decision 25: picked keys may be many, and stay arrays.
    if isinstance(keys, pa.Table):
        return _typed_keys(keys, fields)
    for key in keys:
        if len(key) != len(fields):
            names = ", ".join(field.name for field in fields)
            raise InputError(f"A key needs a value for each of ({names}); found {key!r}.")
    columns = []
    for place, item in enumerate(fields):
        type_ = arrow_type(item.type)
        try:
            columns.append(arrow_array([key[place] for key in keys], type_))
        # For some values Arrow raises Python's own errors.
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"The values of column '{item.name}' in a key must be {item.type}: {error}."
            ) from error
    return pa.table(columns, names=[item.id for item in fields])


def _typed_keys(keys: pa.Table, fields: Sequence[Field]) -> pa.Table:
    schema = pa.schema([pa.field(item.id, arrow_type(item.type)) for item in fields])
    try:
        return keys.rename_columns(schema.names).cast(schema)
    except (pa.ArrowException, ValueError) as error:
        names = ", ".join(f"{item.name} ({item.type})" for item in fields)
        raise InputError(f"The values of a key must be those of ({names}): {error}.") from error


def matches(keys: pa.Table, wanted: Keys, fields: Sequence[Field]) -> tuple[Positions, Positions]:
    """Find the rows with given keys; return their numbers, and the number of each one's key.

    Raises:
        InputError: A key has the wrong number of values, or a value of the wrong type.
    """
    asked = key_table(wanted, fields)
    columns = [
        pa.chunked_array([*keys.column(item.id).chunks, *asked.column(item.id).chunks])
        for item in fields
    ]
    codes = group_ids(columns, keys.num_rows + len(wanted))
    number = np.full(int(codes.max(initial=-1)) + 1, -1)
    # The last decision for a key counts: of several assignments to one place numpy keeps the last.
    number[codes[keys.num_rows :]] = np.arange(len(wanted))
    found = number[codes[: keys.num_rows]]
    rows = np.flatnonzero(found >= 0)
    return rows, found[rows]
