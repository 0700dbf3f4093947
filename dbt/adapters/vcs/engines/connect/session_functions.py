"""The branch's functions as temporary functions of one session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.connect.name_registry import PREFIX, MountedFunction
from dbt.adapters.vcs.engines.connect.own_temporaries import OwnTemporaries
from dbt.adapters.vcs.engines.connect.session_views import SessionViews, digest
from dbt.adapters.vcs.engines.dataframes.function_definition import function_definition
from dbt.adapters.vcs.engines.dataframes.programs import program
from dbt.adapters.vcs.table.quoting import quoted

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession


class SessionFunctions:
    """Makes functions in one session, each once, under names made from their contents."""

    def __init__(
        self, spark: SparkSession, views: SessionViews, temporaries: OwnTemporaries
    ) -> None:
        """Take the session."""
        self._spark = spark
        self._views = views
        self._temporaries = temporaries
        self._made: set[str] = set()
        self._system: frozenset[str] | None = None
        self.varying: set[str] = set()

    def has(self, identifier: str) -> bool:
        """Return whether an unqualified name calls one of Spark's own or temporary functions."""
        name = identifier.lower()
        return name in self._own_of_spark() or name in self._temporaries.functions()

    def others(self) -> frozenset[str]:
        """Return functions in plans, lower case, that may vary."""
        rows = self._spark.sql("show `user` functions").collect()
        names = {row[0].rpartition(".")[2].lower() for row in rows}
        return frozenset(name for name in names if name not in self._made) | self.varying

    def made(
        self, name: RelationName, mounted: MountedFunction, sent: Callable[[str], str]
    ) -> str:
        """Return the function for one of the branch, as SQL.

        Args:
            name: Its name.
            mounted: The function.
            sent: Returns a body as it is sent.
        """
        function = mounted.function
        if function.language == "python":
            body = self._program(name, mounted)
            if function.shape == "aggregate":
                return body
            arguments = ", ".join(quoted(parameter.name) for parameter in function.parameters)
            body = f"{body}({arguments})"
        else:
            body = sent(function.text)
        definition = function_definition(msgspec.structs.replace(function, text=body), body)
        made = f"{PREFIX}x_{digest(repr((definition, self._views.changes)))}"
        if made not in self._made:
            self._spark.sql(f"create or replace temporary function {quoted(made)}{definition}")
            self._made.add(made)
        return quoted(made)

    def _program(self, name: RelationName, mounted: MountedFunction) -> str:
        """Register a Python function, and return its name."""
        from pyspark.sql.connect.udf import UserDefinedFunction

        made = f"{PREFIX}p_{mounted.id}"
        if made not in self._made:
            found = program(name, mounted.function)
            (returns,) = self._views.types([found.returns])
            self._spark.udf.register(
                made,
                UserDefinedFunction(
                    found.call,
                    returns,
                    name=name.identifier,
                    evalType=found.kind,
                    deterministic=found.deterministic,
                ),
            )
            self._made.add(made)
            if not found.deterministic:
                self.varying.add(made)
        return quoted(made)

    def _own_of_spark(self) -> frozenset[str]:
        if self._system is None:
            rows = self._spark.sql("show system functions").collect()
            self._system = frozenset(row[0].lower() for row in rows)
        return self._system
