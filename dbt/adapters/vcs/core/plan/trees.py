"""Diff and three-way merge of trees, relation by relation.

Per relation, and per schema's comment and properties; b, o, t are the entry in base, ours,
theirs, Absent where there is none:

| case                                   | result   |
|----------------------------------------|----------|
| o = t (both made the same change)      | o        |
| t = b (only ours changed, or none)     | o        |
| o = b (only theirs changed)            | t        |
| else                                   | conflict |

A schema that one side dropped stays if the other side put a relation into it.
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
    """What a tree says of a schema, its relations aside."""

    comment: str | None = None
    properties: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Triple(Generic[T]):
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
    """What turns one tree into another, sorted by name."""

    relations: tuple[Change, ...]
    schemas: tuple[SchemaChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeMerge:
    """How `ours` becomes the merged tree, and what stands in the way.

    Attributes:
        relations: What to put into ours, by name; only what differs from ours.
        schemas: The same for schemas.
        conflicts: Relations that both sides changed differently, sorted.
        schema_conflicts: Schemas whose comment or properties both sides changed differently.
    """

    relations: Mapping[RelationName, Entry | AbsentType]
    schemas: Mapping[str, SchemaInfo | AbsentType]
    conflicts: Mapping[RelationName, Triple[Entry]] = field(default_factory=dict)
    schema_conflicts: Mapping[str, Triple[SchemaInfo]] = field(default_factory=dict)


def info_of(ref: SchemaRef | None) -> SchemaInfo | AbsentType:
    """Return a schema's comment and properties, Absent for no schema."""
    return Absent if ref is None else SchemaInfo(ref.comment, ref.properties)


def diff_trees(old: Tree, new: Tree, load: LoadSchema) -> TreeDiff:
    """Return what turns one tree into another; schemas with equal ids are not loaded."""
    names = sorted(old.schemas.keys() | new.schemas.keys())
    schemas = []
    relations: list[Change] = []
    for name in names:
        before, after = old.schemas.get(name), new.schemas.get(name)
        if info_of(before) != info_of(after):
            schemas.append(SchemaChange(name, info_of(before), info_of(after)))
        relations.extend(_changed_relations(name, before, after, load))
    return TreeDiff(relations=tuple(relations), schemas=tuple(schemas))


def merge_trees(base: Tree, ours: Tree, theirs: Tree, load: LoadSchema) -> TreeMerge:
    """Merge theirs into ours; the table above has the rule.

    Where there are conflicts the rest of the answer still tells what merges cleanly.
    """
    relations: dict[RelationName, Entry | AbsentType] = {}
    schemas: dict[str, SchemaInfo | AbsentType] = {}
    conflicts: dict[RelationName, Triple[Entry]] = {}
    schema_conflicts: dict[str, Triple[SchemaInfo]] = {}
    for name in sorted(base.schemas.keys() | ours.schemas.keys() | theirs.schemas.keys()):
        refs = (base.schemas.get(name), ours.schemas.get(name), theirs.schemas.get(name))
        if refs[2] == refs[0] or refs[2] == refs[1]:
            continue
        loaded = [_relations(ref, load) for ref in refs]
        left = set(loaded[1])
        for identifier in sorted(set().union(*loaded)):
            entries = Triple[Entry](*(known.get(identifier, Absent) for known in loaded))
            chosen = _merged(entries)
            if chosen is None:
                conflicts[RelationName(name, identifier)] = entries
            elif chosen != entries.ours:
                relations[RelationName(name, identifier)] = chosen
                (left.discard if chosen is Absent else left.add)(identifier)
        infos = Triple[SchemaInfo](*(info_of(ref) for ref in refs))
        info = _merged(infos)
        if info is Absent and left:
            info = infos.theirs if infos.ours is Absent else infos.ours
        if info is None:
            schema_conflicts[name] = infos
        elif info != infos.ours:
            schemas[name] = info
    return TreeMerge(
        relations=relations,
        schemas=schemas,
        conflicts=conflicts,
        schema_conflicts=schema_conflicts,
    )


def _merged(triple: Triple[T]) -> T | AbsentType | None:
    """Return what the rule chooses, None for a conflict."""
    if triple.theirs in (triple.ours, triple.base):
        return triple.ours
    return triple.theirs if triple.ours == triple.base else None


def _relations(ref: SchemaRef | None, load: LoadSchema) -> dict[str, Entry]:
    return {} if ref is None else load(ref.id).relations


def _changed_relations(
    schema: str, old: SchemaRef | None, new: SchemaRef | None, load: LoadSchema
) -> Iterator[Change]:
    if old is not None and new is not None and old.id == new.id:
        return
    before, after = _relations(old, load), _relations(new, load)
    for identifier in sorted(before.keys() | after.keys()):
        pair = before.get(identifier, Absent), after.get(identifier, Absent)
        if pair[0] != pair[1]:
            yield Change(RelationName(schema, identifier), *pair)
