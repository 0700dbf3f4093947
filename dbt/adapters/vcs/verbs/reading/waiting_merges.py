"""Merges that wait: what conflicts in each, and how much of it is resolved."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.vcs.core.errors import InputError
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
        resolved: How many of them are resolved.
        whole: True if it is decided as one thing, not row by row: it has no rows to look at.
    """

    relation: str
    what: str
    conflicts: int
    resolved: int
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMergeReport:
    """A merge that waits for its conflicts to be resolved, or that none does.

    Attributes:
        source: The revision that is merged; None if no merge into the target waits.
        target: The branch that it is merged into.
        branch: The branch that shows the conflict tables, or None.
        relations: What conflicts, by name.
        key: If one relation was asked for, the columns that tell its rows apart, by their names in
            the table; none without a key.
        rows: If one relation was asked for, its conflicts, by column name.
    """

    source: str | None
    target: str
    branch: str | None
    relations: tuple[ConflictSummary, ...] = ()
    key: tuple[str, ...] = ()
    rows: RowSet = field(default_factory=RowSet.none)

    @property
    def conflicts(self) -> int:
        """Conflicts of all relations."""
        return sum(item.conflicts for item in self.relations)

    @property
    def left(self) -> int:
        """How many of them nobody resolved yet."""
        return self.conflicts - sum(item.resolved for item in self.relations)


def list_conflicts(
    repository: Repository, target: str, relation: str | None = None, *, limit: int | None = 20
) -> OpenMergeReport:
    """Return the conflicts of the merge into a branch, with the rows of a relation if given.

    That no merge waits is an answer, too. A relation that conflicts as a whole has no rows. The
    limit is for rows; None for all.

    Raises:
        NotFoundError: There is no such branch.
        InputError: A merge waits, and the relation has no conflict in it.
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
            raise InputError(f"{relation} has no conflict; these have: {known}.")
    return _report(repository, merge, rows, key)


def list_open_merges(repository: Repository) -> tuple[OpenMergeReport, ...]:
    """Return every merge that waits for its conflicts to be resolved, by target."""
    return tuple(_report(repository, merge) for merge in open_merges(repository))


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
    """Return what conflicts in a merge that waits, by name."""
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
    """Return a relation's name, or which schema it is whose own facts are meant."""
    return str(name) if name.identifier else f"schema {name.schema}"


def relation_of(text: str) -> RelationName:
    """Return the relation that is meant; `schema` alone is the schema's own facts."""
    schema, _, identifier = text.lower().partition(".")
    return RelationName(schema, identifier)
