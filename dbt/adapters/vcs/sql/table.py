"""Tables as a whole: clones, drops, new names, past versions, fewer files; their partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from dbt.adapters.vcs.changes.writes.compaction import put_optimized, rewrite_table
from dbt.adapters.vcs.changes.writes.past_versions import (
    Past,
    check_dropped,
    last_of,
    put_back,
    splits,
)
from dbt.adapters.vcs.core.errors import InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import (
    Absent,
    FunctionEntry,
    Input,
    Origin,
    RelationName,
    Snapshot,
    TableEntry,
    ViewEntry,
)
from dbt.adapters.vcs.core.model.snapshot import fitted
from dbt.adapters.vcs.core.retention import hold
from dbt.adapters.vcs.sql.syntax.clauses import (
    PartitionSpec,
    is_replacing,
    read_if_exists,
    read_if_not_exists,
    read_names,
)
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.names import At, Name, TableAt, Target, is_name
from dbt.adapters.vcs.sql.syntax.parser import ChangingRelation, ChangingStatement, reads
from dbt.adapters.vcs.table.quoting import sql_type
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.points import pinned
from dbt.adapters.vcs.workspace.statement_scope import Listing, Outcome, Scope, handles

RelationKind = Literal["table", "view"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation(ChangingStatement):
    """A statement that creates a table, a view or a function."""

    target: Target
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Clone(Creation):
    """`create table a clone b`, or `create table a from snapshot b{...}`.

    Attributes:
        at: The version of the source; None for the branch's own.
    """

    source: Target
    at: At | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRelation(ChangingRelation):
    """`drop table t` or `drop view v`; an unqualified view may be temporary."""

    kind: RelationKind
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameRelation(ChangingRelation):
    """`alter table|view a rename to b`; `new` without a schema stays in the schema of `target`."""

    kind: RelationKind
    new: Name


@handles(Clone)
def clone(scope: Scope, statement: Clone) -> Outcome:
    """Create a table from a current or past version of another; no row is copied.

    The parent of the new table's first snapshot is the cloned snapshot, so the two keep a
    merge base (MatrixOne paper, section 4: a clone copies the list of objects, not the
    objects).

    Raises:
        InputError: The name is taken, or the source is a view.
        NotFoundError: There is no such source or version.
    """
    name = scope.name(statement.target.name)
    if not may_create(scope, statement, "table"):
        return Outcome()
    source = scope.name(statement.source.name)
    overlay = scope.overlay
    version, _ = named_version(scope, source, statement.at)
    scope.note(Input(relation=str(source), snapshot=version))
    put_clone(overlay, name, version, origin=scope.made_by())
    return Outcome()


def named_version(
    scope: Scope, name: RelationName, at: At | None
) -> tuple[SnapshotId, CommitId | None]:
    """Return a version of a table that is to be named, and a commit that shows it.

    Without `at` it is the version that the branch shows. That may be in no commit yet: the commit
    is then the last one.

    Raises:
        NotFoundError: There is no such table or version.
        InputError: The name is a view's or a function's.
    """
    overlay = scope.overlay
    if at is None:
        return overlay.require_version(name), overlay.base
    found = pinned(overlay, scope.zone, name, at)
    # What no branch shows may be collected at any time, so it is held before it is named.
    hold(
        overlay.repository,
        found.commit,
        [found.snapshot],
        author=overlay.author,
        known=overlay.base,
    )
    return found.snapshot, found.commit


def put_clone(
    overlay: Overlay, name: RelationName, version: SnapshotId, *, origin: Origin
) -> None:
    """Store a new table that starts as a version of another table."""
    new = msgspec.structs.replace(
        overlay.snapshot(version),
        created_at=overlay.repository.clock(),
        operation="clone",
        parents=(version,),
        origin=origin,
    )
    overlay.put_table(name, new)


def read_creation(cursor: TokenCursor) -> dict[str, Any]:
    """Read `[if not exists] a` after `create [or replace] table`; return the fields of `Creation`.

    Raises:
        InputError: Both `or replace` and `if not exists` are given.
        ForeignError: It is in another catalog.
    """
    replace = is_replacing(cursor)
    if_not_exists = read_if_not_exists(cursor, replace=replace)
    return {"replace": replace, "if_not_exists": if_not_exists, "target": cursor.target()}


def may_create(scope: Scope, statement: Creation, kind: str) -> bool:
    """Return whether a table, view or function is to be created; false if it exists, and may.

    The schema of names without one is created with the first relation in it.

    Raises:
        NotFoundError: There is no such schema.
        InputError: The name is taken.
    """
    name = scope.name(statement.target.name)
    if name.schema == scope.schema and not scope.overlay.has_schema(name.schema):
        # In Spark the current schema always exists. dbt creates only those of the selected nodes,
        # and hooks of packages write to tables without a schema.
        scope.overlay.put_schema(name.schema, comment=None, properties={})
    scope.overlay.require_schema(name.schema)
    existing = scope.overlay.entry(name)
    if existing is None:
        return True
    noun = existing.noun
    # As in Spark, tables and views share their names, and functions have their own: one of these
    # is not what was asked for.
    if noun != kind and not (statement.if_not_exists and "function" not in (noun, kind)):
        raise InputError(f"{name} is a {noun}. Drop it first: drop {noun} {name}.")
    if statement.if_not_exists:
        return False
    if not statement.replace:
        raise InputError(f"{name} already exists. Drop it first, or use create or replace {kind}.")
    return True


@contextmanager
def put_back_after_errors(scope: Scope, name: RelationName) -> Iterator[None]:
    """Give a name its old entry back if the block raises: a failed statement changes nothing."""
    before = scope.overlay.entry(name)
    try:
        yield
    except BaseException:
        scope.overlay.put(name, Absent if before is None else before)
        raise


@reads("drop table", "drop view")
def _read_drop(cursor: TokenCursor) -> DropRelation:
    kind: RelationKind = "table" if cursor.last.word == "table" else "view"
    if_exists = read_if_exists(cursor)
    target = cursor.target()
    if kind == "table":
        # `purge` is about Spark's trash. Here files belong to versions, so it changes nothing.
        cursor.take("purge")
    cursor.end()
    return DropRelation(kind=kind, target=target, if_exists=if_exists)


@handles(DropRelation)
def drop_relation(scope: Scope, statement: DropRelation) -> Outcome:
    """Drop a table or a view; its versions stay in the history.

    Raises:
        NotFoundError: There is no such relation.
        InputError: It is of another kind.
    """
    return drop(scope, scope.name(statement.target.name), statement.kind, statement.if_exists)


def drop(scope: Scope, name: RelationName, kind: str, if_exists: bool) -> Outcome:
    """Remove a relation of a kind from the branch, and from the session's catalog."""
    entry = scope.overlay.entry(name)
    if entry is None:
        if if_exists:
            return Outcome()
        raise NotFoundError(f"There is no {kind} {name} to drop.")
    if entry.noun != kind:
        raise InputError(f"{name} is a {entry.noun}; write: drop {entry.noun} {name}.")
    scope.overlay.put(name, Absent)
    _hide(scope, name)
    return Outcome()


@handles(RenameRelation)
def rename_relation(scope: Scope, statement: RenameRelation) -> Outcome:
    """Rename a table or a view; it keeps its history.

    Raises:
        NotFoundError: There is no such relation.
        InputError: The new name is taken.
    """
    name = scope.name(statement.target.name)
    new = statement.new.relation(name.schema)
    entry = scope.overlay.require(name)
    if scope.overlay.entry(new) is not None:
        raise InputError(f"{new} already exists; {name} can't be renamed to it.")
    scope.overlay.put(new, entry)
    scope.overlay.put(name, Absent)
    _hide(scope, name)
    return Outcome()


def _hide(scope: Scope, name: RelationName) -> None:
    # Else the session's catalog would still show the relation under its old name.
    if scope.mounts.is_shown(name):
        scope.mounts.hide(name, scope.session)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTable(ChangingStatement):
    """`restore table t from snapshot s{...}`, or `restore table t to version as of ...`.

    Attributes:
        source: The version to restore, which is always given. With `to`, it is a version of
            the table itself.
    """

    target: Target
    source: TableAt


@dataclass(frozen=True, slots=True, kw_only=True)
class UndropTable(ChangingStatement):
    """`undrop table t`."""

    target: Target


@reads("restore")
def _read_restore(cursor: TokenCursor) -> RestoreTable:
    cursor.expect("table")
    target = cursor.target()
    if cursor.take("to"):
        if cursor.token.word not in ("version", "timestamp"):
            cursor.fail("`version as of` or `timestamp as of`")
        source = TableAt(target.name, cursor.version())
    else:
        if not cursor.take("from", "snapshot"):
            cursor.fail("`from snapshot`, `to version as of` or `to timestamp as of`")
        named, at = cursor.versioned_target()
        source = TableAt(named.name, at)
        if source.at is None:
            cursor.fail("{snapshot = '...'} or {timestamp = '...'} after the table")
    cursor.end()
    return RestoreTable(target=target, source=source)


@handles(RestoreTable)
def restore_table(scope: Scope, statement: RestoreTable) -> Outcome:
    """Restore a table to a past version of itself or of another one: `restore table`.

    Returns `relation`, `snapshot`, `commit`, and `stays`: the relations that were changed
    together with it and are not restored.

    Raises:
        NotFoundError: There is no such version.
        InputError: The name is a view.
    """
    name, source = scope.name(statement.target.name), scope.name(statement.source.name)
    standing = scope.overlay.entry(name)
    if isinstance(standing, ViewEntry | FunctionEntry):
        raise InputError(f"{name} is a {standing.noun}; restore table needs a table.")
    assert statement.source.at is not None
    found = pinned(scope.overlay, scope.zone, source, statement.source.at)
    past = Past(TableEntry(snapshot=found.snapshot), found.commit)
    put_back(scope.overlay, name, past, author=scope.overlay.author)
    is_changed = scope.overlay.entry(name) != standing
    # A commit of several tables is undone in part: what belongs together may no longer fit.
    apart = splits(scope.overlay.repository, scope.overlay.base, name, past) if is_changed else ()
    # Several of these commits may have changed the same relation.
    others = sorted({other for split in apart for other in split.others})
    return _answer(name, past, ", ".join(others))


@reads("undrop")
def _read_undrop(cursor: TokenCursor) -> UndropTable:
    cursor.expect("table")
    target = cursor.target()
    cursor.end()
    return UndropTable(target=target)


@handles(UndropTable)
def undrop_table(scope: Scope, statement: UndropTable) -> Outcome:
    """Restore the last version of a dropped table: `undrop table`.

    Raises:
        InputError: The relation exists.
        NotFoundError: It never existed in the branch's history.
    """
    name = scope.name(statement.target.name)
    overlay = scope.overlay
    # What this run made or dropped is in no commit yet.
    check_dropped(name, overlay.entry(name))
    before = overlay.before(name)
    if before is not None:
        past = Past(before, overlay.base)
    else:
        past = last_of(overlay.repository, overlay.base, name, overlay.branch)
    put_back(overlay, name, past, author=overlay.author)
    return _answer(name, past, "")


def _answer(name: RelationName, past: Past, stays: str) -> Outcome:
    version = past.entry.version
    rows = Listing.of(
        ["relation", "snapshot", "commit", "stays"], [[str(name), version, past.commit, stays]]
    )
    return Outcome(rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimize(ChangingStatement):
    """`optimize t [cluster by (...)]`: the same rows in fewer files.

    Attributes:
        cluster_by: Columns to sort rows by; empty for the table's own.
    """

    writes_rows = True

    target: Target
    cluster_by: tuple[str, ...] = ()


@reads("optimize")
def read_optimize(cursor: TokenCursor) -> Optimize:
    """Read what follows `optimize`.

    Raises:
        UnsupportedError: It has `where` or `zorder by`.
    """
    # `optimize table` alone is about a table of that name.
    if cursor.at("table") and is_name(cursor.ahead()):
        cursor.index += 1
    target = cursor.target()
    if cursor.at("where"):
        raise UnsupportedError(
            "`optimize ... where` is not supported on versioned tables: blocks of a good size "
            "are not rewritten anyway. Leave the condition out."
        )
    if cursor.at("zorder"):
        raise UnsupportedError(
            f"`optimize {target.name} ... zorder by` is not supported on versioned tables. "
            "Sort the rows by columns instead: optimize ... cluster by (a, b)."
        )
    cluster_by = read_names(cursor) if cursor.take("cluster", "by") else ()
    cursor.end()
    return Optimize(target=target, cluster_by=cluster_by)


@handles(Optimize)
def optimize(scope: Scope, statement: Optimize) -> Outcome:
    """Compact a table; returns one row: `relation, blocks_before, blocks_after, dropped_rows`.

    Raises:
        NotFoundError: There is no such table.
        InputError: A column to cluster by doesn't exist, or its type has no ranges.
    """
    name = scope.name(statement.target.name)
    before = scope.overlay.require_table(name)
    rewrites = rewrite_table(
        scope.overlay.repository, before, scope.engine, cluster_by=statement.cluster_by
    )
    # Nothing is stored where no block is worth a rewrite.
    after = put_optimized(scope.overlay, name, rewrites, scope.made_by()) or before
    row = [str(name), *(str(number) for number in (before.block_count, after.block_count))]
    gone = sum(tombstone.rows for item in rewrites for tombstone in item.tombstones)
    names = ["relation", "blocks_before", "blocks_after", "dropped_rows"]
    return Outcome(rows=Listing.of(names, [[*row, str(gone)]]))


def partition_values(
    scope: Scope, snapshot: Snapshot, partition: Sequence[PartitionSpec]
) -> dict[str, str | None]:
    """Return the values of a partition clause by field id, as blocks and folder names have them.

    Columns without a value are left out.

    Raises:
        InputError: It names a column that the table is not partitioned by.
    """
    values: dict[str, str | None] = {}
    for spec in partition:
        field = snapshot.schema.find(spec.name)
        if field is None or field.id not in snapshot.partition_by:
            raise InputError(
                f"{spec.name} is not a partition column; the partition columns are: "
                f"{partition_columns(snapshot)}."
            )
        if spec.value_sql is not None:
            values[field.id] = _folder_value(scope, spec.value_sql, field.type)
    return values


def partition_columns(snapshot: Snapshot) -> str:
    """Return the names of a table's partition columns, as errors list them."""
    fields = map(snapshot.schema.by_id, snapshot.partition_by)
    return ", ".join(field.name for field in fields if field is not None) or "none"


def _folder_value(scope: Scope, value_sql: str, type_: str) -> str | None:
    """Return a partition value as a folder name spells it; times are in UTC."""
    value = f"cast({value_sql} as {sql_type(type_)})"
    # A folder's name must not depend on the time zone of the session that wrote it.
    if type_ == "timestamp":
        value = f"to_utc_timestamp({value}, current_timezone())"
    found = scope.session.query(f"select cast({value} as string)").fetch()[0][0]
    # Blocks have values as rows store them, `char` with its padding.
    return None if found is None else fitted(str(found), type_)
