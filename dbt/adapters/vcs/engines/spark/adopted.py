"""The engine on a SparkSession that somebody else made, whatever its catalog is.

Its temporary views show, and nothing is published in its catalog: the names of the branch are
replaced in each text, as for a Spark Connect server (decision 47).
"""

from __future__ import annotations

import json
import tempfile
import threading
import uuid
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.errors import EngineError, InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.frame_session import DEFAULTS, Inserted
from dbt.adapters.vcs.engines.dataframes.hadoop_storage import spark_root
from dbt.adapters.vcs.engines.dataframes.mounting import Layout
from dbt.adapters.vcs.engines.dataframes.name_registry import (
    PREFIX,
    NameRegistry,
    OwnTemporaries,
    Recorded,
)
from dbt.adapters.vcs.engines.dataframes.renaming_session import RenamingSession
from dbt.adapters.vcs.engines.dataframes.session_text import SessionText
from dbt.adapters.vcs.engines.dataframes.session_views import SessionViews, ViewRelations
from dbt.adapters.vcs.engines.dataframes.spark_rows import SparkRows
from dbt.adapters.vcs.engines.dataframes.staged_insert import (
    parsed_insert,
    partitions_last,
    without_partition,
)
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs, renamed, reworded
from dbt.adapters.vcs.engines.dataframes.writes import NUMBERING
from dbt.adapters.vcs.engines.port import (
    Analysing,
    Column,
    Destination,
    Placeholder,
    TableMount,
    TableParts,
    TemporaryDefinition,
)
from dbt.adapters.vcs.engines.session_settings import COMMIT_PROTOCOL, VERIFY_PAGES
from dbt.adapters.vcs.engines.spark.carried_rows import CarriedRows
from dbt.adapters.vcs.engines.spark.catalog_relations import (
    TIME_AS_NUMBER,
    TIME_AS_PLACE,
    FileList,
    file_count,
    sizes_of,
    times_of,
    unlisted,
)
from dbt.adapters.vcs.engines.spark.context import scala_names
from dbt.adapters.vcs.engines.spark.engine import SparkEngine, check_folder
from dbt.adapters.vcs.engines.spark.jobs import Jobs, translated
from dbt.adapters.vcs.engines.spark.session import (
    ProcessSession,
    SparkFrames,
    SparkView,
    TemporaryNames,
    is_command,
)
from dbt.adapters.vcs.table.partition_values import folder_of_text
from dbt.adapters.vcs.table.quoting import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Settings with which a session writes blocks, and reads them.
_WRITING: Final = {
    # INT96, Spark's default, has no bounds in footers, and other readers stop at the year 2262.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    **COMMIT_PROTOCOL,
    **NUMBERING,
    VERIFY_PAGES: "true",
}
# A setting of the session: whose connections have changed its settings, and what they were.
_HELD: Final = "dbt-vcs.held"
# Settings that a description of a relation depends on.
_DESCRIBING: Final = ("spark.sql.redaction.options.regex", "spark.sql.session.timeZone")
# How Spark calls a table that no catalog has.
_UNKNOWN: Final = "`unknown`"


class AdoptedEngine:
    """`Engine` on a session of this process that is its owner's.

    All sessions of the engine are that one, so that the owner's temporary views show. When the
    engine is closed, what it made in the session is dropped, and the settings are as before.

    Args:
        blobs: The repository's store; Spark reads and writes below its `uri`.
        storage_options: The store's own options, credentials among them.

    Raises:
        InputError: It is not a session of this process.
    """

    def __init__(
        self,
        blobs: Blobs,
        spark: SparkSession,
        *,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        if not hasattr(spark, "_jsparkSession"):
            raise InputError(
                "Expected a SparkSession of this process, found a Spark Connect client. Leave "
                "`spark` out to let dbt-vcs start its own, or give the server's address, "
                "{'spark.remote': 'sc://...'}."
            )
        self._blobs = blobs
        self._spark = spark
        self._options = dict(storage_options or {})
        self._root: Callable[[], str] = partial(spark_root, blobs.uri, self._options)
        # Other engines may make views of the same versions in this session, and drop theirs.
        self._token = uuid.uuid4().hex[:8]
        self._registry = NameRegistry(tag=f"_{self._token}")
        self._folder = tempfile.TemporaryDirectory(prefix="dbt-vcs-", ignore_cleanup_errors=True)
        self._temporaries = OwnersTemporaries(spark)
        self._made = SessionViews(
            spark,
            self._registry,
            blobs=blobs,
            root=self._root,
            translated=self._translated,
            relations=partial(ListedRelations, blobs=blobs, folder=Path(self._folder.name)),
        )
        self._lock = threading.Lock()
        self._views: weakref.WeakSet[AdoptedView] = weakref.WeakSet()
        self._describer: SparkEngine | None = None
        self._is_held = False
        self._closed = False

    def start(self) -> None:
        """Do nothing: the session is there."""

    def prepare(self) -> None:
        """Do nothing: the session is there."""

    def session(self, label: str) -> AdoptedView:
        """Return a view of the session for one thread."""
        with self._lock:
            if self._closed:
                raise EngineError("This engine is closed; make another one.")
            if not self._is_held:
                check_folder(self._spark, self._blobs, self._root)
                with translated():
                    _hold(self._spark, self._token)
                self._is_held = True
            view = AdoptedView(
                self._spark,
                Jobs(self._spark, label, self._translated),
                self._blobs,
                temporaries=self._temporaries,
                views=self._made,
                folder=Path(self._folder.name),
                describer=self._describing,
            )
            self._views.add(view)
            return view

    def close(self) -> None:
        """Drop what was made in the session, and set its settings as they were."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for view in self._views:
                view.close()
            self._views.clear()
            try:
                if self._describer is not None:
                    self._describer.close()
                if self._is_held:
                    with translated():
                        self._drop()
                        _let_go(self._spark, self._token)
            finally:
                self._folder.cleanup()

    def _drop(self) -> None:
        tag = self._registry.tag
        java: Any = self._spark._jsparkSession
        catalog = java.sessionState().catalog()
        views = [name for name in scala_names(catalog.getTempViewNames()) if name.endswith(tag)]
        # They read a version by a name that is about to go.
        views += self._temporaries.recorded_with(tag)
        for name in views:
            self._spark.catalog.dropTempView(name)
        for name in scala_names(catalog.listTemporaryFunctions()):
            if name.endswith(tag):
                catalog.dropTempFunction(name.rpartition(".")[2], True)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        with reworded(self._registry.own_words), translated():
            yield

    def _describing(self) -> SparkView:
        """Return a session with a catalog of its own, for what only a catalog answers."""
        if self._describer is None:
            known = {key: self._spark.conf.get(key, None) for key in _DESCRIBING}
            settings = {key: value for key, value in known.items() if value is not None}
            self._describer = SparkEngine(
                self._blobs, settings=settings, storage_options=self._options
            )
        return self._describer.session("describe")


# Several connections may begin or end at once.
_HOLDING: Final = threading.Lock()


def _hold(spark: SparkSession, token: str) -> None:
    """Change the settings of a session for as long as a connection to it is open."""
    with _HOLDING:
        held = json.loads(spark.conf.get(_HELD, None) or "{}")
        if not held:
            held = {"before": {key: spark.conf.get(key, None) for key in _WRITING}, "by": []}
        held["by"].append(token)
        spark.conf.set(_HELD, json.dumps(held))
        for key, value in _WRITING.items():
            spark.conf.set(key, value)


def _let_go(spark: SparkSession, token: str) -> None:
    """Set the settings as they were, unless another connection needs them."""
    with _HOLDING:
        # A `reset` takes this setting as well, and has set all others as they were at the start.
        held = json.loads(spark.conf.get(_HELD, None) or "{}")
        if token not in held.get("by", ()):
            return
        held["by"].remove(token)
        if held["by"]:
            spark.conf.set(_HELD, json.dumps(held))
            return
        spark.conf.unset(_HELD)
        for key, value in held["before"].items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)


class OwnersTemporaries(OwnTemporaries):
    """Knows the temporary names of a session whose owner uses it, too.

    The session's catalog is read whenever a statement needs it. Names in a definition that was
    made past the connection are the owner's own, so only those of statements are known.
    """

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self._names = TemporaryNames(spark)

    def temporary_views(self) -> frozenset[str]:
        """Return the names of views, lower case; a global one as `global_temp.v`."""
        names = self._names.temporary_views()
        self._drop_replaced(self.recorded_views, names, self._names.temporary_view)
        return names

    def temporary_functions(self) -> frozenset[str]:
        """Return the names of functions, lower case."""
        names = self._names.temporary_functions()
        names = frozenset(name for name in names if not name.startswith(PREFIX))
        self._drop_replaced(self.recorded_functions, names, self._names.temporary_function)
        return names

    def recorded_with(self, tag: str) -> list[str]:
        """Return the views of statements that read something with a tag in its name."""
        known = self.temporary_views() & self.recorded_views.keys()
        return [name for name in known if tag in self.recorded_views[name].sent]

    @staticmethod
    def _drop_replaced(
        recorded: dict[str, Recorded],
        names: frozenset[str],
        definition: Callable[[str], TemporaryDefinition | None],
    ) -> None:
        for name, record in list(recorded.items()):
            found = definition(name) if name in names else None
            # The owner may have made another one of that name, which is not to be made again.
            if found is None or found.text.strip() != record.sent.strip():
                recorded.pop(name, None)


class ListedRelations(ViewRelations):
    """Views of files whose names and sizes Spark gets from a list, as decision 24 wants it."""

    def __init__(
        self,
        views: SessionViews,
        mount: TableMount,
        *,
        located: bool,
        blobs: Blobs,
        folder: Path,
    ) -> None:
        super().__init__(views, mount, located=located)
        self._blobs = blobs
        self._lists = folder / "lists"

    def first_number(self, layout: Layout, files: Collection[str]) -> str | None:
        """Return SQL for the number that `table` gives the first row of a file."""
        return None if layout.is_one_write else TIME_AS_NUMBER

    def place(self, layout: Layout) -> str | None:
        """Return SQL for the place of a row's file, which its list has as its time, too."""
        return None if layout.is_one_write else TIME_AS_PLACE

    def _folders(self, layout: Layout) -> dict[str, str]:
        # A list has no base: its files are elsewhere.
        listed = layout.columns and not layout.is_one_write
        return {} if listed else super()._folders(layout)

    def _frame(
        self,
        reader: Any,
        name: RelationName,
        files: Collection[str],
        layout: Layout,
        numbers: Mapping[str, int],
    ) -> DataFrame:
        if layout.is_one_write:
            found: DataFrame = super()._frame(reader, name, files, layout, numbers)
            return found
        listed = FileList(self._lists, self.own_name(name))
        sizes = sizes_of(self._blobs, self._mount, files)
        listed.fill(self._views.root(), sizes, times_of(files, numbers))
        frame: DataFrame = reader.parquet(listed.location)
        count = file_count(frame._jdf.queryExecution().analyzed())
        # Decision 24: a Spark that ignored the list must not show a table with fewer rows.
        if count != len(files):
            raise unlisted(self._lists, len(files), count)
        return frame


class AdoptedView(ProcessSession, RenamingSession):
    """`Session` over a session whose owner uses it, too."""

    def __init__(
        self,
        spark: SparkSession,
        jobs: StatementJobs,
        blobs: Blobs,
        *,
        temporaries: OwnersTemporaries,
        views: SessionViews,
        folder: Path,
        describer: Callable[[], SparkView],
    ) -> None:
        super().__init__(spark, jobs, blobs, temporaries=temporaries, views=views)
        # The owner may read a view of rows after the connection is closed.
        self._carried = CarriedRows(spark, outlived=True)
        self._folder = folder
        self._describer = describer
        self._describing: SparkView | None = None
        self._schemas = {"default"}

    def begin_statement(self) -> None:
        """Take up what the owner may have changed since the last statement."""
        with self._jobs.run():
            # A view keeps the settings that it was made with.
            self._views.changes = self._java.sessionState().conf().settings().hashCode()

    def frames(self) -> AdoptedFrames:
        """Return the data frames for Python models."""
        return AdoptedFrames(self._spark, self._jobs, self._texts)

    def query(self, text: str) -> SparkRows:
        """Run a statement; a query's rows are computed when they are fetched."""
        if self._describing is not None:
            return self._describing.query(text)
        return super().query(text)

    def ensure_schema(self, schema: str) -> None:
        """Remember a schema of the branch: it is in no catalog but the one of descriptions."""
        self._schemas.add(schema)

    def mount_arrow(self, name: str, rows: pa.Table | TableParts, *, lasting: bool = False) -> str:
        """Return the quoted name of a temporary view with rows of this process."""
        self._own.mounted.add(name.lower())
        return super().mount_arrow(name, rows, lasting=lasting)

    @contextmanager
    def with_placeholders(
        self, placeholders: Mapping[RelationName, Placeholder]
    ) -> Iterator[None]:
        """Show placeholders in a catalog of descriptions, which answers in the block."""
        describing = self._describer()
        for schema in sorted(self._schemas):
            describing.ensure_schema(schema)
        describing.use(self._texts.schema)
        with describing.with_placeholders(placeholders):
            self._describing = describing
            try:
                yield
            finally:
                self._describing = None

    def check_default(self, expression: str, type: str) -> None:
        """Require that an expression can be the default of a column of a type."""
        types = "org.apache.spark.sql.types"
        with self._jobs.run():
            # Spark's own check in `create table`, without a table.
            made = self._class(f"{types}.StructType").fromDDL(f"c {type}").json()
            schema = json.loads(made)
            schema["fields"][0]["metadata"] |= dict.fromkeys(DEFAULTS, expression)
            column = self._class(f"{types}.DataType").fromJson(json.dumps(schema)).apply(0)
            checks = self._class("org.apache.spark.sql.catalyst.util.ResolveDefaultColumns")
            checks.analyze(column, "CREATE TABLE", DEFAULTS[0])

    def _new_table(self) -> str:
        return quoted(f"{PREFIX}w_{uuid.uuid4().hex}{self._registry.tag}")

    @contextmanager
    def _insert_rows(
        self,
        text: str,
        stage: str,
        destination: Destination,
        columns: Sequence[Column],
        analysing: Analysing,
    ) -> Iterator[Inserted]:
        # Spark inserts into a view of files as into a table, so no catalog has to have one. Only
        # planned: nothing is ever written there.
        place = self._folder / uuid.uuid4().hex
        ordered = partitions_last(columns, destination.partition_by)
        last = ordered[len(ordered) - len(destination.partition_by) :]
        insert = parsed_insert(text, stage)
        if any(column.default is not None for column in last):
            # Partition columns that are found in the names of folders lose their defaults.
            text = without_partition(insert, stage, ordered)
            place.mkdir()
        elif insert.partition:
            inner = place.joinpath(*(folder_of_text(c, None) for c in destination.partition_by))
            inner.mkdir(parents=True)
            # Spark finds partition columns in the names of folders with files.
            (inner / "part").touch()
        else:
            place.mkdir()
        name = stage.strip("`")
        with renamed(_UNKNOWN, stage), self._jobs.run():
            schema = self._views.declared(ordered)
            self._spark.read.schema(schema).parquet(f"file:{place}").createOrReplaceTempView(name)
            try:
                with analysing():
                    inserted = self._planned_rows(self._texts.sent(text), stage)
                yield inserted
            finally:
                self._spark.catalog.dropTempView(name)

    def _used(self) -> str:
        # Nothing is changed for the owner, whose catalog may have no schema, and the result is as
        # empty.
        return "reset `dbt-vcs.nothing`"

    def _is_done(self, frame: Any) -> Callable[[], bool]:
        return partial(is_command, frame)

    def _settle(self, sent: str) -> object:
        # Rows are fetched later, when other rows may be carried under the same names.
        return self._carried.files()


class AdoptedFrames(SparkFrames):
    """`Frames` over a session that is its owner's."""

    def __init__(self, spark: SparkSession, jobs: StatementJobs, texts: SessionText) -> None:
        super().__init__(spark, jobs, lambda: None)
        self._texts = texts

    def read(self, name: str) -> DataFrame:
        """Return a relation as a frame."""
        return self.handle.sql(self._texts.sent(f"select * from {name}"))
