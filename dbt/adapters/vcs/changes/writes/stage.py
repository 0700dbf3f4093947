"""A stage: the row changes of a statement, computed once, and the table that they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import pyarrow as pa

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field, RelationName, Schema, Snapshot
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN, RESERVED
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.port import Analysing, Column, Destination, VersionMounts
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_table
from dbt.adapters.vcs.table.manifests import folder_of
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.table.types import unlimited
from dbt.adapters.vcs.workspace.statement_scope import Scope
from dbt.adapters.vcs.workspace.table_version import Version

ACTION: Final = "__vcs_action"
MATCHED: Final = "__vcs_matched"
CLAUSE: Final = "__vcs_clause"

_OLD: Final = "__vcs_old_"
_NEW: Final = "__vcs_new_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A row for each row that a statement changes, in files or in memory.

    Columns are `__vcs_action`, `__vcs_file`, `__vcs_pos`, `__vcs_matched` (NULL except for a
    merge), then `__vcs_old_0`... and `__vcs_new_0`... in the order and types of the table's
    columns. A column that keeps its values has them once, as the old ones.

    Attributes:
        files: Paths relative to the repository.
        changing: Places of the columns that may get other values; None means all.
        here: The rows, where they are in memory and not in files.
        is_repeatable: Of the query that computed them, as in `Written`.
    """

    table: Schema
    files: tuple[str, ...]
    rows: int
    bytes: int
    changing: frozenset[int] | None = None
    here: pa.Table | None = None
    is_repeatable: Callable[[], bool] | None = None

    @classmethod
    def in_memory(cls, table: Schema, rows: pa.Table) -> Stage:
        """Return a stage of rows in memory; none of its columns is sure to keep its values."""
        return cls(table=table, files=(), rows=rows.num_rows, bytes=0, here=rows)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns."""
        return stage_fields(self.table, self.changing)

    @property
    def old(self) -> list[str]:
        """Names of the columns with the values before."""
        return [f"{_OLD}{place}" for place in range(len(self.table.fields))]

    @property
    def new(self) -> list[str]:
        """Names of the columns with the values after."""
        return [
            f"{_OLD if self.changing is not None and place not in self.changing else _NEW}{place}"
            for place in range(len(self.table.fields))
        ]

    @property
    def pairs(self) -> list[tuple[str, str, Field]]:
        """Names of the columns with the values before and after that may differ, and whose."""
        named = zip(self.old, self.new, self.table.fields, strict=True)
        return [(old, new, field) for old, new, field in named if old != new]


def stage_fields(table: Schema, changing: frozenset[int] | None = None) -> tuple[Field, ...]:
    """Return the columns of a stage for a table; `changing` as for `Stage`."""
    types = {
        ACTION: "string",
        FILE_COLUMN: "string",
        POSITION_COLUMN: "bigint",
        MATCHED: "boolean",
        # The length of stored values was checked when they were written.
        **{f"{_OLD}{place}": unlimited(field.type) for place, field in enumerate(table.fields)},
        **{
            f"{_NEW}{place}": field.type
            for place, field in enumerate(table.fields)
            if changing is None or place in changing
        },
    }
    return tuple(Field(id=name, name=name, type=type_) for name, type_ in types.items())


@contextmanager
def staged(
    scope: Scope,
    table: RelationName,
    snapshot: Snapshot,
    query: str,
    *,
    analysing: Analysing,
    changing: frozenset[int] | None = None,
    givers: Sequence[Mapping[int, bool]] | None = None,
) -> Iterator[Stage]:
    """Compute a statement's changes; the files are there within the block.

    Values are converted to the table's types by Spark's rules for INSERT BY NAME, which are those
    of its UPDATE and MERGE: fields of structs are matched by name, and errors name the table's
    columns. If the process dies here, collection finds the files.

    Args:
        table: What errors call the table.
        query: Returns the columns of a stage, by position, in any types. With `givers`, the
            place of the clause that applies comes first.
        analysing: As for `Rewriter.insert`.
        changing: As for `Stage`.
        givers: For a merge, what `Merge.givers` returns. The query has the values that several
            clauses give to a column in a struct, as that of `Merge.staged`.

    Raises:
        EngineError: The query fails, or a value doesn't fit its column.
    """
    fields = stage_fields(snapshot.schema, changing)
    own = snapshot.schema.fields
    new = [field for n, field in enumerate(own) if changing is None or n in changing]
    before = fields[: len(fields) - len(new)]
    columns = [Column(name=field.name, type=field.type) for field in (*before, *new)]
    shown = [quoted(column.name) for column in columns]
    if givers is not None:
        values = [
            (Column(name=f.name, type=_declared(f.type, own)), _chosen(f.name, n, own))
            for n, (f, own) in enumerate(zip(new, givers, strict=True))
        ]
        clause = Column(name=CLAUSE, type="int")
        columns = [clause, *columns[: len(before)], *(column for column, _ in values)]
        shown[len(before) :] = [sql for _, sql in values]
    names = ", ".join(quoted(column.name) for column in columns)
    written = scope.session.insert(
        lambda stage: f"insert into {stage} by name select * from (\n{query}\n) as v({names})",
        Destination(
            folder=folder_of(snapshot.table), ids=[field.id for field in fields], is_stage=True
        ),
        columns=columns,
        shown=shown,
        name=table,
        analysing=analysing,
    )
    blobs = scope.overlay.repository.blobs
    try:
        # Without columns: only the numbers of rows and bytes are wanted, no statistics.
        blocks = read_blocks(blobs, written.files, Schema(fields=()), (), written.footers)
        yield Stage(
            table=snapshot.schema,
            files=written.files,
            rows=sum(block.rows for block in blocks),
            bytes=sum(block.bytes for block in blocks),
            changing=changing,
            is_repeatable=written.is_repeatable,
        )
    finally:
        for path in written.files:
            blobs.delete(path)


@contextmanager
def in_files(blobs: Blobs, stage: Stage, folder: str) -> Iterator[Stage]:
    """Return a stage as the engine reads it: rows in memory are in files within the block.

    Args:
        folder: As for `write_table`.
    """
    if stage.here is None:
        yield stage
        return
    files = write_table(blobs, stage.here, folder=folder, schema=Schema(fields=stage.fields))
    size = sum(footer.bytes for footer in files.values())
    try:
        yield replace(stage, files=tuple(files), bytes=size, here=None)
    finally:
        for path in files:
            blobs.delete(path)


def _declared(type_: str, clauses: Mapping[int, bool]) -> str:
    """Return the type of what the clauses of a merge give a column."""
    # One `case` over the clauses' values would cast them to a common type, which may hold less
    # than the column's. In a struct each has the column's type.
    if sum(clauses.values()) < 2:
        return type_
    fields = (f"{clause_name(number)}:{type_}" for number, gives in clauses.items() if gives)
    return f"struct<{','.join(fields)}>"


def _chosen(name: str, place: int, clauses: Mapping[int, bool]) -> str:
    """Return SQL for the new value of a column, from what the clauses give it."""
    new = quoted(name)
    if not clauses or (len(clauses) == 1 and all(clauses.values())):
        return new
    several = sum(clauses.values()) > 1
    values = {
        number: (f"{new}.{clause_name(number)}" if several else new) if gives else f"{_OLD}{place}"
        for number, gives in clauses.items()
    }
    branches = " ".join(f"when {number} then {value}" for number, value in values.items())
    return f"case {CLAUSE} {branches} end"


class BlockChoice(NamedTuple):
    """What happens to the blocks that lose rows.

    Attributes:
        gone: Paths of blocks that lose all rows and are removed.
        rewritten: Blocks whose remaining rows are written to new blocks.
        holed: Paths of blocks that get a tombstone.
    """

    gone: frozenset[str]
    rewritten: tuple[Block, ...]
    holed: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class RowTarget(Version):
    """A version of a table whose rows are to change.

    Attributes:
        name: What statements call the table.
    """

    name: RelationName

    def located(self, session: VersionMounts, blocks: Sequence[Block]) -> str:
        """Return SQL for the rows of some blocks: columns by name, `__vcs_file`, `__vcs_pos`.

        Raises:
            UnsupportedError: A column has one of these reserved names.
        """
        for field in self.snapshot.schema.fields:
            if field.name.lower().startswith(RESERVED):
                raise UnsupportedError(
                    f"{self.name} has a column {field.name}; rows can't be changed while a name "
                    f"begins with {RESERVED}. Rename it: alter table {self.name} rename column."
                )
        named = (
            f"{quoted(field.id)} as {quoted(field.name)}" for field in self.snapshot.schema.fields
        )
        columns = ", ".join([*named, FILE_COLUMN, POSITION_COLUMN])
        return f"(select {columns} from {session.mount_located(self.mount(blocks))})"


def target_of(scope: Scope, name: RelationName) -> RowTarget:
    """Return the table with a name as a target.

    Raises:
        NotFoundError: There is no such relation.
        InputError: It is a view.
    """
    return RowTarget(
        snapshot=scope.overlay.require_table(name),
        read=scope.overlay.repository.objects.segments,
        name=name,
    )


def clause_name(number: int) -> str:
    """Return the name of the field with the value that a clause of a merge gives a column."""
    return f"clause_{number + 1}"
