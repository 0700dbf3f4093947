"""Load a seed: its rows become blocks; an unchanged seed changes nothing."""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.core.model import Origin, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.handlers.contents.insert_handler import append_arrow
from dbt.adapters.vcs.project.building.seed_rows import seed_rows
from dbt.adapters.vcs.reuse.reuser import Reuse
from dbt.adapters.vcs.scope.answer import Outcome
from dbt.adapters.vcs.workspace.line_workspace import Connection
from dbt.adapters.vcs.worktree.overlay import Overlay

if TYPE_CHECKING:
    import agate

_LONGEST_VALUE: Final = 2**31 - 1


def allow_long_values() -> None:
    """Allow values of any length in seeds: dbt reads them with Python's csv module.

    The module's limit of 128 KiB applies to the whole process; a larger one is kept.
    """
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_VALUE))


def load_seed(
    connection: Connection,
    overlay: Overlay,
    origin: Origin,
    name: RelationName,
    table: agate.Table,
    *,
    time_zone: str,
    reuse: Reuse | None = None,
) -> Outcome:
    """Write a seed's rows into its table, which dbt just created empty.

    The rows' digest is stored as the snapshot's `sql_sha256`. If the table that the seed replaces
    has the same columns and digest, it is kept, with the column comments that dbt adds after
    loading a seed. Rows that were loaded before, on any branch, are not written again.

    Raises:
        InputError: A value doesn't fit its column's type.
        UnsupportedError: It is partitioned by a column of a type that only Spark writes.
    """
    snapshot = overlay.require_table(name)
    rows = seed_rows(table, snapshot.schema, time_zone)
    digest = _digest(rows)
    before = overlay.before(name)
    if isinstance(before, TableEntry):
        old = overlay.snapshot(before.snapshot)
        same_table = _definition(old) == _definition(snapshot)
        same_rows = old.origin.sql_sha256 == digest if rows.num_rows else not old.segments
        if same_table and same_rows:
            overlay.put(name, before)
            return Outcome(relation=name, affected=0)
    origin = msgspec.structs.replace(origin, sql_sha256=digest)
    scope = connection.scope("", overlay, origin)
    reusing = connection.reusing(reuse)
    if reusing is None:
        return append_arrow(scope, name, rows)
    return reusing.made(scope, name, ("seed", digest), lambda: append_arrow(scope, name, rows))


def _definition(snapshot: Snapshot) -> tuple[Any, ...]:
    fields = [msgspec.structs.replace(field, comment=None) for field in snapshot.schema.fields]
    return fields, snapshot.comment, snapshot.properties, snapshot.partition_by


def _digest(rows: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()
