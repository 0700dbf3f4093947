"""Choices for conflicts: which conflicts they are for, and the row that each of them leaves.

| chosen                        | what a row becomes                                          |
|-------------------------------|-------------------------------------------------------------|
| `ours`, `theirs`, `base`      | that side's row; no row where the side has none             |
| `delete`                      | no row                                                      |
| `larger`, `smaller` by column | the row of ours or theirs with the larger or smaller value  |
| values, cells                 | these; in each other column what only one side changed      |

A cell comes from a side, or is the larger or smaller one of ours and theirs. What has no order
(equal values, NULL, NaN) decides nothing. A choice for one row is refused if it leaves anything
undecided; a choice for many rows leaves such rows open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timezone, tzinfo
from functools import reduce
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import (
    RESOLUTION,
    SIDES,
    ConflictTable,
)
from dbt.adapters.vcs.changes.merges.conflicts.policy import Cell, Choice, Order
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.table.compare.located import Mask
from dbt.adapters.vcs.table.equality import codes_of, has_value
from dbt.adapters.vcs.table.exact_values import Given, key_value
from dbt.adapters.vcs.table.files.block_reader import Positions
from dbt.adapters.vcs.table.python_values import python_value


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoice:
    """A choice for conflicts of one relation: for some of them, or for all of them.

    Attributes:
        choice: A side, or delete; or the order that decides between ours and theirs. None with
            values or cells: a side is then where the other columns come from, and None stands for
            the default of `completed`.
        by: With an order, the column that it compares.
        key: Values of columns; empty for all conflicts.
        values: Values by hand for columns of the rows.
        cells: Where the values of columns come from.
        rows: Conflicts by their numbers, each with its `ConflictTable.mark` as the caller saw it;
            empty for all conflicts.
        again: True to include conflicts that were resolved before.
    """

    choice: Choice | Order | None = None
    by: str | None = None
    key: Mapping[str, Given] = field(default_factory=dict)
    values: Mapping[str, Given] = field(default_factory=dict)
    cells: Mapping[str, Cell] = field(default_factory=dict)
    rows: Mapping[int, str] = field(default_factory=dict)
    again: bool = False

    @property
    def is_by_column(self) -> bool:
        """Whether it makes rows of values and cells."""
        return bool(self.values or self.cells)

    def __str__(self) -> str:
        if self.is_by_column:
            by_hand = ("values given by hand",) if self.values else ()
            return ", ".join((*by_hand, *(f"{name}={cell}" for name, cell in self.cells.items())))
        return f"{self.choice} {self.by}" if isinstance(self.choice, Order) else f"{self.choice}"

    def check(self) -> None:
        """Raise unless it says what to do.

        Raises:
            InputError: It gives neither a side nor values, or they can't be combined.
        """
        if isinstance(self.choice, Order) != (self.by is not None):
            raise InputError(
                "--with larger or smaller needs the column to compare, and only these take one: "
                "--with larger --by COLUMN."
            )
        if not self.is_by_column:
            if self.choice is None:
                raise InputError(
                    "Give a choice: --with ours|theirs|base|delete, --with larger|smaller --by "
                    "column, --cell column=ours|theirs|base|larger|smaller, or --key "
                    "column=value --set column=value."
                )
            return
        if self.values and not (self.key or self.rows):
            raise InputError("Values need the key of their row: --key column=value.")
        if self.choice is Choice.DELETE or isinstance(self.choice, Order):
            what = "values" if self.values else "cells"
            raise InputError(
                f"--with {self.choice} can't be combined with {what}. Leave one of them out."
            )
        given = [name.lower() for name in (*self.values, *self.cells)]
        if twice := sorted({name for name in given if given.count(name) > 1}):
            raise InputError(f"{', '.join(twice)}: give a value or a side, not both.")


class Chosen(NamedTuple):
    """A conflict table after a choice.

    Attributes:
        decided: For how many conflicts the choice was made.
        why: Why some conflicts are left open, said of one of them; empty if none are.
    """

    table: ConflictTable
    decided: int
    why: str = ""


def choose(table: ConflictTable, chosen: RowChoice) -> Chosen:
    """Make a choice for conflicts of a table.

    Raises:
        NotFoundError: There is no conflict with that key.
        ConflictError: One of the rows isn't any more what the caller saw.
        InputError: A column doesn't exist, a value doesn't fit its type, or a row of its own
            can't be decided in this way.
    """
    rows = _meant(table, chosen)
    if not len(rows):
        return Chosen(table, 0)
    if chosen.is_by_column:
        start = chosen.choice if isinstance(chosen.choice, Choice) else None
        given = {
            name: pa.chunked_array([pa.repeat(value, len(rows))])
            for name, value in exact_values(table, chosen.values).items()
        }
        done = completed(table, rows, given, chosen.cells, start)
        new = table.chosen(done.rows, Choice.CUSTOM, done.columns)
        count, why = len(done.rows), done.why
    elif isinstance(chosen.choice, Order):
        new, count, why = _ordered(table, rows, chosen.choice, chosen.by or "")
    else:
        return Chosen(table.chosen(rows, chosen.choice), len(rows))
    # Of a row that somebody named, they want to know why nothing came of it.
    if why and (not count or chosen.key or chosen.rows):
        raise InputError(why)
    return Chosen(new, count, why)


def _meant(table: ConflictTable, chosen: RowChoice) -> Positions:
    """Return the rows with a key or number; without either the open rows, or all of them."""
    if chosen.rows:
        return _seen(table, chosen.rows)
    if not chosen.key:
        word = table.rows.column(RESOLUTION)
        # Only open ones, so that a choice for all of them undoes none that was made before.
        is_open = pc.is_null(word).to_numpy(zero_copy_only=False)
        return np.flatnonzero(is_open | chosen.again)
    fits = pa.array([True] * len(table.rows), pa.bool_())
    for column, given in chosen.key.items():
        names = [f"{side}_{column}".lower() for side in SIDES.values()]
        there = [field for field in table.fields if field.name.lower() in names]
        if not there:
            raise InputError(f"{table.name} has no column {column!r} to look for {given!r} in.")
        sides = [
            has_value(
                table.rows.column(field.name), key_value(table.name, column, field.type, given)
            )
            for field in there
        ]
        fits = pc.and_(fits, reduce(pc.or_, sides))
    found = np.flatnonzero(fits.to_numpy(zero_copy_only=False))
    if not len(found):
        shown = ", ".join(f"{column}={value}" for column, value in chosen.key.items())
        raise NotFoundError(f"No conflict of {table.name} has the key {shown}.")
    return found


def _seen(table: ConflictTable, rows: Mapping[int, str]) -> Positions:
    """Return the numbers of rows, which have to be what the caller saw."""
    for row, mark in rows.items():
        if row not in range(len(table.rows)) or table.mark(row) != mark:
            raise ConflictError(
                f"The conflicts of {table.name} were decided by somebody else meanwhile, or "
                "purged. Nothing was changed; look at them again."
            )
    return np.array(sorted(rows), np.int64)


def exact_values(
    table: ConflictTable, values: Mapping[str, Given], zone: tzinfo = timezone.utc
) -> dict[str, pa.Scalar]:
    """Convert values given for columns of a relation to the columns' types.

    A time without an offset is in the given zone.

    Raises:
        InputError: The column doesn't exist or is in the key, the relation has no key, or the
            value doesn't fit the column's type.
    """
    return {
        column: key_value(table.name, column, table.results[column].type, values[given], zone)
        for given, column in _result_columns(table, values).items()
    }


def _result_columns(table: ConflictTable, names: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns that are meant, as the table spells them."""
    if not table.key:
        raise InputError(
            f"{table.name} has no primary key, so its conflicts are about the number of copies "
            "of a row, and no values can be chosen for one row. Choose ours, theirs or base; then "
            "change the row with an update. Or give the table a key."
        )
    columns = {column.lower(): column for column in table.results}
    found: dict[str, str] = {}
    for name in names:
        column = columns.get(name.lower())
        if column is None:
            in_key = name.lower() in {key.lower() for key in table.key}
            why = "is in the primary key, which identifies the rows" if in_key else "isn't there"
            raise InputError(
                f"The column {name} of {table.name} {why}; values can be chosen for "
                f"{', '.join(columns.values()) or 'no column'}."
            )
        found[name] = column
    return found


class Completed(NamedTuple):
    """Results of rows.

    Attributes:
        rows: The rows that have one, by number.
        columns: Their values, by column of the relation.
        why: Why one of the others has none; empty if there are no others.
    """

    rows: Positions
    columns: Mapping[str, pa.ChunkedArray]
    why: str


_Sources: TypeAlias = npt.NDArray[np.int64]
"""For each row where a value comes from: a place in `_PLACES`, or `_OPEN`."""

_PLACES: Final[Mapping[Choice, int]] = {side: place for place, side in enumerate(SIDES)} | {
    Choice.CUSTOM: len(SIDES)
}
"""The sides, and the result that was chosen before."""

_GIVEN: Final = len(_PLACES)
_OPEN: Final = -1


def completed(
    table: ConflictTable,
    rows: Positions,
    given: Mapping[str, pa.ChunkedArray],
    cells: Mapping[str, Cell] | None = None,
    start: Choice | None = None,
) -> Completed:
    """Return the results of rows for which some columns are given.

    The other columns come from `start` if it is a side, else from the row's present result.
    Without either they are merged column by column: a change by only one side is taken.

    A row has no result if its key stands for several rows, `start` has no such row, nothing says
    which value a column has, or a NOT NULL column would be NULL.

    Args:
        given: Values by column of the relation, one for each row.
        cells: Where the values of columns come from.
        start: A side, or None.
    """
    cells = cells or {}
    names = _result_columns(table, cells)
    picked = {column: cells[name] for name, column in names.items()}
    part = table.taken(rows)
    sources = _sources(part, given, picked, start)
    columns = {name: _values(part, name, sources[name], given.get(name)) for name in sources}
    is_open = {name: found == _OPEN for name, found in sources.items()}
    is_null = {
        name: np.asarray(columns[name].is_null(), dtype=np.bool_)
        for name in sources
        if name in part.required
    }
    no_start = np.full(len(rows), False) if start is None else ~part.has_row(start)
    # In the order in which somebody would want to hear of it.
    checks: tuple[tuple[Mask, Callable[[int], str]], ...] = (
        (
            np.isin(rows, sorted(table.repeated)),
            lambda n: _several_rows(part, n, "the values are for"),
        ),
        (no_start, lambda n: _no_start(part, n, start)),
        (_any(is_open, len(rows)), lambda n: _open_text(part, n, _at(is_open, n), picked)),
        (_any(is_null, len(rows)), lambda n: _null_text(part, n, _at(is_null, n))),
    )
    why = next((text(int(np.argmax(mask))) for mask, text in checks if mask.any()), "")
    fine = np.flatnonzero(~reduce(np.logical_or, (mask for mask, _ in checks)))
    kept = {name: column.take(pa.array(fine)) for name, column in columns.items()}
    return Completed(rows[fine], kept, why)


def _sources(
    part: ConflictTable,
    given: Mapping[str, pa.ChunkedArray],
    picked: Mapping[str, Cell],
    start: Choice | None,
) -> dict[str, _Sources]:
    """Return where the values of each column come from."""
    default = _default_sources(part, start)
    found: dict[str, _Sources] = {}
    for name in part.results:
        if name in given:
            found[name] = np.full(len(part.rows), _GIVEN, np.int64)
        elif name in picked:
            found[name] = _cell_sources(part, name, picked[name])
        else:
            found[name] = np.where(default == _OPEN, _changed_sources(part, name), default)
    return found


def _any(masks: Mapping[str, Mask], count: int) -> Mask:
    return reduce(np.logical_or, masks.values(), np.zeros(count, np.bool_))


def _at(masks: Mapping[str, Mask], row: int) -> list[str]:
    return [name for name, mask in masks.items() if mask[row]]


def _default_sources(part: ConflictTable, start: Choice | None) -> _Sources:
    """Return where the columns of each row come from that nobody chose; open: by column."""
    if start is not None:
        return np.full(len(part.rows), _PLACES[start], np.int64)
    has = {side: part.has_row(side) for side in SIDES}
    found = [
        _PLACES[choice]
        if choice is Choice.CUSTOM or (choice is not None and choice in SIDES and has[choice][row])
        else _OPEN
        for row, choice in enumerate(part.resolutions)
    ]
    return np.array(found, np.int64)


def _changed_sources(part: ConflictTable, column: str) -> _Sources:
    """Return the side whose value of a column is kept; open if both changed it differently."""
    base, ours, theirs = side_codes(part, column)
    has = {side: part.has_row(side) for side in SIDES}
    one, other = _PLACES[Choice.OURS], _PLACES[Choice.THEIRS]
    # Later ones win. The NULLs of a missing row are no values that a side has kept.
    found = np.full(len(part.rows), _OPEN, np.int64)
    found[has[Choice.BASE] & (base == theirs)] = one
    found[has[Choice.BASE] & (base == ours)] = other
    found[ours == theirs] = one
    # Where one side deleted the row, the other one's values are all that there is.
    found[~has[Choice.OURS] & has[Choice.THEIRS]] = other
    found[~has[Choice.THEIRS] & has[Choice.OURS]] = one
    return found


def side_codes(part: ConflictTable, column: str) -> Sequence[npt.NDArray[np.int64]]:
    """Return numbers of the values of base, ours and theirs: equal ones have the same."""
    # Codes are equal where a merge calls values equal, NULL and NaN included.
    sides = [part.side(side, column) for side in SIDES]
    both = pa.chunked_array([chunk for side in sides for chunk in side.chunks], sides[0].type)
    return np.split(codes_of(both), len(sides))


def _cell_sources(part: ConflictTable, column: str, cell: Cell) -> _Sources:
    """Return where a column's values come from if somebody chose so; open if that has none."""
    if isinstance(cell, Choice):
        return np.where(part.has_row(cell), _PLACES[cell], _OPEN)
    found = _order_sources(part, column, cell)
    _, ours, theirs = side_codes(part, column)
    has_both = part.has_row(Choice.OURS) & part.has_row(Choice.THEIRS)
    return np.where((ours == theirs) & has_both, _PLACES[Choice.OURS], found)


def _order_sources(part: ConflictTable, column: str, order: Order) -> _Sources:
    """Return the side with the larger or smaller value of a column; open if neither has it."""
    ours, theirs = part.side(Choice.OURS, column), part.side(Choice.THEIRS, column)
    try:
        larger, smaller = pc.greater(ours, theirs), pc.less(ours, theirs)
    except pa.ArrowNotImplementedError:
        raise InputError(
            f"Values of the column {column} of {part.name} have no order. Choose a side instead."
        ) from None
    if order is Order.SMALLER:
        larger, smaller = smaller, larger
    found = np.full(len(part.rows), _OPEN, np.int64)
    for mask, side in ((larger, Choice.OURS), (smaller, Choice.THEIRS)):
        found[np.asarray(pc.fill_null(mask, pa.scalar(False)), dtype=np.bool_)] = _PLACES[side]
    return found


def _values(
    part: ConflictTable, column: str, sources: _Sources, given: pa.ChunkedArray | None
) -> pa.ChunkedArray:
    """Return a column's values from where they come, NULL where that is open."""
    result = part.rows.column(part.results[column].name)
    parts = [*(part.side(side, column) for side in SIDES), result]
    if given is not None:
        parts.append(given)
    chunks = [chunk for item in parts for chunk in item.cast(result.type).chunks]
    count = len(part.rows)
    places = pa.array(sources * count + np.arange(count), mask=sources == _OPEN)
    return pa.chunked_array(chunks, result.type).take(places)


def _ordered(table: ConflictTable, rows: Positions, order: Order, by: str) -> Chosen:
    """Choose the row of ours or theirs with the larger or smaller value of a column."""
    if not table.key:
        raise InputError(
            f"{table.name} has no primary key, so both sides of a conflict have the same values. "
            "Choose ours, theirs or base."
        )
    column = {name.lower(): name for name in table.columns}.get(by.lower())
    if column is None:
        raise InputError(f"{table.name} has no column {by}; it has: {', '.join(table.columns)}.")
    part = table.taken(rows)
    sources = _order_sources(part, column, order)
    is_repeated = np.isin(rows, sorted(table.repeated))
    sources[is_repeated] = _OPEN
    new = table
    for side in (Choice.OURS, Choice.THEIRS):
        new = new.chosen(rows[sources == _PLACES[side]], side)
    left = np.flatnonzero(sources == _OPEN).tolist()
    if not left:
        return Chosen(new, len(rows))
    first = left[0]
    why = (
        _several_rows(part, first, "counts")
        if is_repeated[first]
        else _no_order(part, first, column)
    )
    return Chosen(new, len(rows) - len(left), why)


def _several_rows(part: ConflictTable, row: int, what: str) -> str:
    return (
        f"{part.shown_key(row)} of {part.name} has several rows on one side, so it is not known "
        f"which of them {what}. Choose a side for it, or delete."
    )


def _no_start(part: ConflictTable, row: int, start: Choice | None) -> str:
    return (
        f"There is no row {part.shown_key(row)} of {part.name} to start from in {start}. Start "
        "from another side."
    )


def _open_text(
    part: ConflictTable, row: int, columns: Sequence[str], picked: Mapping[str, Cell]
) -> str:
    shown = part.shown_key(row)
    for column in columns:
        cell = picked.get(column)
        if isinstance(cell, Order):
            return _no_order(part, row, column)
        if cell is not None:
            return (
                f"There is no row {shown} of {part.name} in {cell}, so it has no {column}. Choose "
                "another side for it."
            )
    return (
        f"Both sides changed {', '.join(columns)} of the row {shown} of {part.name}, too. Give "
        "values for these as well, or say whose row the other columns are of: --with "
        "ours|theirs|base, in SQL resolution = 'ours'."
    )


def _no_order(part: ConflictTable, row: int, column: str) -> str:
    ours, theirs = (
        python_value(part.side(side, column)[row]) if part.has_row(side)[row] else "no row"
        for side in (Choice.OURS, Choice.THEIRS)
    )
    return (
        f"Neither {column} of the row {part.shown_key(row)} of {part.name} is larger (ours: "
        f"{_text(ours)}, theirs: {_text(theirs)}). Choose a side for it."
    )


def _text(value: Any) -> str:
    return "NULL" if value is None else str(value)


def _null_text(part: ConflictTable, row: int, columns: Sequence[str]) -> str:
    return (
        f"{', '.join(sorted(columns))} of {part.name} can't be NULL, which the row "
        f"{part.shown_key(row)} would have there. Give a value."
    )
