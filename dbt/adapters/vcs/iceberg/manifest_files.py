"""Manifests and manifest lists: Iceberg's Avro files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.model.data_type import FLOATS, TEXTS, TIMESTAMPS, type_of
from dbt.adapters.vcs.iceberg.avro_files import AvroFile, AvroSchema, Record
from dbt.adapters.vcs.iceberg.iceberg_types import iceberg_type

EXISTING: Final = 0
ADDED: Final = 1
DELETED: Final = 2
"""What a manifest's entry says of a file."""

DATA: Final = 0
DELETES: Final = 1
"""What a manifest lists."""


class Spec(NamedTuple):
    """The columns that blocks are partitioned by, outermost first."""

    fields: tuple[Field, ...] = ()

    @property
    def number(self) -> int:
        """Its id: the same in all versions and on all branches."""
        # Decision 21: a hash needs no counter. Iceberg's libraries give an unpartitioned spec the
        # number 0.
        return field_number("spec", *self.ids) if self.fields else 0

    @property
    def ids(self) -> tuple[str, ...]:
        """Field ids of the columns."""
        return tuple(field.id for field in self.fields)

    @property
    def json(self) -> list[Record]:
        """Its fields as in metadata.json."""
        return [
            {
                "source-id": field_number(field.id),
                "field-id": part_number(field.id),
                "name": field.name,
                "transform": "identity",
            }
            for field in self.fields
        ]


def part_number(id: str) -> int:
    """Return the number of the partition field of a column."""
    return field_number("partition", id)


def manifest_bytes(
    spec: Spec, entries: list[bytes], *, content: int, columns: Sequence[Field], version: int
) -> bytes:
    """Return a manifest.

    Nothing in it depends on the names of columns, which change while manifests stay.

    Args:
        spec: How the files are partitioned.
        entries: Its entries, encoded by `manifest_schema`.
        content: DATA or DELETES.
        columns: The columns that the entries are about.
        version: Format version of the table.
    """
    # Decision 1: the id of a column is its name in our files, whatever it is called now.
    fields = [
        {"id": field_number(field.id), "name": field.id, "required": False, "type": type_}
        for field, type_ in ((field, iceberg_type(field)) for field in columns)
    ]
    parts = [{**part, "name": id} for id, part in zip(spec.ids, spec.json, strict=True)]
    meta = {
        "schema": json_text({"type": "struct", "schema-id": 0, "fields": fields}),
        # The schema here only has the columns of these entries, so it is none of the table's.
        "schema-id": "0",
        "partition-spec": json_text(parts),
        "partition-spec-id": str(spec.number),
        "format-version": str(version),
        "content": "deletes" if content == DELETES else "data",
    }
    return manifest_schema(spec, version).file(entries, meta)


def json_text(value: Any) -> str:
    """Return a JSON value as the headers of Avro files have it."""
    return msgspec.json.encode(value).decode()


@lru_cache(maxsize=256)
def manifest_schema(spec: Spec, version: int) -> AvroSchema:
    """Return the schema of the entries of manifests; see `entry`."""
    return AvroSchema(_entry_schema(spec, version))


def entry(data_file: Record, added: tuple[int, int] | None = None) -> Record:
    """Return an entry of a manifest for a file that a table has.

    Args:
        added: The Iceberg snapshot that added it, and its sequence number; None for those of the
            manifest.
    """
    # Specification, "Sequence Number Inheritance": NULL stands for the numbers that the list
    # gives the manifest, which aren't known yet.
    snapshot, number = added or (None, None)
    return {
        "status": ADDED if added is None else EXISTING,
        "snapshot_id": snapshot,
        "sequence_number": number,
        "file_sequence_number": number,
        "data_file": data_file,
    }


DATA_SEQUENCE: Final = 1
"""Sequence number of all data files, so that deletions of any version apply to them.

Blocks go from segment to segment, and tombstones refer to them wherever they are.
"""


def list_bytes(manifests: Sequence[Record], meta: Mapping[str, str], version: int) -> bytes:
    """Return a manifest list with further facts in its header."""
    schema = _list_schema(version)
    return schema.file(schema.encoded(manifests), {**meta, "format-version": str(version)})


def read_list(file: AvroFile) -> list[Record]:
    """Return the manifests of a list."""
    version = file.meta.get("format-version", b"2")
    return _list_schema(3 if version == b"3" else 2).records(file)


def prepare(version: int) -> None:
    """Load what manifests and lists need, so that the first one does not wait for it.

    Raises:
        InputError: The package is not installed.
    """
    manifest_schema(Spec(), version)
    _list_schema(version)


@lru_cache(maxsize=2)
def _list_schema(version: int) -> AvroSchema:
    return AvroSchema(_LIST if version < 3 else _LIST_3)


def _part_type(field: Field, place: int) -> Any:
    type_ = type_of(field.type)
    if type_.kind in TEXTS:
        return "string"
    if type_.kind in FLOATS or type_.kind == "boolean":
        return type_.kind
    if type_.kind == "date":
        return {"type": "int", "logicalType": "date"}
    if type_.kind in TIMESTAMPS:
        is_utc = type_.kind == "timestamp"
        return {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": is_utc}
    if type_.kind == "decimal":
        # Specification, appendix A: as few bytes as hold the precision, with a sign.
        largest = 10**type_.precision - 1
        return {
            "type": "fixed",
            "name": f"decimal_{place}",
            "size": (largest.bit_length() + 8) // 8,
            "logicalType": "decimal",
            "precision": type_.precision,
            "scale": type_.scale,
        }
    return "long" if type_.kind == "bigint" else "int"


def _field(name: str, type_: Any, number: int, *, optional: bool = False) -> Record:
    if optional:
        return {"name": name, "type": ["null", type_], "default": None, "field-id": number}
    return {"name": name, "type": type_, "field-id": number}


def _map(name: str, number: int, key: int, value: int, type_: str) -> Record:
    pair = {
        "type": "record",
        "name": f"k{key}_v{value}",
        "fields": [_field("key", "int", key), _field("value", type_, value)],
    }
    # Keys of Avro's own maps are texts, so maps of numbers are lists of pairs (appendix A).
    items = {"type": "array", "logicalType": "map", "items": pair}
    return _field(name, items, number, optional=True)


def part_schema(spec: Spec) -> Record:
    """Return the schema of partition values."""
    parts = [
        # Known by number, not by name: names of columns change while manifests stay.
        _field(f"p{place}", _part_type(field, place), part_number(field.id), optional=True)
        for place, field in enumerate(spec.fields)
    ]
    return {"type": "record", "name": "r102", "fields": parts}


def _entry_schema(spec: Spec, version: int) -> Record:
    # Sizes of columns, counts of NaN and places of row groups are optional, and left out: clients
    # read footers.
    fields = [
        _field("content", "int", 134),
        _field("file_path", "string", 100),
        _field("file_format", "string", 101),
        _field("partition", part_schema(spec), 102),
        _field("record_count", "long", 103),
        _field("file_size_in_bytes", "long", 104),
        _map("value_counts", 109, 119, 120, "long"),
        _map("null_value_counts", 110, 121, 122, "long"),
        _map("lower_bounds", 125, 126, 127, "bytes"),
        _map("upper_bounds", 128, 129, 130, "bytes"),
        _field("referenced_data_file", "string", 143, optional=True),
    ]
    if version >= 3:
        fields += [
            _field("first_row_id", "long", 142, optional=True),
            _field("content_offset", "long", 144, optional=True),
            _field("content_size_in_bytes", "long", 145, optional=True),
        ]
    return {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _field("status", "int", 0),
            _field("snapshot_id", "long", 1, optional=True),
            _field("sequence_number", "long", 3, optional=True),
            _field("file_sequence_number", "long", 4, optional=True),
            _field("data_file", {"type": "record", "name": "r2", "fields": fields}, 2),
        ],
    }


_SUMMARY: Final = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field("contains_null", "boolean", 509),
        _field("contains_nan", "boolean", 518, optional=True),
        _field("lower_bound", "bytes", 510, optional=True),
        _field("upper_bound", "bytes", 511, optional=True),
    ],
}
_LIST: Final[Record] = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _field("manifest_path", "string", 500),
        _field("manifest_length", "long", 501),
        _field("partition_spec_id", "int", 502),
        _field("content", "int", 517),
        _field("sequence_number", "long", 515),
        _field("min_sequence_number", "long", 516),
        _field("added_snapshot_id", "long", 503),
        _field("added_files_count", "int", 504),
        _field("existing_files_count", "int", 505),
        _field("deleted_files_count", "int", 506),
        _field("added_rows_count", "long", 512),
        _field("existing_rows_count", "long", 513),
        _field("deleted_rows_count", "long", 514),
        _field(
            "partitions",
            {"type": "array", "items": _SUMMARY, "element-id": 508},
            507,
            optional=True,
        ),
    ],
}
_LIST_3: Final[Record] = {
    **_LIST,
    "fields": [*_LIST["fields"], _field("first_row_id", "long", 520, optional=True)],
}
