"""A branch to send statements to, and what its manifests hold."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.core.model import (
    Block,
    RelationName,
    Segment,
    Snapshot,
    TableEntry,
    Tombstone,
)
from dbt.adapters.vcs.core.plan.delta import Delta, delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.table_version import Version

Row = tuple[Any, ...]


class Shop(Client):
    """`connect()` on an engine that others share."""

    def __init__(self, repository: Repository, branch: str, engines: Any) -> None:
        line = BranchLine(repository, branch, "someone")
        workspace = Workspace(repository, line, lambda: engines(repository.blobs), schema="s")
        super().__init__(workspace, branch, "someone", lambda _: engines(repository.blobs))
        self.engines = engines
        self.numbers = itertools.count(1)
        self.made: dict[tuple[str, str], str] = {}

    @classmethod
    def open(cls, folder: Path, engines: Any) -> Any:
        blobs = LocalBlobs(folder / "ware house", fsync=False)
        shop = cls(Repository.create(blobs, author="someone"), "main", engines)
        shop.sql("create schema s")
        return closing(shop)

    def branched(self) -> Shop:
        """Return a branch that starts as this one is."""
        name = f"copy-{uuid.uuid4().hex}"
        head = self.repository.branch(self.branch).head
        self.repository.create_branch(name, at=head, author="someone")
        return Shop(self.repository, name, self.engines)

    def make(self, columns: str, rows: str = "", *, by: str = "", properties: str = "") -> str:
        """Make a table with a name of its own from column definitions, and return the name."""
        name = f"t{next(self.numbers)}"
        more = f" partitioned by ({by})" if by else ""
        more += f" tblproperties ({properties})" if properties else ""
        self.sql(f"create table {name} ({columns}){more}")
        if rows:
            self.sql(f"insert into {name} {rows}")
        return name

    def clone(self, columns: str, rows: str) -> str:
        """Do what `make` does, at the price of a clone if the same was made before."""
        if (columns, rows) not in self.made:
            self.made[columns, rows] = self.make(columns, rows)
        name = f"t{next(self.numbers)}"
        self.sql(f"create table {name} shallow clone {self.made[columns, rows]}")
        return name

    def rows(self, query: str) -> list[Row]:
        """Return the rows of a query, sorted; the text of a name is the whole table."""
        text = query if " " in query else f"select * from {query}"
        found = [tuple(row.values()) for row in self.sql(text).to_pylist()]
        return sorted(found, key=repr)

    def rows_of(self, version: Snapshot) -> list[Row]:
        """Return the rows of any version of a table."""
        session = self._connection.session()
        relation = session.mount_physical(Version.of(self.repository, version).mount())
        columns = ", ".join(f"`{field.id}`" for field in version.schema.fields)
        return session.query(f"select {columns} from {relation}").fetch()

    def change(self, text: str) -> int:
        """Run a statement that changes rows and return how many."""
        return int(self.sql(text).column("num_affected_rows")[0].as_py())

    def version(self, name: str) -> Snapshot:
        commit = self.repository.branch(self.branch).head
        entry = self.repository.tree(commit).entry(RelationName("s", name))
        assert isinstance(entry, TableEntry)
        return self.repository.objects.snapshot(entry.snapshot)

    def segments(self, name: str) -> Sequence[Segment]:
        return [self.repository.objects.segment(ref.id) for ref in self.version(name).segments]

    def blocks(self, name: str) -> list[Block]:
        return [block for segment in self.segments(name) for block in segment.blocks]

    def tombstones(self, name: str) -> list[Tombstone]:
        return [item for segment in self.segments(name) for item in segment.tombstones]

    def since(self, before: Snapshot, name: str) -> Delta:
        return delta(before, self.version(name), self.repository.objects.segments)

    def files(self) -> set[str]:
        return {info.path for info in self.repository.blobs.walk("data")}
