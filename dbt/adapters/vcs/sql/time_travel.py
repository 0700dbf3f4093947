"""Time travel: statements that name versions of tables.

Each version gets a relation of its own, which replaces the name in the statement. The rest of
the statement goes to the engine as written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from dbt.adapters.vcs.changes.diffs.diff_inputs import check_in_view
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Input, RelationName
from dbt.adapters.vcs.sql import metadata_tables
from dbt.adapters.vcs.sql.diff import diff_relations
from dbt.adapters.vcs.sql.merge_into import Merge
from dbt.adapters.vcs.sql.row_change import Delete, Update
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.insertion import Insert
from dbt.adapters.vcs.sql.syntax.names import Reference
from dbt.adapters.vcs.sql.syntax.statement import (
    CreateTemporaryView,
    Query,
    SparkCommand,
    Statement,
    edited,
    renames,
)
from dbt.adapters.vcs.sql.table import AlterViewAs, CreateTable, CreateView
from dbt.adapters.vcs.workspace.mounts import reparsed
from dbt.adapters.vcs.workspace.points import pinned
from dbt.adapters.vcs.workspace.statement_scope import Scope
from dbt.adapters.vcs.workspace.table_version import Version

S = TypeVar("S", bound="_Textual")


class _Textual(Protocol):
    """A statement whose references are offsets into its whole text."""

    @property
    def text(self) -> str: ...


def settled(scope: Scope, statement: Statement) -> Statement:
    """Replace versions, diffs and `vcs.*` in a statement by readable relations.

    They are made readable now, and versions are recorded as inputs. The definition of a view
    stays unchanged, since its names are resolved whenever it is read.

    Raises:
        NotFoundError: There is no such version; the message names near matches.
        InputError: The text matches several versions, or names a version of something without
            versions.
    """
    match statement:
        case CreateView() | AlterViewAs():
            return statement
        case Query():
            return settled_query(scope, statement)
        case CreateTable(query=Query() as query):
            return replace(statement, query=settled_query(scope, query))
        case CreateTemporaryView(query=Query() as query):
            new = settled_query(scope, query, keep=True)
            if new is query:
                return statement
            return reparsed(CreateTemporaryView, statement.rewritten(new.text))
        case SparkCommand():
            return _in_text(scope, statement, statement.mentions, statement.diffs)
        case Insert() | Update() | Delete() | Merge():
            return _in_text(scope, statement, statement.reads, statement.diffs)
    return statement


def settled_query(scope: Scope, query: Query, *, keep: bool = False) -> Query:
    """Do what `settled` does for a query; with `keep`, its diffs stay readable."""
    found = _found(scope, query.reads, query.diffs, keep=keep)
    return reparsed(Query, query.rewritten(found)) if found else query


def settled_text(scope: Scope, query: Query) -> str:
    """Do what `settled` does for a query or an expression inside a statement."""
    return query.rewritten(_found(scope, query.reads, query.diffs))


def replacements(scope: Scope, reads: Iterable[Reference]) -> Mapping[Reference, str]:
    """Make references readable; return the relations that replace them."""
    found: dict[Reference, str] = {}
    tables: dict[str, str] = {}
    for read in reads:
        if metadata_tables.is_meant(scope, read):
            name = read.name.identifier.lower()
            if name not in tables:
                tables[name] = metadata_tables.mount(scope, read)
            found[read] = tables[name]
        elif read.at is not None:
            found[read] = _mounted(scope, read)
    return found


def check_view(scope: Scope, query: Query, what: str = "view") -> None:
    """Check that a branch can store a query, such as a view's.

    Raises:
        UnsupportedError: It reads `vcs.*`, which the engine holds for one statement only.
        InputError: It reads a diff of tables without schema names.
    """
    for diff in query.diffs:
        check_in_view(diff)
    for read in query.reads:
        if metadata_tables.is_meant(scope, read):
            raise UnsupportedError(
                f"A {what} can't read {read.name}: it shows the repository at one moment. Read "
                "it in a query, a temporary view, or create table ... as select."
            )


def _in_text(
    scope: Scope, statement: S, reads: Iterable[Reference], diffs: Iterable[DiffReference]
) -> S:
    found = _found(scope, reads, diffs)
    if not found:
        return statement
    return reparsed(type(statement), edited(statement.text, renames(found, statement.text)))


def _found(
    scope: Scope,
    reads: Iterable[Reference],
    diffs: Iterable[DiffReference],
    *,
    keep: bool = False,
) -> Mapping[Reference | DiffReference, str]:
    differences = diff_relations(scope, diffs, keep=keep)
    return dict([*replacements(scope, reads).items(), *differences.items()])


def _mounted(scope: Scope, read: Reference) -> str:
    assert read.at is not None
    if scope.is_temporary(read.name):
        raise InputError(
            f"{read.name} is a temporary view, which has no versions. Name the version where the "
            "view reads its table."
        )
    name: RelationName = scope.name(read.name)
    id = pinned(scope.overlay, scope.engine, name, read.at).snapshot
    scope.note(Input(relation=str(name), snapshot=id, pinned=True))
    snapshot = scope.overlay.snapshot(id)
    version = Version.of(scope.overlay.repository, snapshot)
    return scope.session.mount_version(version.mount())
