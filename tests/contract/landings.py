"""Small trees of numbered tables, and ways to put them on a branch."""

from dbt.adapters.vcs.core.groups import Landed
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import Absent, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges


def table(number: int) -> TableEntry:
    return TableEntry(snapshot=SnapshotId(f"{number:064x}"))


def name(identifier: str) -> RelationName:
    return RelationName("shop", identifier)


def change(repository: Repository, at: CommitId, **tables: int | None) -> str:
    """The tree of a commit with some tables of the schema `shop` put (a number) or dropped."""
    tree = repository.tree(at)
    return repository.edit(
        tree.id,
        TreeChanges(
            schemas={} if tree.has_schema("shop") else {"shop": SchemaInfo()},
            relations={
                name(key): Absent if value is None else table(value)
                for key, value in tables.items()
            },
        ),
    )


def land(
    repository: Repository,
    branch: str = "main",
    base: CommitId | None = None,
    parents: tuple[CommitId, ...] = (),
    **tables: int | None,
) -> Landed:
    at = base or repository.branch(branch).head
    return repository.land(
        Proposal(
            branch=branch,
            base=at,
            tree=change(repository, at, **tables),
            author="ann",
            message=f"Put {', '.join(tables)}",
            parents=parents,
        )
    )


def shown(repository: Repository, revision: str = "main") -> dict[str, int]:
    entries = repository.tree(repository.resolve(revision)).relations("shop")
    return {key: int(entry.snapshot, 16) for key, entry in entries.items()}
