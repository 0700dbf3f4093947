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

import difflib
from collections.abc import Callable
from datetime import datetime
from itertools import islice
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import (
    ID_PREFIX,
    CommitId,
    Micros,
    SnapshotId,
    datetime_of,
    micros_of,
)
from dbt.adapters.vcs.core.model import Entry, Input, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.resolver import parse_moment
from dbt.adapters.vcs.core.store.branch_names import is_name
from dbt.adapters.vcs.sql.syntax.names import At

if TYPE_CHECKING:
    from dbt.adapters.vcs.engines.port import Queries
    from dbt.adapters.vcs.workspace.overlay import Overlay

_STEPS: Final = frozenset("~^@")
_NEAR: Final = 3
_SHOWN: Final = 10
_FAR_BACK: Final = 200
"""Commits that are searched for a relation that is missing."""


class TableVersion(NamedTuple):
    """One version of a table.

    Attributes:
        commit: The commit it was found through; None if it was named by its own id.
    """

    snapshot: SnapshotId
    commit: CommitId | None


def find_version(repository: Repository, relation: RelationName, version: str) -> TableVersion:
    """Return the version of a table that a text names.

    The first that exists of: a named snapshot of the table; a revision (branch, tag, commit,
    `main~2`, `main@{...}`) that shows a table under the name; the version whose id starts with the
    text.

    Raises:
        NotFoundError: It names none; the message names near matches.
        InputError: It names several, or a view.
    """
    if is_name(version):
        named = repository.snapshots.find(relation, version)
        if named is not None:
            return TableVersion(named.snapshot, named.commit)
    reason: InputError
    try:
        commit = repository.resolve(version)
    except InputError as error:
        # Not raised yet: the text may still be the id of a version.
        reason = _unknown_version(repository, relation, version, error)
    else:
        try:
            # The messages name the commit in any case.
            where = "at this version" if version == commit else f"at {version!r}"
            return TableVersion(_shown_at(repository, relation, commit, where), commit)
        except InputError as error:
            reason = error
    # The version's own id comes last: names from earlier versions may look like one.
    found = _version_by_id(repository, version)
    if found is None:
        raise reason
    return TableVersion(found, None)


def find_version_at(
    repository: Repository,
    relation: RelationName,
    moment: Micros,
    *,
    branch: str | None,
    head: CommitId,
) -> TableVersion:
    """Return the version of a table that a branch showed at a moment.

    The branch's log says where it pointed. For times before the branch was made, the first parents
    of its first commit are followed; without a branch, those of `head`.

    Raises:
        NotFoundError: The table did not exist then.
        InputError: It was a view.
    """
    when = f"{datetime_of(moment):%Y-%m-%d %H:%M:%S} UTC"
    start = head
    last = repository.refs.read("heads", branch) if branch is not None else None
    if branch is not None and last is not None:
        # A commit can be older than its arrival on the branch, so the log decides.
        found = repository.refs.before("heads", branch, moment)
        if found is not None and found.move.commit is not None:
            where = f"on {branch!r} at {when}"
            return TableVersion(
                _shown_at(repository, relation, found.move.commit, where), found.move.commit
            )
        # The log doesn't reach so far back, and commits have times of their own.
        start = repository.refs.at("heads", branch, 1).move.commit or head
    commit = _first_parent_at(repository, start, moment)
    if commit is None:
        raise NotFoundError(
            f"The history begins after {when}, so there is no {relation} of that time. "
            f"{where_it_was(repository, start, relation)}"
        )
    return TableVersion(_shown_at(repository, relation, commit, f"at {when}"), commit)


def _first_parent_at(repository: Repository, start: CommitId, moment: Micros) -> CommitId | None:
    id = start
    while True:
        commit = repository.objects.commit(id)
        if commit.committed_at <= moment:
            return id
        if not commit.parents:
            return None
        id = commit.parents[0]


def _shown_at(
    repository: Repository, relation: RelationName, commit: CommitId, where: str
) -> SnapshotId:
    tree = repository.tree(commit)
    entry = tree.entry(relation)
    if isinstance(entry, TableEntry):
        return entry.snapshot
    if entry is not None:
        raise InputError(
            f"{relation} is a {entry.noun} {where}; versions are of tables. Read the tables that "
            f"it reads, or connect to that commit: {commit[:12]}."
        )
    near = difflib.get_close_matches(relation.identifier, tree.relations(relation.schema), n=_NEAR)
    hint = f" Did you mean {' or '.join(f'{relation.schema}.{name}' for name in near)}?"
    raise NotFoundError(
        f"There is no table {relation} {where} (commit {commit[:12]}).{hint if near else ''} "
        f"{where_it_was(repository, commit, relation)}"
    )


def where_it_was(repository: Repository, commit: CommitId, relation: RelationName) -> str:
    """Return a sentence that says how to find versions of a relation which a commit lacks."""
    try:
        recent = islice(repository.log(commit), _FAR_BACK)
        was = any(repository.tree(id).entry(relation) is not None for id, _ in recent)
    except DamagedError:
        # What is missing is told by what needs it, and here the relation is.
        return "Check the name, or give another revision."
    if was:
        name = quote(str(relation))
        return f"The commits that changed it: dbt-vcs log {commit[:12]} --relation {name}"
    return "No commit before has it either: check the name, or give another revision."


def _version_by_id(repository: Repository, version: str) -> SnapshotId | None:
    prefix = version.lower()
    if not ID_PREFIX.fullmatch(prefix):
        return None
    ids = repository.objects.with_prefix("snapshot", prefix)
    if len(ids) > 1:
        shown = ", ".join(id[:12] for id in ids[:5])
        raise InputError(
            f"The version id {version!r} is ambiguous, {len(ids)} versions start with it: "
            f"{shown}. Give more digits."
        )
    return SnapshotId(ids[0]) if ids else None


def _unknown_version(
    repository: Repository, relation: RelationName, version: str, error: InputError
) -> InputError:
    """Return the error for a version that is neither a snapshot, a revision nor an id."""
    if not isinstance(error, NotFoundError) or not _STEPS.isdisjoint(version):
        return error
    snapshots = [named.name for named in repository.snapshots.of(relation)]
    known = [*snapshots, *(branch.name for branch in repository.branches())]
    known += [tag.name for tag in repository.tags()]
    near = difflib.get_close_matches(version, known, n=_NEAR)
    if near:
        hint = f"Did you mean {' or '.join(map(repr, near))}?"
    elif snapshots:
        more = " and others" if len(snapshots) > _SHOWN else ""
        hint = f"Its snapshots are: {', '.join(snapshots[:_SHOWN])}{more}."
    else:
        hint = f"{relation} has no named snapshots."
    return NotFoundError(
        f"{version!r} is not a version of {relation}: no snapshot of it, no branch, tag or "
        f"commit, and no version's id. {hint}"
    )


_MERGE_BASE: Final = "..."
_ZONE: Final = "spark.sql.session.timeZone"


class Point(NamedTuple):
    """One version of a table.

    Attributes:
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
        # If the branch has no such table either, this raises, and its error is about the name.
        find_point(overlay, after.relation, None, zone)
        raise NotFoundError(
            f"There is no table {after.relation} in either version. "
            f"{where_it_was(overlay.repository, overlay.base, after.relation)}"
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


def zone_of(session: Queries) -> str:
    """Return the time zone for times without one."""
    return session.setting(_ZONE) or "UTC"


def pinned(
    overlay: Overlay, zone: Callable[[], str], relation: RelationName, at: At
) -> TableVersion:
    """Return the version of a table that `version as of` or `timestamp as of` names.

    A time without an offset is in the session's time zone, as in Spark. `zone` gives it, and is
    called only for that.

    Raises:
        NotFoundError: There is no such version; the message names similar ones.
        InputError: The text matches several versions, or is not a valid time.
    """
    if at.kind == "version":
        return find_version(overlay.repository, relation, at.value)
    return _version_at(overlay, relation, at.value, zone)


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
        # Only here is the zone asked for, which may need an engine.
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
