"""Waiting merges: the conflicts of each, and how many are resolved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.merges.conflicts.open_merges import OpenMerge, open_merges
from dbt.adapters.vcs.verbs.row_set import RowSet


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictSummary:
    """The conflicts of one relation.

    Attributes:
        relation: Its name; `schema s` for a schema's comment and properties.
        what: What both sides did.
        conflicts: How many there are.
        resolved: How many are resolved.
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
        repository.branch(target)
        return OpenMergeReport(source=None, target=target, branch=None)
    rows, key = RowSet.none(), tuple[str, ...]()
    if relation is not None:
        # To find that no merge waits takes neither Parquet nor what reads it.
        from dbt.adapters.vcs.merges.conflicts.stored_conflicts import tables_of

        name = relation_of(relation)
        tables = tables_of(repository, merge)
        if name in tables:
            rows, key = RowSet.of(tables[name].rows, limit), tables[name].key
        elif name not in merge.whole:
            known = ", ".join(sorted(map(shown_name, [*merge.whole, *tables])))
            raise InputError(f"{relation} has no conflicts; expected one of: {known}.")
    return _report(repository, merge, rows, key)


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


def _report(
    repository: Repository,
    merge: OpenMerge,
    rows: RowSet | None = None,
    key: tuple[str, ...] = (),
) -> OpenMergeReport:
    return OpenMergeReport(
        source=merge.source,
        target=merge.target,
        branch=merge.branch,
        relations=summarize_conflicts(repository, merge),
        key=key,
        rows=RowSet.none() if rows is None else rows,
    )


def summarize_conflicts(repository: Repository, merge: OpenMerge) -> tuple[ConflictSummary, ...]:
    """Return the relations in conflict in a waiting merge, by name."""
    # To find that no merge waits takes neither Parquet nor what reads it.
    from dbt.adapters.vcs.merges.conflicts.stored_conflicts import tables_of

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


def shown_name(name: RelationName) -> str:
    """Return a relation's name, or `schema s` for a schema's own properties."""
    return str(name) if name.identifier else f"schema {name.schema}"


def relation_of(text: str) -> RelationName:
    """Return the relation; a bare schema name means the schema's own properties."""
    schema, _, identifier = text.lower().partition(".")
    return RelationName(schema, identifier)
