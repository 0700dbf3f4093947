"""What a purge did, as a value."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dbt.adapters.vcs.verbs.erasing.old_history import Swept


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
        young: Number of files without a use that may belong to a running writer.
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


def added(one: PurgeReport, other: PurgeReport) -> PurgeReport:
    """Return what two rounds did together."""
    versions = {table.relation: table.versions for table in one.tables}
    for table in other.tables:
        versions[table.relation] = versions.get(table.relation, 0) + table.versions
    return replace(
        other,
        tables=tuple(
            PurgedTable(relation=name, versions=count) for name, count in sorted(versions.items())
        ),
        rows=one.rows + other.rows,
        before_images=one.before_images + other.before_images,
        rewritten_files=one.rewritten_files + other.rewritten_files,
        commits=one.commits + other.commits,
        moved=tuple(dict.fromkeys((*one.moved, *other.moved))),
    )


def with_swept(report: PurgeReport, swept: Swept) -> PurgeReport:
    """Return a report with what was deleted."""
    until = swept.young_until
    return replace(
        report,
        deleted_files=swept.files,
        deleted_objects=swept.objects,
        young=swept.young,
        young_until=None if until is None else f"{until:%Y-%m-%d %H:%M} UTC",
    )
