"""The versions that a query reads on a commit, found without an engine."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import (
    Entry,
    Function,
    FunctionEntry,
    RelationName,
    TableEntry,
    View,
    ViewEntry,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.treereader import TreeReader
from dbt.adapters.vcs.statements.parser import read
from dbt.adapters.vcs.statements.syntax.query import Query
from dbt.adapters.vcs.worktree.pins import query_of_body, query_of_view

_METADATA: Final = "vcs"
"""The schema of tables about the repository, which no tree has."""


class VersionsRead(NamedTuple):
    """What a query reads on one commit.

    Attributes:
        entries: The tables, views and functions, through views, by name.
        missing: Relations that the commit doesn't have, by name.
        moment: The commit, if the query reads more of it than these versions; else None.
    """

    entries: tuple[tuple[RelationName, Entry], ...]
    missing: tuple[RelationName, ...]
    moment: CommitId | None

    @property
    def digest(self) -> str:
        """One text for what was read: the same answer belongs to it."""
        told = [f"{name} {entry.noun} {entry.version}" for name, entry in self.entries]
        lost = [f"{name} missing" for name in self.missing]
        text = "\n".join([*told, *lost, f"at {self.moment}"])
        return hashlib.sha256(text.encode()).hexdigest()

    def version(self, name: RelationName) -> str | None:
        """Return the version of a relation that was read; None if it wasn't."""
        entry = dict(self.entries).get(name)
        return None if entry is None else entry.version


class ReadVersions:
    """Finds what a query reads on each commit."""

    def __init__(self, repository: Repository, text: str, schema: str) -> None:
        """Take a query, and the schema of names without one.

        Raises:
            InputError: It can't be parsed.
        """
        self._repository = repository
        statement, calls = read(text)
        assert isinstance(statement, Query)
        self.query = statement
        self._calls = {call.relation(schema) for call in calls}
        self._reads = {r.name.relation(schema) for r in statement.reads if r.at is None}
        self._reads_more = _reads_more(statement)

    def on(self, commit: CommitId) -> VersionsRead:
        """Return what the query reads on a commit.

        Raises:
            DamagedError: The commit, or a view that it shows, has been collected or is damaged.
        """
        walk = _Walk(self._repository, commit)
        walk.reads_more = self._reads_more
        for name in sorted(self._reads):
            walk.read(name)
        for name in sorted(self._calls):
            walk.call(name)
        return walk.found()


class _Walk:
    """Follows a query's relations on one commit, each once."""

    def __init__(self, repository: Repository, commit: CommitId) -> None:
        self._objects = repository.objects
        self._commit = commit
        self._tree: TreeReader = repository.tree(commit)
        self._entries: dict[RelationName, Entry] = {}
        self._missing: set[RelationName] = set()
        self.reads_more = False

    def found(self) -> VersionsRead:
        return VersionsRead(
            entries=tuple(sorted(self._entries.items())),
            missing=tuple(sorted(self._missing)),
            moment=self._commit if self.reads_more else None,
        )

    def call(self, name: RelationName) -> None:
        """Follow a call, which means a function of the branch or one of the engine."""
        if isinstance(self._tree.entry(name), FunctionEntry):
            self.read(name)

    def read(self, name: RelationName) -> None:
        """Follow a relation."""
        if name in self._entries:
            return
        entry = self._tree.entry(name)
        if entry is not None:
            self._entries[name] = entry
            self._follow(entry)
        elif name.schema == _METADATA:
            self.reads_more = True
        else:
            self._missing.add(name)

    def _follow(self, entry: Entry) -> None:
        if isinstance(entry, TableEntry):
            return
        below: View | Function
        if isinstance(entry, ViewEntry):
            below = self._objects.view(entry.view)
            query = query_of_view(below.text)
        else:
            below = self._objects.function(entry.function)
            if below.language != "sql":
                return
            query = query_of_body(below.text)
        self.reads_more = self.reads_more or _reads_more(query)
        for text in below.reads:
            self.read(_name(text))
        for text in below.calls:
            self.call(_name(text))


def _reads_more(query: Query) -> bool:
    """Return whether a query reads files, differences, or versions that it names."""
    return bool(query.files or query.diffs or any(read.at is not None for read in query.reads))


def _name(text: str) -> RelationName:
    schema, _, identifier = text.partition(".")
    return RelationName(schema, identifier)
