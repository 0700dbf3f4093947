"""Load a seed: its rows become blocks; an unchanged seed changes nothing."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.core.errors import EngineError, InputError
from dbt.adapters.vcs.core.model import Field, Origin, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.project.building.seed_rows import misfit, seed_rows
from dbt.adapters.vcs.reuse.reuser import Reuse
from dbt.adapters.vcs.sql.handlers.contents.insert_handler import append_arrow, append_query
from dbt.adapters.vcs.table.quoting import quoted, sql_type
from dbt.adapters.vcs.workspace.answer import Outcome
from dbt.adapters.vcs.workspace.lines.line_workspace import Connection
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.statement_scope import Scope

if TYPE_CHECKING:
    import agate

_LONGEST_VALUE: Final = 2**31 - 1
_MOUNTED: Final = "__vcs_seed"


def allow_long_values() -> None:
    """Allow values of any length in seeds: dbt reads them with Python's csv module.

    The module's limit of 128 KiB applies to the whole process; a larger one is kept.
    """
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_VALUE))


def check_seed_file(path: Path, delimiter: str) -> str | None:
    """Check the header of a seed's file, for which dbt has no clear messages.

    Returns:
        A warning if dbt renames the second of two equal columns, else None.

    Raises:
        InputError: There is no header, or two columns differ only in case.
    """
    if len(delimiter) != 1 or not path.is_file():
        return None  # dbt says what is wrong.
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        header = next(csv.reader(lines, delimiter=delimiter), None)
    if not header:
        raise InputError(
            f"{path.name} has no header: its first line is empty. Write the names of the columns "
            "there, or delete the file."
        )
    known: dict[str, str] = {}
    for name in dict.fromkeys(filter(None, header)):
        first = known.setdefault(name.lower(), name)
        if first != name:
            raise InputError(
                f"The header of {path.name} has the columns {first} and {name}, which are one "
                f"name to Spark: {delimiter.join(header)}. Rename one of them."
            )
    doubled = sorted({name for name in header if name and header.count(name) > 1})
    if not doubled:
        return None
    return (
        f"The header of {path.name} has columns twice: {', '.join(doubled)}. dbt calls the second "
        f"{doubled[0]}_2. Rename it in the file to choose its name."
    )


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
    texts = [
        field
        for field in snapshot.schema.fields
        if rows.schema.field(field.name).type == pa.string() and not type_of(field.type).is_text
    ]
    digest = _digest(rows, time_zone if texts else "")
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

    def written() -> Outcome:
        return _cast(scope, name, rows, texts) if texts else append_arrow(scope, name, rows)

    return written() if reusing is None else reusing.made(scope, name, ("seed", digest), written)


def _cast(scope: Scope, name: RelationName, rows: pa.Table, texts: list[Field]) -> Outcome:
    """Write rows of which Spark casts some columns from text, as it does for dbt-spark."""
    view = scope.session.mount_arrow(_MOUNTED, rows)
    sql = {field.name: f"cast({quoted(field.name)} as {sql_type(field.type)})" for field in texts}
    for field in texts:
        # Without ANSI mode, `cast` turns what it can't read into NULL.
        lost = f"min(if({sql[field.name]} is null, {quoted(field.name)}, null))"
        try:
            ((value,),) = scope.session.query(f"select {lost} from {view}").fetch()
        except EngineError as error:
            raise misfit(field, str(error)) from error
        if value is not None:
            raise misfit(field, f"'{value}'")
    columns = (f"{sql.get(n, quoted(n))} as {quoted(n)}" for n in rows.column_names)
    return append_query(scope, name, f"select {', '.join(columns)} from {view}")


def _definition(snapshot: Snapshot) -> tuple[Any, ...]:
    fields = [msgspec.structs.replace(field, comment=None) for field in snapshot.schema.fields]
    return fields, snapshot.comment, snapshot.properties, snapshot.partition_by


def _digest(rows: pa.Table, zone: str) -> str:
    """Return the digest of a seed's rows; `zone` is that of texts that become times."""
    sink = pa.BufferOutputStream()
    sink.write(zone.encode())
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()
