"""Adopt: files that another engine wrote become part of a table, where they lie."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Block, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.client_manifests import ClientFiles, ClientPaths, client_files
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.verbs.changing.client_blocks import client_blocks
from dbt.adapters.vcs.verbs.changing.client_deletes import (
    Deletions,
    client_deletions,
    deleted_in,
    only_of,
    same,
    tombstone_of,
    without,
)
from dbt.adapters.vcs.worktree.table_version import Version
from dbt.adapters.vcs.writes.nullability import refuse_null
from dbt.adapters.vcs.writes.versions import changed, put_segments, without_blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedSnapshot:
    """A snapshot that a client wants a table to have.

    Attributes:
        manifest_list: URI of its manifest list.
        base: The version that the client started from; None for a table that is new.
    """

    manifest_list: str
    base: SnapshotId | None


def adopt(scope: Scope, name: RelationName, added: AddedSnapshot) -> None:
    """Give a table the rows of a client's snapshot, in the scope's overlay.

    What changes is found by comparing the files of the snapshot with those of the version that
    the client started from. New files become blocks, without a copy; keys, NOT NULL and checks
    hold as for a statement. Rows that the client deleted by position get a tombstone. New rows
    follow those that others inserted meanwhile, and deletions need their rows to be there still.
    A snapshot that leaves files out needs the table as the client saw it. A snapshot whose files
    were adopted since then, or whose deletions were made, changes nothing, so a commit may be
    sent again after a lost answer.

    Nothing is seen by others until the overlay lands, which may be together with other tables.

    Args:
        scope: The scope of the change; its overlay is of the branch's head.
        name: The table.
        added: The snapshot.

    Raises:
        ConflictError: Others changed what the client replaces or deletes.
        InputError: A file doesn't fit the table, is missing, or isn't where clients are to write;
            or its rows break a constraint. UnsupportedError: It can't be adopted.
    """
    repository = scope.overlay.repository
    entry = scope.overlay.require(name)
    if not isinstance(entry, TableEntry):
        raise InputError(f"{name} is a {entry.noun}, and has no files.")
    now = scope.overlay.snapshot(entry.snapshot)
    base_id = added.base or entry.snapshot
    base = scope.overlay.snapshot(base_id)
    if base.table != now.table:
        raise ConflictError(f"{name} was replaced by another table. Load it again.")
    files = client_files(repository, now.table, added.manifest_list)
    old = Version.of(repository, base)
    before = {block.path for block in old.blocks}
    gone = before.difference(files.paths)
    new = [path for path in files.paths if path not in before]
    if _was_adopted(repository, entry.snapshot, base_id, set(new)):
        return
    if gone:
        _check_same(scope, name, base_id)
    deletions = _deletions(repository, old, files)
    blocks = client_blocks(repository, now, new)
    if not new and not gone and _were_deleted(repository, entry.snapshot, base_id, deletions):
        return
    _check_there(repository, name, Version.of(repository, now), deletions, set(new))
    refuse_null(repository.blobs, blocks, now.schema)
    if blocks or gone or deletions:
        version = _with_changes(repository, now, blocks, gone, deletions)
        operation = _operation(bool(gone), bool(new), deletions)
        changed(scope, name, now, version, operation=operation)


def _with_changes(
    repository: Repository,
    now: Snapshot,
    blocks: Sequence[Block],
    gone: Collection[str],
    deletions: Deletions,
) -> Snapshot:
    """Return a version with new blocks and deletions, and without the blocks at some paths."""
    kept = without_blocks(repository, now.segments, gone) if gone else now.segments
    every = (*Version.of(repository, now).blocks, *blocks)
    stones = [tombstone_of(repository, now, every, deletions)] if deletions else []
    segments = (*kept, *put_segments(repository, blocks, stones))
    return msgspec.structs.replace(now, segments=segments)


def _operation(replaces: bool, adds: bool, deletions: Deletions) -> str:
    if replaces:
        return "overwrite"
    if deletions:
        return "update" if adds else "delete"
    return "append"


def _deletions(repository: Repository, base: Version, files: ClientFiles) -> Deletions:
    """Return the rows that a client's snapshot deletes, and the version it began with didn't.

    Raises:
        InputError: It has rows again that were deleted.
    """
    paths = ClientPaths(repository)
    found = only_of(client_deletions(repository, paths, files.deletes), set(files.paths))
    if not found and not files.undeleted:
        return {}
    staying = {block.path for block in base.blocks}.intersection(files.paths)
    old = deleted_in(repository, base, staying)
    if files.undeleted:
        kept = client_deletions(repository, paths, files.known)
        if without(without(old, found), kept):
            raise InputError(
                "The snapshot brings deleted rows back. Nothing was changed; go back to a version "
                "that has them with dbt-vcs restore."
            )
    return without(found, old)


def _check_there(
    repository: Repository, name: RelationName, now: Version, deletions: Deletions, new: set[str]
) -> None:
    """Check that rows to delete are in the branch's version still.

    Raises:
        ConflictError: One of them isn't.
    """
    old = {path: rows for path, rows in deletions.items() if path not in new}
    there = {block.path for block in now.blocks}
    gone = old.keys() - there
    if gone or without(old, without(old, deleted_in(repository, now, old))):
        raise ConflictError(
            f"Others changed rows of {name} since the client loaded it that the client deletes. "
            "Nothing was changed; load the table again, and repeat the change."
        )


def _were_deleted(
    repository: Repository, now: SnapshotId, base: SnapshotId, deletions: Deletions
) -> bool:
    """Return whether a version after the client's deleted just these rows, and did nothing else.

    Then it is the client's, whose answer was lost, or somebody did the same.
    """
    for version in _since(repository, now, base) if deletions else ():
        if not version.parents:
            continue
        after = Version.of(repository, version)
        before = Version.of(repository, repository.objects.snapshot(version.parents[0]))
        if {block.path for block in after.blocks} == {block.path for block in before.blocks}:
            blocks = {block.path for block in after.blocks}
            made = without(
                deleted_in(repository, after, blocks), deleted_in(repository, before, blocks)
            )
            if same(made, deletions):
                return True
    return False


def _check_same(scope: Scope, name: RelationName, base: SnapshotId) -> None:
    """Check that the branch shows a version; the change itself may have altered it."""
    entry = scope.overlay.before(name)
    if not isinstance(entry, TableEntry) or entry.snapshot != base:
        raise ConflictError(
            f"Others changed {name} since the client loaded it, and the client's change replaces "
            "rows. Nothing was changed; load the table again, and repeat the change."
        )


def _was_adopted(repository: Repository, now: SnapshotId, base: SnapshotId, new: set[str]) -> bool:
    """Return whether a version after the client's has all the new files.

    Raises:
        InputError: One has some of them.
    """
    if not new:
        return False
    for version in _since(repository, now, base):
        known = new & {block.path for block in Version.of(repository, version).blocks}
        if known == new:
            return True
        if known:
            raise InputError(
                f"{min(known)} is in the table already, and other files of the snapshot are not. "
                "Nothing was changed; load the table again, and write new files."
            )
    return False


def _since(repository: Repository, now: SnapshotId, base: SnapshotId) -> Iterator[Snapshot]:
    """Return the versions from one back to another, without that one."""
    seen, left = {base}, [now]
    while left:
        id = left.pop()
        if id not in seen:
            seen.add(id)
            version = repository.objects.snapshot(id)
            left += version.parents
            yield version
