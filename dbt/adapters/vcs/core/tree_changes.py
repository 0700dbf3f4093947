"""Trees: read, changed, compared, and merged three ways, relation by relation.

In a merge, for each relation, and each schema's comment and properties; b, o, t are the entry in
base, ours, theirs, Absent if there is none:

| case                                   | result   |
|----------------------------------------|----------|
| o = t (both made the same change)      | o        |
| t = b (only ours changed, or none)     | o        |
| o = b (only theirs changed)            | t        |
| else                                   | conflict |

A schema that one side dropped is kept if the other side added a relation to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import TreeId
from dbt.adapters.vcs.core.model import Absent, Entry, RelationName, SchemaRef, Tree
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.store.branch_names import quoted, unseen
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.relations import (
    SchemaRelations,
    Streamed,
    differences,
    edit_relations,
)

LoadSchema: TypeAlias = Callable[[TreeId | None], SchemaRelations]

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
    """Return the changes from one tree to another; what both share is not loaded."""
    names = sorted(old.schemas.keys() | new.schemas.keys())
    schemas = []
    relations: list[Change] = []
    for name in names:
        before, after = old.schemas.get(name, Absent), new.schemas.get(name, Absent)
        if info_of(before) != info_of(after):
            schemas.append(SchemaChange(name, info_of(before), info_of(after)))
        if before is Absent or after is Absent or before.id != after.id:
            changed = differences(_relations(before, load), _relations(after, load))
            relations += [
                Change(RelationName(name, item.identifier), item.old, item.new) for item in changed
            ]
    return TreeDiff(relations=tuple(relations), schemas=tuple(schemas))


def merge_trees(base: Tree, ours: Tree, theirs: Tree, load: LoadSchema) -> TreeMerge:
    """Merge theirs into ours by the table above.

    If there are conflicts, the rest of the result is what merges cleanly.
    """
    parts = []
    for name in sorted(base.schemas.keys() | ours.schemas.keys() | theirs.schemas.keys()):
        refs = Sides(*(tree.schemas.get(name, Absent) for tree in (base, ours, theirs)))
        # Most schemas are the same on two sides, and aren't loaded.
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
    base, ours, theirs = (_relations(ref, load) for ref in (refs.base, refs.ours, refs.theirs))
    relations: dict[RelationName, Entry | AbsentType] = {}
    conflicts: dict[RelationName, Sides[Entry]] = {}
    by_ours = {item.identifier: item.new for item in differences(base, ours)}
    # What will be in the schema. It isn't dropped with relations that the other side added.
    left = len(ours)
    # If theirs equals base, ours is kept: most of a large schema needs no look.
    for identifier, old, new in differences(base, theirs):
        name = RelationName(schema, identifier)
        entries: Sides[Entry] = Sides(old, by_ours.get(identifier, old), new)
        chosen = _chosen_entry(entries)
        if chosen is None:
            conflicts[name] = entries
        elif chosen != entries.ours:
            relations[name] = chosen
            left += (chosen is not Absent) - (entries.ours is not Absent)
    infos = Sides(info_of(refs.base), info_of(refs.ours), info_of(refs.theirs))
    info = _chosen_entry(infos)
    # One side dropped the schema, and the other one has relations in it.
    if info is Absent and left:
        info = infos.theirs if infos.ours is Absent else infos.ours
    return TreeMerge(
        relations=relations,
        schemas={} if info is None or info == infos.ours else {schema: info},
        conflicts=conflicts,
        schema_conflicts={schema: infos} if info is None else {},
    )


def _chosen_entry(triple: Sides[T]) -> T | AbsentType | None:
    """Return the entry chosen by the rule, None for a conflict."""
    if triple.theirs in (triple.ours, triple.base):
        return triple.ours
    return triple.theirs if triple.ours == triple.base else None


def _relations(ref: SchemaRef | AbsentType, load: LoadSchema) -> SchemaRelations:
    return load(ref.id if isinstance(ref, SchemaRef) else None)


MAX_NAME_LENGTH: Final = 255
"""Characters in a schema's or relation's name, as file systems and metastores allow."""

_NAME: Final = re.compile(r"[a-z0-9_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChanges:
    """Changes to a tree.

    Attributes:
        relations: The new entry of each relation; Absent drops it if it exists.
        schemas: The new comment and properties of each schema, which is created if necessary;
            Absent drops it with all its relations.
    """

    relations: Mapping[RelationName, Entry | AbsentType] = field(default_factory=dict)
    schemas: Mapping[str, SchemaInfo | AbsentType] = field(default_factory=dict)


class TreeReader:
    """One tree, read only as far as needed."""

    def __init__(self, objects: ObjectStore, id: TreeId) -> None:
        self.id = id
        self._objects = objects
        self._tree = objects.tree(id)

    def schemas(self) -> list[str]:
        """Return the names of the schemas, sorted."""
        return sorted(self._tree.schemas)

    def has_schema(self, name: str) -> bool:
        """Return whether there is a schema with this name, in lower case."""
        return name in self._tree.schemas

    def schema_ref(self, name: str) -> SchemaRef:
        """Return a schema's comment, properties and id.

        Raises:
            NotFoundError: There is no such schema.
        """
        found = self._tree.schemas.get(name)
        if found is None:
            known = ", ".join(self.schemas()[:10]) or "none"
            raise NotFoundError(
                f"There is no schema {name!r} (there is: {known}). "
                f"Create it first: create schema {name}"
            )
        return found

    def relations(self, schema: str) -> SchemaRelations:
        """Return a schema's relations by identifier; empty if there is no such schema."""
        ref = self._tree.schemas.get(schema)
        return self._objects.relations(None if ref is None else ref.id)

    def entry(self, name: RelationName) -> Entry | None:
        """Return the entry with a name, None if there is none."""
        return self.relations(name.schema).get(name.identifier)


class TreeEntries(Streamed[RelationName]):
    """Everything that a tree shows, by name."""

    def __init__(self, tree: TreeReader) -> None:
        """Show a tree."""
        self._tree = tree

    def __getitem__(self, name: RelationName) -> Entry:
        entry = self._tree.entry(name)
        if entry is None:
            raise KeyError(name)
        return entry

    def __len__(self) -> int:
        return sum(len(self._tree.relations(schema)) for schema in self._tree.schemas())

    def pairs(self) -> Iterator[tuple[RelationName, Entry]]:
        """Yield names and entries, sorted."""
        for schema in self._tree.schemas():
            for identifier, entry in self._tree.relations(schema).items():
                yield RelationName(schema, identifier), entry


def edit_tree(
    objects: ObjectStore, base: TreeId, changes: TreeChanges, *, in_pieces: bool = True
) -> TreeId:
    """Apply changes to a tree, store the result, and return its id.

    Schemas are changed first, then relations. Names are checked before anything is written. With
    `in_pieces` False each schema is one object, as versions before format 3 read it.

    Raises:
        InputError: Spark's catalog does not accept a name.
        NotFoundError: A relation is put into a schema that doesn't exist.
    """
    # First of all: nothing is written of a change that is refused.
    _check_names(changes)
    before = objects.tree(base).schemas
    infos = _schema_infos(before, changes.schemas)
    touched: dict[str, dict[str, Entry | AbsentType]] = {name: {} for name in changes.schemas}
    for name, entry in changes.relations.items():
        # To drop what isn't there is no error, as `TreeChanges` says.
        if name.schema not in infos and entry is not Absent:
            raise NotFoundError(
                f"There is no schema {name.schema!r} to put {name.identifier!r} into. "
                f"Create it first: create schema {name.schema}"
            )
        touched.setdefault(name.schema, {})[name.identifier] = entry
    after = {}
    for schema, info in infos.items():
        if schema in touched:
            relations = _relations(before.get(schema, Absent), objects.relations)
            id = edit_relations(relations, touched[schema], objects.put, in_pieces=in_pieces)
            after[schema] = SchemaRef(
                id=id, comment=info.comment, properties=dict(info.properties)
            )
        else:
            after[schema] = before[schema]
    return TreeId(objects.put(Tree(schemas=after)))


def _schema_infos(
    before: Mapping[str, SchemaRef], changes: Mapping[str, SchemaInfo | AbsentType]
) -> dict[str, SchemaInfo]:
    old = {name: SchemaInfo(ref.comment, ref.properties) for name, ref in before.items()}
    new = {**old, **changes}
    return {name: info for name, info in new.items() if isinstance(info, SchemaInfo)}


def _check_names(changes: TreeChanges) -> None:
    for schema, info in changes.schemas.items():
        if info is not Absent:
            check_name(schema, "schema")
    for name, entry in changes.relations.items():
        if entry is not Absent:
            check_name(name.schema, "schema")
            check_name(name.identifier, "table or view")


def check_name(name: str, what: str) -> None:
    r"""Check a schema's or relation's name: `\w+` in lower case, as Spark's catalog keeps it.

    Raises:
        InputError: It is not such a name.
    """
    if not _NAME.fullmatch(name):
        hidden = unseen(name)
        held = f"it holds {hidden}, and " if hidden else ""
        raise InputError(
            f"The name {quoted(name)} can't be a {what}: {held}Spark's catalog takes letters a-z, "
            "digits and underscores, and keeps them in lower case. Rename it, in dbt through "
            "`alias` or `schema`."
        )
    if len(name) > MAX_NAME_LENGTH:
        raise InputError(
            f"The name {name[:40]}... of a {what} has {len(name)} characters, at most "
            f"{MAX_NAME_LENGTH} are allowed. Give a shorter one, in dbt through `alias`."
        )
