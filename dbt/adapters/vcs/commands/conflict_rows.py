"""Conflicts as a person decides them: base, ours and theirs of a row, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbt.adapters.vcs.changes.merges.conflicts.choices import side_codes
from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import SIDES, ConflictTable
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.table.python_values import python_value


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictCell:
    """The values of one column of a row in conflict.

    Attributes:
        values: The value of each side; None for NULL and where the side has no row.
        is_key: Whether the column is in the primary key.
        clashes: Whether both sides have a row and changed the value differently.
    """

    column: str
    type: str
    values: Mapping[Choice, Any]
    changed: frozenset[Choice]
    is_key: bool
    clashes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRow:
    """A row in conflict.

    Attributes:
        place: Its number in the conflict table.
        mark: What `RowChoice.rows` has for it.
        key: Its key for people; all columns without a key.
        has: Whether each side has the row.
        counts: Without a key, by how many copies ours and theirs differ from the base.
        cells: Its cells: first those of the key, then those that somebody changed.
        resolution: What was chosen for it, or None.
        results: With a choice, the values that the merge will leave, by column.
        takes_values: Whether cells and values can be chosen: one row of a key is in conflict.
    """

    place: int
    mark: str
    key: str
    has: Mapping[Choice, bool]
    counts: tuple[int, int] | None
    cells: tuple[ConflictCell, ...]
    resolution: Choice | None
    results: Mapping[str, Any]
    takes_values: bool

    @property
    def clashes(self) -> tuple[ConflictCell, ...]:
        """The cells that have to be decided for a row of its own."""
        return tuple(cell for cell in self.cells if cell.clashes)


def conflict_rows(table: ConflictTable, places: Sequence[int]) -> list[ConflictRow]:
    """Return some rows of a conflict table, given by their numbers, in that order."""
    part = table.taken(np.array(places, np.int64))
    has = {side: part.has_row(side) if table.key else None for side in SIDES}
    cells = {name: _cells(part, name) for name in part.columns}
    found = []
    for n, place in enumerate(places):
        own = [cells[name][n] for name in part.columns]
        resolution = part.resolutions[n]
        found.append(
            ConflictRow(
                place=place,
                mark=table.mark(place),
                key=part.shown_key(n),
                has={side: mask is None or bool(mask[n]) for side, mask in has.items()},
                counts=None if table.key else _counts(part, n),
                # Stable: columns of one kind stay in the table's order.
                cells=tuple(sorted(own, key=lambda cell: (not cell.is_key, not cell.changed))),
                resolution=resolution,
                results={} if resolution is None else part.result(n),
                takes_values=bool(table.key) and place not in table.repeated,
            )
        )
    return found


def _counts(part: ConflictTable, row: int) -> tuple[int, int]:
    ours, theirs = (
        python_value(part.rows.column(name)[row]) or 0
        for name in ("our_diff_count", "their_diff_count")
    )
    return ours, theirs


def _cells(part: ConflictTable, column: str) -> list[ConflictCell]:
    types = {field.name: field.type for field in part.fields}
    base, ours, theirs = side_codes(part, column)
    has = {side: part.has_row(side) for side in SIDES}
    clash = (ours != base) & (theirs != base) & (ours != theirs)
    # Where the base has no row, its NULLs are no values that a side has kept.
    clash |= ~has[Choice.BASE] & (ours != theirs)
    clash &= has[Choice.OURS] & has[Choice.THEIRS]
    masks = {Choice.OURS: ours != base, Choice.THEIRS: theirs != base}
    values = {side: part.side(side, column) for side in SIDES}
    return [
        ConflictCell(
            column=column,
            type=types[f"{SIDES[Choice.OURS]}_{column}"],
            values={side: python_value(found[row]) for side, found in values.items()},
            changed=frozenset(side for side, mask in masks.items() if mask[row]),
            is_key=column in part.key,
            clashes=bool(part.key) and column not in part.key and bool(clash[row]),
        )
        for row in range(len(part.rows))
    ]
