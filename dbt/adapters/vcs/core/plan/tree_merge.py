"""Diff and three-way merge of trees, relation by relation.

For each relation, and each schema's comment and properties; b, o, t are the entry in base, ours,
theirs, Absent if there is none:

| case                                   | result   |
|----------------------------------------|----------|
| o = t (both made the same change)      | o        |
| t = b (only ours changed, or none)     | o        |
| o = b (only theirs changed)            | t        |
| else                                   | conflict |

A schema that one side dropped is kept if the other side added a relation to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from dbt.adapters.vcs.core.ids import TreeId
from dbt.adapters.vcs.core.model import Absent, Entry, RelationName, SchemaRef, SchemaTree, Tree
from dbt.adapters.vcs.core.model.tree import AbsentType

LoadSchema: TypeAlias = Callable[[TreeId], SchemaTree]

T = TypeVar("T")


class SchemaInfo(NamedTuple):
    """A schema's comment and properties in a tree."""

    comment: str | None = None
    properties: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Sides(Generic[T]):
    """One thing in base, ours and theirs."""

    base: T | AbsentType
    ours: T | AbsentType
    theirs: T | AbsentType


class Change(NamedTuple):
    """One relation that differs between two trees."""

    name: RelationName
    old: Entry | AbsentType
    new: Entry | AbsentType


class SchemaChange(NamedTuple):
    """One schema whose existence, comment or properties differ between two trees."""

    name: str
    old: SchemaInfo | AbsentType
    new: SchemaInfo | AbsentType


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeDiff:
    """The changes that turn one tree into another, sorted by name."""

    relations: tuple[Change, ...]
    schemas: tuple[SchemaChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeMerge:
    """The changes that turn ours into the merged tree, and the conflicts.

    Attributes:
        relations: Entries to put into ours, by name; only those that differ from ours.
        schemas: The same for schemas.
        conflicts: Relations that both sides changed differently, sorted.
        schema_conflicts: Schemas whose comment or properties both sides changed differently.
    """

    relations: Mapping[RelationName, Entry | AbsentType]
    schemas: Mapping[str, SchemaInfo | AbsentType]
    conflicts: Mapping[RelationName, Sides[Entry]] = field(default_factory=dict)
    schema_conflicts: Mapping[str, Sides[SchemaInfo]] = field(default_factory=dict)


def info_of(ref: SchemaRef | AbsentType) -> SchemaInfo | AbsentType:
    """Return a schema's comment and properties, Absent for no schema."""
    return SchemaInfo(ref.comment, ref.properties) if isinstance(ref, SchemaRef) else Absent


def diff_trees(old: Tree, new: Tree, load: LoadSchema) -> TreeDiff:
    """Return the changes from one tree to another; schemas with equal ids are not loaded."""
    names = sorted(old.schemas.keys() | new.schemas.keys())
    schemas = []
    relations: list[Change] = []
    for name in names:
        before, after = old.schemas.get(name, Absent), new.schemas.get(name, Absent)
        if info_of(before) != info_of(after):
            schemas.append(SchemaChange(name, info_of(before), info_of(after)))
        relations.extend(_changed_relations(name, before, after, load))
    return TreeDiff(relations=tuple(relations), schemas=tuple(schemas))


def merge_trees(base: Tree, ours: Tree, theirs: Tree, load: LoadSchema) -> TreeMerge:
    """Merge theirs into ours by the table above.

    If there are conflicts, the rest of the result is what merges cleanly.
    """
    parts = []
    for name in sorted(base.schemas.keys() | ours.schemas.keys() | theirs.schemas.keys()):
        refs = Sides(*(tree.schemas.get(name, Absent) for tree in (base, ours, theirs)))
        if refs.theirs not in (refs.base, refs.ours):
            parts.append(_merge_schema(name, refs, load))
    return TreeMerge(
        relations={key: value for part in parts for key, value in part.relations.items()},
        schemas={key: value for part in parts for key, value in part.schemas.items()},
        conflicts={key: value for part in parts for key, value in part.conflicts.items()},
        schema_conflicts={
            key: value for part in parts for key, value in part.schema_conflicts.items()
        },
    )


def _merge_schema(schema: str, refs: Sides[SchemaRef], load: LoadSchema) -> TreeMerge:
    loaded = [_relations(ref, load) for ref in (refs.base, refs.ours, refs.theirs)]
    relations: dict[RelationName, Entry | AbsentType] = {}
    conflicts: dict[RelationName, Sides[Entry]] = {}
    left = set(loaded[1])
    # If theirs equals base, ours is kept: most of a large schema needs no look.
    for identifier in _differing(loaded[0], loaded[2]):
        name = RelationName(schema, identifier)
        entries: Sides[Entry] = Sides(*(known.get(identifier, Absent) for known in loaded))
        chosen = _merged(entries)
        if chosen is None:
            conflicts[name] = entries
        elif chosen != entries.ours:
            relations[name] = chosen
            (left.discard if chosen is Absent else left.add)(identifier)
    infos = Sides(info_of(refs.base), info_of(refs.ours), info_of(refs.theirs))
    info = _merged(infos)
    if info is Absent and left:
        info = infos.theirs if infos.ours is Absent else infos.ours
    return TreeMerge(
        relations=relations,
        schemas={} if info is None or info == infos.ours else {schema: info},
        conflicts=conflicts,
        schema_conflicts={schema: infos} if info is None else {},
    )


def _merged(triple: Sides[T]) -> T | AbsentType | None:
    """Return the entry chosen by the rule, None for a conflict."""
    if triple.theirs in (triple.ours, triple.base):
        return triple.ours
    return triple.theirs if triple.ours == triple.base else None


def _relations(ref: SchemaRef | AbsentType, load: LoadSchema) -> dict[str, Entry]:
    return load(ref.id).relations if isinstance(ref, SchemaRef) else {}


def _changed_relations(
    schema: str, old: SchemaRef | AbsentType, new: SchemaRef | AbsentType, load: LoadSchema
) -> Iterator[Change]:
    if isinstance(old, SchemaRef) and isinstance(new, SchemaRef) and old.id == new.id:
        return
    before, after = _relations(old, load), _relations(new, load)
    for identifier in _differing(before, after):
        pair = before.get(identifier, Absent), after.get(identifier, Absent)
        yield Change(RelationName(schema, identifier), *pair)


def _differing(one: Mapping[str, Entry], other: Mapping[str, Entry]) -> list[str]:
    """Return the names whose entries differ, sorted."""
    changed = {name for name, entry in one.items() if other.get(name) != entry}
    return sorted(changed | (other.keys() - one.keys()))
