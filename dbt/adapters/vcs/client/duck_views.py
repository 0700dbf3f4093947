"""Tables of a branch as views of DuckDB, which reads them through `LazyTable`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from dbt.adapters.vcs.client.lazy_table import LazyTable, open_table
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.table.files.block_reader import is_readable

if TYPE_CHECKING:
    import duckdb


# DuckDB knows a dataset by its class. pyarrow has no types, so the base is Any to mypy.
class TableDataset(ds.Dataset):  # type: ignore[misc]
    """A version of a table as Arrow's dataset, of which only `schema` and `scanner` are used.

    DuckDB hands down the columns and the conditions that it knows how to write in Arrow, and
    computes the rest itself.
    """

    def __init__(self, table: LazyTable) -> None:
        """Take a table; nothing is read yet."""
        self._table = table

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._table.schema

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        **_: Any,
    ) -> ds.Scanner:
        """Return the rows of some columns that pass a filter, read when they are consumed."""
        # A count asks for no column, and needs rows all the same.
        wanted = None if columns is None else list(columns) or self.schema.names[:1]
        found = self._table.scan(wanted, filter)
        return ds.Scanner.from_batches(found.to_batches(), schema=found.schema)


def show_tables(
    connection: duckdb.DuckDBPyConnection, repository: Repository, commit: CommitId
) -> tuple[RelationName, ...]:
    """Make a view of each table of a commit, in a schema of its name; return the tables.

    Views that were made before are replaced. Views of the branch, and columns of types that Arrow
    lacks, are left out.
    """
    tree = repository.tree(commit)
    # A database is named for its file, and DuckDB refuses a schema of that name by itself.
    (database,) = connection.execute("select current_database()").fetchone()
    shown = []
    for schema in tree.schemas():
        place = f"{_quoted(database)}.{_quoted(schema)}"
        connection.execute(f"create schema if not exists {place}")
        for identifier, entry in sorted(tree.relations(schema).items()):
            if isinstance(entry, TableEntry):
                name = RelationName(schema, identifier)
                table = open_table(repository, name, commit)
                readable = [field.name for field in table.fields if is_readable(field)]
                if readable:
                    _show(connection, f"{place}.{_quoted(identifier)}", table.scan(readable))
                    shown.append(name)
    return tuple(shown)


def _show(connection: duckdb.DuckDBPyConnection, view: str, table: LazyTable) -> None:
    # DuckDB looks up registered names without a schema, so a view with one stands before it.
    connection.register(f"vcs {table.name}", TableDataset(table))
    # `register` makes a temporary view.
    held = "temp.main." + _quoted(f"vcs {table.name}")
    columns = ", ".join(f"{_value(field)} as {_quoted(field.name)}" for field in table.schema)
    connection.execute(f"create or replace view {view} as select {columns} from {held}")


def _value(field: pa.Field) -> str:
    """Return a column's expression: one whose filters DuckDB keeps, if it may hold NaN.

    DuckDB hands `x > 1` down as it is, and for Arrow NaN is not above 1.
    """
    column = _quoted(field.name)
    if pa.types.is_floating(field.type):
        kind = "float" if field.type == pa.float32() else "double"
        return f"case when isnan({column}) then 'nan'::{kind} else {column} end"
    if pa.types.is_nested(field.type):
        return f"case when {column} is null then null else {column} end"
    return column


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
