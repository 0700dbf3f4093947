"""A lazy table: one version of a table, read in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, reduce
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup

from dbt.adapters.vcs.changes.writes.row_filters import filter_of, named_by
from dbt.adapters.vcs.client.notebook import COLUMNS, Cell, grid, sentence, shown
from dbt.adapters.vcs.core.errors import DamagedError, InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import (
    Block,
    ColumnStats,
    Entry,
    Field,
    RelationName,
    TableEntry,
    Tombstone,
    ViewEntry,
)
from dbt.adapters.vcs.core.model.data_type import FLOATS, INTEGERS, TIMESTAMPS, type_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import each
from dbt.adapters.vcs.core.tree_changes import TreeEntries
from dbt.adapters.vcs.sql.syntax.lexer import tokenize
from dbt.adapters.vcs.sql.syntax.names import Name, is_name
from dbt.adapters.vcs.table.files.block_reader import Files, is_readable
from dbt.adapters.vcs.table.python_values import python_values
from dbt.adapters.vcs.table.types import arrow_type
from dbt.adapters.vcs.workspace.points import find_version
from dbt.adapters.vcs.workspace.table_version import Version

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_SHOWN_ROWS: Final = 10
_LOOKED: Final = 20_000
"""Rows of a table that a notebook shows, and rows that are read, at most, to find them."""

_OPENING: Final = 1_000
"""Rows that count as read when a file is opened, as in a bucket that takes longer."""

_NUMBERS: Final = (*INTEGERS, *FLOATS, "decimal")

_LISTED: Final = 50
"""Relations of a branch that a notebook shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSummary:
    """One table, view or function that a branch shows.

    Attributes:
        name: `schema.identifier`.
        kind: `table`, `view` or `function`.
        rows: Rows of a table; None of anything else, and of a damaged table.
        is_damaged: True if the table's version can't be read.
    """

    name: str
    kind: str
    rows: int | None = None
    is_damaged: bool = False


def list_tables(repository: Repository, commit: CommitId, part: str = "") -> list[TableSummary]:
    """Return the tables, views and functions of a commit by name; no file is opened.

    Args:
        part: Only those with this in their name, in any case.
    """
    found = [pair for pair in _entries(repository, commit) if part.lower() in str(pair[0])]
    return list(each(lambda pair: _summary(repository, *pair), found))


def _entries(repository: Repository, commit: CommitId) -> list[tuple[RelationName, Entry]]:
    return sorted(TreeEntries(repository.tree(commit)).items(), key=lambda pair: pair[0])


def _summary(repository: Repository, name: RelationName, entry: Entry) -> TableSummary:
    text = str(name)
    if not isinstance(entry, TableEntry):
        return TableSummary(name=text, kind=entry.noun)
    try:
        rows = repository.objects.snapshot(entry.snapshot).rows
    except DamagedError:
        # One damaged table must not hide the others.
        return TableSummary(name=text, kind=entry.noun, is_damaged=True)
    return TableSummary(name=text, kind=entry.noun, rows=rows)


def tables_html(repository: Repository, commit: CommitId) -> Iterator[Markup]:
    """Yield the first tables, views and functions of a commit for a notebook."""
    every = _entries(repository, commit)
    if not every:
        yield sentence("No tables.")
        return
    found = each(lambda pair: _summary(repository, *pair), every[:_LISTED])
    yield grid(
        ("table", "kind", "rows"),
        [
            (
                Cell(item.name),
                Cell("damaged" if item.is_damaged else item.kind, is_faint=item.is_damaged),
                Cell("" if item.rows is None else f"{item.rows:,}"),
            )
            for item in found
        ],
        right={"rows"},
    )
    if len(every) > _LISTED:
        yield sentence(f"{len(every) - _LISTED:,} more: tables() lists them all.")


def relation_of_text(text: str, schema: str) -> RelationName:
    """Return the relation that a text names, as a statement would read it.

    Args:
        text: `orders`, `analytics.orders`, with backquotes where SQL needs them.
        schema: The schema of a name without one.

    Raises:
        InputError: It is no name of a relation.
    """
    tokens = tokenize(text)[:-1]
    dotted = len(tokens) % 2 == 1 and all(token.word == "." for token in tokens[1::2])
    if dotted and all(map(is_name, tokens[::2])):
        name = Name.of([token.text for token in tokens[::2]])
        if name is not None:
            return name.relation(schema)
    raise InputError(f"Expected the name of a table, such as analytics.orders, found {text!r}.")


def open_table(
    repository: Repository, name: RelationName, head: CommitId, at: str | None = None
) -> LazyTable:
    """Return a version of a table, of which nothing is read yet.

    Args:
        head: The commit that shows it, unless `at` names another version.
        at: A revision, a named snapshot of the table, or a version's id.

    Raises:
        NotFoundError: There is no such table or version.
        UnsupportedError: It is a view, which only Spark can compute.
    """
    # A named snapshot or a version's id is no commit, so only a revision shows what is a view.
    commit = head if at is None else repository.resolve(at) if repository.is_known(at) else None
    entry = None if commit is None else repository.tree(commit).entry(name)
    if isinstance(entry, ViewEntry):
        raise UnsupportedError(
            f"{name} is a view, which is computed by Spark: "
            f'connect(...).sql("select * from {name}").'
        )
    version = find_version(repository, name, head if at is None else at).snapshot
    snapshot = repository.objects.snapshot(version)
    return LazyTable(
        name=name,
        version=version,
        fields=snapshot.schema.fields,
        _stored=Version.of(repository, snapshot),
        _repository=repository,
    )


# Without slots, as `cached_property` keeps its values in `__dict__`.
@dataclass(frozen=True, kw_only=True)
class LazyTable:
    """One version of a table; rows are read from its files, without Spark or Java.

    A version never changes, so each read gives the same rows, whatever is written meanwhile.
    Rows come in the order of the files. Columns have the names and types of this version, in
    files of any age; deleted rows are left out. Times with a zone are in UTC.

    Attributes:
        version: The version's id.
        fields: The columns that are read.
        filter: The filter of its rows; None for all.
    """

    name: RelationName
    version: SnapshotId
    fields: Sequence[Field]
    filter: pc.Expression | None = None
    _stored: Version
    _repository: Repository

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | pc.Expression | None = None,
    ) -> LazyTable:
        """Return the same version with fewer columns and rows; nothing is read yet.

        Files in which no row can pass, by their bounds and partitions, are not opened.

        Args:
            columns: Names of the columns, in the order wanted, in any case; None for all.
            filter: Which rows. Either an SQL condition of comparisons with constants, joined by
                `and`, `or`, `not`: `=`, `<>`, `<=>`, `<`, `<=`, `>`, `>=`, `in`, `between`,
                `like`, `is null`, or a column of booleans; a time without a zone is in UTC. Or
                any pyarrow.compute expression over the columns' names. A row passes if it is
                true; NULL is not true. It may name columns that are not selected.

        Raises:
            InputError: There is no such column, or the filter can't be computed here.
        """
        schema = self._stored.snapshot.schema
        fields = self.fields if columns is None else tuple(schema.field(name) for name in columns)
        if not fields or len({field.id for field in fields}) < len(fields):
            raise InputError(f"Expected some columns, each once, found {columns!r}.")
        wanted = filter_of(filter, schema) if isinstance(filter, str) else filter
        if wanted is not None:
            named_by(wanted, self._readable)
        both = wanted if self.filter is None else self.filter
        if wanted is not None and self.filter is not None:
            both = self.filter & wanted
        return replace(self, fields=fields, filter=both)

    @property
    def schema(self) -> pa.Schema:
        """The columns as Arrow's.

        Raises:
            UnsupportedError: A column has a type that Arrow lacks: VARIANT, an interval.
        """
        lacking = [field for field in self.fields if not is_readable(field)]
        if lacking:
            told = ", ".join(f"{field.name} ({field.type})" for field in lacking)
            raise UnsupportedError(
                f"{self.name} has columns that only Spark can read: {told}. Leave them out: "
                "scan(columns=[...]); or read the table with SQL."
            )
        return pa.schema([pa.field(field.name, arrow_type(field.type)) for field in self.fields])

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The files that are read: those in which a row may pass the filter."""
        every = self._stored.blocks
        return every if self.filter is None else _blocks_for(every, self.filtered, self.filter)

    def count(self) -> int:
        """Return the number of rows: from manifests alone, unless there is a filter."""
        if self.filter is None:
            return self._stored.snapshot.rows
        # A filter without columns, such as a constant, needs one all the same to have rows.
        named = self.filtered or self._readable[:1]
        return sum(batch.num_rows for batch in replace(self, fields=named).to_batches())

    def to_batches(self, batch_rows: int = 65_536) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches, reading one file at a time.

        Args:
            batch_rows: Rows of a batch, at most. Batches without rows are left out.

        Raises:
            UnsupportedError: A column has a type that Arrow lacks.
            DamagedError: A file is damaged, or another than its entry describes.
            NotFoundError: A file is gone.
        """
        # Checked here, as a generator would raise only when its first batch is asked for.
        if batch_rows < 1:
            raise InputError(f"A batch has at least one row, found batch_rows={batch_rows}.")
        return self._batches(self.schema, batch_rows)

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the rows as a stream that other libraries take, read as it is consumed."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def to_arrow(self) -> pa.Table:
        """Return all rows as an Arrow table."""
        return pa.Table.from_batches(self.to_batches(), schema=self.schema)

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Return all rows as a pandas frame; `options` are those of `pyarrow.Table.to_pandas`."""
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as a Polars frame.

        Raises:
            InputError: Polars is not installed.
        """
        try:
            import polars
        except ImportError as error:
            raise InputError(
                "to_polars needs Polars: pip install 'dbt-vcs[polars]'; or use to_arrow."
            ) from error
        # By its type, `from_arrow` may return a series as well.
        return polars.DataFrame(polars.from_arrow(self.to_arrow()))

    @property
    def _readable(self) -> tuple[Field, ...]:
        return tuple(f for f in self._stored.snapshot.schema.fields if is_readable(f))

    @cached_property
    def filtered(self) -> tuple[Field, ...]:
        """The columns that the filter reads."""
        return () if self.filter is None else named_by(self.filter, self._readable)

    def _repr_html_(self) -> str:
        """Return the version, the columns and the first rows as a notebook shows them.

        At most 10 rows and 40 columns, and no more is read than it takes to find these rows. It
        never raises: if something can't be read, it says what.
        """
        return shown(str(self.name), self._html)

    def _html(self) -> Iterator[Markup]:
        snapshot = self._stored.snapshot
        key = ", ".join(field.name for field in snapshot.key)
        yield sentence(
            f"Version {self.version[:12]}, {_counted(snapshot.rows)}"
            + (f", primary key: {key}." if key else ".")
        )
        if self.filter is not None:
            yield sentence(f"Only rows that pass {self.filter}.")
        heads, types = [field.name for field in self.fields], [field.type for field in self.fields]
        numbers = {field.name for field in self.fields if type_of(field.type).kind in _NUMBERS}
        try:
            rows = list(islice(self._first_rows(self.fields[:COLUMNS]), _SHOWN_ROWS))
        except Exception:
            # The columns are known, even if no row can be read; why is said below them.
            yield grid(heads, (), types=types, right=numbers)
            raise
        yield grid(heads, rows, types=types, right=numbers)
        if extent := self._extent(len(rows)):
            yield sentence(extent)

    def _extent(self, found: int) -> str:
        """Return which rows these are, if so many were found; nothing if they are all."""
        total = self._stored.snapshot.rows
        if self.filter is None and found == total:
            return ""
        work = sum(_OPENING + block.rows for block in self.blocks)
        if found < _SHOWN_ROWS and work > _LOOKED:
            return (
                f"Only the beginning was read: at most {_LOOKED:,} rows in {_LOOKED // _OPENING} "
                "files. to_batches() reads everything."
            )
        if self.filter is None:
            return f"The first {found} of {_counted(total)}."
        return f"The first {found} that pass." if found == _SHOWN_ROWS else ""

    def _first_rows(self, fields: Sequence[Field]) -> Iterator[tuple[Cell, ...]]:
        """Yield rows with a cell for each field; one of a type that Arrow lacks says so."""
        readable = tuple(filter(is_readable, fields))
        # Rows are counted by a column, even if none of those shown can be read.
        table = replace(self, fields=readable or self._readable[:1])
        for batch in table._batches(table.schema, _SHOWN_ROWS, _LOOKED):
            columns = iter([python_values(column) for column in batch.columns])
            cells = [
                [Cell(value) for value in next(columns)]
                if is_readable(field)
                else [Cell("only Spark reads it", is_faint=True)] * batch.num_rows
                for field in fields
            ]
            yield from zip(*cells, strict=True)

    def _batches(
        self, schema: pa.Schema, batch_rows: int, most: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches; with `most`, stop after so many rows were read."""
        files = Files(self._repository.blobs)
        read = tuple(dict.fromkeys([*self.fields, *self.filtered]))
        names = [field.name for field in read]
        # Of the tombstones, each block opens those that delete from it.
        by_path: dict[str, list[Tombstone]] = {}
        for tombstone in self._stored.tombstones:
            for path in tombstone.targets:
                by_path.setdefault(path, []).append(tombstone)
        for block in self.blocks:
            if most is not None:
                most -= _OPENING
            gone = files.deletions(by_path.get(block.path, ()), [block.path]).get(block.path)
            for batch in files.batches(block, read, gone, batch_rows=batch_rows):
                if most is not None:
                    if most < 0:
                        return
                    # Deleted rows count too, as they are read.
                    most -= batch_rows
                rows = batch.rename_columns(names)
                # A batch would do, but Arrow fails on one of which no row is left.
                table = pa.Table.from_batches([rows])
                found = [rows] if self.filter is None else table.filter(self.filter).to_batches()
                for rows in found:
                    if rows.num_rows:
                        yield rows.select(schema.names).cast(schema)


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _blocks_for(
    blocks: Sequence[Block], fields: Sequence[Field], filter: pc.Expression
) -> tuple[Block, ...]:
    """Return the blocks in which a row may pass a filter, in their order; no file is opened.

    A file is left out only if what its manifest promises and the filter can't both be true. Where
    a bound may not hold, as with NaN, nothing is promised.

    Args:
        blocks: Blocks of a table.
        fields: The columns that the filter reads.
        filter: An expression over the columns' names.
    """
    # Imported only when rows are filtered: it loads pandas, if that is there, which takes longer
    # than all else that a command imports.
    import pyarrow.dataset as ds
    from pyarrow import fs

    # Arrow simplifies a filter by what is promised of each file: its planner, on our bounds.
    dataset = ds.FileSystemDataset.from_paths(
        [block.path for block in blocks],
        schema=pa.schema([pa.field(field.name, arrow_type(field.type)) for field in fields]),
        format=ds.ParquetFileFormat(),
        # Any will do, as no file is opened.
        filesystem=fs.LocalFileSystem(),
        partitions=[_promise(block, fields) for block in blocks],
    )
    kept = {fragment.path for fragment in dataset.get_fragments(filter=filter)}
    return tuple(block for block in blocks if block.path in kept)


def _promise(block: Block, fields: Sequence[Field]) -> pc.Expression:
    found = [
        term
        for field in fields
        if (stats := block.stats.get(field.id)) is not None
        for term in _terms(pc.field(field.name), field, stats, block.rows)
    ]
    return reduce(lambda one, other: one & other, found, pc.scalar(True))


def _terms(
    column: pc.Expression, field: Field, stats: ColumnStats, rows: int
) -> Iterator[pc.Expression]:
    if stats.nulls == rows:
        # A file that lacks the column may count as NULL, and readers see the initial value.
        if field.initial is None:
            yield column.is_null()
        return
    if stats.nulls == 0:
        yield column.is_valid()
    type_ = type_of(field.type)
    # Bounds of floats promise nothing of NaN.
    if type_.kind not in (*INTEGERS, *TIMESTAMPS, "date", "decimal") and not type_.is_plain_text:
        return
    for bound, low in ((stats.min, True), (stats.max, False)):
        if bound is not None:
            value = _scalar(bound, type_.kind, arrow_type(field.type))
            term = column >= value if low else column <= value
            # Bounds are those of the values: a NULL meets none, and may still pass the filter.
            yield term if stats.nulls == 0 else term | column.is_null()


def _scalar(bound: Any, kind: str, type_: pa.DataType) -> pa.Scalar:
    if kind == "decimal":
        # Manifests have it as text, which keeps all digits.
        return pa.scalar(Decimal(bound), type_)
    if kind == "date":
        return pa.scalar(bound, pa.int32()).cast(type_)
    return (
        pa.scalar(bound, pa.int64()).cast(type_) if kind in TIMESTAMPS else pa.scalar(bound, type_)
    )
