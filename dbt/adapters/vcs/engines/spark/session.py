"""One thread's view of a Spark catalog."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Function, RelationName
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.dataframes.frame_session import (
    AnalysedQuery,
    FrameSession,
    Inserted,
    declared_columns,
)
from dbt.adapters.vcs.engines.dataframes.functions import function_definition
from dbt.adapters.vcs.engines.dataframes.repeatable import is_repeatable
from dbt.adapters.vcs.engines.dataframes.spark_rows import SparkRows, columns_of_schema
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs
from dbt.adapters.vcs.engines.engine_errors import sending
from dbt.adapters.vcs.engines.port import (
    GLOBAL_TEMPORARY,
    PRIVATE,
    Analysing,
    Column,
    Destination,
    Placeholder,
    TableMount,
    TableParts,
    TemporaryDefinition,
    Written,
)
from dbt.adapters.vcs.engines.spark.carried_rows import CarriedRows
from dbt.adapters.vcs.engines.spark.catalog import Catalog
from dbt.adapters.vcs.engines.spark.context import (
    java_class,
    load_ml_functions,
    scala_names,
)
from dbt.adapters.vcs.engines.spark.few_rows import write_few
from dbt.adapters.vcs.engines.spark.function_registry import builder, identifier, register
from dbt.adapters.vcs.engines.spark.jobs import Jobs, words_of
from dbt.adapters.vcs.engines.spark.plans import (
    analysed_plan,
    frame_of,
    parsed_plan,
    run_command,
)
from dbt.adapters.vcs.sql.syntax.names import CATALOG
from dbt.adapters.vcs.table.quoting import literal, quoted, quoted_relation

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Prefix of the names of internal views that serve one statement.
_OWN: Final = "__vcs"

_NAMESPACE: Final = "catalogAndNamespace.part."
_VIEWS: Final = "referredTempViewNames"
_FUNCTIONS: Final = "referredTempFunctionsNames"
_BODIES: Final = ("sqlFunction.query", "sqlFunction.expression")

Properties = Callable[[str], "str | None"]
"""Returns a property that Spark stores with a view or function, or None."""


class ProcessSession(FrameSession):
    """The part of `Session` that asks the Spark of this process, whichever names it is sent."""

    _spark: SparkSession
    _carried: CarriedRows

    def analysed(self, query_text: str) -> AnalysedQuery:
        """Return a query with its names resolved; nothing is run, and no other statement.

        The plan keeps what names meant. The moment and the like are put in when it is run.
        """
        from pyspark.sql.types import StructType

        with self._jobs.run():
            sent = self._sent_text(query_text)
            with sending(sent), self._jobs.run():
                # The frame is made when it is written: that of a command would run it.
                plan = analysed_plan(self._spark, sent)
                schema = json.loads(plan.schema().json())
                return AnalysedQuery(
                    columns=columns_of_schema(StructType.fromJson(schema)),
                    is_repeatable=partial(self._is_plan_repeatable, plan),
                    write=partial(self._write, sent, partial(frame_of, self._spark, plan)),
                )

    def check_syntax(self, text: str) -> None:
        """Require that Spark can parse a text."""
        with sending(text), self._jobs.run():
            parsed_plan(self._spark, text)

    def mount_arrow(self, name: str, rows: pa.Table | TableParts, *, lasting: bool = False) -> str:
        """Return the quoted name of a temporary view with rows of this process."""
        with self._jobs.run():
            self._carried.show(name, rows, lasting=lasting)
        return quoted(name)

    def redacted(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return properties with the values that Spark's settings redact hidden."""
        with self._jobs.run():
            helper = self._class("org.apache.spark.api.python.PythonUtils")
            # The regular expression that decides is a setting of the session.
            conf = self._java.sessionState().conf()
            shown = conf.redactOptions(helper.toScalaMap(dict(properties)))
            return {key: shown.apply(key) for key in properties}

    def place(self, location: str) -> str:
        """Return a location as Hadoop qualifies it in this session."""
        from py4j.protocol import Py4JError

        with self._jobs.run():
            try:
                path = self._class("org.apache.hadoop.fs.Path")(location)
                system = path.getFileSystem(self._java.sessionState().newHadoopConf())
                return str(system.makeQualified(path).toString())
            except Py4JError:
                # No such file system: the statement fails for that, and writes nothing.
                return location

    def close(self) -> None:
        """Cancel the running statement, refuse further ones, and give up carried rows."""
        super().close()
        self._carried.close()

    @property
    def _java(self) -> Any:
        return self._spark._jsparkSession

    def _is_repeatable(self, frame: Any, sent: str) -> bool:
        with self._jobs.run():
            return self._is_plan_repeatable(frame._jdf.queryExecution().analyzed())

    def _is_plan_repeatable(self, plan: Any) -> bool:
        with self._jobs.run():
            return is_repeatable(str(plan.toString()), deterministic=bool(plan.deterministic()))

    def _write_frame(self, frame: Any, destination: Destination) -> Written:
        written = write_few(frame, self._blobs, destination, self._jobs)
        return written or super()._write_frame(frame, destination)

    def _planned_rows(self, text: str, stage: str) -> Inserted:
        """Return the rows that an INSERT would add, cast and named as the table's columns."""
        plan = analysed_plan(self._spark, text)
        # The query of the planned command has the casts and defaults of an INSERT. Its rows are
        # then written by us: Spark would write them into the stage.
        if plan.getClass().getSimpleName() != "InsertIntoHadoopFsRelationCommand":
            raise UnsupportedError(
                f"Expected one INSERT into {stage}, found {plan.nodeName()}. Write one INSERT "
                "per statement, into one table."
            )
        query = plan.query()
        return Inserted(frame_of(self._spark, query), partial(self._is_plan_repeatable, query))

    def _class(self, name: str) -> Any:
        return java_class(self._spark.sparkContext, name)


class SparkView(ProcessSession):
    """`Session` over a SparkSession."""

    def __init__(self, spark: SparkSession, catalog: Catalog, blobs: Blobs, label: str) -> None:
        super().__init__(
            spark, Jobs(spark, label), TemporaryNames(spark), blobs, lambda: catalog.root
        )
        self._catalog = catalog
        self._functions = SparkFunctions(spark, catalog)
        self._carried = CarriedRows(spark, outlived=False)
        # What a statement has mounted isn't dropped before the next one begins.
        self.versions: set[str] = set()
        catalog.attach(self)

    def begin_statement(self) -> None:
        """Give up what was mounted for earlier statements."""
        self.versions.clear()

    def temporary_texts(self) -> Iterator[str]:
        """Yield the texts of the temporary views and functions that were made by SQL."""
        known = self._temporaries
        for name in known.temporary_views():
            if found := known.temporary_view(name):
                yield found.text
        for name in known.temporary_functions():
            if found := known.temporary_function(name):
                yield found.text

    def frames(self) -> SparkFrames:
        """Return the data frames for Python models."""
        with self._jobs.run():
            load_ml_functions(self._spark.sparkContext)
        return SparkFrames(self._spark, self._jobs, self._catalog.lists)

    def query(self, text: str) -> SparkRows:
        """Run a statement; a query's rows are computed when they are fetched."""
        with sending(text), self._jobs.run():
            self._refuse_hidden_write(text)
            frame = self._spark.sql(text)
            return SparkRows(
                frame,
                self._jobs,
                text,
                is_done=partial(is_command, frame),
                is_repeatable=partial(self._is_repeatable, frame, text),
                # Rows are fetched later, when other statements may have replaced what this one
                # reads.
                reads=(self._carried.files(), self._catalog.lists()),
            )

    def _new_table(self) -> str:
        self._catalog.ensure_schema(self._spark, PRIVATE)
        return quoted_relation(RelationName(PRIVATE, f"w_{uuid.uuid4().hex}"))

    @contextmanager
    def _insert_rows(
        self,
        text: str,
        stage: str,
        destination: Destination,
        columns: Sequence[Column],
        analysing: Analysing,
    ) -> Iterator[Inserted]:
        # Spark makes the folder of a table; nothing is ever in it.
        place = f"file:{self._catalog.warehouse}/{uuid.uuid4().hex}"
        partitions = ", ".join(map(quoted, destination.partition_by))
        run_command(
            self._spark,
            f"create table {stage} ({declared_columns(columns)}) using parquet "
            f"options (path {literal(place)})"
            + (f" partitioned by ({partitions})" if partitions else ""),
        )
        try:
            with analysing():
                inserted = self._planned_rows(text, stage)
            yield inserted
        finally:
            run_command(self._spark, f"drop table if exists {stage}")

    def ensure_schema(self, schema: str) -> None:
        """Make a schema in the catalog if it is not there."""
        with self._jobs.run():
            self._catalog.ensure_schema(self._spark, schema)

    def use(self, schema: str) -> None:
        """Make a schema that of names without one, and make it if it is not there."""
        with self._jobs.run():
            self._catalog.ensure_schema(self._spark, schema)
            # As `use` does, without a result that nobody fetches.
            self._java.catalog().setCurrentDatabase(quoted(schema))

    def mount_table(self, name: RelationName, mount: TableMount) -> None:
        """Make a version of a table readable under a name."""
        with self._jobs.run():
            self._catalog.mount_table(self, name, mount)

    def mount_view(
        self, name: RelationName, text: str, columns: Sequence[tuple[str, str | None]] = ()
    ) -> None:
        """Make a query readable under a name."""
        with self._jobs.run():
            self._catalog.mount_view(self._spark, name, text, columns)

    def mount_files(
        self, name: RelationName, *, location: str, format: str, options: Mapping[str, str] = {}
    ) -> None:
        """Make files that are not versioned readable under a name."""
        with self._jobs.run():
            self._catalog.mount_files(
                self._spark, name, location=location, format=format, options=options
            )

    def mount_physical(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation."""
        with self._jobs.run():
            return self._catalog.mount_rows(self, mount, located=False)

    def mount_located(self, mount: TableMount) -> str:
        """Return the quoted name of a version's relation, with the positions of its rows."""
        with self._jobs.run():
            return self._catalog.mount_rows(self, mount, located=True)

    def mount_version(self, mount: TableMount) -> str:
        """Return the quoted name of a version's own relation, with the table's column names."""
        # A name that no other version gets, so a view of it never changes.
        name = RelationName(PRIVATE, f"v_{mount.id}")
        self.mount_table(name, mount)
        return quoted_relation(name)

    def mount_function(self, name: RelationName, id: str, function: Function) -> None:
        """Make a function callable under a name."""
        with sending(function.text), self._jobs.run():
            self._functions.mount(name, id, function)

    def unmount_function(self, name: RelationName) -> None:
        """Remove the function under a name."""
        with self._jobs.run():
            self._functions.unmount(name)

    def has_function(self, identifier: str) -> bool:
        """Return whether an unqualified name calls one of Spark's own or temporary functions."""
        with self._jobs.run():
            return self._functions.has(identifier)

    def unmount(self, name: RelationName) -> None:
        """Remove a name from the catalog."""
        with self._jobs.run():
            self._catalog.unmount(self._spark, name)

    @contextmanager
    def with_placeholders(
        self, placeholders: Mapping[RelationName, Placeholder]
    ) -> Iterator[None]:
        """Show placeholders under names within a block, and remove them after it."""
        with self._jobs.run(), self._catalog.with_placeholders(self._spark, placeholders):
            yield

    def close(self) -> None:
        """Cancel the running statement, refuse further ones, and give up carried rows."""
        super().close()
        self.versions.clear()

    def _sent_text(self, query_text: str) -> str:
        return query_text

    def _frame(self, sent: str) -> DataFrame:
        return self._spark.sql(sent)


def is_command(frame: Any) -> bool:
    """Return whether a frame is of a command, which Spark has run."""
    execution = frame._jdf.queryExecution()
    return bool(execution.commandExecuted().getClass().getSimpleName() == "CommandResult")


class SparkFrames:
    """`Frames` over a SparkSession; a model runs as one statement of the session."""

    def __init__(
        self, spark: SparkSession, jobs: StatementJobs, reads: Callable[[], object]
    ) -> None:
        """Take a session; `reads` returns what must be kept for frames of this moment."""
        self._jobs = jobs
        self._reads = reads
        self._read: list[object] = []
        self.handle = spark

    def running(self) -> AbstractContextManager[None]:
        """Run a block as one statement that `Session.cancel` can stop."""
        return self._jobs.run()

    def read(self, name: str) -> DataFrame:
        """Return a relation as a frame, which can be computed as long as this object lives."""
        # A frame is computed when the model's result is, after later statements.
        self._read.append(self._reads())
        return self.handle.table(name)

    def show(self, name: str, frame: object) -> bool:
        """Make a frame of Spark, or of pandas on Spark, a temporary view."""
        from pyspark.sql import DataFrame

        found: Any = frame
        if type(found).__module__.startswith("pyspark.pandas"):
            found = found.to_spark()
        if not isinstance(found, DataFrame):
            return False
        self._own(found).createOrReplaceTempView(name)
        return True

    def hide(self, name: str) -> None:
        """Drop a temporary view."""
        self.handle.catalog.dropTempView(name)

    def words_of(self, error: Exception) -> str:
        """Return the message of a model's exception."""
        return words_of(error)

    def _own(self, frame: DataFrame) -> DataFrame:
        """Return a frame in this session; pandas on Spark uses the default session."""
        from pyspark.sql.classic.dataframe import DataFrame

        if frame.sparkSession is self.handle:
            return frame
        jvm: Any = self.handle._jvm
        # By way of its plan, since a frame belongs to the session that made it.
        datasets = jvm.org.apache.spark.sql.classic.Dataset
        return DataFrame(
            datasets.ofRows(self.handle._jsparkSession, frame._jdf.logicalPlan()), self.handle
        )


class TemporaryNames:
    """Reads temporary names from a session's catalog.

    The catalog is read whenever a statement needs it, so it doesn't matter how a name was
    made, replaced, renamed or dropped: by a statement, a DataFrame, or another session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._java: Any = spark._jsparkSession

    def temporary_views(self) -> frozenset[str]:
        """Return the names of views, lower case; a global one as `global_temp.v`."""
        catalog = self._catalog
        local = scala_names(catalog.getTempViewNames())
        # `getTempViewNames` has this session's own only.
        shared = scala_names(catalog.globalTempViewManager().listViewNames("*"))
        names = {name.lower() for name in local if not name.startswith(_OWN)}
        return frozenset(names | {f"{GLOBAL_TEMPORARY}.{name.lower()}" for name in shared})

    def temporary_view(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a view; None if there is none or it was not made by SQL."""
        schema, _, identifier = name.rpartition(".")
        if schema == GLOBAL_TEMPORARY:
            found = self._catalog.getRawGlobalTempView(identifier)
        else:
            found = self._catalog.getRawTempView(name)
        if not found.isDefined():
            return None
        table = found.get().tableMeta()
        text = table.viewText()
        if not text.isDefined():
            return None
        properties = table.properties()

        def property_of(key: str) -> str | None:
            value = properties.get(f"view.{key}")
            return str(value.get()) if value.isDefined() else None

        return _definition(str(text.get()), property_of)

    def temporary_functions(self) -> frozenset[str]:
        """Return the names of functions, lower case."""
        names = scala_names(self._catalog.listTemporaryFunctions())
        return frozenset(name.rpartition(".")[2].lower() for name in names)

    def temporary_function(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a function; None if there is none or it was not made by SQL."""
        catalog = self._catalog
        for found in (
            catalog.lookupBuiltinOrTempFunction(name),
            catalog.lookupBuiltinOrTempTableFunction(name),
        ):
            if found.isDefined() and found.get().getClassName().startswith("sqlFunction."):
                # Where Spark keeps what a SQL function was made of, for lack of a better place.
                properties: dict[str, str] = json.loads(found.get().getUsage())
                body = next(properties[key] for key in _BODIES if key in properties)
                return _definition(body, properties.get)
        return None

    @cached_property
    def _catalog(self) -> Any:
        return self._java.sessionState().catalog()


def _definition(text: str, property_of: Properties) -> TemporaryDefinition:
    # Names of another catalog don't concern a branch.
    is_ours = property_of(f"{_NAMESPACE}0") == CATALOG
    views = json.loads(property_of(_VIEWS) or "[]")
    return TemporaryDefinition(
        text=text,
        schema=(property_of(f"{_NAMESPACE}1") or "").lower() if is_ours else "",
        views=frozenset(".".join(parts).lower() for parts in views),
        functions=frozenset(name.lower() for name in json.loads(property_of(_FUNCTIONS) or "[]")),
    )


# The class of a Python function's catalog entry; it is never loaded.
_PLACEHOLDER: Final = "a.function.in.Python"


class SparkFunctions:
    """The functions that one session can call besides Spark's own."""

    def __init__(self, spark: SparkSession, catalog: Catalog) -> None:
        self._spark = spark
        self._catalog = catalog
        self._known: dict[RelationName, str] = {}
        self._programs: set[str] = set()

    def mount(self, name: RelationName, id: str, function: Function) -> None:
        """Mount a function under a name."""
        # A SQL function takes the values of one row, so an aggregate has none on top.
        if function.shape == "aggregate":
            if self._known.get(name) != id:
                self._register(name, id, builder(self._spark, name, function))
        else:
            body = function.text
            # Decision 15: Spark refuses temporary functions in views, so a program is registered
            # as if it came from the catalog, and SQL on top of it casts and fills in.
            if function.language == "python":
                body = self._program(name, id, function)
            self._catalog.mount_function(
                self._spark, name, id, function_definition(function, body)
            )
            # Spark looks it up again at the next call.
            if self._known.get(name) != id:
                self._forget(name)
        self._known[name] = id

    def unmount(self, name: RelationName) -> None:
        """Remove the function of a name."""
        self._catalog.unmount_function(self._spark, name)
        if self._known.pop(name, None) is not None:
            self._forget(name)

    def has(self, identifier: str) -> bool:
        """Return whether Spark has a built-in or temporary function of that name."""
        catalog = self._state.catalog()
        return bool(
            catalog.lookupBuiltinOrTempFunction(identifier).isDefined()
            or catalog.lookupBuiltinOrTempTableFunction(identifier).isDefined()
        )

    def _program(self, name: RelationName, id: str, function: Function) -> str:
        """Register a Python function under an immutable name, and return a call of it."""
        program = RelationName(PRIVATE, f"p_{id}")
        if id not in self._programs:
            self._register(program, id, builder(self._spark, name, function))
            self._programs.add(id)
        arguments = ", ".join(quoted(parameter.name) for parameter in function.parameters)
        return f"{quoted_relation(program)}({arguments})"

    def _register(self, name: RelationName, id: str, builder: Any) -> None:
        # Spark checks the catalog for the function's existence and the registry for its
        # definition.
        self._catalog.mount_function(self._spark, name, id, f" as {literal(_PLACEHOLDER)}")
        self._forget(name)
        register(self._spark, name, builder)

    def _forget(self, name: RelationName) -> None:
        known = identifier(self._spark, name)
        self._state.functionRegistry().dropFunction(known)
        self._state.tableFunctionRegistry().dropFunction(known)

    @property
    def _state(self) -> Any:
        return self._spark._jsparkSession.sessionState()
