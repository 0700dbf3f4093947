"""Catalog views: what one request sees, as namespaces of relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merge_of
from dbt.adapters.vcs.core.branches import NamedSnapshot
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Readable, RelationName, TableEntry, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.branch_names import is_name
from dbt.adapters.vcs.iceberg.serve.access import Bearer
from dbt.adapters.vcs.iceberg.serve.rest_protocol import (
    NO_NAMESPACE,
    Namespace,
    RestError,
    no_namespace,
    no_relation,
)
from dbt.adapters.vcs.workspace.run_branch import run_of

E = TypeVar("E", TableEntry, ViewEntry)

_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class FoundRelation:
    """A relation that a request asks for.

    Attributes:
        entry: Its version.
        commit: A commit that it was found through.
        branch: The branch that it is on, if the bearer may write there; else None.
    """

    relation: RelationName
    entry: Readable
    commit: CommitId
    branch: str | None = None


def view_of(repository: Repository, revision: str | None, bearer: Bearer) -> CatalogView:
    """Return what a request sees: a revision, tables by the name of their snapshots, or all.

    A branch is asked for its head now.

    Args:
        revision: The request's revision, or the name of named snapshots; None for all branches.
        bearer: Who asks.

    Raises:
        NotFoundError: It names nothing.
        InputError: It is no revision, or names several commits.
        RestError: The bearer may not read it.
    """
    if revision is None:
        return AllBranches(repository, bearer)
    # Before it is resolved: nobody learns which names there are.
    bearer.check_reads(repository, revision)
    try:
        return AtCommit(
            repository, repository.resolve(revision), _writable(repository, revision, bearer)
        )
    except NotFoundError:
        named = _named_snapshots(repository, revision)
        if not named:
            raise
        return AtSnapshots(revision, named)


def lookup(view: CatalogView, namespace: Namespace, name: str, type_: type[E]) -> FoundRelation:
    """Return a table or view.

    Raises:
        RestError: There is none of that type and name. It says so where there is no such
            namespace, too: only then Java's client looks for a table's own tables, such as
            `orders.snapshots`.
    """
    try:
        # Names are kept in lower case, as Spark compares them.
        found = view.find(namespace, name.lower())
    except RestError as error:
        if error.kind != NO_NAMESPACE:
            raise
        found = None
    if found is not None and isinstance(found.entry, type_):
        return found
    other = f" (it is a {found.entry.noun})" if found is not None else ""
    raise no_relation(".".join((*namespace, name)), type_, other)


class AtCommit:
    """One commit: its schemas are the namespaces."""

    def __init__(
        self, repository: Repository, commit: CommitId, branch: str | None = None
    ) -> None:
        self.commit = commit
        self._branch = branch
        self._tree = repository.tree(commit)

    def namespaces(self, parent: Namespace) -> list[Namespace]:
        """Return the schemas; a schema has no namespaces below it."""
        if parent:
            self._schema(parent)
            return []
        return [(schema,) for schema in self._tree.schemas()]

    def properties(self, namespace: Namespace) -> dict[str, str]:
        """Return the properties and the comment of a schema."""
        found = self._tree.schema_ref(self._schema(namespace))
        comment = {} if found.comment is None else {"comment": found.comment}
        return {**found.properties, **comment, "vcs.commit": self.commit}

    def relations(self, namespace: Namespace) -> Mapping[str, FoundRelation]:
        """Return the tables and views of a schema."""
        schema = self._schema(namespace)
        return {
            name: FoundRelation(RelationName(schema, name), entry, self.commit, self._branch)
            for name, entry in self._tree.relations(schema).items()
            if isinstance(entry, Readable)
        }

    def find(self, namespace: Namespace, name: str) -> FoundRelation | None:
        """Return a table or view of a schema."""
        relation = RelationName(self._schema(namespace), name)
        entry = self._tree.entry(relation)
        if not isinstance(entry, Readable):
            return None
        return FoundRelation(relation, entry, self.commit, self._branch)

    def _schema(self, namespace: Namespace) -> str:
        schema = namespace[0].lower()
        if len(namespace) != 1 or not self._tree.has_schema(schema):
            raise _no_namespace(namespace, self._tree.schemas())
        return schema


class AtSnapshots:
    """The tables that have a named snapshot of one name, each at that version."""

    def __init__(self, name: str, snapshots: Sequence[NamedSnapshot]) -> None:
        self._name = name
        self._snapshots = snapshots

    def namespaces(self, parent: Namespace) -> list[Namespace]:
        """Return the schemas of the tables."""
        if parent:
            self.relations(parent)
            return []
        return [(schema,) for schema in self._schemas()]

    def properties(self, namespace: Namespace) -> dict[str, str]:
        """Return the snapshots' name."""
        self.relations(namespace)
        return {"vcs.snapshot-name": self._name}

    def relations(self, namespace: Namespace) -> Mapping[str, FoundRelation]:
        """Return the tables of a schema that have the snapshot."""
        found = {
            item.relation.identifier: FoundRelation(
                item.relation, TableEntry(snapshot=item.snapshot), item.commit
            )
            for item in self._snapshots
            if (item.relation.schema,) == tuple(level.lower() for level in namespace)
        }
        if not found:
            raise _no_namespace(namespace, self._schemas())
        return found

    def find(self, namespace: Namespace, name: str) -> FoundRelation | None:
        """Return a table of a schema, if it has the snapshot."""
        return self.relations(namespace).get(name)

    def _schemas(self) -> list[str]:
        return sorted({item.relation.schema for item in self._snapshots})


class AllBranches:
    """All branches: the first level of a namespace is a branch, or any other revision.

    Listed are the branches that people made; those of runs and of waiting merges can be named.
    """

    def __init__(self, repository: Repository, bearer: Bearer) -> None:
        self._repository = repository
        self._bearer = bearer

    def namespaces(self, parent: Namespace) -> list[Namespace]:
        """Return the branches, or the schemas of one."""
        if parent:
            below = self._at(parent).namespaces(parent[1:])
            return [(parent[0], *namespace) for namespace in below]
        return [
            (branch.name,)
            for branch in self._repository.branches()
            if run_of(branch) is None
            and open_merge_of(branch) is None
            # A token for some branches learns no names of others.
            and self._bearer.reads(branch.name)
        ]

    def properties(self, namespace: Namespace) -> dict[str, str]:
        """Return the commit of a branch, or the properties of a schema there."""
        view = self._at(namespace)
        if namespace[1:]:
            return view.properties(namespace[1:])
        return {"vcs.commit": view.commit} if isinstance(view, AtCommit) else {}

    def relations(self, namespace: Namespace) -> Mapping[str, FoundRelation]:
        """Return the tables and views of a schema of a branch; a branch itself has none."""
        view = self._at(namespace)
        return view.relations(namespace[1:]) if namespace[1:] else {}

    def find(self, namespace: Namespace, name: str) -> FoundRelation | None:
        """Return a table or view of a schema of a branch."""
        view = self._at(namespace)
        return view.find(namespace[1:], name) if namespace[1:] else None

    def _at(self, namespace: Namespace) -> CatalogView:
        try:
            return view_of(self._repository, namespace[0], self._bearer)
        except InputError as error:
            raise RestError(404, NO_NAMESPACE, str(error)) from None


def _writable(repository: Repository, revision: str, bearer: Bearer) -> str | None:
    """Return the branch that a revision is, if it is one that the bearer may write to."""
    if bearer.writes(revision) and repository.find_branch(revision) is not None:
        return revision
    return None


def _named_snapshots(repository: Repository, name: str) -> list[NamedSnapshot]:
    if not is_name(name):
        return []
    return [item for item in repository.snapshots.all() if item.name == name]


def _no_namespace(namespace: Namespace, there: Sequence[str]) -> RestError:
    shown = ", ".join(there[:_SHOWN])
    more = " and others" if len(there) > _SHOWN else ""
    hint = f" (there is: {shown}{more})" if there else ""
    return no_namespace(".".join(namespace), hint)


CatalogView: TypeAlias = AtCommit | AtSnapshots | AllBranches
"""What one request sees: one commit, named snapshots, or one commit for each branch.

Each raises RestError for a namespace that isn't there; `find` costs no more where a namespace is
large.
"""
