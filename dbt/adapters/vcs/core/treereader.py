"""Tree reader: read one tree, and write the next one from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import TreeId
from dbt.adapters.vcs.core.model import Absent, Entry, RelationName, SchemaRef, SchemaTree, Tree
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.plan.tree_merge import SchemaInfo
from dbt.adapters.vcs.core.store.branch_names import quoted, unseen
from dbt.adapters.vcs.core.store.objects import ObjectStore

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

    def relations(self, schema: str) -> dict[str, Entry]:
        """Return a schema's relations by identifier; empty if there is no such schema."""
        ref = self._tree.schemas.get(schema)
        return {} if ref is None else dict(self._objects.schema_tree(ref.id).relations)

    def entry(self, name: RelationName) -> Entry | None:
        """Return the entry with a name, None if there is none."""
        ref = self._tree.schemas.get(name.schema)
        if ref is None:
            return None
        return self._objects.schema_tree(ref.id).relations.get(name.identifier)


def edit_tree(objects: ObjectStore, base: TreeId, changes: TreeChanges) -> TreeId:
    """Apply changes to a tree, store the result, and return its id.

    Schemas are changed first, then relations. Names are checked before anything is written.

    Raises:
        InputError: Spark's catalog does not accept a name.
        NotFoundError: A relation is put into a schema that doesn't exist.
    """
    _check_names(changes)
    before = objects.tree(base).schemas
    infos = _infos(before, changes.schemas)
    touched = set(changes.schemas)
    for name, entry in changes.relations.items():
        if name.schema not in infos and entry is not Absent:
            raise NotFoundError(
                f"There is no schema {name.schema!r} to put {name.identifier!r} into. "
                f"Create it first: create schema {name.schema}"
            )
        touched.add(name.schema)
    after = {}
    for schema, info in infos.items():
        if schema in touched:
            relations = _relations(objects, before.get(schema), schema, changes)
            id = TreeId(objects.put(SchemaTree(relations=relations)))
            after[schema] = SchemaRef(
                id=id, comment=info.comment, properties=dict(info.properties)
            )
        else:
            after[schema] = before[schema]
    return TreeId(objects.put(Tree(schemas=after)))


def _infos(
    before: Mapping[str, SchemaRef], changes: Mapping[str, SchemaInfo | AbsentType]
) -> dict[str, SchemaInfo]:
    infos = {name: SchemaInfo(ref.comment, ref.properties) for name, ref in before.items()}
    for name, info in changes.items():
        if isinstance(info, SchemaInfo):
            infos[name] = info
        else:
            infos.pop(name, None)
    return infos


def _relations(
    objects: ObjectStore, before: SchemaRef | None, schema: str, changes: TreeChanges
) -> dict[str, Entry]:
    relations = {} if before is None else dict(objects.schema_tree(before.id).relations)
    for name, entry in changes.relations.items():
        if name.schema != schema:
            continue
        if isinstance(entry, Entry):
            relations[name.identifier] = entry
        else:
            relations.pop(name.identifier, None)
    # The encoder sorts too, but takes quadratic time if a name comes after many in order.
    return {name: relations[name] for name in sorted(relations)}


def _check_names(changes: TreeChanges) -> None:
    for schema, info in changes.schemas.items():
        if info is not Absent:
            check_name(schema, "schema")
    for name, entry in changes.relations.items():
        if entry is not Absent:
            check_name(name.schema, "schema")
            check_name(name.identifier, "table or view")


def check_name(name: str, what: str) -> str:
    r"""Return a schema's or relation's name: `\w+` in lower case, as Spark's catalog keeps it.

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
    return name
