"""Table versions: from the text after a table's name to the version it names."""

from __future__ import annotations

import difflib
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import (
    ID_PREFIX,
    CommitId,
    Micros,
    SnapshotId,
    datetime_of,
)
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.branch_names import is_name

_STEPS: Final = frozenset("~^@")
_NEAR: Final = 3
_SHOWN: Final = 10


class TableVersion(NamedTuple):
    """One version of a table.

    Attributes:
        snapshot: The version.
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
        reason = _unknown_version(repository, relation, version, error)
    else:
        try:
            where = "at this version" if version == commit else f"at {version!r}"
            return TableVersion(_version_at(repository, relation, commit, where), commit)
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
        found = repository.refs.before("heads", branch, moment)
        if found is not None and found.move.commit is not None:
            where = f"on {branch!r} at {when}"
            return TableVersion(
                _version_at(repository, relation, found.move.commit, where), found.move.commit
            )
        start = repository.refs.at("heads", branch, 1).move.commit or head
    commit = _first_parent_at(repository, start, moment)
    if commit is None:
        raise NotFoundError(
            f"The history begins after {when}, so there is no {relation} of that time. "
            f"Give a later one; dbt-vcs log --relation {relation} lists its versions."
        )
    return TableVersion(_version_at(repository, relation, commit, f"at {when}"), commit)


def _first_parent_at(repository: Repository, start: CommitId, moment: Micros) -> CommitId | None:
    id = start
    while True:
        commit = repository.objects.commit(id)
        if commit.committed_at <= moment:
            return id
        if not commit.parents:
            return None
        id = commit.parents[0]


def _version_at(
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
        f"dbt-vcs log --relation {relation} lists the commits that changed it."
    )


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
