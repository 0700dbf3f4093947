"""Changes: how what two commits show differs, relation by relation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Absent, Tree
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.plan.trees import Change, SchemaChange, SchemaInfo, diff_trees
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.report import count_change
from dbt.adapters.vcs.verbs.parallel import each


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSummary:
    """One relation or schema that differs.

    Attributes:
        name: `schema.identifier`, or the schema's name.
        kind: `schema`, `table` or `view`.
        how: `added`, `removed` or `changed`.
        rows_added: Rows of the files that came; a rebuild counts every row on both sides.
        rows_removed: Rows of the files that went.
    """

    name: str
    kind: str
    how: str
    rows_added: int = 0
    rows_removed: int = 0


def list_changes(
    repository: Repository, before: CommitId | None, after: CommitId
) -> tuple[ChangeSummary, ...]:
    """Return how two commits differ: schemas, then relations, by name.

    None stands for a commit that shows nothing.
    """
    objects = repository.objects
    new = objects.tree(objects.commit(after).tree)
    old = Tree() if before is None else objects.tree(objects.commit(before).tree)
    found = diff_trees(old, new, objects.schema_tree)
    return count_changes(repository, found.schemas, found.relations)


def count_changes(
    repository: Repository, schemas: Iterable[SchemaChange], relations: Iterable[Change]
) -> tuple[ChangeSummary, ...]:
    """Return changes with their rows, counted from manifests alone."""
    counted = each(lambda change: count_change(repository, change), relations)
    return (
        *(_schema(change) for change in schemas),
        *(
            ChangeSummary(
                name=str(change.name),
                kind=change.kind,
                how=change.how,
                rows_added=change.rows_added,
                rows_removed=change.rows_removed,
            )
            for change in counted
        ),
    )


def _schema(change: SchemaChange) -> ChangeSummary:
    return ChangeSummary(name=change.name, kind="schema", how=_how(change.old, change.new))


def _how(old: SchemaInfo | AbsentType, new: SchemaInfo | AbsentType) -> str:
    if old is Absent:
        return "added"
    return "removed" if new is Absent else "changed"
