"""Conflicts: what a merge could not decide, kept on a branch of its own until somebody does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import SnapshotId, TreeId, new_table_id
from dbt.adapters.vcs.core.model import Field, RelationName, Schema, Snapshot, TableEntry, Tree
from dbt.adapters.vcs.core.repository import Repository, SchemaInfo, TreeChanges
from dbt.adapters.vcs.engines.arrow import arrow_schema, write_table
from dbt.adapters.vcs.engines.footers import read_blocks
from dbt.adapters.vcs.workspace.keyvalues import is_value, key_value
from dbt.adapters.vcs.workspace.openmerges import Choice, OpenMerge
from dbt.adapters.vcs.workspace.versions import folder_of, put_segments

RESOLUTION: Final = "resolution"
"""The column of a conflict table that holds the choice made, NULL until one is."""

Kind: TypeAlias = Literal["rows", "schema", "relation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """One relation that a merge could not decide.

    Attributes:
        name: The relation; with an empty identifier a schema's comment and properties.
        kind: `rows`: some of its rows; `schema`: its columns; `relation`: the relation as a
            whole, such as changed on one side and dropped on the other.
        message: What each side did, as a clause.
        rows: The rows in conflict: `base_*`, `our_*`, `their_*`, `our_diff_type`,
            `their_diff_type`; None unless `kind` is `rows`.
        columns: Types of the columns of `rows`.
    """

    name: RelationName
    kind: Kind
    message: str
    rows: pa.Table | None = None
    columns: tuple[Field, ...] = ()

    def __str__(self) -> str:
        if self.rows is None:
            return f"{self.subject}: {self.message}"
        return f"{self.subject}: {self.rows.num_rows} {self.message}"

    @property
    def subject(self) -> str:
        """The relation's name; or `schema s`, for a schema's comment and properties."""
        return str(self.name) if self.name.identifier else f"schema {self.name.schema}"

    @property
    def count(self) -> int:
        """Conflicts in it."""
        return 1 if self.rows is None else int(self.rows.num_rows)


def keep(
    repository: Repository, merge: OpenMerge, clashes: Iterable[Clash], *, author: str
) -> OpenMerge:
    """Keep the conflicts of a merge, in place of an earlier one's into the same branch.

    `merge.head` is the target's head; what comes back stands on the new branch.
    """
    clashes = tuple(clashes)
    whole = {item.name: item.message for item in clashes if item.rows is None}
    merge = replace(merge, whole=whole, choices={})
    if repository.find_branch(merge.branch) is not None:
        repository.delete_branch(merge.branch, author=author, note="begun again")
    tables = {
        item.name: _put(repository, _schema_of(item), _unresolved(item.rows))
        for item in clashes
        if item.rows is not None
    }
    # A tree of conflict tables alone: what the branch shows is what is to be decided.
    changes = TreeChanges(
        schemas={name.schema: SchemaInfo() for name in tables},
        relations={name: TableEntry(snapshot=id) for name, id in tables.items()},
    )
    tree = repository.edit(TreeId(repository.objects.put(Tree())), changes)
    # Made from the name of a branch that is there, which may be older than the rules of names.
    branch = repository.create_branch(
        merge.branch,
        merge.head,
        author=author,
        note=f"merge {merge.source}",
        state=merge.state,
        check=False,
    )
    landed = repository.land(
        merge.branch,
        base=branch.head,
        tree=tree,
        author=author,
        message=f"Conflicts of merging {merge.source} into {merge.target}",
        allow_empty=True,
    )
    return replace(merge, head=landed.commit)


def rows_of(repository: Repository, merge: OpenMerge) -> dict[RelationName, pa.Table]:
    """Return the rows in conflict of each relation, by name, with the column `resolution`."""
    tree = repository.tree(merge.head)
    found: dict[RelationName, pa.Table] = {}
    for schema in tree.schemas():
        for identifier, entry in tree.relations(schema).items():
            if isinstance(entry, TableEntry):
                snapshot = repository.objects.snapshot(entry.snapshot)
                found[RelationName(schema, identifier)] = _read(repository, snapshot)
    return found


def resolve(
    repository: Repository,
    merge: OpenMerge,
    name: RelationName,
    choice: Choice,
    key: Mapping[str, str] | None = None,
    *,
    author: str,
) -> tuple[OpenMerge, int]:
    """Choose for a relation, or for the rows of a key alone; return how many conflicts that were.

    `key` gives values of columns as text; rows count in which any side has them.

    Raises:
        NotFoundError: The relation has no conflict, or no row of that key.
        InputError: A column isn't there, a value is none of its type, or the relation conflicts
            as a whole.
    """
    if name in merge.whole:
        if key:
            raise InputError(f"{name} conflicts as a whole ({merge.whole[name]}); give no key.")
        chosen = replace(merge, choices={**merge.choices, name: choice})
        repository.set_state(merge.branch, chosen.state, author=author)
        return chosen, 1
    entry = repository.tree(merge.head).entry(name)
    if not isinstance(entry, TableEntry):
        known = sorted(map(str, [*merge.whole, *rows_of(repository, merge)]))
        raise NotFoundError(f"{name} has no conflict; these have: {', '.join(known) or 'none'}.")
    snapshot = repository.objects.snapshot(entry.snapshot)
    rows = _read(repository, snapshot)
    fits = _fitting(rows, snapshot.schema, key or {}, name)
    count = sum(fits)
    if not count:
        raise NotFoundError(f"No conflict of {name} has the key {dict(key or {})}.")
    old = rows.column(RESOLUTION).to_pylist()
    new = [choice.value if fit else word for fit, word in zip(fits, old, strict=True)]
    rows = rows.set_column(
        rows.schema.get_field_index(RESOLUTION), RESOLUTION, pa.array(new, pa.string())
    )
    id = _put(repository, snapshot.schema, rows)
    tree = repository.edit(
        repository.tree(merge.head).id,
        TreeChanges(relations={name: TableEntry(snapshot=id)}),
    )
    landed = repository.land(
        merge.branch,
        base=merge.head,
        tree=tree,
        author=author,
        message=f"Resolve {count} of {name} with {choice}",
    )
    return replace(merge, head=landed.commit), count


def _fitting(
    rows: pa.Table, schema: Schema, key: Mapping[str, str], name: RelationName
) -> list[bool]:
    fits = pa.array([True] * rows.num_rows, pa.bool_())
    for column, text in key.items():
        names = [f"{side}_{column}".lower() for side in ("base", "our", "their")]
        there = [field for field in schema.fields if field.name.lower() in names]
        if not there:
            raise InputError(f"{name} has no column {column!r} to look for {text!r} in.")
        sides = [
            is_value(rows.column(field.name), key_value(name, column, field.type, text))
            for field in there
        ]
        fits = pc.and_(fits, reduce(pc.or_, sides))
    return list(fits.to_pylist())


def _schema_of(clash: Clash) -> Schema:
    return Schema.of([*clash.columns, Field(id="", name=RESOLUTION, type="string")])


def _unresolved(rows: pa.Table) -> pa.Table:
    return rows.append_column(RESOLUTION, pa.nulls(rows.num_rows, pa.string()))


def _put(repository: Repository, schema: Schema, rows: pa.Table) -> SnapshotId:
    """Write rows as a table of their own."""
    table = new_table_id()
    files = write_table(repository.blobs, rows, folder=folder_of(table), schema=schema)
    blocks = read_blocks(repository.blobs, files, schema, ())
    snapshot = Snapshot(
        table=table,
        schema=schema,
        segments=put_segments(repository, blocks),
        created_at=repository.clock(),
        operation="conflicts",
    )
    return SnapshotId(repository.objects.put(snapshot))


def _read(repository: Repository, snapshot: Snapshot) -> pa.Table:
    parts = [arrow_schema(snapshot.schema).empty_table()]
    for ref in snapshot.segments:
        for block in repository.objects.segment(ref.id).blocks:
            parts.append(pq.read_table(pa.BufferReader(repository.blobs.get(block.path))))
    wanted = arrow_schema(snapshot.schema)
    return pa.concat_tables([part.cast(wanted) for part in parts]).rename_columns(
        list(snapshot.schema.names)
    )
