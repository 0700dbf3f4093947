"""A bench: an engine on a repository, with short ways to write, read footers and mount."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.vcs.core.model import Block, Field, RelationName, Schema
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.port import Destination, TableMount, Written
from dbt.adapters.vcs.engines.spark.engine import SparkEngine
from dbt.adapters.vcs.engines.spark.session import SparkView
from dbt.adapters.vcs.table.files.footers import read_blocks


@dataclass
class Bench:
    """One engine with one session, and tables `s.t1`, `s.t2`, ... made on it."""

    blobs: LocalBlobs
    engine: SparkEngine
    session: SparkView
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def folder(self) -> str:
        number = next(self.numbers)
        return f"data/t{number}/w=x{number}"

    def write(self, query: str, *partition_by: str, **arguments: Any) -> Written:
        destination = Destination(folder=self.folder(), partition_by=partition_by, **arguments)
        return self.session.write(query, destination)

    def blocks(self, written: Written, *partition_by: str) -> tuple[Block, ...]:
        return read_blocks(self.blobs, written.files, schema_of(written), partition_by)

    def mount(self, files: Sequence[str], schema: Schema, *, name: str | None = None) -> str:
        id = f"m{next(self.numbers)}"
        relation = RelationName("s", name or id)
        folder = files[0].partition("/w=")[0] if files else "data/none"
        mount = TableMount(id=id, folder=folder, files=tuple(files), fields=schema.fields)
        self.session.mount_table(relation, mount)
        return str(relation)

    def table(
        self, query: str, *partition_by: str, types: Mapping[str, str] | None = None
    ) -> tuple[str, tuple[Block, ...]]:
        written = self.write(query, *partition_by)
        schema = schema_of(written, types)
        return self.mount(written.files, schema), read_blocks(
            self.blobs, written.files, schema, partition_by
        )

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        return self.session.query(text).fetch()


def schema_of(written: Written, types: Mapping[str, str] | None = None) -> Schema:
    return Schema.of(
        Field(id="", name=column.name, type=(types or {}).get(column.name, column.type))
        for column in written.columns
    )
