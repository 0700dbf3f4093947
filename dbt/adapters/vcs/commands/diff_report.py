"""What a diff found, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.changes.diffs.summaries import ChangeSummary, rows_text
from dbt.adapters.vcs.commands.layout import (
    Block,
    Grid,
    Span,
    Style,
    counted,
    entry,
    line,
    plain_text,
)
from dbt.adapters.vcs.commands.output import RowSet, cell_of, changes_text

if TYPE_CHECKING:
    from markupsafe import Markup

_SHOWN_ROWS: Final = 20
_SHOWN_CHANGES: Final = 50
"""Rows and relations that differ, as many as a notebook shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDiff:
    """One attribute of one column that differs.

    Attributes:
        kind: `added`, `dropped`, `renamed`, `retyped`, `nullable`, `default`, `comment`, `moved`.
        column: The column's name after, or before if it was dropped.
        before: The old value of the attribute; None if there was none.
        after: The new value.
    """

    kind: str
    column: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationDiff(ChangeSummary):
    """How one relation differs, read as far as this process can.

    Attributes:
        name: `schema.identifier`; two of them, `a -> b`, where two tables are compared.
        kind: `table`, `view` or `function`.
        how: `added`, `removed`, `changed`, or `equal`.
        settings: Other properties of the table that differ: `primary_key`, `comment`, ...
    """

    columns: tuple[ColumnDiff, ...] = ()
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffReport:
    """The result of a diff.

    Attributes:
        before: The old side, as a person would write it.
        after: The new side.
        is_equal: True if nothing differs.
        schemas: Schemas that were added, removed or changed.
        relations: Relations that differ, by name; always includes a requested relation.
        heads: Names of the columns of `rows`.
        key: The table's key columns; none without a key.
        rows: The rows that differ, up to the limit; none unless one table is compared. They are
            computed as they are read.
        row_count: The total number of rows that differ.
    """

    before: str
    after: str
    is_equal: bool
    schemas: tuple[ChangeSummary, ...] = ()
    relations: tuple[RelationDiff, ...] = ()
    heads: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    rows: RowSet = field(default_factory=RowSet.none)
    row_count: int = 0

    def _repr_html_(self) -> str:
        """Return the counts and the first changed rows as a notebook shows them.

        At most 20 changed rows, changed values marked, and no more are computed. It never raises:
        if something can't be read, it says what.
        """
        # Imported here because commands that print text have no use for it.
        from dbt.adapters.vcs.client.notebook import shown

        dots = "" if self.before.endswith("...") else ".."
        return shown(f"{self.before}{dots}{self.after}", lambda: _diff_html(self))


_STYLES: Final[dict[str, Style]] = {"added": "good", "removed": "bad", "changed": "warn"}
_ROW_STYLES: Final[dict[str, Style]] = {
    "added": "good",
    "insert": "good",
    "update_postimage": "good",
    "removed": "bad",
    "delete": "bad",
    "update_preimage": "bad",
    "modified": "warn",
}

Row = tuple[Any, ...]


def diff_text(report: DiffReport) -> Iterator[Block]:
    """Yield a whole diff: relations, their columns, and rows if there are any."""
    if report.is_equal:
        yield from _equal_text(report)
        return
    yield from changes_text(report.schemas)
    for relation in report.relations:
        yield _relation_line(relation)
        yield from _columns_text(relation)
    yield from _rows_text(report)
    if not report.heads:
        yield from _totals_line(report)


def _diff_html(report: DiffReport) -> Iterator[Markup]:
    """Yield the parts of a diff for a notebook: what differs with its counts, then rows."""
    from dbt.adapters.vcs.client.notebook import Cell, grid, sentence

    if report.is_equal:
        yield from map(sentence, plain_text(_equal_text(report)))
        return
    changes = (*report.schemas, *report.relations)
    yield grid(
        ("name", "kind", "change", "rows", "definition"),
        [
            (
                Cell(item.name),
                Cell(item.kind),
                Cell(item.how),
                Cell(rows_text([item]) if item.kind == "table" else ""),
                Cell("\n".join(_definition(item))),
            )
            for item in changes[:_SHOWN_CHANGES]
        ],
    )
    if len(changes) > _SHOWN_CHANGES:
        yield sentence(f"{len(changes) - _SHOWN_CHANGES:,} more differ.")
    if not report.rows:
        return
    # An update has two images, and both count as one changed row.
    held = _diff_rows(replace(report, rows=report.rows.first(2 * _SHOWN_ROWS)))
    rows, changed = list[tuple[Cell, ...]](), 0
    for row in held.rows:
        changed += row[0].text != "update_postimage"
        if changed > _SHOWN_ROWS:
            break
        rows.append(tuple(Cell(span.text, span.marked, span.style == "faint") for span in row))
    yield grid(held.heads, rows, right=held.whole)
    if report.row_count > len(rows):
        yield sentence(f"The first {len(rows)} of {counted(report.row_count, 'row')}.")


def _definition(item: ChangeSummary) -> Iterator[str]:
    if isinstance(item, RelationDiff):
        yield from map(_column_text, item.columns)
        yield from item.settings


def diff_summary_text(report: DiffReport) -> Iterator[Block]:
    """Yield the totals of a diff."""
    if report.is_equal:
        yield from _equal_text(report)
    else:
        yield from _totals_line(report)


def _equal_text(report: DiffReport) -> Iterator[Block]:
    before, after = report.before.removesuffix("..."), report.after
    if before != after:
        yield line(report.before, " and ", after, " are equal.")
        return
    # Without a revision, the default branch is compared with itself.
    yield line(after, " is compared with itself, and nothing is ever uncommitted.")
    yield line(f"To see what its last commit changed: dbt-vcs show {quote(after)}")


def diff_schema_text(report: DiffReport) -> Iterator[Block]:
    """Yield the columns that differ."""
    changed = [item for item in report.relations if item.columns]
    if not changed:
        yield line(f"No columns differ between {report.before} and {report.after}.")
    for relation in changed:
        yield line(Span(relation.name, "name"))
        yield from _columns_text(relation)


def _relation_line(relation: RelationDiff) -> Block:
    how = Span(f"  {relation.how:<8}", _STYLES.get(relation.how, "plain"))
    parts: list[str | Span] = [how, f" {relation.kind:<6} {relation.name}"]
    if relation.kind == "table":
        parts.append(f"  {rows_text([relation])}")
    if relation.settings:
        parts.append(Span(f"  ({', '.join(relation.settings)})", "faint"))
    return entry(*parts)


def _columns_text(relation: RelationDiff) -> Iterator[Block]:
    for item in relation.columns:
        yield line(Span(f"      column {_column_text(item)}", "faint"))


def _column_text(item: ColumnDiff) -> str:
    match item.kind:
        case "added":
            return f"{item.column} added: {item.after}"
        case "dropped":
            return f"{item.column} dropped: {item.before}"
        case "moved":
            return f"{item.column} moved: position {item.before} -> {item.after}"
    return f"{item.column} {item.kind}: {item.before} -> {item.after}"


def _totals_line(report: DiffReport) -> Iterator[Block]:
    relations = report.relations
    yield line(f"{counted(len(relations), 'relation')}, {rows_text(relations)} rows")
    if not all(item.is_exact for item in relations):
        yield line(
            Span("To compare the rows of large tables, use snapshot_diff() in SQL.", "faint")
        )


def _rows_text(report: DiffReport) -> Iterator[Block]:
    if report.rows:
        yield _diff_rows(report)
    left = report.row_count - len(report.rows)
    if report.heads and left:
        yield line(
            Span(
                f"{counted(left, 'more row')}: use --limit to show more, or --limit 0 for all.",
                "faint",
            )
        )


def _diff_rows(report: DiffReport) -> Grid:
    """Return the rows of a diff in any shape; the key and the changed values come first."""
    rows, first = report.rows, tuple[str, ...]()
    match report.heads[0]:
        case "_change_type":
            cells, first = _image_cells(rows.values()), ("_change_type", *report.key)
        case "diff_type":
            sides = (f"{side}_{name}" for name in report.key for side in ("from", "to"))
            cells, first = map(_wide_cells, rows.values()), ("diff_type", *sides)
        case "diff_count":
            # Rows aren't matched by key here, so there are no changed values to mark.
            cells = (_cells(row, _style(row)) for row in rows.values())
        case _:
            # A three-way row has one kind of change per side, so it has no colour as a whole.
            cells, first = (_cells(row, "plain") for row in rows.values()), report.key
    return Grid(heads=report.heads, rows=cells, whole=rows.numeric, first=first)


def _image_cells(rows: Iterable[Row]) -> Iterator[tuple[Span, ...]]:
    """Yield rows; an update's two images are adjacent, and changed values are marked in both."""
    reader = iter(rows)
    for row in reader:
        # A limit may have cut off the second image.
        after = next(reader, None) if row[0] == "update_preimage" else None
        if after is None:
            yield _cells(row, _style(row))
            continue
        marks = [False, *(old != new for old, new in zip(row[1:], after[1:], strict=True))]
        yield _cells(row, _style(row), marks)
        yield _cells(after, _style(after), marks)


def _wide_cells(row: Row) -> tuple[Span, ...]:
    """Return a row; the old and new values that a modification changed are marked."""
    if row[0] != "modified":
        return _cells(row, _style(row))
    # After the kind come pairs of columns, `from_a, to_a, from_b, to_b`.
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
    return _ROW_STYLES[str(row[0])]
