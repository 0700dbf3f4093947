"""`dbt-vcs resolve -i`: walk through the conflicts of a merge, as `git add -p` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import click
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import SIDES, ConflictTable
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import (
    OpenMerge,
    find_open_merge,
    shown_name,
    tables_of,
)
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.commands.conflict_rows import ConflictCell, ConflictRow, conflict_rows
from dbt.adapters.vcs.commands.conflicts import conflicts_left, left_line, relation_of
from dbt.adapters.vcs.commands.layout import Block, Grid, Span, line, printable
from dbt.adapters.vcs.commands.output import cell_of as shown_cell
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.table.exact_values import Given

_SIDES: Final[Mapping[str, Choice]] = {
    "b": Choice.BASE,
    "o": Choice.OURS,
    "t": Choice.THEIRS,
    "d": Choice.DELETE,
}

_HELP: Final[Mapping[str, str]] = {
    "b": "go back to the base's row",
    "o": "keep our row",
    "t": "take their row",
    "d": "delete the row",
    "c": "choose cell by cell; cells that only one side changed are taken from that side",
    "v": "type a value for a column, then choose the other cells",
    "O": "keep ours for all conflicts of this relation that are left",
    "T": "take theirs for all conflicts of this relation that are left",
    "u": "take back the last decision, and again the one before",
    "s": "skip this conflict",
    "q": "quit, and keep what is decided",
    "?": "show this help",
}

_VALUE_HELP: Final = "NULL for NULL; in single quotes a text is taken as it is, such as 'NULL'."

_Item: TypeAlias = "tuple[RelationName, ConflictRow | None]"
"""A relation, and its row in conflict; None where it conflicts as a whole."""

_Place: TypeAlias = tuple[RelationName, int | None]

_Decide: TypeAlias = Callable[[RelationName, RowChoice], str]
"""Records a choice; returns why some of the conflicts it is for are left open, or nothing."""

_Undo: TypeAlias = Callable[[CommitId], Block]
"""Takes back the last decision of a merge that had this head; returns what it was."""


def resolve_interactively(
    session: CommandSession, target: str, relation: str | None, *, decide: _Decide, undo: _Undo
) -> None:
    """Ask for a decision about each open conflict, until none is left or the user quits.

    Args:
        session: The command's session; its standard input is a terminal.
        target: The branch that is merged into.
        relation: The only relation to ask about; None for all.
        decide: Records a decision.
        undo: Takes back the last one.

    Raises:
        NotFoundError: No merge waits.
        InputError: The relation has no conflict.
    """
    # Its line would be drawn over the questions.
    session.progress.end()
    only = None if relation is None else relation_of(relation)
    walk = _ConflictWalk(session, target, only, decide, undo)
    walk.run()
    session.say([left_line(conflicts_left(session.repository, walk.merge()), target)])


@dataclass(frozen=True, slots=True)
class _ConflictWalk:
    """A walk through the conflicts of a merge; what it decides is stored at once."""

    session: CommandSession
    target: str
    only: RelationName | None
    decide: _Decide
    undo: _Undo
    skipped: set[_Place] = field(default_factory=set)

    def merge(self) -> OpenMerge:
        return find_open_merge(self.session.repository, self.target)

    def run(self) -> None:
        """Ask until nothing is left to ask about."""
        known: _Place | None = None
        while True:
            # Read each time: somebody else may decide, too.
            merge = self.merge()
            tables = tables_of(self.session.repository, merge)
            self._check_only(merge, tables)
            item, left = self._next(merge, tables)
            if item is None:
                return
            place = item[0], item[1].place if item[1] else None
            if place != known:
                self.session.say(_shown(item, merge, left))
            known = place
            try:
                answer = self._ask(item)
                if answer == "q":
                    return
                if answer != "?":
                    known = None
                self._act(item, merge.head, answer)
            except (ConflictError, InputError) as error:
                # What can't be decided so is said, and asked again.
                self.session.warn([str(error)])
            except click.Abort:
                click.echo()
                return

    def _check_only(self, merge: OpenMerge, tables: Mapping[RelationName, ConflictTable]) -> None:
        known = {*merge.whole, *tables}
        if self.only is not None and self.only not in known:
            shown = ", ".join(sorted(map(shown_name, known)))
            raise InputError(
                f"{shown_name(self.only)} has no conflicts; expected one of: {shown}."
            )

    def _next(
        self, merge: OpenMerge, tables: Mapping[RelationName, ConflictTable]
    ) -> tuple[_Item | None, int]:
        """Return the next open conflict, and how many there are to ask about."""
        found: list[_Place] = [
            (name, None) for name in sorted(merge.whole) if name not in merge.choices
        ]
        for name, table in sorted(tables.items()):
            found += [(name, row) for row, made in enumerate(table.resolutions) if made is None]
        wanted = [
            place for place in found if place not in self.skipped and self.only in (None, place[0])
        ]
        if not wanted:
            return None, 0
        name, row = wanted[0]
        if row is None:
            return (name, None), len(wanted)
        (shown,) = conflict_rows(tables[name], [row])
        return (name, shown), len(wanted)

    def _ask(self, item: _Item) -> str:
        letters = _letters(item)
        while True:
            answer = _prompt(f"Choose [{','.join(letters)}]")
            if answer in letters:
                return answer
            if answer:
                self.session.warn([f"Found {answer!r}; expected one of {', '.join(letters)}."])

    def _act(self, item: _Item, seen: CommitId, answer: str) -> None:
        name, row = item
        if answer == "?":
            self.session.say(_help(_letters(item)))
        elif answer == "s":
            self.skipped.add((name, row.place if row else None))
        elif answer == "u":
            taken = self.undo(seen)
            # What was decided may have been passed over before.
            self.skipped.clear()
            self.session.say([taken])
        elif why := self.decide(name, self._choice(row, answer)):
            self.session.warn([why])

    def _choice(self, row: ConflictRow | None, answer: str) -> RowChoice:
        if answer in ("O", "T"):
            return RowChoice(choice=_SIDES[answer.lower()])
        rows = {} if row is None else {row.place: row.mark}
        if answer in _SIDES:
            return RowChoice(choice=_SIDES[answer], rows=rows)
        assert row is not None
        values: dict[str, Given] = {}
        if answer == "v":
            values = dict([self._typed(row)])
        start, cells = self._cells(row, values)
        return RowChoice(choice=start, values=values, cells=cells, rows=rows)

    def _typed(self, row: ConflictRow) -> tuple[str, Given]:
        columns = {cell.column: cell for cell in row.cells if not cell.is_key}
        self.session.say([line(f"Columns: {', '.join(columns)}")])
        name = _prompt("Column")
        cell = columns.get(name)
        if cell is None:
            raise InputError(f"Found {name!r}; expected one of {', '.join(columns)}.")
        return name, self._value(cell)

    def _value(self, cell: ConflictCell) -> Given:
        self.session.say([line(_VALUE_HELP)])
        text = _prompt(f"Value of {cell.column}, {cell.type}", is_word=False)
        if text == "NULL":
            return pa.scalar(None)
        is_quoted = len(text) > 1 and text.startswith("'") and text.endswith("'")
        return text[1:-1] if is_quoted else text

    def _cells(
        self, row: ConflictRow, values: dict[str, Given]
    ) -> tuple[Choice | None, dict[str, Choice]]:
        """Ask for the cells that both sides changed differently, and that have no value yet."""
        present = [side for side in (Choice.OURS, Choice.THEIRS) if row.has[side]]
        if len(present) < 2:
            if not values:
                raise InputError(
                    "One side deleted the row, so there is nothing to choose between its cells. "
                    "Choose a side, or type a value with v."
                )
            # What the other side has is all that there is.
            return present[0], {}
        cells: dict[str, Choice] = {}
        for cell in row.clashes:
            if cell.column in values:
                continue
            answer = self._ask_cell(row, cell)
            if answer == "v":
                values[cell.column] = self._value(cell)
            else:
                cells[cell.column] = _SIDES[answer]
        if not (cells or values):
            raise InputError("No cell was changed differently by both sides. Choose a row.")
        return None, cells

    def _ask_cell(self, row: ConflictRow, cell: ConflictCell) -> Literal["b", "o", "t", "v"]:
        sides = {letter: side for letter, side in _SIDES.items() if row.has.get(side)}
        shown = [
            part
            for letter, side in sides.items()
            for part in (f"  {letter} ", shown_cell(cell.values[side]))
        ]
        letters = [*sides, "v"]
        self.session.say([line(Span(cell.column, "name"), *shown)])
        while True:
            answer = _prompt(f"{cell.column} [{','.join(letters)}]")
            if answer in letters:
                return answer  # type: ignore[return-value]


def _prompt(text: str, *, is_word: bool = True) -> str:
    found = click.prompt(printable(text), default="", show_default=False, prompt_suffix=": ")
    return str(found).strip() if is_word else str(found)


def _letters(item: _Item) -> tuple[str, ...]:
    _, row = item
    if row is None:
        left_out = "cvOT"
    elif row.counts is not None:
        left_out = "dcv"
    else:
        left_out = "" if row.takes_values else "cv"
    return tuple(letter for letter in _HELP if letter not in left_out)


def _help(letters: Iterable[str]) -> Iterator[Block]:
    for letter in letters:
        yield line(f"{letter}  {_HELP[letter]}")


def _shown(item: _Item, merge: OpenMerge, left: int) -> Iterator[Block]:
    """Yield a conflict; changed cells are marked, also where there are no colours."""
    name, row = item
    yield line("")
    heading = Span(shown_name(name), "heading")
    if row is None:
        yield line(heading, f" conflicts as a whole: {merge.whole[name]} ({left:,} left)")
        return
    yield line(heading, "  ", Span(row.key, "name"), f"  ({left:,} left)")
    if row.counts is not None:
        ours, theirs = row.counts
        yield line(f"Copies of the row, compared with the base: ours {ours:+}, theirs {theirs:+}")
        return
    gone = [str(side) for side in SIDES if not row.has[side]]
    if gone:
        yield line(f"No such row in {' and '.join(gone)}.")
    shown = [cell for cell in row.cells if cell.changed and not cell.is_key]
    yield Grid(
        heads=("", "COLUMN", "BASE", "OURS", "THEIRS"),
        rows=tuple(_grid_row(row, cell) for cell in shown),
        whole=frozenset({"COLUMN"}),
        first=("COLUMN", "OURS", "THEIRS"),
    )
    same = sum(1 for cell in row.cells if not cell.changed and not cell.is_key)
    if same:
        yield line(Span(f"{same} more {'column' if same == 1 else 'columns'}, the same", "faint"))


def _grid_row(row: ConflictRow, cell: ConflictCell) -> tuple[Span, ...]:
    values = [
        shown_cell(
            cell.values[side],
            "bad" if side in cell.changed and cell.clashes else "plain",
            marked=side in cell.changed,
        )
        if row.has[side]
        else Span("no row", "faint")
        for side in SIDES
    ]
    return Span("!" if cell.clashes else "", "bad"), Span(cell.column, "name"), *values
