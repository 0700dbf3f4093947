"""The port to an engine: what dbt-vcs needs from the system that computes rows.

A session implements several small protocols; callers ask for the narrowest ones they need.
Every method may raise EngineError with the engine's own message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from dbt.adapters.vcs.core.model import Block, Field, Function, RelationName, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.engines.engine_errors import UnfitError
from dbt.adapters.vcs.table.python_values import python_values

if TYPE_CHECKING:
    import pyarrow as pa

    from dbt.adapters.vcs.table.files.block_reader import Positions
    from dbt.adapters.vcs.table.files.footers import Footer


Analysing: TypeAlias = Callable[[], AbstractContextManager[object]]
"""Returns a block in which names in a statement resolve as on the caller's branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a result or of a relation, from the engine's analysis.

    Attributes:
        name: The name in the query.
        type: Type text as in `Field.type`.
        nullable: False if the engine knows that no value is NULL.
        default: SQL text of the default expression, or None; read only by `Rewriter.insert`.
    """

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The result of a write.

    Attributes:
        columns: The query's columns, with their names in the files.
        files: Paths of the Parquet files, relative to the repository, sorted. Each has rows,
            so there are none after a query without rows.
        footers: Known footers, by path.
        is_repeatable: As `Analysed.is_repeatable`; None where the engine has lost the query.
    """

    columns: tuple[Column, ...]
    files: tuple[str, ...]
    footers: Mapping[str, Footer] = field(default_factory=dict)
    is_repeatable: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """What a catalog knows of a relation of the branch to describe it.

    Attributes:
        kind: `table` or `view`.
        columns: Its columns, in order, partition columns last.
        text: A view's query; None for a table.
        created_at: When its version was made, in microseconds; None to hide it.
    """

    kind: str
    columns: tuple[Column, ...]
    comment: str | None = None
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    created_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The folder of a write and the layout of its files.

    Columns are named as in the query, or as in the statement's table.

    Attributes:
        folder: `data/<table id>/w=<write id>`; must not exist.
        partition_by: Names of the partition columns, outermost first.
        cluster_by: Names of the columns to sort by; each file has a range of its own.
        options: Other options of the Parquet writer.
        ids: Names for all columns inside the files, in order; None to keep their own.
        by_place: Over 0 for rows with the columns `__vcs_file` and `__vcs_pos`: into about so many
            files, each with a range of the blocks and sorted by place. Rows of a block are never
            split.
        names: What errors call columns, by their names in the query where these are field ids.
        is_stage: Whether the files are read whole a few times, and deleted.
    """

    folder: str
    partition_by: Sequence[str] = ()
    cluster_by: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    ids: Sequence[str] | None = None
    by_place: int = 0
    names: Mapping[str, str] = field(default_factory=dict)
    is_stage: bool = False


PRIVATE: Final = "__vcs"
"""The schema of immutable mounts and staging tables."""


class Rows(Protocol):
    """The rows of one statement; a query runs each time they are fetched."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Names and types; costs no job."""

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows, or only the first `limit` of them, as Python values.

        Structs and maps are dicts, arrays lists, binary bytes, decimals Decimal. Dates are
        `date`; both timestamp types are naive datetimes, the wall-clock time in the session's
        time zone. Intervals are the engine's text, VARIANT its JSON text.
        """

    def run(self) -> None:
        """Run the query to its end for its checks and effects, and discard the rows."""

    def arrow(self) -> pa.Table:
        """Return all rows as one table.

        `timestamp` has a time zone; year-month intervals are text, VARIANT its JSON text unless
        it lies inside another type.
        """


def told_rows(rows: Rows) -> list[tuple[Any, ...]]:
    """Return rows as `Rows.fetch` does, with dates that Python can't hold as `FarMoment`."""
    try:
        return rows.fetch()
    # Arrow holds years that Python's own dates do not.
    except UnfitError:
        columns = rows.arrow().columns
        return list(zip(*(python_values(column) for column in columns), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMount:
    """One immutable table version, ready to be mounted.

    Attributes:
        id: A name unique to this version; letters, digits and underscores.
        folder: `data/<table id>`, with the table's own writes. Files may be elsewhere.
        files: Paths of the block files, relative to the repository.
        tombstones: The deleted rows of the files; targets are files of the version.
        entries: Known entries of the files, whose digests the files must have.
    """

    id: str
    folder: str
    files: tuple[str, ...]
    fields: tuple[Field, ...]
    tombstones: tuple[Tombstone, ...] = ()
    entries: tuple[Block | Tombstone, ...] = ()


class TableParts(Protocol):
    """Rows of this process that are gathered one part at a time."""

    @property
    def schema(self) -> pa.Schema:
        """Their columns."""

    @property
    def count(self) -> int:
        """The number of rows."""

    def parts(self) -> Iterator[pa.Table]:
        """Yield the rows as tables, each built when it is requested."""


class VersionMounts(Protocol):
    """Makes versions readable without a name on the branch, and rows of this process, too."""

    def mount_physical(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation, with field ids as column names.

        It never changes. It may have more columns than the fields, so select by name.
        """

    def mount_located(self, mount: TableMount) -> str:
        """Return the quoted name of what `mount_physical` shows, with the position of each row.

        Two more columns: `__vcs_file`, the block's path relative to the repository, and
        `__vcs_pos`, the row's position in it, from 0.
        """

    def mount_version(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation, with the table's column names.

        It never changes.
        """

    def mount_arrow(self, name: str, rows: pa.Table | TableParts, *, lasting: bool = False) -> str:
        """Return the quoted name of a temporary view of this session with rows of this process.

        Mounting other rows under the same `name`, an identifier, replaces them. `lasting` allows
        other views to read them for as long as the engine's session lives.
        """

    def mount_deleted(
        self,
        tombstones: Sequence[Tombstone],
        files: Collection[str],
        fields: Sequence[Field] = (),
    ) -> tuple[str, str]:
        """Mount the rows that tombstones delete from some files.

        Returns the quoted name of a relation and a SQL condition that selects the rows in it.
        The relation has `__vcs_file` and `__vcs_pos` as in `mount_located`, and the fields
        whose values the tombstones store, by id. All tombstones must be at the same folder
        depth.
        """


def whole_table(rows: pa.Table | TableParts) -> pa.Table:
    """Return rows as one table."""
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return rows
    return pa.concat_tables([rows.schema.empty_table(), *rows.parts()])


GLOBAL_TEMPORARY: Final = "global_temp"
"""The schema of temporary views that all sessions of an engine share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporaryDefinition:
    """The definition of a temporary view or function.

    Attributes:
        text: The query, or the body of the function.
        schema: The schema of its unqualified names, lower case; empty if they are in another
            catalog.
        views: Temporary views that it names, lower case, a global one as `global_temp.v`.
            Other names in it don't refer to temporary views, even to later ones.
        functions: The same for temporary functions.
    """

    text: str
    schema: str
    views: frozenset[str]
    functions: frozenset[str]


class SessionTemporaries(Protocol):
    """Temporary views and functions of one session, which no branch knows."""

    def temporary_views(self) -> frozenset[str]:
        """Return the temporary views of this session, lower case, global ones with schema."""

    def temporary_view(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a temporary view; None if missing or not made by SQL."""

    def temporary_functions(self) -> frozenset[str]:
        """Return the temporary functions of this session, lower case."""

    def temporary_function(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a temporary function; None if missing or not made by SQL."""


class Analysed(Protocol):
    """A query as a session has understood it: what is mounted later doesn't change it."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its result."""

    def is_repeatable(self) -> bool:
        """Return whether running it twice surely gives the same rows; nothing is run."""

    def write(self, destination: Destination) -> Written:
        """Write its rows as Parquet files below a new folder of the repository.

        Args:
            destination: Where its rows go; columns are named as the query gives them.

        Raises:
            InputError: A folder name can't represent a partition value: an empty string.
            EngineError: The files don't hold the number of rows that the engine counted.
            UnsupportedError: A partition column has a type that folder names can't represent.
        """


class AnalysedRows(Rows, Protocol):
    """The rows of a statement that a session has understood."""

    def is_repeatable(self) -> bool:
        """Return whether running a query twice surely gives the same rows; nothing is run."""


class Queries(Protocol):
    """Runs and analyses statements over mounted relations and functions."""

    def query(self, text: str) -> AnalysedRows:
        """Run any statement; the rows of a query are computed when they are fetched."""

    def analysed(self, query_text: str) -> Analysed:
        """Return a query with its names resolved; nothing is run, and no other statement."""

    def check_syntax(self, text: str) -> None:
        """Require that a text is a statement; nothing of it is looked up or run.

        Raises:
            EngineError: It isn't.
        """

    def check_default(self, expression: str, type: str) -> None:
        """Require that an expression can be the default of a column of a type.

        It reads no column and no table, and its type can be stored as the column's.

        Raises:
            EngineError: It can't.
        """

    def relation_columns(self, name: RelationName | str) -> tuple[Column, ...]:
        """Return the columns of a mounted relation, or of a temporary view without a schema."""

    def setting(self, key: str) -> str | None:
        """Return the value of an engine setting in this session; None if it has none."""

    def place(self, location: str) -> str:
        """Return the location of files as a whole one, as a statement that writes there has it.

        A relative path, or one without a scheme, depends on the engine's working directory and
        settings. What the engine doesn't understand is returned as it is.
        """


def find_places(session: Queries, query: str) -> dict[str, Positions]:
    """Return the positions that a query finds in each block, ascending, each once.

    Args:
        query: Returns `__vcs_file` and `__vcs_pos`; a place may occur several times.
    """
    from dbt.adapters.vcs.table.row_numbers import distinct

    # Each block's path once, and eight bytes a row.
    found = session.query(
        f"select {FILE_COLUMN}, collect_list({POSITION_COLUMN}) from ({query}) "
        f"group by {FILE_COLUMN}"
    ).arrow()
    lists = found.column(1).combine_chunks()
    return {
        path: distinct(lists[number].values.to_numpy())
        for number, path in enumerate(found.column(0).to_pylist())
    }


class RowSession(VersionMounts, Protocol):
    """Computes rows of versions by queries in Spark SQL: Spark, or DuckDB in this process."""

    @property
    def is_here(self) -> bool:
        """Whether this process computes, so that to give it rows costs nothing."""

    def query(self, text: str) -> Rows:
        """Return the rows of a query, which runs each time they are fetched."""

    def write(self, query_text: str, destination: Destination) -> Written:
        """Write a query's rows as files, as `Analysed.write`."""


class VersionReader(Queries, VersionMounts, Protocol):
    """Reads versions of tables by statements."""


class Rewriter(VersionReader, RowSession, Protocol):
    """Writes rows of versions as files of others."""

    def insert(
        self,
        statement: Callable[[str], str],
        destination: Destination,
        *,
        columns: Sequence[Column],
        shown: Sequence[str] | None = None,
        name: RelationName | None = None,
        analysing: Analysing = nullcontext,
    ) -> Written:
        """Write the rows that an INSERT statement adds, as `Analysed.write` does.

        The statement is analysed against an empty table with the declared columns, so that
        column lists, defaults, casts, static partitions and varchar lengths follow Spark's
        rules. INSERT OVERWRITE writes the rows of its query as well; the caller handles what
        it replaces.

        Args:
            statement: Takes the quoted name of that table, and returns the INSERT statement.
            destination: Where the rows go; columns are named as in `columns`.
            shown: SQL expressions over the table's columns that are written instead of them.
            name: The table's name in errors.
            analysing: Returns a block for resolving names. After it, what is mounted later
                doesn't change what the statement reads.
        """


class NamedMounts(Protocol):
    """Makes names readable for all sessions of the engine."""

    def ensure_schema(self, schema: str) -> None:
        """Create a schema in the catalog if it doesn't exist."""

    def use(self, schema: str) -> None:
        """Make a schema, lower case, that of names without one; create it if it doesn't exist."""

    def mount_table(self, name: RelationName, mount: TableMount) -> None:
        """Make a table version readable under a name, replacing what had that name."""

    def mount_view(
        self, name: RelationName, text: str, columns: Sequence[tuple[str, str | None]] = ()
    ) -> None:
        """Make a query readable under a name; `columns` overrides its names and comments.

        What the query reads must already be mounted.
        """

    def mount_files(
        self, name: RelationName, *, location: str, format: str, options: Mapping[str, str] = {}
    ) -> None:
        """Make unversioned files readable under a name; their schema is read now."""

    def unmount(self, name: RelationName) -> None:
        """Remove a name from the catalog, if it is there."""


class Functions(Protocol):
    """Makes functions callable in the statements of one session."""

    def mount_function(self, name: RelationName, id: str, function: Function) -> None:
        """Make a function callable under a name, replacing what had that name.

        Args:
            id: Identifies this version and the versions of everything that it needs.
            function: The function; what it reads and calls must already be mounted.

        Raises:
            InputError: The source of a Python function is invalid or incomplete.
        """

    def unmount_function(self, name: RelationName) -> None:
        """Remove the function under a name."""

    def has_function(self, identifier: str) -> bool:
        """Return whether an unqualified name calls a built-in or temporary function."""


class Placeholders(Protocol):
    """Relations of a branch as a catalog describes them, for statements that only it answers."""

    def with_placeholders(
        self, placeholders: Mapping[RelationName, Placeholder]
    ) -> AbstractContextManager[None]:
        """Let statements in a block be answered from placeholders under names.

        Raises:
            UnsupportedError: The session has no catalog that could show them.
        """

    def redacted(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return properties in their order, with the values that the engine redacts hidden."""


class Session(Rewriter, NamedMounts, Functions, SessionTemporaries, Placeholders, Protocol):
    """One thread's view of one catalog, with all protocols.

    All sessions of the engine see what is mounted; functions, temporary views and settings
    belong to this session.
    """

    def begin_statement(self) -> None:
        """Allow the engine to drop versions that were mounted for earlier statements.

        Until then a name that a `mount_` method returned is readable. What is shown under a
        name, and what a temporary view or function reads, always is.
        """

    def statement(self) -> AbstractContextManager[None]:
        """Return a block in which all calls from this thread are one statement.

        The engine is told once where one begins and ends, and `cancel` ends all of it.
        """

    def frames(self) -> Frames:
        """Return the frames for Python models."""

    def cancel(self) -> None:
        """Cancel the running statement, from any thread; it raises EngineError."""

    def close(self) -> None:
        """Cancel the running statement and refuse further ones."""


Sessions: TypeAlias = Callable[[], Session]
"""Returns an engine's session; the first call may start the engine."""

Readers: TypeAlias = Callable[[], VersionReader]
"""The same, for callers that only read."""

Rewriters: TypeAlias = Callable[[], Rewriter]
"""The same, for callers that also write files."""


class Engine(Protocol):
    """A system that computes rows, with a catalog of its own."""

    def start(self) -> None:
        """Start what sessions need and can't be interrupted; from any thread, it takes seconds.

        Raises:
            EngineError: It doesn't start, and neither would a session.
        """

    def prepare(self) -> None:
        """Start what the first session will need, from any thread; it may take seconds.

        Sessions may be asked for in the meantime, and wait for it; `close` doesn't.

        Raises:
            EngineError: It doesn't start, and neither would a session.
        """

    def session(self, label: str) -> Session:
        """Return a new session for one thread; `label` describes its jobs to people."""

    def close(self) -> None:
        """Release the catalog and delete temporary files."""


class Frames(Protocol):
    """Gives frames to a Python model, and makes a view of the frame that it returns."""

    @property
    def handle(self) -> Any:
        """The object that a model gets as its session."""

    def running(self) -> AbstractContextManager[None]:
        """Run a block as one statement that `Session.cancel` can stop."""

    def read(self, name: str) -> Any:
        """Return the relation with a name, as written in SQL, as a frame."""

    def show(self, name: str, frame: object) -> bool:
        """Make a frame a temporary view; return False if it is not one of the engine's."""

    def hide(self, name: str) -> None:
        """Drop a temporary view."""

    def words_of(self, error: Exception) -> str:
        """Return the message of a model's exception; one of the engine's without its stack."""
