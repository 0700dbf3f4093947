"""Adopt the snapshots that a client of Iceberg wrote as versions of a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote

import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.difference import TableDiff, diff
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Clash
from dbt.adapters.vcs.changes.merges.conflicts.policy import Policy
from dbt.adapters.vcs.changes.merges.table_merge import TableMerge, merge_tables
from dbt.adapters.vcs.changes.writes.checks import refuse_null
from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.errors import ConflictError, InputError, UnsupportedError
from dbt.adapters.vcs.core.graph import only_reached
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import (
    Block,
    Origin,
    RelationName,
    SegmentRef,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.core.plan.delta import delta, signed_pieces
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.client_files import (
    Deletions,
    client_blocks,
    client_deletions,
    client_path,
    deleted_in,
    equality_deletions,
    joined,
    tombstone_of,
    without,
)
from dbt.adapters.vcs.iceberg.client_manifests import ClientFiles, EqualityFile, client_files
from dbt.adapters.vcs.table.equality import group_ids
from dbt.adapters.vcs.table.limits import MERGE_LIMITS
from dbt.adapters.vcs.table.manifests import put_segments, without_blocks
from dbt.adapters.vcs.table.row_numbers import are_among
from dbt.adapters.vcs.workspace.statement_scope import Scope
from dbt.adapters.vcs.workspace.table_version import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedSnapshot:
    """A snapshot that a client wants a table to have.

    Attributes:
        manifest_list: URI of its manifest list.
        branch: The branch that the client writes to.
        folder: The folder where the branch's clients put files of the table.
        base: The version that the client started from; None for a table that is new.
        replaces: True if the client says that its rows take the place of others.
        numbers: What the client's files call columns that are new with this commit, by field id;
            the catalog gives them numbers of its own.
    """

    manifest_list: str
    branch: str
    folder: str
    base: SnapshotId | None
    replaces: bool = False
    numbers: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What a client's snapshot has that the version it began with hasn't, and the other way.

    Attributes:
        new: Paths of files that are new.
        gone: Paths of blocks that are left out.
        deletions: Rows that are deleted by position.
        equality: Files of values whose rows are deleted.
        sequences: Sequence numbers of the new files.
        folder: As in `AddedSnapshot`.
        numbers: As in `AddedSnapshot`.
    """

    new: tuple[str, ...]
    gone: frozenset[str]
    deletions: Deletions
    equality: tuple[EqualityFile, ...]
    sequences: Mapping[str, int]
    folder: str
    numbers: Mapping[str, int]

    def __bool__(self) -> bool:
        return bool(self.new or self.gone or self.deletions or self.equality)

    @property
    def is_upsert(self) -> bool:
        """True if it brings rows, and deletes others by their values alone."""
        touched = self.deletions.keys() - set(self.new)
        return bool(self.new and self.equality and not self.gone and not touched)

    @property
    def operation(self) -> str:
        """What the change is called in the table's history."""
        if self.gone:
            return "overwrite"
        if self.deletions or self.equality:
            return "update" if self.new else "delete"
        return "append"


def adopt(scope: Scope, name: RelationName, added: AddedSnapshot) -> None:
    """Give a table the rows of a client's snapshot, in the scope's overlay.

    What changes is found by comparing the files of the snapshot with those of the version that
    the client started from. New files become blocks, without a copy; keys, NOT NULL and checks
    hold as for a statement. Rows that the client deleted by position get a tombstone.

    If the branch has another version by now, new rows follow those that others inserted. So do
    new rows that replace those of the same values. Any other change is made to the version that
    the client started from, and the result is merged with the branch's by row. A snapshot whose
    files were adopted since then, or whose deletions were made, changes nothing, so a commit may
    be sent again after a lost answer.

    Nothing is seen by others until the overlay lands, which may be together with other tables.

    Args:
        scope: The scope of the change; its overlay is of the branch's head.
        name: The table.

    Raises:
        ConflictError: Others changed what the client replaces or deletes.
        InputError: A file doesn't fit the table, is missing, or isn't where clients are to write;
            or its rows break a constraint. UnsupportedError: It can't be adopted.
    """
    overlay = scope.overlay
    repository = overlay.repository
    entry = overlay.require(name)
    if not isinstance(entry, TableEntry):
        raise InputError(f"{name} is a {entry.noun}, and has no files.")
    base_id = added.base or entry.snapshot
    # Somebody replaced the table: the name is the same, the files are not.
    if overlay.snapshot(base_id).table != overlay.snapshot(entry.snapshot).table:
        raise ConflictError(f"{name} was replaced by another table. Load it again.")
    change = _change(repository, name, overlay.snapshot(base_id), added)
    # Answers get lost, and clients send their commit again (decision 23).
    if not change or _was_made(repository, entry.snapshot, base_id, change):
        return
    if added.replaces:
        # Else an append would follow rows that others land before this does, and replaces none.
        overlay.read.add(str(name))
    before = overlay.before(name)
    # What others did to the table, without what this commit did to its columns.
    shown = before.snapshot if added.base and isinstance(before, TableEntry) else base_id
    follows = change.is_upsert or (change.operation == "append" and not added.replaces)
    # Appends, and upserts by value, mean the same on top of what others added.
    if shown == base_id or follows:
        _apply(scope, name, change)
        return
    # An append that says it replaces rows found none to leave out, and might find some now
    # (decision 23).
    if shown != entry.snapshot or change.operation == "append":
        raise ConflictError(
            f"Others changed {name} since the client loaded it, and the client's change replaces "
            "rows. Nothing was changed; load the table again, and repeat the change."
        )
    # Applied where the client stood, since its positions are those of that version's files; then
    # merged with what others did.
    late = replace(scope, overlay=replace(overlay, relations={name: TableEntry(snapshot=base_id)}))
    _apply(late, name, change)
    changed_entry = late.overlay.require(name)
    assert isinstance(changed_entry, TableEntry)
    found = merged(
        repository,
        name,
        base=base_id,
        now=entry.snapshot,
        changed=changed_entry.snapshot,
        origin=scope.made_by(),
    )
    overlay.put(name, TableEntry(snapshot=found))


def _change(
    repository: Repository, name: RelationName, base: Snapshot, added: AddedSnapshot
) -> _Change:
    # Decision 23: with what the client saw. Compared with the head, files that others added since
    # would look as if the client had left them out.
    old = Version.of(repository, base)
    before = {block.path for block in old.blocks}
    files = client_files(
        repository,
        base.table,
        added.manifest_list,
        folder=added.folder,
        # DuckDB puts delete files beside the rows (decision 23).
        beside={path.rpartition("/")[0] for path in before},
    )
    change = _Change(
        new=tuple(path for path in files.paths if path not in before),
        gone=frozenset(before.difference(files.paths)),
        deletions=_deletions(repository, name, old, files, added.branch),
        equality=files.equality,
        sequences=files.paths,
        folder=added.folder,
        numbers=added.numbers,
    )
    if change.equality and not change.new:
        # By these rows it is known whether the change was made before.
        found = _by_values(repository, old, (), change)
        change = replace(change, deletions=joined(change.deletions, found), equality=())
    return change


def _apply(scope: Scope, name: RelationName, change: _Change) -> None:
    """Make a change to the version that the scope's overlay shows."""
    repository, now = scope.overlay.repository, scope.overlay.require_table(name)
    blocks = client_blocks(repository, now, change.new, change.folder, change.numbers)
    # Iceberg is told that columns are optional, so clients don't check this.
    refuse_null(repository.blobs, blocks, now.schema)
    found = _by_values(repository, Version.of(repository, now), blocks, change)
    # A file that was written again has its rows at the same positions, under another path.
    made = {client_path(block.path): block.path for block in blocks}
    positions = {made.get(path, path): rows for path, rows in change.deletions.items()}
    deletions = joined(positions, found)
    if blocks or change.gone or deletions:
        segments = _with_changes(repository, now, blocks, change.gone, deletions)
        changed(scope, name, now, operation=change.operation, segments=segments)


def _by_values(
    repository: Repository, shown: Version, new: Sequence[Block], change: _Change
) -> Deletions:
    """Return the rows of a version and of new blocks that a change deletes by their values."""
    if not change.equality:
        return {}
    kept = [block for block in shown.blocks if block.path not in change.gone]
    sequences = {block.path: change.sequences[client_path(block.path)] for block in new}
    found = equality_deletions(
        repository, shown.snapshot, [*kept, *new], change.equality, sequences
    )
    # A row that has a tombstone gets no second one.
    return without(found, deleted_in(repository, shown, found))


def _with_changes(
    repository: Repository,
    now: Snapshot,
    blocks: Sequence[Block],
    gone: Collection[str],
    deletions: Deletions,
) -> tuple[SegmentRef, ...]:
    """Return the segments with new blocks and deletions, and without the blocks at some paths."""
    kept = without_blocks(repository.objects, now.segments, gone) if gone else now.segments
    every = (*Version.of(repository, now).blocks, *blocks)
    tombstones = [tombstone_of(repository, now, every, deletions)] if deletions else []
    return (*kept, *put_segments(repository.objects, blocks, tombstones))


def _deletions(
    repository: Repository, name: RelationName, base: Version, files: ClientFiles, branch: str
) -> Deletions:
    """Return the rows that a client's snapshot deletes, and the version it began with didn't.

    Raises:
        InputError: It has rows again that were deleted.
    """
    every = client_deletions(repository, files.deletes)
    # Iceberg ignores deletions of files that aren't there.
    found = {path: rows for path, rows in every.items() if path in files.paths}
    if not found and not files.undeleted:
        return {}
    staying = {block.path for block in base.blocks}.intersection(files.paths)
    # A vector repeats the deletions of the one that it replaces (decision 23).
    old = deleted_in(repository, base, staying)
    if files.undeleted:
        kept = client_deletions(repository, files.known)
        if without(without(old, found), kept):
            raise InputError(
                "The snapshot brings deleted rows back. Nothing was changed. To go back to a "
                f"version that has them: dbt-vcs restore {quote(str(name))} --to REVISION "
                f"--branch {quote(branch)}"
            )
    return without(found, old)


def _was_made(repository: Repository, now: SnapshotId, base: SnapshotId, change: _Change) -> bool:
    """Return whether a version after the client's has all its new files, or made its change.

    Then it is the client's, whose answer was lost. A change without new files may be one that
    somebody else made, too, which comes to the same.

    Raises:
        InputError: A version has some of the new files.
    """
    new = set(change.new)
    for version in _versions_since(repository, now, base):
        after = Version.of(repository, version)
        paths = {block.path for block in after.blocks}
        known = new & {client_path(path) for path in paths}
        if new and known == new:
            return True
        if known:
            raise InputError(
                f"{min(known)} is in the table already, and other files of the snapshot are not. "
                "Nothing was changed; load the table again, and write new files."
            )
        # Without new files, only the rows that it deleted tell that a version is this change.
        if not new and version.parents and _is_of(repository, after, paths, change):
            return True
    return False


def _is_of(repository: Repository, after: Version, paths: set[str], change: _Change) -> bool:
    """Return whether a version has left out and deleted just what a change does."""
    before = Version.of(repository, repository.objects.snapshot(after.snapshot.parents[0]))
    if {block.path for block in before.blocks} - change.gone != paths:
        return False
    made = without(deleted_in(repository, after, paths), deleted_in(repository, before, paths))
    return not without(made, change.deletions) and not without(change.deletions, made)


def _versions_since(
    repository: Repository, now: SnapshotId, base: SnapshotId
) -> Iterator[Snapshot]:
    """Return the versions from one back to another, without that one."""
    snapshot = repository.objects.snapshot
    found = only_reached(
        now, [base], lambda id: snapshot(id).parents, lambda id: snapshot(id).created_at
    )
    return map(snapshot, found)


def merged(
    repository: Repository,
    name: RelationName,
    *,
    base: SnapshotId,
    now: SnapshotId,
    changed: SnapshotId,
    origin: Origin,
) -> SnapshotId:
    """Merge a client's version with the branch's, row by row, as a run that is published is.

    A client that replaces rows looked at them first. So a row that both took away is a conflict,
    even where a run's merge takes this for the same change: otherwise two clients that each
    replace a table's rows would leave the new rows of both.

    Args:
        name: The table, for messages.
        base: The version that the client loaded.
        now: The branch's version.
        changed: The client's change applied to `base`.
        origin: Who makes the merged version.

    Returns:
        The merged version; stored, but nothing refers to it yet.

    Raises:
        ConflictError: Both changed the same rows or columns, or they can't be merged here.
    """
    read = repository.objects.snapshot
    old, ours, theirs = read(base), read(now), read(changed)
    try:
        if _shape(old) != _shape(ours):
            raise _refusal(name, "its columns, key or partitions")
        if _removed_by_both(repository, old, ours, theirs):
            raise _refusal(name, "rows that the client deletes or replaces")
        found = merge_tables(
            repository,
            TableMerge(
                name=name,
                ours=now,
                theirs=changed,
                mode=Policy().mode_of(name, theirs),
                based_on=base,
                origin=origin,
            ),
            # No engine: a merge that needs Spark is a conflict, and the client loads the table
            # again.
            None,
        )
    except (UnsupportedError, InputError) as error:
        raise ConflictError(
            f"Others changed {name} since the client loaded it, and the two can't be merged: "
            f"{error} Nothing was changed; load the table again, and repeat the change."
        ) from error
    if isinstance(found, Clash):
        raise _refusal(name, f"the same ({found})")
    return found[0]


def _refusal(name: RelationName, what: str) -> ConflictError:
    return ConflictError(
        f"Since the client loaded {name}, others changed {what}. Nothing was changed; load the "
        "table again, and repeat the change."
    )


def _shape(version: Snapshot) -> tuple[object, ...]:
    return version.table, version.schema, version.primary_key, version.partition_by


def _removed_by_both(
    repository: Repository, base: Snapshot, ours: Snapshot, theirs: Snapshot
) -> bool:
    """Return whether both took away the same row, which is one by its key if there is one."""
    # Manifests count removed rows, so most commits compare none.
    for side in (ours, theirs):
        change = delta(base, side, repository.objects.segments)
        if not change.rows_removed:
            return False
        MERGE_LIMITS.check(item.piece for item in signed_pieces(change))
    one, other = (_removed(diff(repository, base, side), base) for side in (ours, theirs))
    both = pa.concat_tables([one, other])
    codes = group_ids(both.columns, both.num_rows)
    return bool(are_among(codes[: one.num_rows], codes[one.num_rows :]).any())


def _removed(difference: TableDiff, base: Snapshot) -> pa.Table:
    """Return what tells the rows apart that a version lacks and its base has."""
    net = difference.net
    gone = net.before[(net.before >= 0) & (net.after < 0)]
    names = [field.name for field in base.key or base.schema.fields]
    return difference.rows.select(names).take(pa.array(gone))
