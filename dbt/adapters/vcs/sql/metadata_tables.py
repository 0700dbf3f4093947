"""Metadata in SQL: what a repository holds, as the relations `vcs.log`, `vcs.branches`, ...

They are computed from manifests when a statement names one, so they are always current and
need no files. A schema named `vcs` on the branch hides them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merges, tables_of
from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import Input, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.origins.lineage import appearances
from dbt.adapters.vcs.core.origins.staleness import stale_tables
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.sql.syntax.names import Reference
from dbt.adapters.vcs.table.types import arrow_type
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import run_of, runs
from dbt.adapters.vcs.workspace.statement_scope import Scope
from dbt.adapters.vcs.workspace.table_version import Version

SCHEMA: Final = "vcs"
"""The schema of these relations."""

Row = tuple[Any, ...]


class MetadataTable(NamedTuple):
    """One of the relations.

    Attributes:
        columns: Names and types of its columns, as in `create table`.
        rows: Returns the rows as a reader of a branch sees them.
    """

    columns: str
    rows: Callable[[Overlay], Iterator[Row]]


def is_meant(scope: Scope, read: Reference) -> bool:
    """Return whether a name in a statement is one of these relations."""
    if (read.name.schema or "").lower() != SCHEMA or scope.overlay.has_schema(SCHEMA):
        return False
    # A source outside of the repository may have such a name, too.
    return scope.name(read.name) not in scope.externals


def mount(scope: Scope, read: Reference) -> str:
    """Make a relation readable in its current state, and return its quoted name.

    Raises:
        NotFoundError: There is no such relation; the message lists those that exist.
        InputError: A version of it is asked for.
    """
    name = read.name.identifier.lower()
    if read.at is not None:
        raise InputError(
            f"{SCHEMA}.{name} has no versions: it shows the repository as it is now. Leave "
            f"`{read.at.value}` out, or connect to that revision."
        )
    # Computed now: nothing has to be kept up to date, and no file is written.
    return scope.session.mount_arrow(f"__vcs_{name}", table_of(scope.overlay, name))


def table_of(overlay: Overlay, name: str) -> pa.Table:
    """Return one of the relations, `log` for instance, as a reader of an overlay sees it.

    Raises:
        NotFoundError: There is no such relation.
    """
    found = RELATIONS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, RELATIONS, n=1)
        hint = f"Did you mean {SCHEMA}.{near[0]}? " if near else ""
        known = ", ".join(f"{SCHEMA}.{known}" for known in RELATIONS)
        raise NotFoundError(f"There is no {SCHEMA}.{name}. {hint}There is: {known}.")
    names, types = zip(*(column.split() for column in found.columns.split(", ")), strict=True)
    rows = list(found.rows(overlay))
    columns = [
        # A relation without rows has no values to tell types from.
        pa.array([row[index] for row in rows], arrow_type(type))
        for index, type in enumerate(types)
    ]
    return pa.table(columns, names=names)


def _log(overlay: Overlay) -> Iterator[Row]:
    for id, commit in overlay.repository.log(overlay.base):
        run = commit.run
        yield (
            id,
            list(commit.parents),
            commit.author,
            commit.committed_at,
            commit.message,
            run.invocation if run else None,
            run.command if run else None,
            run.target if run else None,
            run.git_sha if run else None,
            list(commit.metadata.items()),
        )


def _tags(overlay: Overlay) -> Iterator[Row]:
    for tag in overlay.repository.tags():
        move = tag.ref.move
        yield tag.name, tag.commit, move.by, move.at, move.note


def _snapshots(overlay: Overlay) -> Iterator[Row]:
    repository = overlay.repository
    names: dict[tuple[RelationName, SnapshotId], list[str]] = {}
    commits: dict[tuple[RelationName, SnapshotId], CommitId] = {}
    for named in repository.snapshots.all():
        key = (named.relation, named.snapshot)
        names.setdefault(key, []).append(named.name)
        commits[key] = named.commit
    for item in appearances(repository, overlay.base):
        key = (item.relation, item.snapshot)
        commits.pop(key, None)
        yield _snapshot_row(repository, *key, item.commit, names.get(key, []))
    # What is left has a name, and is in no commit of this branch's history.
    for key, commit in commits.items():
        yield _snapshot_row(repository, *key, commit, names[key])


def _snapshot_row(
    repository: Repository,
    relation: RelationName,
    id: SnapshotId,
    commit: CommitId,
    names: list[str],
) -> Row:
    snapshot = repository.objects.snapshot(id)
    return (
        str(relation),
        id,
        names,
        commit,
        snapshot.created_at,
        snapshot.operation,
        snapshot.rows,
        snapshot.bytes,
        snapshot.block_count,
        list(snapshot.parents),
        snapshot.table,
    )


def _blocks(overlay: Overlay) -> Iterator[Row]:
    for name, snapshot in _tables(overlay):
        version = Version.of(overlay.repository, snapshot)
        for ref, segment in zip(snapshot.segments, version.segments, strict=True):
            for block in segment.blocks:
                partition = list(block.partition.items())
                gone = version.deleted.get(block.path, 0)
                yield str(name), block.path, block.rows, gone, block.bytes, partition, ref.id


def _tables(overlay: Overlay) -> Iterator[tuple[RelationName, Snapshot]]:
    for schema in overlay.schema_names():
        for identifier, entry in overlay.entries(schema).items():
            if isinstance(entry, TableEntry):
                yield RelationName(schema, identifier), overlay.snapshot(entry.snapshot)


def _lineage(overlay: Overlay) -> Iterator[Row]:
    repository = overlay.repository
    for item in appearances(repository, overlay.base):
        origin = repository.objects.snapshot(item.snapshot).origin
        run = repository.objects.commit(item.commit).run
        # A version that read nothing is shown as well.
        inputs: tuple[Input | None, ...] = origin.inputs or (None,)
        for read in inputs:
            yield (
                str(item.relation),
                item.snapshot,
                item.commit,
                origin.node,
                origin.invocation,
                origin.sql_sha256,
                run.git_sha if run else None,
                read.relation if read else None,
                read.snapshot if read else None,
                read.view if read else None,
                read.external if read else None,
                read.function if read else None,
            )


def _stale(overlay: Overlay) -> Iterator[Row]:
    repository = overlay.repository
    damaged: list[str] = []
    found = stale_tables(
        repository, repository.tree(overlay.base), lambda name, _: damaged.append(str(name))
    )
    for item in found:
        node = repository.objects.snapshot(item.snapshot).origin.node
        for moved in item.moved:
            yield str(item.relation), node, str(moved.relation), moved.read, moved.shown, False
        for relation in item.through:
            yield str(item.relation), node, str(relation), None, None, True
    # A table whose version can't be read is one row, and the others are shown.
    for name in damaged:
        yield name, None, None, None, None, None


def _runs(overlay: Overlay) -> Iterator[Row]:
    repository = overlay.repository
    now = repository.clock()
    for run in runs(repository):
        # A run that was killed couldn't record how it ended.
        status = "abandoned" if run.is_abandoned(now) else str(run.status)
        yield (
            run.invocation,
            status,
            run.target,
            run.command,
            run.started_at,
            run.name,
            run.head,
            run.fork,
            run.tested,
            run.note,
        )


def _conflicts(overlay: Overlay) -> Iterator[Row]:
    repository = overlay.repository
    for merge in open_merges(repository):
        # Decision 13: conflicts are tables on the merge's own branch; those of whole relations are
        # in its record.
        begun = (merge.target, merge.source, merge.theirs, merge.branch)
        for name, table in tables_of(repository, merge).items():
            yield (*begun, str(name), "rows", None, len(table.rows), table.open)
        for name, message in merge.whole.items():
            is_open = name not in merge.choices
            # A conflict about a schema as a whole has no identifier.
            shown = str(name) if name.identifier else f"schema {name.schema}"
            yield (*begun, shown, "relation", message, 1, int(is_open))


def _branch_rows(overlay: Overlay) -> Iterator[Row]:
    """Yield the rows of `vcs.branches`; a damaged branch is one, with what is wrong with it."""
    repository = overlay.repository
    damages: list[DamagedError] = []
    branches = repository.branches(damages.append)
    if damages:
        yield from _damaged_branches(repository, {branch.name for branch in branches})
    for branch in branches:
        run = run_of(branch)
        try:
            commit = repository.objects.commit(branch.head)
        except DamagedError as error:
            yield _damaged_branch(repository, branch.name, branch.head, error)
            continue
        yield (
            branch.name,
            branch.head,
            commit.author,
            commit.committed_at,
            commit.message,
            branch.name == repository.default_branch,
            run is not None,
            branch.ref.move.by,
            branch.ref.move.at,
            branch.ref.move.action,
        )


def _damaged_branches(repository: Repository, whole: set[str]) -> Iterator[Row]:
    """Yield the branches whose logs are damaged: a row is seen where an error would hide all."""
    for name in repository.refs.names("heads"):
        if name not in whole:
            try:
                # Else it was deleted.
                repository.find_branch(name)
            except DamagedError as error:
                yield _damaged_branch(repository, name, None, error)


def _damaged_branch(
    repository: Repository, name: str, head: CommitId | None, error: DamagedError
) -> Row:
    is_default = name == repository.default_branch
    return (name, head, None, None, str(error), is_default, False, None, None, "damaged")


RELATIONS: Final[Mapping[str, MetadataTable]] = {
    "log": MetadataTable(
        "commit string, parents array<string>, author string, committed_at timestamp, message "
        "string, invocation string, command string, target string, git_sha string, metadata "
        "map<string,string>",
        _log,
    ),
    "branches": MetadataTable(
        "name string, head string, author string, committed_at timestamp, message string, "
        "is_default boolean, is_run boolean, moved_by string, moved_at timestamp, action string",
        _branch_rows,
    ),
    "tags": MetadataTable(
        "name string, commit string, tagged_by string, tagged_at timestamp, note string",
        _tags,
    ),
    "snapshots": MetadataTable(
        "relation string, snapshot string, names array<string>, commit string, created_at "
        "timestamp, operation string, rows bigint, bytes bigint, blocks bigint, parents "
        "array<string>, table_id string",
        _snapshots,
    ),
    "blocks": MetadataTable(
        "relation string, path string, rows bigint, deleted bigint, bytes bigint, partition "
        "map<string,string>, segment string",
        _blocks,
    ),
    "conflicts": MetadataTable(
        "target string, source string, theirs string, branch string, relation string, kind "
        "string, message string, conflicts bigint, unresolved bigint",
        _conflicts,
    ),
    "lineage": MetadataTable(
        "relation string, snapshot string, commit string, node string, invocation string, "
        "sql_sha256 string, git_sha string, input_relation string, input_snapshot string, "
        "input_view string, input_external string, input_function string",
        _lineage,
    ),
    "stale": MetadataTable(
        "relation string, node string, input_relation string, read string, shown string, "
        "input_is_stale boolean",
        _stale,
    ),
    "runs": MetadataTable(
        "invocation string, status string, target string, command string, started_at timestamp, "
        "branch string, head string, fork string, tested boolean, note string",
        _runs,
    ),
}
