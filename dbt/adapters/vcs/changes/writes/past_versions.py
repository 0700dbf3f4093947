"""Past versions of relations: finding them, and putting them back on a branch."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import NamedTuple

from dbt.adapters.vcs.changes.writes.versions import version_again
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Entry, FunctionEntry, RelationName, TableEntry, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import hold
from dbt.adapters.vcs.core.store.branch_names import is_name
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.points import find_version


class Past(NamedTuple):
    """A past version of a relation.

    Attributes:
        commit: The commit in which it was found; None if it was named by its own id.
    """

    entry: Entry
    commit: CommitId | None


@dataclass(frozen=True, slots=True)
class Split:
    """A commit that changed several relations, of which only one is restored.

    Attributes:
        others: The relations that keep the state of the commit, as `schema.identifier`.
    """

    commit: CommitId
    summary: str
    others: tuple[str, ...]


def past_of(repository: Repository, name: RelationName, revision: str) -> Past:
    """Return a relation as of a revision; a table's named snapshots come first.

    Raises:
        NotFoundError: There is no such revision, or the relation didn't exist then.
        InputError: The revision is ambiguous.
    """
    named = is_name(revision) and repository.snapshots.find(name, revision) is not None
    if not named:
        try:
            commit = repository.resolve(revision)
        except InputError:
            # It may still be the id of a version; if not, that error says more.
            pass
        else:
            entry = repository.tree(commit).entry(name)
            if isinstance(entry, ViewEntry | FunctionEntry):
                return Past(entry, commit)
    found = find_version(repository, name, revision)
    return Past(TableEntry(snapshot=found.snapshot), found.commit)


def check_dropped(name: RelationName, shown: Entry | None) -> None:
    """Check that there is no relation where a dropped one is to be restored.

    Raises:
        InputError: There is one.
    """
    if shown is not None:
        raise InputError(f"{name} exists. Only a dropped relation can be restored this way.")


def last_of(
    repository: Repository, head: CommitId, name: RelationName, branch: str | None
) -> Past:
    """Return the last version of a dropped relation in a history.

    Raises:
        InputError: The relation exists.
        NotFoundError: The relation never existed in this history.
    """
    check_dropped(name, repository.tree(head).entry(name))
    for id, _ in repository.log(head):
        entry = repository.tree(id).entry(name)
        if entry is not None:
            return Past(entry, id)
    raise NotFoundError(
        f"{name} never existed in this branch's history. Check the name. To bring back what "
        f"another branch has: dbt-vcs restore {quote(str(name))} --to REVISION"
        + (f" --branch {quote(branch)}" if branch else "")
    )


def put_back(
    overlay: Overlay, name: RelationName, past: Past, *, author: str, dry_run: bool = False
) -> None:
    """Restore a past version of a relation, and its schema if that was dropped.

    A table that the name has now, or had before this overlay dropped it, gets a version of its
    own. A dry run changes only the overlay.

    Raises:
        NotFoundError: The rows have been collected.
        RetryError: A collection is running.
    """
    repository = overlay.repository
    versions = [past.entry.snapshot] if isinstance(past.entry, TableEntry) else []
    # First of all: nothing else may keep the version, and a collection could delete its files.
    hold(repository, past.commit, versions, author=author, known=overlay.base, dry_run=dry_run)
    if not overlay.has_schema(name.schema) and past.commit is not None:
        ref = repository.tree(past.commit).schema_ref(name.schema)
        overlay.put_schema(name.schema, comment=ref.comment, properties=dict(ref.properties))
    # Within a commit a name keeps its history, even if it was dropped in between.
    entry, now = past.entry, overlay.entry(name) or overlay.before(name)
    # It continues the table's history instead of going back in it: later merges find their base.
    if isinstance(entry, TableEntry) and isinstance(now, TableEntry):
        version = version_again(repository, name, now.snapshot, entry.snapshot)
        entry = TableEntry(snapshot=version)
    overlay.put(name, entry)


def splits(
    repository: Repository, head: CommitId, name: RelationName, past: Past
) -> tuple[Split, ...]:
    """Return the commits that restoring only one relation would split, newest first.

    These are the commits, along first parents, that changed the relation since it last had the
    version to restore, or since that version was made elsewhere, and that also changed other
    relations that still have the state of that commit.
    """
    found: list[Split] = []
    now = repository.tree(head)
    # What is older than the version itself has changed nothing since.
    oldest = repository.objects.commit(past.commit).committed_at if past.commit else 0
    id = head
    while now.entry(name) != past.entry:
        commit = repository.objects.commit(id)
        if not commit.parents or commit.committed_at < oldest:
            break
        if repository.tree(id).entry(name) == past.entry:
            break
        parent = commit.parents[0]
        changes = repository.diff(parent, id).relations
        if any(change.name == name for change in changes):
            others = tuple(
                str(change.name)
                for change in changes
                if change.name != name and (now.entry(change.name) or None) == _entry(change.new)
            )
            if others:
                found.append(Split(id, commit.summary, others))
        id = parent
    return tuple(found)


def _entry(entry: object) -> Entry | None:
    return entry if isinstance(entry, Entry) else None
