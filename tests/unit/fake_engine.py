"""An engine of a few lines: `select * from <relation> [limit n]`, answered by pyarrow."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.store import Blobs
from dbt.adapters.vcs.engines.port import Column, Destination, TableMount, Written

_QUERY = re.compile(r"select \* from (\w+)\.(\w+)(?: limit (\d+))?")
_TYPES = {"int64": "bigint", "string": "string"}


class FakeRows:
    """The rows of a query."""

    def __init__(self, columns: tuple[Column, ...], rows: pa.Table) -> None:
        self.columns = columns
        self._rows = rows

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self._rows.slice(0, limit).to_pylist()]


class FakeSession:
    """The part of `Session` that queries and tables made of them need; else an AttributeError."""

    is_shared = False

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._shown: dict[RelationName, pa.Table] = {}

    def query(self, text: str) -> FakeRows:
        rows = pa.table({}) if text.startswith("use ") else self._rows(text)
        return FakeRows(_columns(rows), rows)

    def ensure_schema(self, schema: str) -> None:
        pass

    def require_own(self) -> None:
        pass

    def post(self, versions: Any, sign: Any) -> None:
        pass

    def close(self) -> None:
        pass

    def temporary_views(self) -> frozenset[str]:
        return frozenset()

    temporary_functions = temporary_views

    def setting(self, key: str, default: str | None = None) -> str | None:
        return default

    def has_function(self, identifier: str) -> bool:
        return False

    def mount_table(self, name: RelationName, mount: TableMount) -> None:
        tables = [pq.read_table(pa.BufferReader(self._blobs.get(path))) for path in mount.files]
        rows = pa.concat_tables(tables).select([field.id for field in mount.fields])
        self._shown[name] = rows.rename_columns([field.name for field in mount.fields])

    def columns_of(self, query_text: str) -> tuple[Column, ...]:
        return _columns(self._rows(query_text))

    def write(self, query_text: str, destination: Destination, *, analysing: Any) -> Written:
        ids, folder = destination.ids, destination.folder
        with analysing():
            columns, rows = self.columns_of(query_text), self._rows(query_text)
        sink = pa.BufferOutputStream()
        pq.write_table(rows.rename_columns(ids) if ids else rows, sink)
        self._blobs.create(f"{folder}/part-0.parquet", sink.getvalue().to_pybytes())
        return Written(columns=columns, files=(f"{folder}/part-0.parquet",))

    def _rows(self, query_text: str) -> pa.Table:
        found = _QUERY.fullmatch(query_text)
        if found is None:
            raise EngineError(f"No query of this engine: {query_text}")
        rows = self._shown[RelationName(found[1], found[2])]
        return rows.slice(0, int(found[3]) if found[3] else None)


class FakeEngine:
    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def session(self, label: str) -> Any:
        return FakeSession(self._blobs)

    def close(self) -> None:
        pass


def _columns(rows: pa.Table) -> tuple[Column, ...]:
    return tuple(Column(name=field.name, type=_TYPES[str(field.type)]) for field in rows.schema)
