"""Shop: what a campaign's repository holds, written and read without an engine.

Two tables are changed together by each commit that adds or deletes a batch. The others have
single rows, which the Python client writes by key: one is everybody's, and each worker has one of
its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, NoReturn

import pyarrow as pa

from dbt.adapters.vcs.api import Client
from dbt.adapters.vcs.changes.writes.append import append_arrow
from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.client.write_rows import WriteMode, WriteReport
from dbt.adapters.vcs.core.errors import ConflictError, RetryError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import (
    Absent,
    Entry,
    Origin,
    RelationName,
    TableEntry,
    View,
    ViewColumn,
    ViewEntry,
)
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.compaction import contents_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.parquet import write_tombstone
from dbt.adapters.vcs.table.manifests import folder_of, put_segments
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.statement_scope import Scope

ROWS: Final = 3
"""Rows of a batch in each table."""

TABLES: Final = (RelationName("shop", "a"), RelationName("shop", "b"))
ROW_TABLE: Final = RelationName("shop", "rows")
_COLUMNS: Final = "id bigint, batch string, n bigint"
_TRIES: Final = 10


class Seen(NamedTuple):
    """What a commit shows.

    Attributes:
        batches: The batches that are whole, and single rows, each as `row_item` writes it.
        wrong: What is wrong with others.
    """

    batches: frozenset[str]
    wrong: tuple[str, ...]


def row_item(name: str, n: int) -> str:
    """Return a single row as text: who has seen it knows its values."""
    return f"{name}={n}"


def is_row(item: str) -> bool:
    """Return whether an item is a single row, and no batch."""
    return "=" in item


def own_table(worker: str) -> RelationName:
    """Return the table whose rows are a worker's own."""
    return RelationName("shop", f"rows_of_{worker}")


class Shop:
    """One branch of a repository, and what may be done with its two tables."""

    def __init__(self, repository: Repository, branch: str, author: str) -> None:
        self._repository = repository
        self._author = author
        self._branch = branch
        self._sign = RelationName("shop", f"sign_of_{author}")
        self._line = BranchLine(repository, branch, author)
        workspace = Workspace(repository, self._line, _no_engine, schema="shop")
        self._workspace = workspace
        self._connection = workspace.connect("chaos")

    def found(self, workers: Sequence[str] = ()) -> None:
        """Create the tables, of which one has no key."""
        overlay = self._workspace.begin()
        keyed = TABLES[0], ROW_TABLE, *map(own_table, workers)
        texts = [
            "create schema shop",
            *(f"create table {name} ({_COLUMNS}, primary key (id))" for name in keyed),
            f"create table {TABLES[1]} ({_COLUMNS})",
        ]
        for text in texts:
            self._connection.execute(text, overlay, origin=Origin())
        self._line.land(overlay, "Open the shop")

    def insert(self, batch: str) -> CommitId:
        """Add a batch to both tables in one commit."""
        ids = [_id(batch, number) for number in range(ROWS)]
        numbers = pa.array(range(ROWS), pa.int64())
        rows = pa.table({"id": pa.array(ids, pa.int64()), "batch": [batch] * ROWS, "n": numbers})

        def change(scope: Scope) -> None:
            for name in TABLES:
                append_arrow(scope, name, rows)

        return self._landed(change, f"Add {batch}")

    def delete(self, batch: str) -> CommitId:
        """Delete a batch from both tables in one commit."""

        def change(scope: Scope) -> None:
            for name in TABLES:
                self._delete(scope, name, batch)

        return self._landed(change, f"Delete {batch}")

    def delete_row(self, table: RelationName, name: str) -> CommitId:
        """Delete a single row."""
        return self._landed(lambda scope: self._delete(scope, table, name), f"Delete {name}")

    def write(
        self, table: RelationName, rows: Mapping[str, int], mode: WriteMode, *, on: str = ""
    ) -> WriteReport:
        """Write single rows as a Python program does.

        Args:
            table: The table.
            rows: The number of each, by name.
            mode: How, as of the client.
            on: The column that tells rows apart in a merge; empty for the key.
        """
        client = Client.on(
            self._repository,
            self._branch,
            lambda branch: _no_engine(),
            schema="shop",
            author=self._author,
        )
        frame = {
            "id": pa.array([_id(name, 0) for name in rows], pa.int64()),
            "batch": pa.array(list(rows), pa.string()),
            "n": pa.array(list(rows.values()), pa.int64()),
        }
        with client:
            return client.write(str(table), pa.table(frame), mode, on=[on] if on else ())

    def sign(self, text: str | None) -> CommitId:
        """Put up a view that says something, or take it down; equal ones are one object."""
        name = self._sign

        def change(scope: Scope) -> None:
            if text is None:
                scope.overlay.put(name, Absent)
            else:
                column = ViewColumn(name="says", type="string")
                view = View(text=f"select '{text}' as says", columns=(column,))
                scope.overlay.put_view(name, view)

        return self._landed(change, f"Sign: {text}")

    def signs(self) -> list[str]:
        """Return the text of the view that `sign` put up, if there is one."""
        head = self._repository.branch(self._branch).head
        entry = self._repository.tree(head).entry(self._sign)
        if not isinstance(entry, ViewEntry):
            return []
        return [self._repository.objects.view(entry.view).text.split("'")[1]]

    def _landed(self, change: Callable[[Scope], None], message: str) -> CommitId:
        # As a statement: run again if it conflicts with what others changed meanwhile.
        for _ in range(_TRIES):
            overlay = self._workspace.begin()
            change(self._connection.scope("", overlay, Origin()))
            try:
                return self._line.land(overlay, message).commit
            except ConflictError:
                continue
        raise RetryError(f"{message}: others were first {_TRIES} times.")

    def _delete(self, scope: Scope, name: RelationName, batch: str) -> None:
        repository, snapshot = self._repository, scope.overlay.require_table(name)
        read = repository.objects.segment
        held = contents_of(read(ref.id) for ref in snapshot.segments)
        files = Files(repository.blobs)
        gone = files.deletions(held.tombstones, held.deleted)
        images = []
        for block in held.blocks:
            table = files.columns(block.path, snapshot.schema.fields)
            deleted = set(gone[block.path].tolist()) if block.path in gone else set()
            for position, value in enumerate(table.column(1).to_pylist()):
                if value == batch and position not in deleted:
                    image = table.slice(position, 1)
                    image = image.append_column(FILE_COLUMN, [pa.array([block.path])])
                    images.append(image.append_column(POSITION_COLUMN, [pa.array([position])]))
        if images:
            folder = folder_of(snapshot.table)
            stone = write_tombstone(repository.blobs, pa.concat_tables(images), folder=folder)
            added = put_segments(repository.objects, (), [stone])
            segments = (*snapshot.segments, *added)
            changed(scope, name, snapshot, operation="delete", segments=segments)


StoredRow = tuple[int, str, int]

Known = dict[str, dict[str, list[int]]]
"""What versions of tables were found to hold, by a hash of all files that they name."""


def look(
    repository: Repository,
    commit: CommitId,
    known: Known | None = None,
    names: Sequence[RelationName] = TABLES,
) -> Seen:
    """Read all rows that a commit shows; files whose bytes are `known` aren't decoded again."""
    tables = [_rows(repository, commit, name, known) for name in names]
    single = [
        (name, row, numbers)
        for name in (row_tables(repository, commit) if names is TABLES else ())
        for row, numbers in _rows(repository, commit, name, known).items()
    ]
    wrong = [
        f"mixed: commit {commit[:12]} shows {row} in {name} more than once, as {numbers}"
        for name, row, numbers in single
        if len(numbers) > 1
    ]
    for batch in sorted({batch for table in tables for batch in table}):
        for name, table in zip(names, tables, strict=True):
            if sorted(table.get(batch, [])) != list(range(ROWS)):
                wrong.append(
                    f"mixed: commit {commit[:12]} shows the rows {table.get(batch, [])} of "
                    f"{batch} in {name}, expected 0 to {ROWS - 1} once each"
                )
    batches = {batch for table in tables for batch in table}
    rows = {row_item(row, n) for _, row, numbers in single for n in numbers}
    return Seen(frozenset(batches | rows), tuple(wrong))


def row_tables(repository: Repository, commit: CommitId) -> list[RelationName]:
    """Return the tables of single rows that a commit shows."""
    found = repository.tree(commit).relations("shop")
    return [RelationName("shop", name) for name in found if name.startswith(ROW_TABLE.identifier)]


def stored_rows(repository: Repository, commit: CommitId, name: RelationName) -> list[StoredRow]:
    """Return all rows of a table, each as `id, batch, n`; empty if there is none."""
    return list(_stored(repository, repository.tree(commit).entry(name)))


def _id(batch: str, number: int) -> int:
    """Return a key that no other row has."""
    return int(hashlib.sha256(f"{batch}/{number}".encode()).hexdigest()[:15], 16)


def _rows(
    repository: Repository, commit: CommitId, name: RelationName, known: Known | None
) -> dict[str, list[int]]:
    entry = repository.tree(commit).entry(name)
    found: dict[str, list[int]] = {}
    if not isinstance(entry, TableEntry):
        return found
    key = _hash(repository, entry.snapshot) if known is not None else ""
    if known is not None and key in known:
        return known[key]
    for _, batch, number in _stored(repository, entry):
        found.setdefault(batch, []).append(number)
    if known is not None:
        known[key] = found
    return found


def _stored(repository: Repository, entry: Entry | None) -> Iterator[StoredRow]:
    if not isinstance(entry, TableEntry):
        return
    snapshot = repository.objects.snapshot(entry.snapshot)
    held = contents_of(repository.objects.segment(ref.id) for ref in snapshot.segments)
    files = Files(repository.blobs)
    gone = files.deletions(held.tombstones, held.deleted)
    for block in held.blocks:
        for rows in files.batches(block, snapshot.schema.fields, gone.get(block.path)):
            for row in rows.to_pylist():
                id, batch, number = row.values()
                yield id, batch, number


def _hash(repository: Repository, version: SnapshotId) -> str:
    """Return a hash of a version's id and of the bytes of all files that it names."""
    snapshot = repository.objects.snapshot(version)
    held = contents_of(repository.objects.segment(ref.id) for ref in snapshot.segments)
    found = hashlib.sha256(version.encode())
    paths = *(block.path for block in held.blocks), *(stone.path for stone in held.tombstones)
    for path in paths:
        data = repository.blobs.get(path)
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


def _no_engine() -> NoReturn:
    raise AssertionError("no engine is needed here")
