"""A session of DuckDB: queries on versions of tables, by this process and within its memory.

Versions are read by `Files`, which checks digests and pages, and leaves deleted rows out. So
DuckDB opens no file but those that it spills into. What it can't hold in memory it writes there.
Queries on rows are written once, as Spark reads them; `duckdb_text` writes them for DuckDB.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp

from dbt.adapters.vcs.core.errors import EngineError, InputError, VcsError
from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.port import Column, Destination, TableMount, TableParts, Written
from dbt.adapters.vcs.engines.session_settings import usable_memory
from dbt.adapters.vcs.table.files.block_reader import (
    Files,
    Positions,
    arrow_columns,
    located_schema,
)
from dbt.adapters.vcs.table.files.footers import Footer
from dbt.adapters.vcs.table.files.parquet import write_rows
from dbt.adapters.vcs.table.partition_values import unknown_block
from dbt.adapters.vcs.table.python_values import python_values
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.table.types import arrow_type, declared_type

if TYPE_CHECKING:
    import duckdb

MEMORY: Final = "DBT_VCS_MEMORY"
SPILL: Final = "DBT_VCS_SPILL"
"""Variables of the environment: the memory that this process may take while it computes rows, as
2GB or 1500MiB, and the folder to spill into."""

# By default, one part of so many of the machine's memory.
_PART: Final = 4

# What of the memory isn't DuckDB's: our own, and what DuckDB doesn't count (as measured).
_OWN: Final = 512 * 2**20
_FACTOR: Final = 4

_LEAST: Final = 128 * 2**20

# Bytes that a reader keeps of the files that it opened: each is read once in a query.
_KEPT: Final = 32 * 2**20

_BATCH_ROWS: Final = 100_000
# Rows and bytes in memory after which a file is written.
_FILE_ROWS: Final = 1_000_000
_FILE_BYTES: Final = 256 * 2**20


class LocalSession:
    """One connection to a DuckDB in memory; close it, or use it as a context."""

    is_here = True

    def __init__(self, blobs: Blobs) -> None:
        """Start DuckDB.

        Raises:
            InputError: A setting of memory or of the folder to spill into can't be used.
        """
        self._blobs = blobs
        self._spill = _spill_folder()
        self._connection = _new_connection(self._spill.name)
        self._streams: dict[str, object] = {}
        self.failed: BaseException | None = None

    def __enter__(self) -> LocalSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory, and delete what was spilled."""
        self._connection.close()
        self._spill.cleanup()

    def query(self, text: str) -> LocalRows:
        """Return the rows of a query, which runs each time they are fetched."""
        return LocalRows(self, text)

    def mount_physical(self, mount: TableMount) -> str:
        """Return a relation of a version, as `VersionMounts.mount_physical`."""
        return self._mount(f"{mount.id}_p", arrow_columns(mount.fields), self._blocks(mount))

    def mount_located(self, mount: TableMount) -> str:
        """Return a relation of a version with places, as `VersionMounts.mount_located`."""
        rows = self._blocks(mount, located=True)
        return self._mount(f"{mount.id}_l", located_schema(mount.fields), rows)

    def mount_version(self, mount: TableMount) -> str:
        """Return a relation of a version, as `VersionMounts.mount_version`."""
        names = ", ".join(f"{quoted(field.id)} {quoted(field.name)}" for field in mount.fields)
        return f"(select {names} from {self.mount_physical(mount)})"

    def mount_arrow(self, name: str, rows: pa.Table | TableParts, *, lasting: bool = False) -> str:
        """Return a relation of rows of this process, as `VersionMounts.mount_arrow`."""
        if isinstance(rows, pa.Table):
            return self._mount(name, rows.schema, rows.to_batches)
        parts = rows.parts
        return self._mount(
            name, rows.schema, lambda: (batch for part in parts() for batch in part.to_batches())
        )

    def mount_deleted(
        self,
        tombstones: Sequence[Tombstone],
        files: Collection[str],
        fields: Sequence[Field] = (),
    ) -> tuple[str, str]:
        """Return a relation of deleted rows, as `VersionMounts.mount_deleted`."""
        wanted = set(files)

        def rows() -> Iterator[pa.RecordBatch]:
            reader = Files(self._blobs, tombstones, kept=_KEPT)
            for item in tombstones:
                # Its file may have rows of blocks that only another entry still lists.
                targets = [path for path in item.targets if path in wanted]
                yield from reader.images(item, targets, fields)

        name = f"deleted_{len(self._streams)}"
        return self._mount(name, located_schema(fields), rows), "true"

    def write(self, query_text: str, destination: Destination) -> Written:
        """Write a query's rows as files of the repository, as `Analysed.write`.

        Raises:
            EngineError: Memory or disk is exhausted, or the rows can't be computed.
            InputError: A folder's name can't hold a partition value.
        """
        place = (FILE_COLUMN, POSITION_COLUMN) if destination.by_place else ()
        # Rows of a partition together, so that a folder gets few files.
        order = ", ".join(
            map(quoted, (*place, *destination.partition_by, *destination.cluster_by))
        )
        text = f"select * from ({query_text}) order by {order}" if order else query_text
        footers: dict[str, Footer] = {}
        with self.streamed(text) as (schema, batches):
            # By parts, so that no more than one file is in memory.
            parts = chunks(schema, batches)
            for rows in _of_whole_blocks(parts) if destination.by_place else parts:
                footers |= write_rows(
                    self._blobs,
                    rows,
                    folder=destination.folder,
                    partition_by=destination.partition_by,
                    first=len(footers),
                )
        columns = tuple(Column(name=f.name, type=declared_type(f.name, f.type)) for f in schema)
        return Written(columns=columns, files=tuple(sorted(footers)), footers=footers)

    @contextmanager
    def streamed(self, text: str) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        """Yield the columns of a query, in types that tables have, and its rows in batches."""
        with self._our_errors():
            reader = self._connection.execute(duckdb_text(text)).to_arrow_reader(_BATCH_ROWS)
        schema = pa.schema([pa.field(f.name, _own_type(f)) for f in reader.schema])

        def batches() -> Iterator[pa.RecordBatch]:
            while True:
                with self._our_errors():
                    batch = next(reader, None)
                if batch is None:
                    return
                # DuckDB names parts of nested types in its own way.
                yield batch.cast(schema)

        yield schema, batches()

    def _mount(
        self, name: str, schema: pa.Schema, rows: Callable[[], Iterator[pa.RecordBatch]]
    ) -> str:
        self._streams[name] = stream = _Stream(self, schema, rows)
        self._connection.register(name, stream)
        return quoted(name)

    def _blocks(
        self, mount: TableMount, *, located: bool = False
    ) -> Callable[[], Iterator[pa.RecordBatch]]:
        known = {entry.path: entry for entry in mount.entries if isinstance(entry, Block)}
        blocks = [known.get(path) or unknown_block(path) for path in mount.files]

        def rows() -> Iterator[pa.RecordBatch]:
            files = Files(self._blobs, kept=_KEPT)
            for block in blocks:
                dead = files.deletions(mount.tombstones, [block.path])
                gone: Positions | None = dead.get(block.path)
                yield from files.batches(block, mount.fields, gone, located=located)

        return rows

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        """Turn DuckDB's errors into ours, and those of our own readers into what they were."""
        import duckdb

        try:
            yield
        # Once rows come out, Arrow makes an OSError of what fails in DuckDB.
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            failed, self.failed = self.failed, None
            # Arrow and DuckDB pass on the text of an error, and not its kind.
            if isinstance(failed, VcsError | KeyboardInterrupt):
                raise failed from None
            raise EngineError(_what_failed(error)) from error


@dataclass(frozen=True)
class LocalRows:
    """`Rows` of a query of DuckDB."""

    session: LocalSession
    text: str

    @property
    def columns(self) -> tuple[Column, ...]:
        """Names and types."""
        with self.session.streamed(self.text) as (schema, _):
            pass
        return tuple(Column(name=f.name, type=declared_type(f.name, f.type)) for f in schema)

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows as Python values."""
        table = self.arrow() if limit is None else self.arrow().slice(0, limit)
        return list(zip(*(python_values(column) for column in table.columns), strict=True))

    def run(self) -> None:
        """Run the query to its end, and discard the rows."""
        with self.session.streamed(self.text) as (_, batches):
            for _batch in batches:
                pass

    def tables(self) -> Iterator[pa.Table]:
        """Yield all rows as tables, as they are computed."""
        with self.session.streamed(self.text) as (schema, batches):
            yield from (pa.Table.from_batches([batch], schema) for batch in batches)

    def arrow(self) -> pa.Table:
        """Return all rows as one table."""
        with self.session.streamed(self.text) as (schema, batches):
            return pa.Table.from_batches(list(batches), schema)


class _Stream:
    """Rows that DuckDB reads from the start each time a query scans them."""

    def __init__(
        self,
        session: LocalSession,
        schema: pa.Schema,
        rows: Callable[[], Iterator[pa.RecordBatch]],
    ) -> None:
        self._session = session
        self._schema = schema
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = pa.RecordBatchReader.from_batches(self._schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows; Arrow passes only the text of an error on, so keep the error."""
        try:
            yield from self._rows()
        except BaseException as error:
            self._session.failed = error
            raise


def chunks(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield rows as tables, each of about as many as a file should have."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _FILE_ROWS or size >= _FILE_BYTES:
            yield pa.Table.from_batches(held, schema)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held, schema)


def _of_whole_blocks(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield rows that are sorted by their blocks again, with those of a block in one table."""
    held: pa.Table | None = None
    for table in tables:
        rows = table if held is None else pa.concat_tables([held, table])
        paths = rows.column(FILE_COLUMN).combine_chunks()
        end = int(pc.index(paths, paths[-1]).as_py())
        if end:
            yield rows.slice(0, end)
        held = rows.slice(end)
    if held is not None:
        yield held


def _own_type(field: pa.Field) -> pa.DataType:
    """Return the type with which tables hold what DuckDB gives, named as Spark names its parts."""
    return arrow_type(declared_type(field.name, field.type))


def _new_connection(spill: str) -> duckdb.DuckDBPyConnection:
    import duckdb

    limit = max(_LEAST, (_memory() - _OWN) // _FACTOR)
    connection = duckdb.connect(
        config={
            "memory_limit": f"{limit // 2**10}KiB",
            "temp_directory": spill,
            # Nothing here depends on it, and to keep it takes memory.
            "preserve_insertion_order": False,
            "allocator_background_threads": True,
            # Decision 45: no code is fetched, and no file is opened but those that are spilled
            # into.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            # Or a name that nothing was mounted under might be a variable of this program.
            "python_enable_replacements": False,
        }
    )
    # Arrow filters for DuckDB, but finds no NaN, and tells -0.0 from 0.0: a join would lose rows.
    exact = "set disabled_optimizers = 'join_filter_pushdown'"
    for text in ("set TimeZone = 'UTC'", exact, *MACROS):
        connection.execute(text)
    return connection


def _memory() -> int:
    """Return how many bytes computing rows may take in this process."""
    given = os.environ.get(MEMORY, "").strip()
    if given:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", given, re.IGNORECASE)
        if found is None:
            raise InputError(
                f"Expected an amount of memory such as 2GB or 1500MiB in {MEMORY}, found "
                f"{given!r}. Set it to one, or unset it."
            )
        number, unit, binary = found.groups()
        return int(float(number) * (1024 if binary else 1000) ** ("KMGT".index(unit.upper()) + 1))
    return usable_memory() // _PART


def _spill_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder to spill into, below the one of the settings."""
    given = os.environ.get(SPILL, "").strip() or None
    try:
        return tempfile.TemporaryDirectory(
            prefix="dbt-vcs-spill-", dir=given, ignore_cleanup_errors=True
        )
    except OSError as error:
        raise InputError(
            f"Expected a folder that can be written to in {SPILL}, found {given!r} ({error})."
        ) from error


def _what_failed(error: Exception) -> str:
    said = str(error)
    if said.startswith("Out of Memory Error"):
        return (
            f"There is too little memory or disk to compute these rows in this process: {error} "
            f"Nothing was changed. Give it more memory ({MEMORY}=4GB) or a folder on a larger "
            f"disk ({SPILL}=/path), then run the command again."
        )
    if said.startswith("IO Error"):
        return (
            f"The disk is full, or can't be written to, where rows are spilled: {error} Nothing "
            f"was changed. Name a folder on a larger disk ({SPILL}=/path), or give this process "
            f"more memory ({MEMORY}=4GB), then run the command again."
        )
    return f"DuckDB could not compute these rows: {error} Nothing was changed."


_RENAMED: Final[dict[str, Callable[[list[exp.Expression]], exp.Expression]]] = {
    # Decision 45: both hash equal values to equal numbers (NaN, -0.0), and neither is stored.
    "XXHASH64": lambda arguments: exp.Anonymous(
        this="vcs_hash", expressions=[exp.Anonymous(this="hash", expressions=arguments)]
    ),
    "MONOTONICALLY_INCREASING_ID": lambda _: exp.Window(this=exp.RowNumber()),
    "ARRAY_REPEAT": lambda arguments: exp.Anonymous(this="vcs_repeat", expressions=arguments),
}

MACROS: Final = (
    "create macro vcs_hash(number) as cast(number >> 1 as bigint)",
    "create macro vcs_first(items) as items[1]",
    "create macro vcs_repeat(value, times) as list_resize([value][1:0], times, value)",
)
"""Functions of Spark's that DuckDB lacks."""


@lru_cache(maxsize=256)
def duckdb_text(text: str) -> str:
    """Return DuckDB's text for a query in Spark SQL."""
    tree = sqlglot.parse_one(text, read="spark")
    # From the inside out: what replaces a node keeps the parts that were replaced before.
    for node in reversed(list(tree.find_all(exp.Expression))):
        new = _translation(node)
        if new is not node:
            node.replace(new)
    return tree.sql(dialect="duckdb")


def _translation(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.TryCast) and not node.args.get("safe"):
        # Without ANSI mode, Spark's casts give NULL. None of ours may, but for `try_cast`.
        return exp.Cast(this=node.this, to=node.to)
    # DuckDB counts in 128 bits there.
    if isinstance(node, exp.CountIf):
        return exp.Count(this=exp.If(this=node.this, true=exp.Literal.number(1)))
    if isinstance(node, exp.Column) and _is_sorted_by(node):
        return kept(node)
    if (value := _chosen(node)) is not None:
        return value
    if _is_whole_sum(node):
        # DuckDB's sums of whole numbers have 128 bits, Spark's 64.
        return exp.cast(node.copy(), "bigint", copy=False)
    if isinstance(node, exp.Anonymous) and node.name.upper() in _RENAMED:
        return _RENAMED[node.name.upper()](node.expressions)
    return node


def _chosen(node: exp.Expression) -> exp.Expression | None:
    """Return what gives the first value that isn't NULL, if that is what a node asks for.

    DuckDB's own functions for it make nested values anew from keys, as its sorts do: see `kept`.
    """
    call = node.this if isinstance(node, exp.Window) else node
    if not isinstance(call, exp.IgnoreNulls | exp.AnyValue):
        return None
    if call is node and isinstance(node.parent, exp.Window):
        return None
    value = call.this if isinstance(call, exp.AnyValue) else call.this.this
    found: exp.Expression = exp.Filter(
        this=exp.Anonymous(this="list", expressions=[value.copy()]),
        expression=exp.Where(this=value.copy().is_(exp.null()).not_()),
    )
    if isinstance(node, exp.Window):
        call.replace(found)
        found = node.copy()
    return exp.Anonymous(this="vcs_first", expressions=[found])


def kept(column: exp.Expression) -> exp.Expression:
    """Return a column to sort by as an expression that isn't the column itself.

    DuckDB makes columns that it sorts by anew from the keys of the sort, where -0.0 has become 0.0
    and all NaN the same (seen in 1.5.5). What it sorts by a struct of them, it keeps.
    """
    return exp.Anonymous(this="row", expressions=[column.copy()])


def _is_sorted_by(column: exp.Column) -> bool:
    """Return whether a column is one that rows are divided or sorted by."""
    above = column.parent
    return isinstance(above, exp.Ordered) or (
        isinstance(above, exp.Window) and column.arg_key == "partition_by"
    )


def _is_whole_sum(node: exp.Expression) -> bool:
    """Return whether a node is a sum, with its window, that nothing has cast yet."""
    total = node.this if isinstance(node, exp.Window) else node
    if not isinstance(total, exp.Sum) or isinstance(node.parent, exp.Cast | exp.Window):
        return False
    return not total.this.is_type("decimal")
