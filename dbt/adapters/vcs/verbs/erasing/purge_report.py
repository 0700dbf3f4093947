"""What a purge did, as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbt.adapters.vcs.core.ids import Micros, SnapshotId, datetime_of
from dbt.adapters.vcs.core.model import Snapshot
from dbt.adapters.vcs.core.plan.collect import Roots, needed
from dbt.adapters.vcs.core.presence import files_of_versions
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import GRACE
from dbt.adapters.vcs.core.store.blobs import BlobInfo
from dbt.adapters.vcs.core.store.objects import object_key
from dbt.adapters.vcs.verbs.erasing.rewritten_history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgedTable:
    """A table whose history was rewritten.

    Attributes:
        relation: Its name, or its names, separated by commas.
        versions: Number of versions that changed.
    """

    relation: str
    versions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReport:
    """What a purge did, or would do.

    Attributes:
        relation: The table.
        dry_run: True if nothing was changed.
        tables: The tables whose history changed: the named one, and those that share its history.
        rows: Number of stored rows that were erased; a row in several files counts several times.
        before_images: Number of copies of deleted rows in tombstones that were erased.
        rewritten_files: Number of files that were written again or left out.
        commits: Number of commits that got another id.
        moved: The names that moved to the new history.
        unread_versions: Number of versions that lack a column of the condition.
        mentions: Where texts of the condition are still written: messages, notes, views.
        deleted_files: Number of data files deleted.
        deleted_objects: Number of manifests deleted.
        results: Number of remembered results of statements deleted: all that there are.
        young: Number of files without a use, of writers that are running or have died.
        young_until: When `gc` deletes the last of these, in UTC; None if there are none.
    """

    relation: str
    dry_run: bool
    tables: tuple[PurgedTable, ...] = ()
    rows: int = 0
    before_images: int = 0
    rewritten_files: int = 0
    commits: int = 0
    moved: tuple[str, ...] = ()
    unread_versions: int = 0
    mentions: tuple[str, ...] = ()
    deleted_files: int = 0
    deleted_objects: int = 0
    results: int = 0
    young: int = 0
    young_until: str | None = None


def unused_files(
    repository: Repository, history: History, versions: Mapping[SnapshotId, Snapshot]
) -> list[BlobInfo]:
    """Return the files of purged tables, and manifests, that the new history doesn't need.

    They belong to writers that are running or have died, and are for `gc` to delete: it alone
    knows when no writer needs them.
    """
    objects = repository.objects
    kept = needed(Roots(commits=set(history.commits.values())), objects).objects
    kept |= {("snapshot", id) for id in history.snapshots.values()}
    kept |= {
        ("segment", ref.id)
        for id in history.snapshots.values()
        for ref in objects.snapshot(id).segments
    }
    found = []
    for info in repository.blobs.walk("objects"):
        if object_key(info.path) not in kept:
            found.append(info)
    files = files_of_versions(objects, [history.snapshots[id] for id in versions])
    folders = {"/".join(path.split("/")[:2]) for path in files}
    folders |= {f"data/{snapshot.table}" for snapshot in versions.values()}
    for folder in sorted(folders):
        found += [info for info in repository.blobs.walk(folder) if info.path not in files]
    return found


def with_unused(report: PurgeReport, files: Sequence[BlobInfo]) -> PurgeReport:
    """Return a report with the files that are left for `gc`."""
    if not files:
        return report
    last = max(info.modified_at for info in files)
    until = datetime_of(Micros(last + GRACE))
    return replace(report, young=len(files), young_until=f"{until:%Y-%m-%d %H:%M} UTC")
