"""Time travel: statements that name versions of tables.

Each version gets a relation of its own, which replaces the name in the statement. The rest of
the statement goes to the engine as written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Input, RelationName
from dbt.adapters.vcs.sql import metadata_tables
from dbt.adapters.vcs.sql.diff import check_in_view, diff_relations
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.names import Reference
from dbt.adapters.vcs.sql.syntax.parser import Query, reparsed
from dbt.adapters.vcs.workspace.points import pinned
from dbt.adapters.vcs.workspace.statement_scope import Scope
from dbt.adapters.vcs.workspace.table_version import Version


def settled_query(scope: Scope, query: Query, *, keep: bool = False) -> Query:
    """Replace versions, diffs and `vcs.*` in a query by readable relations.

    With `keep`, its diffs stay readable for later statements of the session.
    """
    found = replacements(scope, query.reads, query.diffs, keep=keep)
    return reparsed(Query, query.rewritten(found)) if found else query


def settled_text(scope: Scope, query: Query) -> str:
    """Do what `settled_query` does for a query or an expression inside a statement."""
    return query.rewritten(replacements(scope, query.reads, query.diffs))


def _mounted_reads(scope: Scope, reads: Iterable[Reference]) -> Mapping[Reference, str]:
    """Make references readable; return the relations that replace them."""
    found: dict[Reference, str] = {}
    tables: dict[str, str] = {}
    for read in reads:
        if metadata_tables.is_meant(scope, read):
            name = read.name.identifier.lower()
            # Mounted once, so that all mentions show the same moment.
            if name not in tables:
                tables[name] = metadata_tables.mount(scope, read)
            found[read] = tables[name]
        elif read.at is not None:
            found[read] = _version_relation(scope, read)
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


def replacements(
    scope: Scope,
    reads: Iterable[Reference],
    diffs: Iterable[DiffReference],
    *,
    keep: bool = False,
) -> Mapping[Reference | DiffReference, str]:
    """Make versions, diffs and `vcs.*` readable; return the relations that replace them.

    Raises:
        NotFoundError: There is no such version; the message names near matches.
        InputError: The text matches several versions, or names a version of something without
            versions.
    """
    differences = diff_relations(scope, diffs, keep=keep)
    return dict([*_mounted_reads(scope, reads).items(), *differences.items()])


def _version_relation(scope: Scope, read: Reference) -> str:
    assert read.at is not None
    if scope.is_temporary(read.name):
        raise InputError(
            f"{read.name} is a temporary view, which has no versions. Name the version where the "
            "view reads its table."
        )
    name: RelationName = scope.name(read.name)
    id = pinned(scope.overlay, scope.zone, name, read.at).snapshot
    # Pinned: what was built from it isn't stale when the table moves on.
    scope.note(Input(relation=str(name), snapshot=id, pinned=True))
    snapshot = scope.overlay.snapshot(id)
    version = Version.of(scope.overlay.repository, snapshot)
    return scope.session.mount_version(version.mount())
