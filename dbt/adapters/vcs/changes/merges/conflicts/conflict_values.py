"""Values by hand: the result of a conflicting row whose column values somebody chooses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timezone, tzinfo
from typing import Any

import pyarrow as pa

from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import SIDES, ConflictTable
from dbt.adapters.vcs.changes.merges.rowwise.choice import Choice
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.table.equality import codes_of
from dbt.adapters.vcs.table.exact_values import Given, key_value
from dbt.adapters.vcs.table.python_values import python_value


def exact_values(
    table: ConflictTable, values: Mapping[str, Given], zone: tzinfo = timezone.utc
) -> dict[str, Any]:
    """Convert values given for columns of a relation to the columns' types.

    A time without an offset is in the given zone.

    Raises:
        InputError: The column doesn't exist or is in the key, the relation has no key, or the
            value doesn't fit the column's type.
    """
    if not table.key:
        raise InputError(
            f"{table.name} has no primary key, so its conflicts are about the number of copies "
            "of a row, and no values can be chosen for one row. Choose ours, theirs or base; then "
            "change the row with an update. Or give the table a key."
        )
    columns = {column.lower(): column for column in table.results}
    found: dict[str, Any] = {}
    for given, value in values.items():
        column = columns.get(given.lower())
        if column is None:
            in_key = given.lower() in {name.lower() for name in table.key}
            why = "is in the primary key, which identifies the rows" if in_key else "isn't there"
            raise InputError(
                f"The column {given} of {table.name} {why}; values can be chosen for "
                f"{', '.join(columns.values()) or 'no column'}."
            )
        type_ = table.results[column].type
        found[column] = python_value(key_value(table.name, column, type_, value, zone))
    return found


def given_row(
    table: ConflictTable, row: int, values: Mapping[str, Any], start: Choice | None = None
) -> dict[str, Any]:
    """Return the result of a row for which column values are given by hand.

    The other columns come from `start` if it is a side, else from the row's present result.
    Without either they are merged column by column: a change by only one side is taken.

    Args:
        table: The conflicts.
        row: The row's number.
        values: Python values by column of the relation.
        start: A side, or None.

    Raises:
        InputError: The key stands for several rows, the side has no such row, both sides changed
            another column differently, or a NOT NULL column would be NULL.
    """
    shown = table.shown_key(row)
    if row in table.repeated:
        raise InputError(
            f"{shown} of {table.name} has several rows on one side, so it is not known which of "
            "them the values are for. Choose a side for it, or delete."
        )
    if start is not None and not table.has_row(start, row):
        raise InputError(
            f"There is no row {shown} of {table.name} to start from in {start}. Start from "
            "another side."
        )
    found = {**_others(table, row, values, start or _shown_side(table, row)), **values}
    nulls = sorted(name for name in table.required if found.get(name, 0) is None)
    if nulls:
        raise InputError(
            f"{', '.join(nulls)} of {table.name} can't be NULL, which the row {shown} would "
            "have there. Give a value."
        )
    return found


def _shown_side(table: ConflictTable, row: int) -> Choice | None:
    """Return the side whose row the result shows; None if it is no side's row."""
    choice = table.resolutions[row]
    if choice is Choice.CUSTOM or (choice in SIDES and choice and table.has_row(choice, row)):
        return choice
    return None


def _others(
    table: ConflictTable, row: int, values: Collection[str], start: Choice | None
) -> dict[str, Any]:
    """Return the columns for which no value is given."""
    if start is Choice.CUSTOM:
        return table.result(row)
    others = [name for name in table.results if name not in values]
    if start is not None:
        return {name: python_value(table.side(start, name)[row]) for name in others}
    present = [side for side in (Choice.OURS, Choice.THEIRS) if table.has_row(side, row)]
    found: dict[str, Any] = {}
    open_: list[str] = []
    for name in others:
        side = present[0] if len(present) == 1 else _changed_by(table, row, name)
        if side is None:
            open_.append(name)
        else:
            found[name] = python_value(table.side(side, name)[row])
    if open_:
        raise InputError(
            f"Both sides changed {', '.join(open_)} of the row {table.shown_key(row)} of "
            f"{table.name}, too. Give values for these as well, or say whose row the other "
            "columns are of: --with ours|theirs|base, in SQL resolution = 'ours'."
        )
    return found


def _changed_by(table: ConflictTable, row: int, column: str) -> Choice | None:
    """Return the side whose value of a cell is kept; None if both changed it differently."""
    cells = [table.side(side, column).slice(row, 1).combine_chunks() for side in SIDES]
    base, ours, theirs = codes_of(pa.concat_arrays(cells)).tolist()
    if ours == theirs:
        return Choice.OURS
    if not table.has_row(Choice.BASE, row):
        return None
    return Choice.THEIRS if base == ours else Choice.OURS if base == theirs else None
