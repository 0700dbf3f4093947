"""Clients that write their files by hand, and may write wrong ones."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, ClassVar

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from dbt.adapters.vcs.client.lazy_table import open_table
from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.iceberg.avro_files import read_avro
from dbt.adapters.vcs.iceberg.manifest_files import list_bytes
from dbt.adapters.vcs.iceberg.puffin_files import placed, puffin_bytes, vector_bytes
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.test_writing import COLUMNS, TABLES, client_of, create, head

Record = dict[str, Any]

LINEAGE = {"_row_id": 2147483540, "_last_updated_sequence_number": 2147483539}
"""What Iceberg's writers add to files of format version 3, by the numbers of its specification."""


class Writer:
    """A client that deletes rows by files of positions."""

    properties: ClassVar[Record] = {}

    def __init__(self, lake: Lake, *, partitioned: bool = False, keyed: bool = True) -> None:
        self.lake = lake
        self.http = client_of(lake)
        self.made = 0
        self.ids: dict[str, str] = {}
        """Field ids of renamed columns by their names."""
        by_name = {"source-id": 2, "name": "name", "transform": "identity"}
        more: Record = {"partition-spec": {"fields": [by_name]}} if partitioned else {}
        more["properties"] = self.properties
        if not keyed:
            more["schema"] = {**COLUMNS, "identifier-field-ids": []}
        create(self.http, **more)

    def load(self) -> Record:
        found: Record = self.http.get(f"{TABLES}/t").json()["metadata"]
        return found

    def write(
        self, base: Record, rows: list[tuple[Any, ...]], inside: str = "", **columns: Any
    ) -> str:
        """Write a data file into the folder handed out, and return its URI."""
        self.made += 1
        types = {"id": pa.int64(), "name": pa.string(), "day": pa.date32(), **columns}
        fields = [
            pa.field(
                name,
                type_,
                metadata={"PARQUET:field_id": str(self._number(name))},
            )
            for name, type_ in types.items()
            if type_ is not None
        ]
        padded = [dict(zip(types, (*row, None, None), strict=False)) for row in rows]
        table = pa.Table.from_pylist(padded, schema=pa.schema(fields))
        uri = f"{base['properties']['write.data.path']}/{inside}{self.made}.parquet"
        path = Path(uri.removeprefix("file://"))
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
        return uri

    def _number(self, name: str) -> int:
        return LINEAGE.get(name) or field_number(self.ids.get(name, name))

    def delete(self, base: Record, rows: dict[str, list[int]]) -> str:
        """Write a file of deleted positions by the URI of their file, and return its URI."""
        self.made += 1
        pairs = [(uri, position) for uri, positions in rows.items() for position in positions]
        names = [uri for uri, _ in pairs]
        places = pa.array([position for _, position in pairs], pa.int64())
        uri = f"{base['properties']['write.data.path']}/{self.made}-deletes.parquet"
        path = Path(uri.removeprefix("file://"))
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"file_path": pa.array(names, pa.string()), "pos": places}), path)
        return uri

    def snapshot(
        self,
        base: Record,
        files: list[str],
        deletes: tuple[str, ...] = (),
        *,
        values: tuple[str, ...] = (),
        by: tuple[str, ...] = ("id",),
        dropped: tuple[str, ...] = (),
        format: str = "PARQUET",
    ) -> Record:
        """Write manifests and a list of all files of a snapshot, and return the request.

        Args:
            base: The table as the client loaded it.
            files: URIs of data files.
            deletes: URIs of files of deleted positions.
            values: URIs of files of deleted values, of the columns `by`.
            by: These columns.
            dropped: URIs of delete files that are left out.
            format: The format of the delete files, as the manifest says it.
        """
        self.made += 1
        folder = base["properties"]["write.metadata.path"]
        listing = f"{folder}/l{self.made}.avro"
        ids = [field_number(name) for name in by]
        entries = {
            0: [{"file_path": file} for file in files],
            1: self.deleting(base, files, deletes, dropped, format),
            2: [{"file_path": f, "equality_ids": ids, "file_format": format} for f in values],
        }
        manifests = []
        for kind, found in entries.items():
            if found:
                manifest = f"{folder}/m{self.made}-{kind}.avro"
                self._put(manifest, _manifest([{"content": kind, **item} for item in found]))
                manifests.append(_listed(manifest, min(kind, 1)))
        self._put(listing, list_bytes(manifests, {}, 2))
        id = self.made
        snapshot = {
            "snapshot-id": id,
            "parent-snapshot-id": base["current-snapshot-id"],
            "manifest-list": listing,
            "summary": {"operation": "append"},
        }
        shown = {"action": "set-snapshot-ref", "ref-name": "main", "snapshot-id": id}
        return {
            "requirements": [],
            "updates": [{"action": "add-snapshot", "snapshot": snapshot}, shown],
        }

    def deleting(
        self,
        base: Record,
        files: list[str],
        deletes: tuple[str, ...],
        dropped: tuple[str, ...],
        format: str,
    ) -> list[Record]:
        """Return the entries of delete files, and of those that are left out."""
        kept = [{"file_path": file, "file_format": format} for file in deletes]
        return kept + [{"file_path": file, "status": 2} for file in dropped]

    def shown_deletes(self, base: Record) -> list[str]:
        """Return the delete files of the snapshot that a client loaded."""
        return [entry["file_path"] for entry in self.shown_entries(base)]

    def shown_entries(self, base: Record) -> list[Record]:
        """Return what its manifests say of these."""
        if base["current-snapshot-id"] is None:
            return []
        listing = next(
            item["manifest-list"]
            for item in base["snapshots"]
            if item["snapshot-id"] == base["current-snapshot-id"]
        )
        manifests = [item for item in self.records(listing) if item["content"] == 1]
        return [
            entry["data_file"]
            for item in manifests
            for entry in self.records(item["manifest_path"])
        ]

    @staticmethod
    def records(uri: str) -> list[Record]:
        return read_avro(Path(uri.removeprefix("file://")).read_bytes())

    def send(self, request: Record) -> Any:
        return self.http.post(f"{TABLES}/t", json=request)

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted(self.rows_in_any_order())

    def rows_in_any_order(self) -> list[tuple[Any, ...]]:
        lazy = open_table(self.lake.repository, RelationName("s", "t"), head(self.lake), None)
        found = lazy.to_arrow().select(["id", "name"]).to_pydict().values()
        return list(zip(*found, strict=True))

    def _put(self, uri: str, data: bytes) -> None:
        path = Path(uri.removeprefix("file://"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


class VectorWriter(Writer):
    """A client of format version 3, which deletes rows by deletion vectors.

    A vector of a file takes the place of the one that the file had, and has its rows, too. The
    vectors of files that are left out are left out, those of others stay.
    """

    properties: ClassVar[Record] = {"format-version": "3"}

    def __init__(self, lake: Lake, **more: Any) -> None:
        super().__init__(lake, **more)
        self.vectors: dict[str, list[Record]] = {}
        """Entries of the files of vectors that it wrote."""

    def delete(self, base: Record, rows: dict[str, list[int]], *, alone: bool = False) -> str:
        """Write vectors of rows, and of those that were deleted before unless they are alone."""
        self.made += 1
        before = {} if alone else {e["referenced_data_file"]: e for e in self.shown_entries(base)}
        state = {
            uri: sorted({*positions, *(self._rows(before[uri]) if uri in before else ())})
            for uri, positions in rows.items()
        }
        uri = f"{base['properties']['write.data.path']}/{self.made}-deletes.puffin"
        self.vectors[uri] = self.put_vectors(uri, state)
        return uri

    def put_vectors(self, uri: str, state: dict[str, list[int]]) -> list[Record]:
        """Write a Puffin file, and return what a manifest says of it."""
        vectors = [vector_bytes(np.array(rows, np.int64)) for rows in state.values()]
        places = list(placed(zip(state, map(len, state.values()), vectors, strict=True)))
        self._put(uri, puffin_bytes(places, vectors))
        return [
            {
                "file_path": uri,
                "file_format": "PUFFIN",
                "record_count": place.rows,
                "referenced_data_file": place.uri,
                "content_offset": place.offset,
                "content_size_in_bytes": place.bytes,
            }
            for place in places
        ]

    def deleting(
        self,
        base: Record,
        files: list[str],
        deletes: tuple[str, ...],
        dropped: tuple[str, ...],
        format: str,
    ) -> list[Record]:
        new = [entry for uri in deletes for entry in self.vectors.get(uri, ())]
        about = {entry["referenced_data_file"] for entry in new}
        shown = [
            {**entry, "status": 2 if uri in about or uri not in files else 0}
            for entry in self.shown_entries(base)
            for uri in [entry["referenced_data_file"]]
        ]
        others = [u for u in deletes if u not in self.vectors and ".puffin" not in u]
        return [*new, *shown, *({"file_path": uri, "file_format": format} for uri in others)]

    @staticmethod
    def _rows(entry: Record) -> list[int]:
        """Return the rows of a vector, as another library reads them."""
        data = Path(entry["file_path"].removeprefix("file://")).read_bytes()
        start = entry["content_offset"]
        vector = data[start : start + entry["content_size_in_bytes"]]
        return list(BitMap64.deserialize(vector[8:-4]))


def _manifest(files: list[Record]) -> bytes:
    optional: dict[str, Any] = {
        "equality_ids": {"type": "array", "items": "int"},
        "referenced_data_file": "string",
        "content_offset": "long",
        "content_size_in_bytes": "long",
    }
    needed = {"content": "int", "file_path": "string", "file_format": "string"}
    fields = [{"name": n, "type": t} for n, t in {**needed, "record_count": "long"}.items()]
    fields += [{"name": n, "type": ["null", t]} for n, t in optional.items()]
    schema = {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            {"name": "status", "type": "int"},
            {"name": "data_file", "type": {"type": "record", "name": "r2", "fields": fields}},
        ],
    }
    # A count that is never right, but for vectors, whose count must be.
    usual = {**dict.fromkeys(optional), "file_format": "PARQUET", "record_count": 77}
    records = [
        {
            "status": item.get("status", 1),
            "data_file": {field["name"]: {**usual, **item}[field["name"]] for field in fields},
        }
        for item in files
    ]
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), records)
    return out.getvalue()


def _listed(manifest: str, content: int) -> Record:
    zeros = (
        "manifest_length partition_spec_id sequence_number min_sequence_number added_snapshot_id "
        "added_files_count existing_files_count deleted_files_count added_rows_count "
        "existing_rows_count deleted_rows_count"
    )
    return {
        **dict.fromkeys(zeros.split(), 0),
        "manifest_path": manifest,
        "content": content,
        "partitions": None,
    }
