"""Shop: two tables that each commit changes together, written and read without an engine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, NoReturn

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.changes.writes.append import append_arrow
from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.errors import ConflictError, RetryError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import (
    Absent,
    Origin,
    RelationName,
    TableEntry,
    View,
    ViewColumn,
    ViewEntry,
)
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.compaction import Contents, contents_of
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
_COLUMNS: Final = "id bigint, batch string, n bigint, primary key (id)"
_TRIES: Final = 10


class Seen(NamedTuple):
    """What a commit shows: the batches that are whole, and what is wrong with others."""

    batches: frozenset[str]
    wrong: tuple[str, ...]


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

    def found(self) -> None:
        """Create both tables."""
        overlay = self._workspace.begin()
        texts = [
            "create schema shop",
            *(
                f"create table {name} (id bigint, batch string, n bigint, primary key (id))"
                for name in TABLES
            ),
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
            version = msgspec.structs.replace(snapshot, segments=(*snapshot.segments, *added))
            changed(scope, name, snapshot, version, operation="delete")


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
    wrong = []
    for batch in sorted({batch for table in tables for batch in table}):
        for name, table in zip(names, tables, strict=True):
            if sorted(table.get(batch, [])) != list(range(ROWS)):
                wrong.append(
                    f"mixed: commit {commit[:12]} shows the rows {table.get(batch, [])} of "
                    f"{batch} in {name}, expected 0 to {ROWS - 1} once each"
                )
    return Seen(frozenset(batch for table in tables for batch in table), tuple(wrong))


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
    snapshot = repository.objects.snapshot(entry.snapshot)
    held = contents_of(repository.objects.segment(ref.id) for ref in snapshot.segments)
    key = _hash(repository, entry.snapshot, held) if known is not None else ""
    if known is not None and key in known:
        return known[key]
    files = Files(repository.blobs)
    gone = files.deletions(held.tombstones, held.deleted)
    for block in held.blocks:
        for rows in files.batches(block, snapshot.schema.fields, gone.get(block.path)):
            for row in rows.to_pylist():
                _, batch, number = row.values()
                found.setdefault(batch, []).append(number)
    if known is not None:
        known[key] = found
    return found


def _hash(repository: Repository, version: str, held: Contents) -> str:
    """Return a hash of a version's id and of the bytes of all files that it names."""
    found = hashlib.sha256(version.encode())
    paths = *(block.path for block in held.blocks), *(stone.path for stone in held.tombstones)
    for path in paths:
        data = repository.blobs.get(path)
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


def _no_engine() -> NoReturn:
    raise AssertionError("no engine is needed here")
