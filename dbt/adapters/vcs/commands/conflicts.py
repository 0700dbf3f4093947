"""`dbt-vcs conflicts`: merges that wait for their conflicts to be resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Annotated, Any, Final

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import (
    OpenMerge,
    open_merges,
    shown_name,
    tables_of,
)
from dbt.adapters.vcs.commands.layout import Block, Grid, Span, line
from dbt.adapters.vcs.commands.output import RowSet, cell_of
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, check_only, rows_limit, verb
from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictSummary:
    """The conflicts of one relation.

    Attributes:
        relation: Its name; `schema s` for a schema's comment and properties.
        what: What both sides did.
        whole: True if it is resolved as a whole rather than row by row: it has no rows to show.
    """

    relation: str
    what: str
    conflicts: int
    resolved: int
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMergeReport:
    """A merge that is waiting for its conflicts to be resolved, or the fact that there is none.

    Attributes:
        source: The revision that is merged; None if no merge into the target is waiting.
        target: The branch that it is merged into.
        branch: The branch with the conflict tables, or None.
        relations: The relations in conflict, by name.
        key: If one relation was requested, the names of its key columns; none without a key.
        rows: If one relation was requested, its conflicts, by column name.
    """

    source: str | None
    target: str
    branch: str | None
    relations: tuple[ConflictSummary, ...] = ()
    key: tuple[str, ...] = ()
    rows: RowSet = field(default_factory=RowSet.none)

    @property
    def conflicts(self) -> int:
        """Number of conflicts in all relations."""
        return sum(item.conflicts for item in self.relations)

    @property
    def left(self) -> int:
        """Number of unresolved conflicts."""
        return self.conflicts - sum(item.resolved for item in self.relations)


def list_conflicts(
    repository: Repository, target: str, relation: str | None = None, *, limit: int | None = 20
) -> OpenMergeReport:
    """Return the conflicts of the merge into a branch, with the rows of a relation if given.

    If no merge is waiting, the report says so. A relation that conflicts as a whole has no rows.
    The limit applies to rows; None for all.

    Raises:
        NotFoundError: There is no such branch.
        InputError: A merge is waiting, and the relation has no conflict in it.
    """
    merge = next((item for item in open_merges(repository) if item.target == target), None)
    if merge is None:
        # Raises for a name that is no branch: "no merge is waiting" would hide a typing error.
        repository.branch(target)
        return OpenMergeReport(source=None, target=target, branch=None)
    report = _report(repository, merge)
    if relation is None:
        return report
    name = relation_of(relation)
    tables = tables_of(repository, merge)
    if name in tables:
        table = tables[name]
        return replace(report, key=table.key, rows=RowSet.of(table.rows, limit))
    if name not in merge.whole:
        known = ", ".join(sorted(map(shown_name, [*merge.whole, *tables])))
        raise InputError(f"{relation} has no conflicts; expected one of: {known}.")
    return report


def list_open_merges(
    repository: Repository, on_damage: Callable[[DamagedError], None]
) -> tuple[OpenMergeReport, ...]:
    """Return every merge that is waiting for its conflicts to be resolved, by target.

    Those whose conflicts can't be read are reported to `on_damage` and left out.
    """
    found: list[OpenMergeReport] = []
    for merge in open_merges(repository):
        try:
            found.append(_report(repository, merge))
        except DamagedError as error:
            on_damage(error)
    return tuple(found)


def _report(repository: Repository, merge: OpenMerge) -> OpenMergeReport:
    return OpenMergeReport(
        source=merge.source,
        target=merge.target,
        branch=merge.branch,
        relations=summarize_conflicts(repository, merge),
    )


def summarize_conflicts(repository: Repository, merge: OpenMerge) -> tuple[ConflictSummary, ...]:
    """Return the relations in conflict in a waiting merge, by name."""
    found = [
        ConflictSummary(
            relation=shown_name(name),
            what=what,
            conflicts=1,
            resolved=int(name in merge.choices),
            whole=True,
        )
        for name, what in merge.whole.items()
    ]
    for name, table in tables_of(repository, merge).items():
        count = len(table.rows)
        found.append(
            ConflictSummary(
                relation=str(name),
                what="rows changed differently",
                conflicts=count,
                resolved=count - table.open,
            )
        )
    return tuple(sorted(found, key=lambda item: item.relation))


def conflicts_left(repository: Repository, merge: OpenMerge) -> int:
    """Return how many conflicts of a merge are unresolved, in all relations."""
    # Of all relations, since only a merge without any can be continued.
    return sum(item.conflicts - item.resolved for item in summarize_conflicts(repository, merge))


def left_line(left: int, target: str) -> Block:
    """Return the line that says what is left of a merge into a branch, and the next step."""
    return line(
        f"{left:,} left."
        if left
        else f"No conflict is left. To finish the merge: dbt-vcs merge --continue {quote(target)}"
    )


def relation_of(text: str) -> RelationName:
    """Return the relation; a bare schema name means the schema's own properties."""
    return RelationName.of(text.lower().replace("`", ""))


_OWN: Final = ("our_diff_type", "their_diff_type", "resolution")
"""Columns of a conflict table in addition to those of the table itself."""


def conflicts_text(report: OpenMergeReport) -> Iterator[Block]:
    """Yield the conflicts, the requested rows and the next step."""
    target = Span(report.target, "name")
    if report.source is None:
        yield line("No merge into ", target, " is waiting for conflicts to be resolved.")
        return
    yield line("Merging ", Span(report.source, "name"), " into ", target, " is waiting for:")
    yield Grid(
        heads=("RELATION", "CONFLICTS", "RESOLVED", "WHAT"),
        rows=tuple(
            (
                Span(item.relation, "name"),
                Span(str(item.conflicts)),
                Span(str(item.resolved), "good" if item.resolved == item.conflicts else "bad"),
                Span(item.what),
            )
            for item in report.relations
        ),
        right=frozenset({"CONFLICTS", "RESOLVED"}),
        whole=frozenset({"RELATION"}),
        first=("RELATION",),
    )
    if report.rows:
        yield _rows_grid(report)
    yield from _next_steps(report)


def _rows_grid(report: OpenMergeReport) -> Grid:
    """Return the rows in conflict; the key and the values that differ come first."""
    columns = report.rows.columns
    places = {name: place for place, name in enumerate(columns)}
    names = [name.removeprefix("our_") for name in columns if name.startswith("our_")]
    sides = [
        (places[f"our_{name}"], places[f"their_{name}"])
        for name in names
        # `our_diff_type` and counts of rows have no base, and are no columns of the table.
        if f"their_{name}" in places and f"base_{name}" in places
    ]

    def cells(values: tuple[Any, ...]) -> tuple[Span, ...]:
        differing = {
            place for pair in sides if values[pair[0]] != values[pair[1]] for place in pair
        }
        return tuple(
            cell_of(value, marked=place in differing) for place, value in enumerate(values)
        )

    keys = (f"{side}_{name}" for name in report.key for side in ("our", "their"))
    return Grid(
        heads=columns,
        rows=map(cells, report.rows.values()),
        right=report.rows.numeric,
        first=(*(name for name in _OWN if name in places), *keys),
    )


def _next_steps(report: OpenMergeReport) -> Iterator[Block]:
    """Yield how to resolve what is left: whole relations one by one, rows by table."""
    if not report.left:
        yield left_line(0, report.target)
        return
    for item in report.relations:
        if item.whole and not item.resolved:
            # `resolve` takes the bare name of a schema.
            name = item.relation.removeprefix("schema ")
            yield line(
                f"{item.relation} conflicts as a whole ({item.what}). Choose ours, theirs, base "
                f"or delete: dbt-vcs resolve {quote(name)} {quote(report.target)} --with ours"
            )
    # A table whose conflicts are all decided refuses another choice.
    left = [item for item in report.relations if not item.whole and item.resolved < item.conflicts]
    if left:
        rows = left[0].relation
        yield line(f"Rows in conflict are in tables on the branch {report.branch}.")
        if not report.rows:
            yield line(
                f"To show them: dbt-vcs conflicts {quote(report.target)} --relation {quote(rows)}"
            )
        yield line(
            "To choose ours, theirs, base or delete for all of a table, or with --key "
            "COLUMN=VALUE for a row, with --set COLUMN=VALUE for a value of your own: "
            f"dbt-vcs resolve {quote(rows)} {quote(report.target)} --with ours"
        )


def _check_conflicts(*, relation: str | None, **_: object) -> None:
    if relation is None:
        check_only("conflicts without --relation", "target")


@verb(check=_check_conflicts)
def conflicts_command(
    session: CommandSession,
    target: str | None = None,
    *,
    relation: Annotated[
        str | None, Option("Show the rows of this table.", metavar="SCHEMA.TABLE")
    ] = None,
    limit: Annotated[int, rows_limit()] = 20,
) -> None:
    """Show the conflicts of a merge into TARGET.

    TARGET defaults to the branch in the dbt profile, else the default branch. The conflicts are
    also tables on the branch merges/TARGET.
    """
    report = list_conflicts(
        session.repository, target or session.branch, relation, limit=limit or None
    )
    items = report.rows if relation is not None else report.relations
    session.show(report, conflicts_text(report), items)
