"""A snapshot: one immutable version of a table, its columns, its files and where it came from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

import msgspec

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import SegmentId, SnapshotId, TableId
from dbt.adapters.vcs.core.model.data_type import INTEGERS, Type, type_of
from dbt.adapters.vcs.core.model.tree import Input, Moment, Value


class Field(Value, frozen=True, kw_only=True):
    """One top-level column.

    Attributes:
        id: The column's name inside Parquet files, and its identity: stays when `name` changes,
            and is never given to another column of the lineage. The same column added on two
            branches gets the same id.
        name: The name that statements use.
        type: Spark SQL type text, lower case: `bigint`, `decimal(10,2)`, `struct<a:int>`.
        nullable: False if writes must refuse NULL.
        comment: Free text, or None.
        default: SQL text of the column's default expression, or None.
        initial: The value, as text, of rows in files that lack the column; None for NULL. It is
            settled when the column is added, and never changes.
    """

    # Decision 1: text, since readers of Parquet match columns by name and not by number.
    id: str
    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None
    initial: str | None = None


class Schema(Value, frozen=True, kw_only=True):
    """The ordered columns of one snapshot.

    Attributes:
        fields: In the order that `select *` shows.
        retired: Ids of columns that the lineage once had, sorted; never handed out again.
    """

    fields: tuple[Field, ...]
    # Old files may hold a column of that name: under a new column its values would come back.
    retired: tuple[str, ...] = ()

    @classmethod
    def of(cls, columns: Iterable[Field]) -> Schema:
        """Return the schema of a new table; the `id` of the columns passed in is ignored.

        Raises:
            InputError: There are no columns, or a name occurs twice.
        """
        schema = cls(fields=()).add(columns)
        if not schema.fields:
            raise InputError("A table needs at least one column; none was given.")
        return schema

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(field.name for field in self.fields)

    @property
    def names_by_id(self) -> dict[str, str]:
        """The name of each column by its id, which people never see."""
        return {field.id: field.name for field in self.fields}

    def find(self, name: str) -> Field | None:
        """Return the column with a name, ignoring case as Spark does, or None."""
        wanted = name.lower()
        return next((field for field in self.fields if field.name.lower() == wanted), None)

    def field(self, name: str) -> Field:
        """Return the column with a name, as `find` does.

        Raises:
            InputError: There is no such column.
        """
        found = self.find(name)
        if found is None:
            raise InputError(
                f"There is no column '{name}'; the columns are: {', '.join(self.names)}."
            )
        return found

    def by_id(self, id: str) -> Field | None:
        """Return the column with an id, or None if this version of the schema lacks it."""
        return next((field for field in self.fields if field.id == id), None)

    def add(self, columns: Iterable[Field]) -> Schema:
        """Return the schema with more columns at the end; their `id` is handed out here.

        A name that another column had before gets a new id (`x__2`), so that old files never show
        through a new column. Ids of columns that are added to others are in lower case. The id of
        a name that files have for something else has a prefix.

        Raises:
            InputError: A name already exists.
        """
        fields = list(self.fields)
        taken = {field.id.lower() for field in fields} | {id.lower() for id in self.retired}
        for column in columns:
            if any(field.name.lower() == column.name.lower() for field in fields):
                raise InputError(
                    f"The column '{column.name}' already exists; choose another name."
                )
            # Two sides that add `W` and `w` to a table add one column: Spark ignores the case of
            # names. A new table's ids keep it, as its files were perhaps written by others.
            wanted = column.name.lower() if self.fields else column.name
            fields.append(msgspec.structs.replace(column, id=_free_id(wanted, taken)))
            taken.add(fields[-1].id.lower())
        return Schema(fields=tuple(fields), retired=self.retired)

    def rename(self, old: str, new: str) -> Schema:
        """Return the schema with one column renamed; its identity stays.

        Raises:
            InputError: There is no column `old`, or another one is called `new`.
        """
        column = self.field(old)
        other = self.find(new)
        if other is not None and other is not column:
            raise InputError(f"The column '{new}' already exists; choose another name.")
        return self.replace(msgspec.structs.replace(column, name=new))

    def drop(self, names: Iterable[str]) -> Schema:
        """Return the schema without some columns; their ids are never handed out again.

        Raises:
            InputError: There is no such column, or none would be left.
        """
        gone = {self.field(name).id for name in names}
        fields = tuple(field for field in self.fields if field.id not in gone)
        if not fields:
            raise InputError("A table needs at least one column; drop the table instead.")
        return Schema(fields=fields, retired=tuple(sorted({*self.retired, *gone})))

    def replace(self, column: Field) -> Schema:
        """Return the schema with the column of the same id replaced."""
        return Schema(
            fields=tuple(column if field.id == column.id else field for field in self.fields),
            retired=self.retired,
        )

    def rebuilt(self, columns: Iterable[Field]) -> Schema:
        """Return the schema of a rebuild that computed these columns.

        A column keeps its identity if its name stays and its type stays or widens without loss;
        otherwise it is a new column, and what it replaced is retired.
        """
        kept: dict[str, str] = {}
        columns = tuple(columns)
        for column in columns:
            before = self.find(column.name)
            # Decision 1: this makes yesterday's build and today's comparable column by column.
            if before is not None and widens(before.type, column.type):
                kept[column.name.lower()] = before.id
        gone = {field.id for field in self.fields} - set(kept.values())
        retired = tuple(sorted({*self.retired, *gone}))
        taken = {id.lower() for id in (*retired, *kept.values())}
        fields: list[Field] = []
        for column in columns:
            id = kept.get(column.name.lower()) or _free_id(column.name, taken)
            taken.add(id.lower())
            before = self.by_id(id)
            initial = before.initial if before is not None else None
            fields.append(msgspec.structs.replace(column, id=id, initial=initial))
        return Schema(fields=tuple(fields), retired=retired)


RESERVED = "__vcs_"
"""No field id begins so: these columns stand beside a table's own in files and relations."""


POSITION_ID = "_tmp_metadata_row_index"
"""No field id is this: Spark's readers fill a column of this name with positions in the file."""

# No field id is one of these: other engines' files have each row's number and last change so.
_LINEAGE = ("_row_id", "_last_updated_sequence_number")


def widens(old: str, new: str) -> bool:
    """Return whether every value of a type fits another unchanged; both are type texts."""
    if old == new:
        return True
    narrow, wide = type_of(old), type_of(new)
    if narrow.kind in INTEGERS and wide.kind in INTEGERS:
        return INTEGERS.index(narrow.kind) <= INTEGERS.index(wide.kind)
    if (narrow.kind, wide.kind) == ("float", "double"):
        return True
    if narrow.collation is None and narrow.length is not None:
        # Values of char(n) have n characters; a longer char(n) would pad them to others.
        is_longer = wide.kind == "varchar" and (wide.length or 0) >= narrow.length
        return narrow == wide or wide == Type("string") or is_longer
    if narrow.kind == wide.kind == "decimal":
        before = wide.precision - wide.scale >= narrow.precision - narrow.scale
        return before and wide.scale >= narrow.scale
    return narrow == wide


def fitted(text: str, type_: str) -> str:
    """Return a text as char(n) and varchar(n) store it: padded, or with spaces beyond n cut."""
    found = type_of(type_)
    if found.length is None:
        return text
    padded = text.ljust(found.length) if found.kind == "char" else text
    return padded[: found.length] + padded[found.length :].rstrip(" ")


def _free_id(name: str, taken: set[str]) -> str:
    if name.lower().startswith(RESERVED) or name.lower() in (*_LINEAGE, POSITION_ID):
        name = f"column{name}"
    if name.lower() not in taken:
        return name
    number = 2
    while f"{name}__{number}".lower() in taken:
        number += 1
    return f"{name}__{number}"


FILE_COLUMN = "__vcs_file"
"""Column of a tombstone file: path of the block, relative to the repository."""

POSITION_COLUMN = "__vcs_pos"
"""Column of a tombstone file: position of the row in the block, from 0."""

PLACE = f"{FILE_COLUMN}, {POSITION_COLUMN}"
"""Both in SQL: the place of a row."""

Scalar: TypeAlias = bool | int | float | str | None
"""How a bound is written: dates as days, timestamps as microseconds, decimals as text."""


class Tombstone(Value, frozen=True, kw_only=True):
    """One Parquet file of deleted rows, places and before-images, as far as a snapshot uses it.

    Its rows are `(__vcs_file, __vcs_pos, <all columns of the deleted row, by field id>)`, sorted
    by the first two. Within a snapshot each row is deleted once, and every target is a block of
    the snapshot. When a target leaves the snapshot, the tombstone's entry is replaced by one
    without it, and readers skip those rows of the file.

    Attributes:
        path: Relative to the repository.
        bytes: Size of the file.
        targets: Rows that it deletes, by path of the block.
        footer: Digest of the file's footer; empty in entries of before there were digests.
        whole: Digest of the whole file; empty unless all its bytes were at hand.
    """

    path: str
    bytes: int
    # Decision 9: counts by block, so that a manifest alone says how many rows a version has.
    targets: dict[str, int]
    # Decision 19: Spark writes most files, and nobody else sees all of their bytes.
    footer: str = ""
    whole: str = ""

    @property
    def rows(self) -> int:
        """Rows that it deletes."""
        return sum(self.targets.values())


class ColumnStats(NamedTuple):
    """Bounds of one column in one block.

    `min` and `max` are None if the file has none; a text bound may be shortened, and is still a
    bound then. `nulls` is -1 if unknown.
    """

    min: Scalar
    max: Scalar
    nulls: int


class Block(Value, frozen=True, kw_only=True):
    """One Parquet file of rows.

    Attributes:
        path: Relative to the repository; unique, so it is the block's identity.
        rows: Rows in the file, deleted ones included.
        bytes: Size of the file.
        partition: Partition values by field id, as text; None is NULL.
        stats: Bounds by field id, without columns that have none.
        footer: Digest of the file's footer; empty in entries of before there were digests.
        whole: Digest of the whole file; empty unless all its bytes were at hand.
    """

    path: str
    rows: int
    bytes: int
    # Decision 22: our readers take partition columns from here. Those in the file are for others.
    partition: dict[str, str | None] = {}
    stats: dict[str, ColumnStats] = {}
    footer: str = ""
    whole: str = ""


MAX_BLOCKS = 1_000
"""A segment lists at most this many blocks."""


class Derivation(Value, frozen=True, kw_only=True):
    """A rewrite that changed no value: the blocks that others replace, row for row.

    Attributes:
        outputs: Paths of the blocks that were written.
        inputs: Paths of the blocks whose rows they hold.
        tombstones: Deletions from the inputs that were applied; their targets are only inputs.
    """

    outputs: tuple[str, ...]
    # Decision 10: only all outputs together hold the rows of the inputs, so nothing is said of
    # one block.
    inputs: tuple[str, ...]
    tombstones: tuple[Tombstone, ...] = ()


class Replacement(Value, frozen=True, kw_only=True):
    """An update: blocks whose rows replace deleted rows, one for one.

    Each new row is one of the old rows with other values in some of the columns, in at least one,
    and in no other column.

    Attributes:
        blocks: Paths of the blocks with the new rows, and no others.
        tombstones: Paths of the tombstones whose files have the old rows, and no others.
        rows: Number of old rows, and of new ones.
        columns: Field ids of the columns that may have other values.
    """

    blocks: tuple[str, ...]
    tombstones: tuple[str, ...]
    # Decision 29: with these, a diff of an update scans its files and compares nothing.
    rows: int
    columns: tuple[str, ...]


class Segment(Value, frozen=True, kw_only=True):
    """Blocks and tombstones in the order they were written.

    Attributes:
        blocks: At most MAX_BLOCKS.
        tombstones: Deletions from blocks of any segment of the snapshot.
        derivations: Of blocks in this segment; one that has lost an output no longer applies.
        replacements: Updates whose new blocks are in this segment or were when it was written.
    """

    blocks: tuple[Block, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    replacements: tuple[Replacement, ...] = ()


class SegmentRef(Value, frozen=True, kw_only=True):
    """A snapshot's reference to one of its segments.

    Attributes:
        blocks: Number of blocks.
        rows: Rows in the blocks, deleted ones included.
        deleted: Rows that the segment's tombstones delete, in any segment of the snapshot.
        bytes: Size of the block files.
    """

    id: SegmentId
    blocks: int
    rows: int
    deleted: int = 0
    bytes: int = 0


ENFORCED: Final = "vcs.enforce_primary_key"
"""Table property: `false` turns off the check of the key; the default is `true`."""

REBUILD: Final = "vcs.rebuild"
"""Table property: `delta` stores only the changes of a rebuild; the default is `full`."""

IDENTIFIERS: Final = "vcs.identifier_fields"
"""Table property: `true` shows the primary key to Iceberg's clients as identifier fields."""


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
    # Decision 30: explains the version. The way from a key to a version is a result's.
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
        primary_key: Field ids, in key order.
        partition_by: Field ids, outermost first.
        cluster_by: Field ids.
        comment: Free text, or None.
        origin: Lineage.
        consumption: What its rows account for, if it is built from changes. Versions made by hand
            keep it, and a table that is made again has none.
    """

    table: TableId
    schema: Schema
    segments: tuple[SegmentRef, ...]
    created_at: Moment
    operation: str
    # Decision 38: the parent of a restored version is the version before, not the one restored.
    parents: tuple[SnapshotId, ...] = ()
    primary_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    comment: str | None = None
    properties: dict[str, str] = {}
    origin: Origin = Origin()
    # Decision 32: in the version itself, so that rows and record can never come apart.
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
