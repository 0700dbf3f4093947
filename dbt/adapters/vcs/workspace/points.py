"""Points: versions of a table as a person writes them, in a diff or in SQL.

| written                      | the version                                                      |
|------------------------------|------------------------------------------------------------------|
| `s.t`                        | what the branch at hand shows, changes of this run included      |
| `s.t@v1`                     | a named snapshot of the table, else a branch, tag, commit, ...   |
| `s.t@{2026-11-20 12:00}`     | what the branch at hand showed then                              |
| `s.t@main...`                | what the branch showed where it forked from `main`: the merge   |
|                              | base, as in git's `a...b`                                        |

A version from before a table was created, or after it was dropped, has no rows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import Micros, SnapshotId, micros_of
from dbt.adapters.vcs.core.model import Entry, Input, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.resolver import parse_moment
from dbt.adapters.vcs.core.tableversions import TableVersion, find_version, find_version_at
from dbt.adapters.vcs.sql.syntax.names import At
from dbt.adapters.vcs.workspace.overlay import Overlay

if TYPE_CHECKING:
    from dbt.adapters.vcs.engines.port import Queries

_MERGE_BASE: Final = "..."
_ZONE: Final = "spark.sql.session.timeZone"


class Point(NamedTuple):
    """One version of a table.

    Attributes:
        relation: The table.
        id: The version; None if the table did not exist then, and so had no rows.
        is_named: False if it is what the branch shows.
    """

    relation: RelationName
    id: SnapshotId | None
    is_named: bool = True

    def snapshot(self, overlay: Overlay) -> Snapshot | None:
        """Return the version."""
        return None if self.id is None else overlay.snapshot(self.id)

    def input(self) -> Input | None:
        """Return the input to record for a query that reads the version."""
        if self.id is None:
            return None
        return Input(relation=str(self.relation), snapshot=self.id, pinned=self.is_named)


class TableText(NamedTuple):
    """A table and the version that a text names; None for what the branch shows."""

    relation: RelationName
    at: At | None


def without_merge_base(text: TableText) -> TableText:
    """Return the revision without the merge base marker: `a` for `a...`."""
    if text.at is None or text.at.kind != "version":
        return text
    value = text.at.value.strip().removesuffix(_MERGE_BASE)
    return TableText(text.relation, At(kind="version", value=value))


def find_points(
    overlay: Overlay, before: TableText | None, after: TableText, zone: Callable[[], str]
) -> tuple[Point, Point]:
    """Return the two versions to compare, as seen from a branch.

    Args:
        overlay: The branch at hand.
        before: The first version; None for a table without rows.
        after: The second one.
        zone: Gives the time zone for times without an offset.

    Raises:
        NotFoundError: There is no such table or version; the message names near matches.
        InputError: It is a view, the text means several versions, or the branches that are to
            have met never did.
    """
    if before is None:
        return Point(after.relation, None), find_point(overlay, *after, zone)
    # Of two tables, one that isn't there is a name that was misspelt.
    may_lack = before.relation == after.relation
    old, new = (find_point(overlay, *side, zone, may_lack=may_lack) for side in (before, after))
    if old.id is None and new.id is None:
        find_point(overlay, after.relation, None, zone)
        raise NotFoundError(
            f"There is no table {after.relation} in either version. "
            f"dbt-vcs log --relation {after.relation} lists the commits that changed it."
        )
    return old, new


def find_point(
    overlay: Overlay,
    relation: RelationName,
    at: At | None,
    zone: Callable[[], str],
    *,
    may_lack: bool = False,
) -> Point:
    """Return one version, as `find_points` does.

    Args:
        overlay: The branch at hand.
        relation: The table.
        at: The text; None for what the branch shows.
        zone: Gives the time zone of a time that says none.
        may_lack: Whether a commit that doesn't show the table is a table without rows.

    Raises:
        NotFoundError: There is no such table or version; the message names near matches.
        InputError: It is a view, the text means several versions, or the branches that are to
            have met never did.
    """
    if at is None:
        return Point(relation, _table(overlay.require(relation), relation), is_named=False)
    value = at.value.strip()
    braced = value.startswith("{") and value.endswith("}")
    if at.kind == "timestamp" or braced:
        text = value[1:-1].strip() if braced else value
        return Point(relation, _version_at(overlay, relation, text, zone).snapshot)
    if value.endswith(_MERGE_BASE):
        return _at_merge_base(overlay, relation, value.removesuffix(_MERGE_BASE))
    try:
        return Point(relation, find_version(overlay.repository, relation, value).snapshot)
    except NotFoundError:
        # The commit is there, and doesn't show the table: it was created later, or dropped.
        if not may_lack or not _is_commit(overlay.repository, value):
            raise
        return Point(relation, None)


def pinned(
    overlay: Overlay, engine: Callable[[], Queries], relation: RelationName, at: At
) -> TableVersion:
    """Return the version of a table that `version as of` or `timestamp as of` names.

    A time without an offset is in the session's time zone, as in Spark. The engine is needed
    only for that.

    Raises:
        NotFoundError: There is no such version; the message names similar ones.
        InputError: The text matches several versions, or is not a valid time.
    """
    if at.kind == "version":
        return find_version(overlay.repository, relation, at.value)
    return _version_at(overlay, relation, at.value, lambda: engine().setting(_ZONE) or "UTC")


def _version_at(
    overlay: Overlay, relation: RelationName, text: str, zone: Callable[[], str]
) -> TableVersion:
    repository = overlay.repository
    moment = moment_of(text, repository.clock(), zone)
    return find_version_at(repository, relation, moment, branch=overlay.branch, head=overlay.base)


def _is_commit(repository: Repository, revision: str) -> bool:
    try:
        repository.resolve(revision)
    except InputError:
        return False
    return True


def _at_merge_base(overlay: Overlay, relation: RelationName, revision: str) -> Point:
    repository = overlay.repository
    base = repository.merge_base(repository.resolve(revision), overlay.base)
    if base is None:
        raise InputError(
            f"{revision!r} and the branch at hand have no commit in common, so there is no "
            f"{relation}@{revision}... to compare with. Name a version: {relation}@{revision}."
        )
    entry = repository.tree(base).entry(relation)
    return Point(relation, None if entry is None else _table(entry, relation))


def _table(entry: Entry, relation: RelationName) -> SnapshotId:
    if not isinstance(entry, TableEntry):
        raise InputError(
            f"{relation} is a {entry.noun}; differences are of tables. Compare the tables that it "
            "reads, or build it as a table: materialized='table'."
        )
    return entry.snapshot


def moment_of(text: str, now: Micros, zone: Callable[[], str]) -> Micros:
    """Return the instant of a date or time, or of `<n> <unit>s ago`, in a time zone.

    Raises:
        InputError: The text is none of these, or its zone is needed and unknown.
    """
    try:
        local = datetime.fromisoformat(text.strip())
    except ValueError:
        local = None
    if local is not None and local.tzinfo is None:
        return micros_of(local.replace(tzinfo=zone_named(zone())))
    moment = parse_moment(text, now)
    if moment is None:
        raise InputError(
            f"{text!r} is no time. Write for example '2026-11-20', '2026-11-20 12:00:00', "
            "'2026-11-20 12:00:00+01:00' or '2 hours ago'."
        )
    return moment


def zone_named(zone: str) -> ZoneInfo:
    """Return the time zone with a name.

    Raises:
        InputError: It is not known on this machine.
    """
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InputError(
            f"A time without an offset is in the session's time zone, and {zone!r} is not known "
            "on this machine. Write the offset after the time: '2026-11-20 12:00:00+00:00'."
        ) from error
