"""An engine of a few lines: `select * from <relation> [limit n]`, answered by pyarrow."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.frame_session import AnalysedQuery
from dbt.adapters.vcs.engines.port import (
    Column,
    Destination,
    Session,
    TableMount,
    Written,
)

_QUERY = re.compile(r"select \* from (\w+)\.(\w+)(?: limit (\d+))?")
_TYPES = {"int64": "bigint", "string": "string"}


class FakeRows:
    """The rows of a query."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    @property
    def columns(self) -> tuple[Column, ...]:
        schema = self._rows.schema
        return tuple(Column(name=field.name, type=_TYPES[str(field.type)]) for field in schema)

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self._rows.slice(0, limit).to_pylist()]

    def run(self) -> None:
        pass

    def is_repeatable(self) -> bool:
        return False

    def arrow(self) -> pa.Table:
        return self._rows


def _lacking(self: FakeSession, *_: Any, **__: Any) -> Any:
    raise NotImplementedError("The fake engine makes tables of queries, and nothing else.")


class FakeSession:
    """A session that has what a table made of a query needs."""

    is_here = False

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._shown: dict[RelationName, pa.Table] = {}

    def query(self, text: str) -> FakeRows:
        return FakeRows(self._rows(text))

    def ensure_schema(self, schema: str) -> None:
        pass

    use = ensure_schema

    def begin_statement(self) -> None:
        pass

    def statement(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        pass

    def temporary_views(self) -> frozenset[str]:
        return frozenset()

    temporary_functions = temporary_views

    def setting(self, key: str) -> str | None:
        return None

    def check_syntax(self, text: str) -> None:
        pass

    def place(self, location: str) -> str:
        return location

    def has_function(self, identifier: str) -> bool:
        return False

    def mount_table(self, name: RelationName, mount: TableMount) -> None:
        tables = [pq.read_table(pa.BufferReader(self._blobs.get(path))) for path in mount.files]
        rows = pa.concat_tables(tables).select([field.id for field in mount.fields])
        self._shown[name] = rows.rename_columns([field.name for field in mount.fields])

    def analysed(self, query_text: str) -> AnalysedQuery:
        rows = self.query(query_text)
        return AnalysedQuery(
            columns=rows.columns,
            is_repeatable=rows.is_repeatable,
            write=partial(self._write, rows.arrow()),
        )

    def write(self, query_text: str, destination: Destination) -> Written:
        return self.analysed(query_text).write(destination)

    def _write(self, rows: pa.Table, destination: Destination) -> Written:
        named = rows.rename_columns(list(destination.ids)) if destination.ids else rows
        sink, path = pa.BufferOutputStream(), f"{destination.folder}/part-0.parquet"
        pq.write_table(named, sink)
        self._blobs.create(path, sink.getvalue().to_pybytes())
        return Written(columns=FakeRows(rows).columns, files=(path,))

    def _rows(self, query_text: str) -> pa.Table:
        found = _QUERY.fullmatch(query_text)
        if found is None:
            raise EngineError(f"No query of this engine: {query_text}")
        rows = self._shown[RelationName(found[1], found[2])]
        return rows.slice(0, int(found[3]) if found[3] else None)

    insert = relation_columns = check_default = with_placeholders = redacted = _lacking
    mount_view = mount_files = mount_physical = mount_located = mount_version = _lacking
    mount_arrow = mount_deleted = unmount = mount_function = unmount_function = _lacking
    temporary_view = temporary_function = frames = cancel = _lacking


class FakeEngine:
    """`Engine` without Java."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def start(self) -> None:
        return

    def prepare(self) -> None:
        pass

    def session(self, label: str) -> Session:
        return FakeSession(self._blobs)

    def close(self) -> None:
        pass
