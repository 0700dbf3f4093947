"""Rows of a diff as a grid, with the changed values marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.layout.styled import Grid
from dbt.adapters.vcs.text.row_text import cell_of

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Span, Style
    from dbt.adapters.vcs.verbs.reading.diff_report import DiffReport

_STYLES: Final[dict[str, Style]] = {
    "added": "good",
    "insert": "good",
    "update_postimage": "good",
    "removed": "bad",
    "delete": "bad",
    "update_preimage": "bad",
    "modified": "warn",
}

Row = tuple[Any, ...]


def diff_rows(report: DiffReport) -> Grid:
    """Return the rows of a diff in any shape; the key and the changed values come first."""
    rows, first = report.rows, tuple[str, ...]()
    match report.heads[0]:
        case "_change_type":
            cells, first = _images(rows.values()), ("_change_type", *report.key)
        case "diff_type":
            sides = (f"{side}_{name}" for name in report.key for side in ("from", "to"))
            cells, first = map(_wide, rows.values()), ("diff_type", *sides)
        case "diff_count":
            # Rows aren't matched by key here, so there are no changed values to mark.
            cells = (_cells(row, _style(row)) for row in rows.values())
        case _:
            # A three-way row has one kind of change per side, so it has no colour as a whole.
            cells, first = (_cells(row, "plain") for row in rows.values()), report.key
    return Grid(heads=report.heads, rows=cells, whole=rows.numeric, first=first)


def _images(rows: Iterable[Row]) -> Iterator[tuple[Span, ...]]:
    """Yield rows; an update's two images are adjacent, and changed values are marked in both."""
    reader = iter(rows)
    for row in reader:
        after = next(reader, None) if row[0] == "update_preimage" else None
        if after is None:
            yield _cells(row, _style(row))
            continue
        marks = [False, *(old != new for old, new in zip(row[1:], after[1:], strict=True))]
        yield _cells(row, _style(row), marks)
        yield _cells(after, _style(after), marks)


def _wide(row: Row) -> tuple[Span, ...]:
    """Return a row; the old and new values that a modification changed are marked."""
    if row[0] != "modified":
        return _cells(row, _style(row))
    pairs = zip(row[1::2], row[2::2], strict=True)
    marks = [False, *(mark for old, new in pairs for mark in (old != new,) * 2)]
    return _cells(row, _style(row), marks)


def _cells(row: Row, style: Style, marks: Sequence[bool] | None = None) -> tuple[Span, ...]:
    if marks is None:
        return tuple([cell_of(value, style) for value in row])
    return tuple([cell_of(value, style, mark) for value, mark in zip(row, marks, strict=True)])


def _style(row: Row) -> Style:
    if isinstance(row[0], int):
        return "good" if row[0] > 0 else "bad"
    return _STYLES[str(row[0])]
