"""Known changes: what manifests alone say of the changed rows in a delta's files.

No row of such a file cancels with another one, and all of them are changes of one kind:

| rows                                                      | the new ones     | the old ones    |
|-----------------------------------------------------------|------------------|-----------------|
| of an update that only the second version has             | update_postimage | update_preimage |
| of an update that only the first version has, undone      | update_preimage  | update_postimage|
| all others, if they are only added or only removed        | insert           | delete          |
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.model import Block, Replacement
from dbt.adapters.vcs.core.plan.delta import Deletion, Delta

ChangeKind: TypeAlias = Literal["insert", "delete", "update_preimage", "update_postimage"]

_ADDED: Final[ChangeKind] = "insert"
_REMOVED: Final[ChangeKind] = "delete"


class KnownChange(NamedTuple):
    """Files of a delta whose rows are changes of one kind.

    Attributes:
        kind: The kind.
        blocks: Paths of blocks, less the rows that the delta deletes from them.
        images: Deletions whose before-images count.
        whole: True if the images are all rows of the tombstones' files.
    """

    kind: ChangeKind
    blocks: frozenset[str] = frozenset()
    images: tuple[Deletion, ...] = ()
    whole: bool = False


def known_changes(
    delta: Delta, *, unique: bool, key: Collection[str], compared: Collection[str]
) -> tuple[KnownChange, ...] | None:
    """Return the changes in a delta by file; None if rows have to be compared for it.

    Args:
        delta: The delta.
        unique: True if the key is surely unique in both versions.
        key: Field ids of the key by which rows are paired; none for a table without one.
        compared: Field ids of the columns that are compared.
    """
    if delta.may_delete_twice:
        return None
    come = _Side.of(delta.added, delta.deleted, delta.updates)
    go = _Side.of(delta.removed, delta.restored, delta.undone)
    found: list[KnownChange] = []
    if unique and key:
        usable = _Usable(frozenset(key), frozenset(compared))
        found += come.told(usable, new="update_postimage", old="update_preimage")
        found += go.told(usable, new="update_preimage", old="update_postimage")
    told = {path for item in found for path in item.blocks}
    stones = {item.path for change in found for item in change.images}
    others = (
        KnownChange(_ADDED, come.blocks - told, go.images_without(stones)),
        KnownChange(_REMOVED, go.blocks - told, come.images_without(stones)),
    )
    left = [item for item in others if item.blocks or item.images]
    return None if len(left) > 1 else (*found, *left)


class _Usable(NamedTuple):
    """What an update must have set to say something about changes.

    Attributes:
        key: Columns that pair rows, of which it may have set none.
        compared: Columns that are compared; one that it set is among them in any case.
    """

    key: frozenset[str]
    compared: frozenset[str]

    def covers(self, update: Replacement) -> bool:
        """Return whether every row of an update is a change of a row with the same key."""
        columns = set(update.columns)
        return columns.isdisjoint(self.key) and columns <= self.compared


class _Side(NamedTuple):
    """What only one of the versions has.

    Attributes:
        blocks: Paths of its blocks.
        intact: Those from which it deletes no row.
        images: Its deletions from blocks that both have.
        updates: The updates that its segments tell of.
    """

    blocks: frozenset[str]
    intact: frozenset[str]
    images: tuple[Deletion, ...]
    updates: tuple[Replacement, ...]

    @classmethod
    def of(
        cls,
        blocks: Iterable[Block],
        deletions: Iterable[Deletion],
        updates: tuple[Replacement, ...],
    ) -> _Side:
        """Return a side of a delta."""
        paths = frozenset(block.path for block in blocks)
        holed = {item.block for item in deletions}
        images = tuple(item for item in deletions if item.block not in paths)
        return cls(paths, paths - holed, images, updates)

    def told(self, usable: _Usable, *, new: ChangeKind, old: ChangeKind) -> Iterator[KnownChange]:
        """Yield the changes of updates of which all rows are here."""
        for update in self.updates:
            images = tuple(item for item in self.images if item.path in update.tombstones)
            is_whole = sum(item.rows for item in images) == update.rows
            if is_whole and self.intact.issuperset(update.blocks) and usable.covers(update):
                yield KnownChange(old, images=images, whole=True)
                yield KnownChange(new, blocks=frozenset(update.blocks))

    def images_without(self, stones: Collection[str]) -> tuple[Deletion, ...]:
        """Return its deletions from common blocks, except those of some tombstones."""
        return tuple(item for item in self.images if item.path not in stones)
