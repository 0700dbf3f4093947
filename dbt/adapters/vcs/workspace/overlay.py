"""An overlay: what a branch would show if the changes made so far were committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, FunctionId, SnapshotId, ViewId
from dbt.adapters.vcs.core.model import (
    Absent,
    Entry,
    Function,
    FunctionEntry,
    Readable,
    RelationName,
    Snapshot,
    TableEntry,
    View,
    ViewEntry,
)
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges, TreeReader


@dataclass(slots=True, kw_only=True)
class Overlay:
    """Changes over the tree of one commit, not yet committed.

    Snapshots, views and functions are stored as objects at once. Until a commit names them
    they are garbage, so dropping an overlay undoes everything in it.

    Attributes:
        repository: The repository of the branch.
        base: The commit that the changes apply to.
        relations: New entries by name; `Absent` for a relation that was removed.
        schemas: The new comment and properties of changed schemas.
        branch: The branch whose log resolves times; None for the history of `base`.
        author: Who makes the changes; empty if nothing can be changed.
        read: Names of the relations that its statements read, `schema.identifier`.
        read_versions: Ids of the versions of tables that its statements read.
    """

    repository: Repository
    base: CommitId
    tree: TreeReader
    relations: dict[RelationName, Entry | AbsentType] = field(default_factory=dict)
    schemas: dict[str, SchemaInfo | AbsentType] = field(default_factory=dict)
    branch: str | None = None
    author: str = ""
    read: set[str] = field(default_factory=set)
    read_versions: set[str] = field(default_factory=set)

    @property
    def changes(self) -> TreeChanges:
        """What a commit of this overlay would change."""
        # Copies, so that later changes of the overlay don't reach a commit.
        return TreeChanges(relations=dict(self.relations), schemas=dict(self.schemas))

    @property
    def is_empty(self) -> bool:
        """True if there are no changes."""
        return not self.relations and not self.schemas

    def schema_names(self) -> list[str]:
        """Names of the schemas, sorted."""
        names = {name for name in self.tree.schemas() if self.schemas.get(name) is not Absent}
        names.update(name for name, ref in self.schemas.items() if ref is not Absent)
        return sorted(names)

    def has_schema(self, schema: str) -> bool:
        """Return whether a schema exists."""
        changed = self.schemas.get(schema)
        if changed is not None:
            return changed is not Absent
        return self.tree.has_schema(schema)

    def require_schema(self, schema: str) -> None:
        """Check that a schema exists.

        Raises:
            NotFoundError: It doesn't exist.
        """
        if not self.has_schema(schema):
            known = ", ".join(self.schema_names()) or "none yet"
            raise NotFoundError(
                f"There is no schema '{schema}' here; the schemas are: {known}. "
                f"Create it first: create schema {schema}."
            )

    def entry(self, name: RelationName) -> Entry | None:
        """Return the entry of a name, or None."""
        changed = self.relations.get(name)
        if changed is not None:
            return None if changed is Absent else changed
        return self.tree.entry(name)

    def before(self, name: RelationName) -> Entry | None:
        """Return the entry of a name in the base commit, or None."""
        return self.tree.entry(name)

    def entries(self, schema: str) -> Mapping[str, Entry]:
        """Return a schema's entries by identifier, sorted; empty if there is no such schema."""
        found = dict(self.tree.relations(schema).items())
        for name, entry in self.relations.items():
            if name.schema != schema:
                continue
            if entry is Absent:
                found.pop(name.identifier, None)
            else:
                found[name.identifier] = entry
        return dict(sorted(found.items()))

    def require_table(self, name: RelationName) -> Snapshot:
        """Return the snapshot of a table.

        Raises:
            NotFoundError: There is no such relation.
            InputError: It is a view or a function.
        """
        return self.snapshot(self.require_version(name))

    def require_version(self, name: RelationName) -> SnapshotId:
        """Return the id of a table's snapshot; errors are those of `require_table`."""
        entry = self.require(name)
        if isinstance(entry, ViewEntry):
            raise InputError(f"{name} is a view and a table is needed here.")
        return entry.snapshot

    def require(self, name: RelationName) -> Readable:
        """Return the table or view of a name.

        Raises:
            NotFoundError: There is no such relation.
            InputError: It is a function.
        """
        entry = self.entry(name)
        if isinstance(entry, FunctionEntry):
            raise InputError(f"{name} is a function and a table or view is needed here.")
        if entry is None:
            raise NotFoundError(
                f"There is no table or view {name} here. Check the spelling, or look at "
                f"`show tables in {name.schema}`."
            )
        return entry

    def properties(self, name: RelationName) -> Mapping[str, str]:
        """Return the properties of a table or view; raises what `require` raises."""
        entry = self.require(name)
        if isinstance(entry, TableEntry):
            return self.snapshot(entry.snapshot).properties
        return self.view(entry.view).properties

    def snapshot(self, id: SnapshotId) -> Snapshot:
        """Return a snapshot by id."""
        return self.repository.objects.snapshot(id)

    def view(self, id: ViewId) -> View:
        """Return a view by id."""
        return self.repository.objects.view(id)

    def function(self, id: FunctionId) -> Function:
        """Return a function by id."""
        return self.repository.objects.function(id)

    def put_table(self, name: RelationName, snapshot: Snapshot) -> SnapshotId:
        """Write a snapshot and point a name to it; return its id."""
        id = SnapshotId(self.repository.objects.put(snapshot))
        self.put(name, TableEntry(snapshot=id))
        return id

    def put_view(self, name: RelationName, view: View) -> ViewId:
        """Write a view and point a name to it; return its id."""
        id = ViewId(self.repository.objects.put(view))
        self.put(name, ViewEntry(view=id))
        return id

    def put_function(self, name: RelationName, function: Function) -> FunctionId:
        """Write a function and point a name to it; return its id."""
        id = FunctionId(self.repository.objects.put(function))
        self.put(name, FunctionEntry(function=id))
        return id

    def put(self, name: RelationName, entry: Entry | AbsentType) -> None:
        """Set or remove the entry of a name."""
        if entry is not Absent:
            self.require_schema(name.schema)
        self.relations[name] = entry
        # What is back where it was is no change, so a run that ends as it began commits nothing.
        if name.schema not in self.schemas and self.before(name) == self.entry(name):
            del self.relations[name]

    def schema_info(self, schema: str) -> SchemaInfo:
        """Return a schema's comment and properties.

        Raises:
            NotFoundError: There is no such schema.
        """
        self.require_schema(schema)
        changed = self.schemas.get(schema)
        if isinstance(changed, SchemaInfo):
            return changed
        ref = self.tree.schema_ref(schema)
        return SchemaInfo(ref.comment, ref.properties)

    def put_schema(self, schema: str, *, comment: str | None, properties: dict[str, str]) -> None:
        """Create or update a schema with this comment and these properties."""
        self.schemas[schema] = SchemaInfo(comment, properties)

    def drop_schema(self, schema: str) -> None:
        """Drop a schema and everything in it."""
        for identifier in self.entries(schema):
            # Each by itself, or `entry` would still find it in the tree below.
            self.put(RelationName(schema, identifier), Absent)
        self.schemas[schema] = Absent
