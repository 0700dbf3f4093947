"""A snapshot: one immutable version of one table, and where it came from."""

from __future__ import annotations

from typing import Final

from dbt.adapters.vcs.core.ids import SnapshotId, TableId
from dbt.adapters.vcs.core.model.schema import Field, Schema
from dbt.adapters.vcs.core.model.segment import SegmentRef
from dbt.adapters.vcs.core.model.value import Moment, Value

ENFORCED: Final = "vcs.enforce_primary_key"
"""Table property: `false` turns off the check of the key; the default is `true`."""

IDENTIFIERS: Final = "vcs.identifier_fields"
"""Table property: `true` shows the primary key to Iceberg's clients as identifier fields."""


class Input(Value, frozen=True, kw_only=True):
    """One relation that was read to make a snapshot.

    Exactly one of `snapshot`, `view`, `function` and `external` is set: the version of a table, of
    a view, of a function, or the location of files that are not versioned. It is `pinned` if the
    statement or a view names the version, which stays the same whatever a branch shows.
    """

    relation: str
    snapshot: str | None = None
    view: str | None = None
    external: str | None = None
    function: str | None = None
    pinned: bool = False

    @property
    def version(self) -> str:
        """The one that is set; empty if none is."""
        return self.snapshot or self.view or self.function or self.external or ""


class Origin(Value, frozen=True, kw_only=True):
    """Who made a snapshot, from what.

    Attributes:
        node: dbt's unique id of the node, or None outside dbt.
        invocation: dbt's invocation id, or None outside dbt.
        sql_sha256: SHA-256 (hex) of the statement that was run.
        inputs: What it read, by relation name.
        derivation: The key of what it was computed from; None if that can't be known.
    """

    node: str | None = None
    invocation: str | None = None
    sql_sha256: str | None = None
    inputs: tuple[Input, ...] = ()
    derivation: str | None = None


class Consumed(Value, frozen=True, kw_only=True):
    """An input of a table and the version of it whose rows the table accounts for.

    Attributes:
        relation: The input, `schema.identifier`.
        snapshot: The version; None if the table accounts for no row of it yet.
    """

    relation: str
    snapshot: str | None = None


class Consumption(Value, frozen=True, kw_only=True):
    """What a table that is built from changes has consumed.

    Attributes:
        reader: The table's name when it was built; a clone keeps that of the other table.
        inputs: Its inputs, by relation name.
    """

    reader: str
    inputs: tuple[Consumed, ...] = ()


class Snapshot(Value, frozen=True, kw_only=True):
    """One version of a table.

    Attributes:
        table: The lineage that it belongs to.
        schema: Its columns.
        segments: Its blocks, in order.
        parents: The snapshots that it was made from: none for a new table, one for a write or
            a clone, two (ours, theirs) for a merge.
        operation: What made it: `create`, `append`, `overwrite`, `alter`, ...
        created_at: When.
        primary_key: Field ids, in key order.
        partition_by: Field ids, outermost first.
        cluster_by: Field ids.
        comment: Free text, or None.
        properties: Table properties.
        origin: Lineage.
        consumption: What its rows account for, if it is built from changes. Versions made by hand
            keep it, and a table that is made again has none.
    """

    table: TableId
    schema: Schema
    segments: tuple[SegmentRef, ...]
    created_at: Moment
    operation: str
    parents: tuple[SnapshotId, ...] = ()
    primary_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    comment: str | None = None
    properties: dict[str, str] = {}
    origin: Origin = Origin()
    consumption: Consumption | None = None

    @property
    def key(self) -> tuple[Field, ...]:
        """The columns of the primary key, in key order; none without one."""
        found = (self.schema.by_id(id) for id in self.primary_key)
        return tuple(field for field in found if field is not None)

    @property
    def is_key_enforced(self) -> bool:
        """Whether there is a primary key that every write is checked against."""
        return bool(self.primary_key) and self.properties.get(ENFORCED, "true") != "false"

    @property
    def rows(self) -> int:
        """Rows that a reader sees."""
        return sum(ref.rows - ref.deleted for ref in self.segments)

    @property
    def block_count(self) -> int:
        """How many blocks it has."""
        return sum(ref.blocks for ref in self.segments)

    @property
    def bytes(self) -> int:
        """Size of the block files."""
        return sum(ref.bytes for ref in self.segments)
