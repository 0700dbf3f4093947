"""Loading a seed: its rows become blocks; a seed that holds what it held changes nothing."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.core.model import Origin, RelationName, TableEntry
from dbt.adapters.vcs.seeds import seed_rows
from dbt.adapters.vcs.workspace.inserts import append_arrow
from dbt.adapters.vcs.workspace.outcome import Outcome
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.workspace import Connection

if TYPE_CHECKING:
    import agate


def load_seed(
    connection: Connection,
    overlay: Overlay,
    origin: Origin,
    name: RelationName,
    table: agate.Table,
    *,
    time_zone: str,
) -> Outcome:
    """Write a seed's rows into its table, which dbt just created empty.

    The rows' digest is kept as the snapshot's `sql_sha256`. If the table that the seed replaces
    has the same columns and the same digest, it stays.

    Raises:
        InputError: A value is not of its column's type.
    """
    snapshot = overlay.require_table(name)
    rows = seed_rows(table, snapshot.schema, time_zone)
    digest = _digest(rows)
    before = overlay.before(name)
    if isinstance(before, TableEntry):
        old = overlay.snapshot(before.snapshot)
        same_table = (old.schema, old.comment, old.properties, old.partition_by) == (
            snapshot.schema,
            snapshot.comment,
            snapshot.properties,
            snapshot.partition_by,
        )
        if same_table and old.origin.sql_sha256 == digest:
            overlay.put(name, before)
            return Outcome(relation=name, affected=0)
    origin = msgspec.structs.replace(origin, sql_sha256=digest)
    return append_arrow(connection.scope("", overlay, origin), name, rows)


def _digest(rows: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()
