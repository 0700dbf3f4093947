"""The relations of one schema: read, compared and edited at the cost of what differs.

A schema with many relations is a tree of pieces, as the prolly trees of Dolt and Noms: its names,
sorted, are cut before each name whose hash begins with `BITS` zero bits, the list of pieces before
each whose first name's hash begins with twice as many, and so on until one piece is left. Where it
is cut depends on the names alone. So equal relations are one tree whatever order they came in, a
change makes one new piece a level, and two trees share the pieces that don't differ (decision 50).
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import TreeId
from dbt.adapters.vcs.core.model.tree import (
    Absent,
    AbsentType,
    Entry,
    SchemaTree,
    TreePiece,
    Value,
)
from dbt.adapters.vcs.core.store.blobs import each

WHOLE: Final = 1_000
"""Relations up to which a schema is one object: reading more pieces would take more requests."""

BITS: Final = 7
"""Zero bits for each level: pieces have 128 entries on average, which are some 16 KiB."""

# Pieces that are read at a time by who reads all.
_AHEAD: Final = 64

K = TypeVar("K")

Load: TypeAlias = Callable[[TreeId], SchemaTree]
Put: TypeAlias = Callable[[Value], str]


class EntryChange(NamedTuple):
    """One relation that two schemas show differently."""

    identifier: str
    old: Entry | AbsentType
    new: Entry | AbsentType


class Streamed(Mapping[K, Entry]):
    """A mapping to entries that is read as far as it is asked for, in order."""

    @abstractmethod
    def pairs(self) -> Iterator[tuple[K, Entry]]:
        """Yield names and entries, sorted."""

    def __iter__(self) -> Iterator[K]:
        return (name for name, _ in self.pairs())

    def items(self) -> ItemsView[K, Entry]:
        """Return the names and entries; what has them is read when it is reached."""
        return _Items(self)

    def values(self) -> ValuesView[Entry]:
        """Return the entries; what has them is read when it is reached."""
        return _Values(self)


# Those of `Mapping` look each name up by itself.
class _Items(ItemsView[K, Entry]):
    _mapping: Streamed[K]

    def __iter__(self) -> Iterator[tuple[K, Entry]]:
        return self._mapping.pairs()


class _Values(ValuesView[Entry]):
    _mapping: Streamed[Any]

    def __iter__(self) -> Iterator[Entry]:
        return (entry for _, entry in self._mapping.pairs())


class SchemaRelations(Streamed[str]):
    """The relations of a schema by identifier, sorted, read as far as they are asked for.

    Raises:
        DamagedError: From each method, if a piece that it needs is missing or damaged.
    """

    def __init__(self, load: Load, id: TreeId | None) -> None:
        """Read the top of a schema's tree; None has no relations."""
        self.load = load
        self.id = id
        self.top = SchemaTree() if id is None else load(id)

    def __getitem__(self, identifier: str) -> Entry:
        node = self.top
        while node.level:
            piece = _last_until(_pieces(node), identifier)
            if piece is None:
                raise KeyError(identifier)
            node = self.load(piece.id)
        return _entries(node)[identifier]

    def __len__(self) -> int:
        if self.top.level:
            return sum(piece.relations for piece in _pieces(self.top))
        return len(self.top.relations)

    def pairs(self) -> Iterator[tuple[str, Entry]]:
        """Yield identifiers and entries, sorted."""
        for leaf in self._leaves():
            yield from leaf.items()

    def _leaves(self) -> Iterator[dict[str, Entry]]:
        waiting = [self.top]
        while waiting:
            node = waiting.pop()
            if not node.level:
                yield _entries(node)
                continue
            pieces = _pieces(node)
            # The rest stays a node until its turn: of a million names only some are in memory.
            if len(pieces) > _AHEAD:
                waiting.append(SchemaTree(relations=pieces[_AHEAD:], level=node.level))
            waiting += reversed(each(self.load, [piece.id for piece in pieces[:_AHEAD]]))


def differences(one: SchemaRelations, other: SchemaRelations) -> list[EntryChange]:
    """Return the relations that differ, sorted; pieces that both have are not read."""
    found = []
    *_, (before, after) = _apart(one, other)
    old, new = _all_entries(before), _all_entries(after)
    for identifier in sorted(old.keys() | new.keys()):
        pair = old.get(identifier, Absent), new.get(identifier, Absent)
        if pair[0] != pair[1]:
            found.append(EntryChange(identifier, *pair))
    return found


def added_pieces(one: SchemaRelations, other: SchemaRelations) -> list[TreeId]:
    """Return the ids of the pieces that the other schema has and the first one doesn't."""
    found: dict[TreeId, None] = {}
    for _, after in _apart(one, other):
        found.update(dict.fromkeys(after))
    return list(found)


def _apart(
    one: SchemaRelations, other: SchemaRelations
) -> Iterator[tuple[dict[TreeId, SchemaTree], dict[TreeId, SchemaTree]]]:
    """Yield, level by level from the top, the parts that only one of both has."""
    sides = [_top(one), _top(other)]
    yield sides[0], sides[1]
    for level in range(max(one.top.level, other.top.level), 0, -1):
        ids = [list(_opened(side, level)) for side in sides]
        # Equal ids are equal names and entries, wherever they lie.
        common = set(ids[0]) & set(ids[1])
        alone = [[id for id in found if id not in common] for found in ids]
        sides = [
            dict(zip(found, each(each_of.load, found), strict=True))
            for each_of, found in zip((one, other), alone, strict=True)
        ]
        yield sides[0], sides[1]


def _top(relations: SchemaRelations) -> dict[TreeId, SchemaTree]:
    return {} if relations.id is None else {relations.id: relations.top}


def _opened(side: Mapping[TreeId, SchemaTree], level: int) -> Iterator[TreeId]:
    """Yield the ids of the pieces in the nodes of a level, and of the nodes of lower ones."""
    for id, node in side.items():
        if node.level == level:
            yield from (piece.id for piece in _pieces(node))
        else:
            yield id


def _all_entries(leaves: Mapping[TreeId, SchemaTree]) -> dict[str, Entry]:
    return {name: entry for leaf in leaves.values() for name, entry in _entries(leaf).items()}


def edit_relations(
    before: SchemaRelations,
    changes: Mapping[str, Entry | AbsentType],
    put: Put,
    *,
    in_pieces: bool = True,
) -> TreeId:
    """Store a schema's relations with some changes, and return the id of their tree.

    Args:
        changes: New entries by identifier; Absent drops a relation if it exists.
        put: Stores a value and returns its id.
        in_pieces: False to store one object, however large.
    """
    if not (before.top.level and in_pieces):
        changed = {**dict(before.items()), **changes}
        # The encoder sorts too, but takes quadratic time if a name comes after many in order.
        entries = {
            name: entry for name, entry in sorted(changed.items()) if isinstance(entry, Entry)
        }
        if in_pieces and len(entries) > WHOLE:
            return _tree_of(_stored(entries.items(), 0, put), 0, put).id
        return TreeId(put(SchemaTree(relations=entries)))
    if not changes and before.id is not None:
        return before.id
    top = _Edit(before, put).top(changes)
    if top is not None and top.relations > WHOLE:
        return top.id
    left = {} if top is None else dict(SchemaRelations(before.load, top.id).items())
    return TreeId(put(SchemaTree(relations=left)))


Item: TypeAlias = Entry | TreePiece
Items: TypeAlias = Iterable[tuple[str, Item]]


class _Edit:
    """Applies changes to a tree of pieces, level by level from the leaves."""

    def __init__(self, before: SchemaRelations, put: Put) -> None:
        self._load = before.load
        self._root = before.top
        self._put = put

    def top(self, changes: Mapping[str, Entry | AbsentType]) -> TreePiece | None:
        """Return the piece that has all relations; None if none are left."""
        pieces: list[TreePiece] = []
        # What changes in the list of a level's pieces, by first name.
        below: Mapping[str, Item | AbsentType] = changes
        for level in range(self._root.level + 1):
            removed, pieces = self._level(below, level)
            below = {
                **dict.fromkeys(removed, Absent),
                **{piece.first: piece for piece in pieces},
            }
        if not pieces:
            return None
        found = _tree_of(pieces, self._root.level, self._put)
        # The tree ends at the lowest level that has one piece.
        while (node := self._load(found.id)).level and len(node.relations) == 1:
            found = _pieces(node)[0]
        return found

    def _level(
        self, changes: Mapping[str, Item | AbsentType], level: int
    ) -> tuple[list[str], list[TreePiece]]:
        """Return the first names of the nodes that go, and what takes their place."""
        nodes: dict[str, SchemaTree] = {}
        wanted: dict[str, dict[str, Item | AbsentType]] = {}
        for key, item in changes.items():
            first, nodes_at = self._node(level, key)
            nodes[first] = nodes_at
            wanted.setdefault(first, {})[key] = item
        removed: list[str] = []
        made: list[TreePiece] = []
        waiting = sorted(nodes)
        carried: list[tuple[str, Item]] = []
        # From the last one, since what lost the name it was cut at goes to the node before.
        while waiting:
            first = waiting.pop()
            removed.append(first)
            changed = {**_items(nodes[first]), **wanted.get(first, {})}
            kept = [(key, item) for key, item in sorted(changed.items()) if item is not Absent]
            groups = _groups([*kept, *carried], level)
            carried = []
            is_loose = bool(groups) and not _is_cut(groups[0][0][0], level)
            before = self._node_before(level, first) if is_loose else None
            if before is not None:
                carried = groups.pop(0)
                nodes.setdefault(*before)
                if not waiting or waiting[-1] != before[0]:
                    waiting.append(before[0])
            made += [_piece_of(group, level, self._put) for group in groups]
        return removed, sorted(made, key=lambda piece: piece.first)

    def _node(self, level: int, key: str) -> tuple[str, SchemaTree]:
        """Return the node of a level in which a name lies, and its first name."""
        first, node = "", self._root
        while node.level > level:
            pieces = _pieces(node)
            piece = _last_until(pieces, key) or pieces[0]
            first, node = piece.first, self._load(piece.id)
        return first, node

    def _node_before(self, level: int, first: str) -> tuple[str, SchemaTree] | None:
        before, node = "", self._root
        if node.level == level:
            return None
        while node.level > level:
            pieces = _pieces(node)
            at = bisect_left(pieces, first, key=_first_of) - 1
            if at < 0:
                return None
            before, node = pieces[at].first, self._load(pieces[at].id)
        return before, node


def _tree_of(pieces: list[TreePiece], level: int, put: Put) -> TreePiece:
    """Store the levels above some pieces, and return the one at the top."""
    while len(pieces) > 1:
        level += 1
        pieces = _stored(((piece.first, piece) for piece in pieces), level, put)
    return pieces[0]


def _stored(items: Items, level: int, put: Put) -> list[TreePiece]:
    return [_piece_of(group, level, put) for group in _groups(items, level)]


def _groups(items: Items, level: int) -> list[list[tuple[str, Item]]]:
    """Cut sorted items into those of each piece."""
    groups: list[list[tuple[str, Item]]] = []
    for key, item in items:
        if not groups or _is_cut(key, level):
            groups.append([])
        groups[-1].append((key, item))
    return groups


def _is_cut(name: str, level: int) -> bool:
    """Return whether a piece of a level begins with a name, whichever names are before it."""
    start = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return start >> max(0, 64 - BITS * (level + 1)) == 0


def _piece_of(group: list[tuple[str, Item]], level: int, put: Put) -> TreePiece:
    if level:
        pieces = tuple(item for _, item in group if isinstance(item, TreePiece))
        node = SchemaTree(relations=pieces, level=level)
        count = sum(piece.relations for piece in pieces)
    else:
        entries = {name: item for name, item in group if isinstance(item, Entry)}
        node, count = SchemaTree(relations=entries), len(entries)
    return TreePiece(first=group[0][0], id=TreeId(put(node)), relations=count)


def _items(node: SchemaTree) -> dict[str, Item]:
    if node.level:
        return {piece.first: piece for piece in _pieces(node)}
    return dict(_entries(node))


def _last_until(pieces: tuple[TreePiece, ...], name: str) -> TreePiece | None:
    """Return the piece in which a name lies; None if it is before all."""
    at = bisect_right(pieces, name, key=_first_of) - 1
    return pieces[at] if at >= 0 else None


def _first_of(piece: TreePiece) -> str:
    return piece.first


def _pieces(node: SchemaTree) -> tuple[TreePiece, ...]:
    if isinstance(node.relations, tuple) and node.relations:
        return node.relations
    raise _damaged(node)


def _entries(node: SchemaTree) -> dict[str, Entry]:
    if isinstance(node.relations, dict):
        return node.relations
    raise _damaged(node)


def _damaged(node: SchemaTree) -> DamagedError:
    return DamagedError(
        f"A tree says that it has {node.level} levels of pieces below, and its relations are no "
        "such thing. Restore the object from a backup of the repository."
    )


def pieces_and_entries(node: SchemaTree) -> tuple[tuple[TreePiece, ...], Mapping[str, Entry]]:
    """Return the pieces of one node of a schema's tree, and the relations that are in it."""
    return (_pieces(node), {}) if node.level else ((), _entries(node))
