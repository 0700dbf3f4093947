"""Write rows: a frame's rows appended to a table, in its place, or merged into it by key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.changes.writes.stage import target_of
from dbt.adapters.vcs.changes.writes.upsert import upsert
from dbt.adapters.vcs.changes.writes.versions import arrow_blocks, changed, check_writable
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Field, RelationName, Snapshot
from dbt.adapters.vcs.sql.create_table import CreateTable
from dbt.adapters.vcs.sql.syntax.clauses import ColumnDef
from dbt.adapters.vcs.sql.syntax.names import Name, Target
from dbt.adapters.vcs.table.exact_values import fitted_rows
from dbt.adapters.vcs.table.manifests import put_segments
from dbt.adapters.vcs.table.types import declared_type
from dbt.adapters.vcs.workspace.statement_scope import Scope, handler_of

WriteMode = Literal["append", "overwrite", "merge"]
WRITE_MODES: Final[tuple[WriteMode, ...]] = ("append", "overwrite", "merge")


class RowSource(Protocol):
    """Rows that can be read several times."""

    @property
    def schema(self) -> pa.Schema:
        """Their columns."""

    def parts(self) -> Iterable[pa.Table]:
        """Return them in parts that fit into memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """How rows are written.

    Attributes:
        mode: `append` adds them; `overwrite` puts them in the place of all rows; `merge` updates
            rows of the same key, and adds the others.
        on: Names of the columns that tell rows apart in a merge; empty for the primary key.
    """

    mode: WriteMode = "append"
    on: Sequence[str] = ()

    def check(self) -> None:
        """Check that the request makes sense.

        Raises:
            InputError: It doesn't.
        """
        if self.mode not in WRITE_MODES:
            modes = ", ".join(WRITE_MODES)
            raise InputError(f"Expected one of {modes} as mode, found {self.mode!r}.")
        if self.on and self.mode != "merge":
            raise InputError(f"`on` tells rows apart in a merge; with {self.mode} leave it out.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReport:
    """What a write did.

    Attributes:
        relation: The table, `schema.identifier`.
        rows: Number of rows that were written; of a merge, of those that were updated or added.
        commit: The branch's head after it.
        moved: False if there was nothing to change, so that no commit was made.
    """

    relation: str
    rows: int
    commit: CommitId
    moved: bool


def write_rows(scope: Scope, name: RelationName, rows: RowSource, request: WriteRequest) -> int:
    """Write rows to a table of the scope's overlay, without an engine, and return how many.

    Columns are found by name, in any case, and values fitted exactly (`fitted_rows`). NOT NULL,
    the primary key and checks hold as for a statement; checks are computed by the engine. A table
    that isn't there is created with the rows' columns, unless rows are merged.

    Args:
        scope: The scope of the change.
        name: The table.

    Returns:
        Rows that were written; of a merge, those updated or added.

    Raises:
        NotFoundError: There is no such schema, or no table to merge into.
        InputError: It is a view, or values don't fit.
        UnsupportedError: Only Spark can write to the table.
    """
    request.check()
    if request.mode != "merge" and scope.overlay.entry(name) is None:
        _create(scope, name, rows.schema)
    snapshot = scope.overlay.require_table(name)
    check_writable(name, snapshot)
    if request.mode == "merge":
        return _merged(scope, name, rows, request)
    # One by one, so that only one part is in memory.
    parts = (fitted_rows(name, part, snapshot.schema) for part in rows.parts())
    repository = scope.overlay.repository
    blocks = arrow_blocks(repository, name, snapshot, parts)
    added = put_segments(repository.objects, blocks)
    kept = snapshot.segments if request.mode == "append" else ()
    # An append without rows changes nothing, while an overwrite without rows empties the table.
    if blocks or kept != snapshot.segments:
        version = msgspec.structs.replace(snapshot, segments=(*kept, *added))
        changed(scope, name, snapshot, version, operation=request.mode)
    return sum(block.rows for block in blocks)


def _merged(scope: Scope, name: RelationName, rows: RowSource, request: WriteRequest) -> int:
    target = target_of(scope, name)
    snapshot = target.snapshot
    key = _key(name, snapshot, request.on)
    # One part at least, so that the columns are known where there are no rows.
    parts = [rows.schema.empty_table(), *rows.parts()]
    new = pa.concat_tables([fitted_rows(name, part, snapshot.schema) for part in parts])
    given = {found.id for column in rows.schema.names if (found := snapshot.schema.find(column))}
    lacking = [field.name for field in key if field.id not in given]
    if lacking:
        raise InputError(
            f"{', '.join(lacking)} tells rows of {name} apart, and was not given. Nothing was "
            "changed."
        )
    # What a merge writes depends on the rows that are there; an append does not.
    scope.overlay.read.add(str(name))
    result = upsert(scope, target, new.combine_chunks(), key, given)
    if result.is_changed:
        version = msgspec.structs.replace(snapshot, segments=result.segments)
        # The rows with these keys were replaced, so none but a new one has a key of theirs.
        keeps_keys = {field.id for field in key} == set(snapshot.primary_key)
        changed(scope, name, snapshot, version, operation="merge", keeps_keys=keeps_keys)
    return sum(result.counts)


def _key(name: RelationName, snapshot: Snapshot, on: Sequence[str]) -> tuple[Field, ...]:
    if on:
        key = tuple(snapshot.schema.field(column) for column in on)
        if len({field.id for field in key}) < len(key):
            raise InputError(f"Expected columns of {name}, each once, found {', '.join(on)}.")
        return key
    if not snapshot.primary_key:
        raise InputError(
            f"{name} has no primary key, so it is unknown which rows to update. Nothing was "
            "changed. Say which columns tell rows apart (on=[...]), or declare a key: alter table "
            f"{name} set tblproperties ('primary_key' = '...')."
        )
    return snapshot.key


def _create(scope: Scope, name: RelationName, schema: pa.Schema) -> None:
    columns = tuple(
        ColumnDef(name=field.name, type=declared_type(field.name, field.type)) for field in schema
    )
    named = Name(schema=name.schema, identifier=name.identifier)
    statement = CreateTable(target=Target(name=named, start=0, end=0), columns=columns)
    # The rules of `create table` hold here as well, so its own handler makes the table.
    handler = handler_of(statement)
    assert handler is not None
    handler(scope, statement)
