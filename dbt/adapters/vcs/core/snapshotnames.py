"""Named snapshots: names that keep versions of tables until they are deleted."""

from __future__ import annotations

from typing import Final, NamedTuple

from dbt.adapters.vcs.core.branches import Names, Protection, RefGate
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import Clock, CommitId, SnapshotId
from dbt.adapters.vcs.core.model import RefMove, RelationName
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.refs import Ref, RefStore

ROOT: Final = "snapshots"
"""The space that holds a space for each relation."""

_SNAPSHOT: Final = "snapshot"


class NamedSnapshot(NamedTuple):
    """A named version of a table.

    Attributes:
        relation: The table's name at that time; two relations may use the same snapshot name.
        name: Its own name.
        snapshot: The version.
        commit: A commit of the branch where it was named.
        ref: The last move of its log.
    """

    relation: RelationName
    name: str
    snapshot: SnapshotId
    commit: CommitId
    ref: Ref


class SnapshotNames:
    """The named snapshots of a repository.

    A name is unique for its relation's name (MatrixOne paper, section 4.1) across branches. It
    keeps its version and everything that the version needs, even if no commit shows it.
    """

    def __init__(
        self, objects: ObjectStore, refs: RefStore, clock: Clock, gate: RefGate | None = None
    ) -> None:
        self._objects = objects
        self._refs = refs
        self._clock = clock
        self._gate = gate

    def all(self) -> list[NamedSnapshot]:
        """Return every named snapshot, sorted by relation, then name."""
        found: list[NamedSnapshot] = []
        for space in self._refs.spaces(ROOT):
            _, schema, identifier = space.split("/")
            found += self.of(RelationName(schema, identifier))
        return sorted(found, key=lambda item: (item.relation, item.name))

    def of(self, relation: RelationName) -> list[NamedSnapshot]:
        """Return the named snapshots of a relation, sorted by name."""
        return [_named(relation, *found) for found in self._names(relation).all()]

    def find(self, relation: RelationName, name: str) -> NamedSnapshot | None:
        """Return a named snapshot, None if it doesn't exist."""
        found = self._names(relation).find(name)
        return None if found is None else _named(relation, *found)

    def create(
        self,
        relation: RelationName,
        name: str,
        snapshot: SnapshotId,
        *,
        at: CommitId,
        author: str,
        note: str = "",
    ) -> NamedSnapshot:
        """Name a version of a relation; nothing is copied.

        Raises:
            InputError: The relation already has a snapshot of that name, or the name is not
                allowed.
            DamagedError: There is no such snapshot or commit.
        """
        self._objects.snapshot(snapshot)
        self._objects.commit(at)
        ref = self._names(relation).create(
            name, at, author=author, note=note, state={_SNAPSHOT: snapshot}
        )
        return _named(relation, at, ref)

    def delete(self, relation: RelationName, name: str, *, author: str) -> NamedSnapshot:
        """Delete a name and return the named snapshot.

        Raises:
            NotFoundError: It doesn't exist; the message names near matches.
            ProtectedError: It is protected.
        """
        names = self._names(relation)
        found = _named(relation, *names.get(name))
        names.change(name, author=author, action="delete", note="", delete=True)
        return found

    def protect(
        self, relation: RelationName, name: str, is_protected: bool, *, author: str
    ) -> NamedSnapshot:
        """Protect a named snapshot, so that it can't be deleted, or remove its protection.

        Raises:
            NotFoundError: It doesn't exist; the message names near matches.
        """
        names = self._names(relation)
        ref = names.protect(name, Protection() if is_protected else None, author=author)
        return _named(relation, names.get(name)[0], ref)

    def made(self, item: NamedSnapshot) -> RefMove:
        """Return the move that created a named snapshot."""
        return self._refs.created(_space(item.relation), item.ref).move

    def _names(self, relation: RelationName) -> Names:
        space = _space(relation)
        return Names(
            self._objects,
            self._refs,
            self._clock,
            space,
            word="snapshot",
            of=str(relation),
            gate=self._gate,
        )


def snapshot_of(ref: Ref) -> SnapshotId:
    """Return the version recorded in a move of a named snapshot's log.

    Raises:
        DamagedError: The move records none.
    """
    found = ref.move.state.get(_SNAPSHOT)
    if found is None:
        raise DamagedError(
            f"Move {ref.seq} of the snapshot {ref.name!r} names no version. "
            "Restore it from a backup of the repository."
        )
    return SnapshotId(found)


def _space(relation: RelationName) -> str:
    return f"{ROOT}/{relation.schema}/{relation.identifier}"


def _named(relation: RelationName, commit: CommitId, ref: Ref) -> NamedSnapshot:
    return NamedSnapshot(relation, ref.name, snapshot_of(ref), commit, ref)
