"""One thread's view of the branch, as a session of a Spark Connect server."""

from __future__ import annotations

import os
import re
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.connect.tagged_jobs import ServerErrors, TaggedJobs
from dbt.adapters.vcs.engines.dataframes.frame_session import AnalysedQuery, Inserted
from dbt.adapters.vcs.engines.dataframes.name_registry import NameRegistry, OwnTemporaries
from dbt.adapters.vcs.engines.dataframes.renaming_session import RAW, RenamingSession
from dbt.adapters.vcs.engines.dataframes.repeatable import is_plan_repeatable
from dbt.adapters.vcs.engines.dataframes.session_text import SessionText
from dbt.adapters.vcs.engines.dataframes.session_views import SessionViews
from dbt.adapters.vcs.engines.dataframes.spark_rows import columns_of_schema, is_remote
from dbt.adapters.vcs.engines.dataframes.staged_insert import (
    ScratchSchema,
    parsed_insert,
    plain_rows,
    staged_rows,
)
from dbt.adapters.vcs.engines.dataframes.statement_jobs import StatementJobs
from dbt.adapters.vcs.engines.dataframes.writes import discard_files
from dbt.adapters.vcs.engines.engine_errors import sending
from dbt.adapters.vcs.engines.port import (
    Analysing,
    Column,
    Destination,
    Placeholder,
    TableParts,
    whole_table,
)
from dbt.adapters.vcs.sql.syntax.parser import Query, parse
from dbt.adapters.vcs.table.quoting import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.connect.session import SparkSession

_RESET: Final = re.compile(r"\s*reset\b[\s`]*([\w.-]*)", re.IGNORECASE)
_REDACTED: Final = "*********(redacted)"
# Spark's own settings and defaults: a server does not redact for a client.
_REDACTION: Final = {
    "spark.sql.redaction.options.regex": "(?i)url",
    "spark.redaction.regex": "(?i)secret|password|token|access[.]?key",
}


class ConnectView(RenamingSession):
    """`Session` over a session of a server."""

    _spark: SparkSession

    def __init__(
        self,
        spark: SparkSession,
        registry: NameRegistry,
        scratch: ScratchSchema,
        blobs: Blobs,
        *,
        root: Callable[[], str],
        jobs: TaggedJobs,
        settings: Mapping[str, str],
    ) -> None:
        super().__init__(
            spark,
            jobs,
            blobs,
            temporaries=OwnTemporaries(spark),
            views=SessionViews(
                spark, registry, blobs=blobs, root=root, translated=jobs.errors.translated
            ),
        )
        self._errors = jobs.errors
        self._scratch = scratch
        self._settings = settings

    def frames(self) -> ServerFrames:
        """Return the data frames for Python models."""
        return ServerFrames(self._spark, self._jobs, self._texts, self._own, self._errors)

    def analysed(self, query_text: str) -> AnalysedQuery:
        """Return a query with its names resolved; nothing is run, and no other statement.

        The text as it is sent keeps what names meant: what it names never changes.
        """
        with self._jobs.run():
            sent = self._texts.sent(query_text)
            with sending(sent), self._errors.translated():
                # `sql` runs a command at once.
                is_query = isinstance(parse(query_text), Query)
                frame = self._frame(sent if is_query else f"explain {sent}")
                return AnalysedQuery(
                    columns=columns_of_schema(frame.schema) if is_query else (),
                    is_repeatable=partial(self._is_repeatable, frame, sent),
                    write=partial(self._write, sent, lambda: frame),
                )

    def _is_repeatable(self, frame: Any, sent: str) -> bool:
        with sending(sent), self._jobs.run():
            plan = str(self._spark.sql(f"explain extended {sent}").collect()[0][0])
            if "Logical Plan ==" not in plan:
                # The server puts an error of the analysis where the plan should be.
                _ = frame.schema
            return is_plan_repeatable(plan, self._functions.others())

    def check_syntax(self, text: str) -> None:
        """Require that the server can parse a text."""
        if RAW.match(text):
            return
        with sending(text), self._jobs.run():
            self._spark.sql(f"explain {text}")

    def _new_table(self) -> str:
        return self._scratch.table(self._spark)

    @contextmanager
    def _insert_rows(
        self,
        text: str,
        stage: str,
        destination: Destination,
        columns: Sequence[Column],
        analysing: Analysing,
    ) -> Iterator[Inserted]:
        insert = parsed_insert(text, stage)
        with ExitStack() as done:
            with analysing():
                frame = plain_rows(self._spark, self._texts, insert, columns)
                if frame is None:
                    # Beside the files of the write, where collection removes what a killed
                    # process leaves.
                    folder = f"{destination.folder.rpartition('/')[0]}/w=x{uuid.uuid4().hex}"
                    done.callback(discard_files, self._blobs, folder)
                    frame = done.enter_context(
                        staged_rows(
                            self._spark,
                            self._texts,
                            insert,
                            stage,
                            place=f"{self._root()}/{folder}",
                            partition_by=destination.partition_by,
                            columns=columns,
                        )
                    )
            # Rows that were staged are in files, whatever they came from.
            yield Inserted(frame, None)

    def mount_arrow(self, name: str, rows: pa.Table | TableParts, *, lasting: bool = False) -> str:
        """Return the quoted name of a temporary view with rows of this process."""
        from pyspark.sql.pandas.types import from_arrow_schema

        table = whole_table(rows)
        with self._jobs.run():
            # Without it Spark reads timestamp_ntz as timestamp.
            schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
            self._spark.createDataFrame(table, schema).createOrReplaceTempView(name)
        self._own.mounted.add(name.lower())
        self._own.forget()
        return quoted(name)

    def begin_statement(self) -> None:
        """Do nothing: views stay until the session ends, as rows may be fetched at any time."""

    def with_placeholders(
        self, placeholders: Mapping[RelationName, Placeholder]
    ) -> AbstractContextManager[None]:
        """Refuse: the branch's relations aren't in the server's catalog, which would answer.

        Raises:
            UnsupportedError: Always.
        """
        raise UnsupportedError(
            f"What a catalog says of {', '.join(map(str, placeholders))} needs Spark in this "
            "process: on a Spark Connect server nothing of a branch is in the catalog. `describe "
            "table`, `show columns`, `show tblproperties` and dbt docs answer here."
        )

    def redacted(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return properties with the values that the server's settings redact hidden."""
        with self._jobs.run():
            patterns = [self._spark.conf.get(key, default) for key, default in _REDACTION.items()]

        def is_hidden(text: str) -> bool:
            return any(pattern and re.search(pattern, text) for pattern in patterns)

        return {
            key: _REDACTED if is_hidden(key) or is_hidden(value) else value
            for key, value in properties.items()
        }

    def place(self, location: str) -> str:
        """Return a location that has a scheme.

        Raises:
            InputError: It has none, and where it leads depends on the server.
        """
        if "://" not in location and not location.startswith("file:"):
            raise InputError(
                f"Where {location} is depends on the Spark Connect server. Write the location "
                "with its scheme: file:/..., s3a://..."
            )
        return location

    def _used(self) -> str:
        # Gives an empty result, as `use` does anywhere.
        return "use `default`"

    def _is_done(self, frame: Any) -> Callable[[], bool]:
        return lambda: not frame.columns

    def _settle(self, sent: str) -> None:
        """After a `reset` set again what it took: a server knows only its own first settings."""
        reset = _RESET.match(sent)
        for key, value in self._settings.items() if reset else ():
            if reset and reset[1] in ("", key):
                self._spark.conf.set(key, value)


_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"


class ServerFrames:
    """`Frames` over a session of a server; a model runs as one statement."""

    def __init__(
        self,
        spark: SparkSession,
        jobs: StatementJobs,
        texts: SessionText,
        temporaries: OwnTemporaries,
        errors: ServerErrors,
    ) -> None:
        self.handle = spark
        self._jobs = jobs
        self._texts = texts
        self._temporaries = temporaries
        self._errors = errors

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run a block as one statement that `Session.cancel` can stop."""
        _prefer_server()
        try:
            with self._jobs.run():
                yield
        finally:
            # The model has the session itself.
            self._temporaries.forget()

    def read(self, name: str) -> Any:
        """Return a relation as a frame."""
        return self.handle.sql(self._texts.sent(f"select * from {name}"))

    def show(self, name: str, frame: object) -> bool:
        """Make a frame of Spark, or of pandas on Spark, a temporary view."""
        found: Any = frame
        if type(found).__module__.startswith("pyspark.pandas"):
            found = found.to_spark()
        if not hasattr(found, "createOrReplaceTempView") or not is_remote(found):
            return False
        found.createOrReplaceTempView(name)
        self._temporaries.forget()
        return True

    def hide(self, name: str) -> None:
        """Drop a temporary view."""
        with self._jobs.run():
            self.handle.sql(f"drop view if exists {quoted(name)}")
        self._temporaries.mounted.discard(name)
        self._temporaries.forget()

    def words_of(self, error: Exception) -> str:
        """Return the message of a model's exception."""
        return self._errors.words_of(error)


def _prefer_server() -> None:
    """Let `pyspark.sql.functions` in a model make columns of the server.

    PySpark does this itself where a session is built by its `builder`. A process that runs Spark
    as well keeps its own functions.
    """
    # Not imported: that would take the time of a start.
    context: Any = getattr(sys.modules.get("pyspark.core.context"), "SparkContext", None)
    if getattr(context, "_active_spark_context", None) is None:
        os.environ[_MODE] = "1"
