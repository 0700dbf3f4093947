"""The port to an engine: what dbt-vcs asks of the thing that computes rows.

A session answers several small protocols; whoever takes one asks for those it needs.
Every method may raise EngineError with the engine's own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from dbt.adapters.vcs.core.model import Function, RelationName
from dbt.adapters.vcs.engines.model_frames import Frames
from dbt.adapters.vcs.engines.temporaries import SessionTemporaries
from dbt.adapters.vcs.engines.version_mounts import TableMount, VersionMounts

if TYPE_CHECKING:
    import pyarrow as pa

    from dbt.adapters.vcs.rows.files.footers import Footer


Analysing: TypeAlias = Callable[[], AbstractContextManager[object]]
"""Gives a block in which the names in a statement mean what its sender means by them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a result or of a relation, as the engine's analysis gives it.

    Attributes:
        name: As the query names it.
        type: Type text as in `Field.type`.
        nullable: False if the engine knows that no value is NULL.
        comment: Free text, or None.
        default: SQL text of the default expression, or None; read by `Writer.insert` alone.
    """

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a write made.

    Attributes:
        columns: The columns as the query gave them, with their names in the files.
        files: Paths of the Parquet files, relative to the repository, sorted; every one of them
            has rows, so there is none after a query without rows.
        footers: The files' footers, as far as they are known.
    """

    columns: tuple[Column, ...]
    files: tuple[str, ...]
    footers: Mapping[str, Footer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """What others see of a relation of the branch where they share the engine's catalog.

    Attributes:
        kind: `table` or `view`.
        columns: Its columns, in order, partition columns last.
        comment: Free text, or None.
        partition_by: Names of the partition columns.
        cluster_by: Names of the columns that rows are clustered by.
        properties: Its properties.
        text: A view's query; None where nobody may see its rows.
        created_at: When its version was made, in microseconds; None if that isn't to be seen.
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
    """Where the files of a write go, and how the rows lie in them.

    Columns are named as the query names them, or the statement's table.

    Attributes:
        folder: `data/<table id>/w=<write id>`; must not exist.
        partition_by: Names of the partition columns, outermost first.
        cluster_by: Names of columns: rows are sorted by these, and each file has a range of its
            own.
        options: Further options of the Parquet writer.
        ids: Names for all columns inside the files, in order; None to keep their own.
    """

    folder: str
    partition_by: Sequence[str] = ()
    cluster_by: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    ids: Sequence[str] | None = None


PRIVATE: Final = "__vcs"
"""The schema of immutable mounts and staging tables."""


class Rows(Protocol):
    """The rows of one statement; a query is run when they are asked for, each time."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Names and types; costs no job."""

    def fetch(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows, or the first `limit` of them, as Python values.

        Structs and maps are dicts, arrays lists, binary bytes, decimals Decimal. Dates are
        `date`; both timestamp types are naive datetimes, the time on the wall in the session's
        time zone. Intervals are the engine's text, VARIANT its JSON text.
        """

    def run(self) -> None:
        """Run the query to its end, for its checks and effects; no row is kept."""

    def arrow(self) -> pa.Table:
        """Return all rows as one table.

        `timestamp` has a time zone; year-month intervals are text, VARIANT its JSON text unless
        it lies inside another type.
        """


class Queries(Protocol):
    """Runs and analyses statements, with the relations and functions that are mounted."""

    def query(self, text: str) -> Rows:
        """Run a statement of any kind; a query's rows are computed when they are fetched."""

    def columns_of(self, query_text: str) -> tuple[Column, ...]:
        """Return the columns of a statement's result by analysis alone: nothing is run."""

    def is_repeatable(self, query_text: str) -> bool:
        """Tell by analysis alone whether a query run twice is known to give the same rows."""

    def check_default(self, expression: str, type: str) -> None:
        """Require that an expression can be the default of a column of a type.

        It reads no column and no table, and its type can be stored as the column's.

        Raises:
            EngineError: It can't.
        """

    def relation_columns(self, name: RelationName | str) -> tuple[Column, ...]:
        """Return the columns of a mounted relation, or of a temporary view named by one word."""

    def setting(self, key: str, default: str | None = None) -> str | None:
        """Return an engine setting as this session sees it."""


class Writer(Protocol):
    """Writes rows as files of the repository."""

    def write(
        self, query_text: str, destination: Destination, *, analysing: Analysing = nullcontext
    ) -> Written:
        """Write a query's rows as Parquet files below a new folder of the repository.

        Args:
            query_text: The query.
            destination: Where its rows go; columns are named as the query gives them.
            analysing: Gives a block to look names up in: from then on it is settled what the
                query reads, whatever is mounted while it runs.

        Raises:
            InputError: A partition value can't be kept by a folder name: an empty string.
            EngineError: The files in the folder don't hold the rows that the engine counted.
            UnsupportedError: A partition column is of a type that folder names can't keep.
        """

    def insert(
        self,
        statement: Callable[[str], str],
        destination: Destination,
        *,
        columns: Sequence[Column],
        name: RelationName | None = None,
        analysing: Analysing = nullcontext,
    ) -> Written:
        """Write the rows that an INSERT statement adds, as `write` does.

        The statement is analysed against an empty table with the declared columns, so that
        column lists, defaults, casts, static partitions and lengths of varchar work as Spark
        says. INSERT OVERWRITE gives the rows of its query, too; what it replaces is the
        caller's matter.

        Args:
            statement: Given the quoted name of that table, returns the INSERT statement.
            destination: Where the rows go; columns are named as in `columns`.
            columns: The table's columns.
            name: What errors call the table.
            analysing: As for `write`.
        """


class VersionReader(Queries, VersionMounts, Protocol):
    """Reads versions of tables by statements."""


class Rewriter(VersionReader, Writer, Protocol):
    """Writes rows of versions as files of others."""


class NamedMounts(Protocol):
    """Makes names readable; all sessions of the engine see what is mounted."""

    def ensure_schema(self, schema: str) -> None:
        """Make a schema in the catalog if it is not there."""

    def mount_table(self, name: RelationName, mount: TableMount) -> None:
        """Make a version of a table readable under a name, in place of what had that name."""

    def mount_view(
        self, name: RelationName, text: str, columns: Sequence[tuple[str, str | None]] = ()
    ) -> None:
        """Make a query readable under a name; `columns` are names with comments, if not its own.

        What the query names must be mounted before.
        """

    def mount_files(
        self, name: RelationName, *, location: str, format: str, options: Mapping[str, str] = {}
    ) -> None:
        """Make files that are not versioned readable under a name; their schema is read now."""

    def unmount(self, name: RelationName) -> None:
        """Remove what a name stands for from the catalog; nothing happens if there is nothing."""


class Functions(Protocol):
    """Lets the statements of one session call functions."""

    def mount_function(self, name: RelationName, id: str, function: Function) -> None:
        """Let this session's statements call a function under a name, in place of what had it.

        Args:
            name: The name.
            id: Names this version, and the versions of all that it needs.
            function: The function; what it reads and calls must be mounted before.

        Raises:
            InputError: The source of a Python function is not well formed, or lacks something.
        """

    def unmount_function(self, name: RelationName) -> None:
        """Let this session's statements call nothing under a name."""

    def has_function(self, identifier: str) -> bool:
        """Tell whether a name without a schema calls the engine's own, or a temporary one."""


class Showcase(Protocol):
    """What others see of a branch in a catalog that they share with its session."""

    @property
    def is_shared(self) -> bool:
        """True if others read the catalog by name as well, as the owner of a session does."""

    def require_own(self) -> None:
        """Require that nobody made anything past the connections in a schema of the branch.

        Raises:
            InputError: Others, who share the catalog, made something in one of them since.
        """

    def post(
        self, versions: Mapping[RelationName, str], sign: Callable[[RelationName], Sign]
    ) -> None:
        """Let names that stand for anything stand for signs, until they are mounted again.

        Args:
            versions: Every relation that others may know of, and what names its sign's version:
                a sign that is up already is left.
            sign: Gives the sign of one of them.
        """

    def signed(self, signs: Mapping[RelationName, Sign]) -> AbstractContextManager[None]:
        """Let names stand for signs within a block, and for nothing after it."""

    def redacted(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return properties with the values hidden that the engine hides, in their order."""


class Session(Rewriter, NamedMounts, Functions, SessionTemporaries, Showcase, Protocol):
    """One thread's view of one catalog: every protocol at once.

    What is mounted is seen by all sessions of the engine; functions, temporary views and settings
    are this session's alone.
    """

    def frames(self) -> Frames | None:
        """Return what a Python model works with; None if the engine runs none."""

    def cancel(self) -> None:
        """Stop the statement that runs now, from any thread; it raises EngineError."""

    def close(self) -> None:
        """Cancel what runs, and refuse every further statement."""


Sessions: TypeAlias = Callable[[], Session]
"""Gives an engine's session; the first call may start the engine."""

Readers: TypeAlias = Callable[[], VersionReader]
"""The same, for what only reads."""


class Engine(Protocol):
    """Something that computes rows, with a catalog of its own."""

    def session(self, label: str) -> Session:
        """Return a new view for one thread; `label` describes its jobs to a person."""

    def close(self) -> None:
        """Let go of the catalog and of temporary files."""
