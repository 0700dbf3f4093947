"""Versions: new snapshots of a table from the previous one and what was written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.changes.writes.checks import check_keys, check_rows, refuse_null
from dbt.adapters.vcs.core.codec import is_same_table
from dbt.adapters.vcs.core.errors import DamagedError, UnsupportedError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Block, Entry, Origin, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.origins.staleness import RESTORE, inputs_of, name_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.tree_changes import Change
from dbt.adapters.vcs.table.files.footers import Footer, read_blocks
from dbt.adapters.vcs.table.files.parquet import can_write, write_rows
from dbt.adapters.vcs.table.manifests import folder_of, joined_segments
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.statement_scope import Scope


def previous(overlay: Overlay, name: RelationName) -> tuple[SnapshotId, Snapshot] | None:
    """Return the version that a new table of this name follows, or None.

    That is the table with the name, or the one dropped under this name since the overlay began:
    within one commit a name keeps its history, as a path does in git. So dbt's drop and re-create
    changes the table instead of making another one.
    """
    for entry in (overlay.entry(name), overlay.before(name)):
        if isinstance(entry, TableEntry):
            return entry.snapshot, overlay.snapshot(entry.snapshot)
    return None


def changed(
    scope: Scope,
    name: RelationName,
    snapshot: Snapshot,
    *,
    operation: str,
    keeps_keys: bool = False,
    **parts: Any,
) -> None:
    """Store a new version of a table.

    New rows are checked against the primary key (`keys.check_keys`) and the check constraints
    (`checks.check_rows`).

    Args:
        snapshot: The present version.
        operation: As in `Snapshot.operation`.
        keeps_keys: True to skip the key check, since new rows have the keys of the rows they
            replace, as after an UPDATE of other columns, or keys that no row has.
        parts: What changes, by the names of the snapshot's fields. Many segments are joined.
            Parents, time and origin are set here.

    Raises:
        NotFoundError: The name is not a table.
        InputError: The rows violate the primary key or a check constraint.
    """
    present = scope.overlay.require_version(name)
    repository = scope.overlay.repository
    # Equal segments mean equal rows to all who compare versions, so a change of the definition
    # alone must not join them.
    segments = parts.get("segments", snapshot.segments)
    if segments != snapshot.segments:
        parts["segments"] = joined_segments(repository.objects, segments)
    version = msgspec.structs.replace(
        snapshot,
        **parts,
        parents=(present,),
        operation=operation,
        created_at=scope.now,
        origin=_continued(snapshot.origin, scope.made_by(), operation),
    )
    known = snapshot.is_key_enforced and version.primary_key == snapshot.primary_key
    if not (known and keeps_keys):
        # Old rows were never checked against a key that is new.
        before = snapshot if known else None
        key = check_keys(repository, name, version, before, scope.engine, scope.warnings)
        version = msgspec.structs.replace(version, primary_key=key)
    check_rows(repository, name, version, snapshot, scope.engine)
    scope.overlay.put_table(name, version)


def version_again(
    repository: Repository, name: RelationName, present: SnapshotId, past: SnapshotId
) -> SnapshotId:
    """Return a version of a table with the files of a past one, made from the present one.

    It is the present one if that has the same rows and definition, and the past one if the present
    one is damaged. The past version itself would
    hide from merges that the table had another one in between, so that they would bring back what
    a revert removed. It says of its rows what the past version says: what they follow from, and
    which node computed them.
    """
    objects = repository.objects
    old = objects.snapshot(past)
    try:
        if present == past or is_same_table(objects.snapshot(present), old):
            return present
    except DamagedError:
        # A version can't come after one that nobody can read.
        return past
    version = msgspec.structs.replace(
        old,
        parents=(present,),
        operation=RESTORE,
        created_at=repository.clock(),
        origin=_again(repository, name, past),
    )
    return SnapshotId(objects.put(version))


def entries_again(
    repository: Repository, changes: Sequence[Change]
) -> dict[RelationName, Entry | AbsentType]:
    """Return what to show where past entries are shown: tables as versions made from present ones.

    Raises:
        DamagedError: A version is missing or damaged.
    """
    found = {change.name: change.new for change in changes}
    for name, old, new in changes:
        if isinstance(old, TableEntry) and isinstance(new, TableEntry):
            # Decision 38: the past version itself would hide from merges that there was another
            # one in between.
            version = version_again(repository, name, old.snapshot, new.snapshot)
            found[name] = TableEntry(snapshot=version)
    return found


def _again(repository: Repository, name: RelationName, past: SnapshotId) -> Origin:
    """Return what a restored version says of its rows, without versions before the past one."""
    # A version that reads nothing leaves the inputs of the one before, and the source of a clone
    # counts as none.
    old = repository.objects.snapshot(past)
    inputs = inputs_of(repository, name, past)
    rest = [item for item in old.origin.inputs if item not in inputs and name_of(item) != name]
    if old.operation == "clone":
        rest = [msgspec.structs.replace(item, pinned=True) for item in rest]
    return msgspec.structs.replace(old.origin, inputs=(*inputs, *rest))


def _continued(old: Origin, new: Origin, operation: str) -> Origin:
    """Return the origin of a change to a table made by the same node of the same run."""
    # It has the inputs of both, so a comment that dbt adds to a table it just built doesn't hide
    # what the table was built from.
    if new.node is None or (new.node, new.invocation) != (old.node, old.invocation):
        return new
    inputs = {f"{item.relation}@{item.version}": item for item in (*old.inputs, *new.inputs)}
    return msgspec.structs.replace(
        new,
        inputs=tuple(inputs[key] for key in sorted(inputs)),
        sql_sha256=old.sql_sha256 if operation == "alter" else new.sql_sha256,
    )


def arrow_blocks(
    repository: Repository, name: RelationName, snapshot: Snapshot, parts: Iterable[pa.Table]
) -> tuple[Block, ...]:
    """Write rows as blocks of a table, one part after another; nothing shows them yet.

    Args:
        name: What errors call the table.
        parts: Its columns, named by field id, in the types of `arrow_schema`.

    Raises:
        InputError: A column that can't be NULL gets a NULL, or a partition value can't be a
            folder's name.
        UnsupportedError: Only Spark can write the table's types or partitions.
    """
    check_writable(name, snapshot)
    files: dict[str, Footer] = {}
    by = [(id, "ascending") for id in snapshot.cluster_by]
    for part in parts:
        rows = part.sort_by(by) if by else part
        folder = folder_of(snapshot.table)
        files |= write_rows(
            repository.blobs,
            rows,
            folder=folder,
            partition_by=snapshot.partition_by,
            names=snapshot.schema.names_by_id,
        )
    schema = snapshot.schema
    blocks = read_blocks(repository.blobs, list(files), schema, snapshot.partition_by, files)
    refuse_null(repository.blobs, blocks, schema)
    return blocks


def check_writable(name: RelationName, snapshot: Snapshot) -> None:
    """Check that a table's rows can be written without Spark.

    Raises:
        UnsupportedError: They can't.
    """
    if not can_write(snapshot.schema, snapshot.partition_by):
        raise UnsupportedError(
            f"{name} has a column of a type (VARIANT, an interval), or is partitioned by one, "
            "that only Spark writes. Nothing was changed. Write with SQL."
        )
