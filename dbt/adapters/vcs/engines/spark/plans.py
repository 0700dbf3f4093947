"""Statements as plans: parsed and analysed in Spark's process, and commands carried out."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MODES: Final = "org.apache.spark.sql.execution.CommandExecutionMode"
_FRAMES: Final = "org.apache.spark.sql.classic.Dataset"
_COMMAND: Final = "org.apache.spark.sql.execution.command.RunnableCommand"


def analysed_plan(spark: SparkSession, text: str) -> Any:
    """Return the analysed plan of a statement, without running it even if it is a command."""
    parts = _parts_of(spark)
    # Spark carries out commands while it plans them, unless it is told to skip them.
    plan = parts.parser.parsePlan(text)
    return parts.state.executePlan(plan, parts.skip).analyzed()


def parsed_plan(spark: SparkSession, text: str) -> Any:
    """Return the plan of a statement as it is written."""
    return _parts_of(spark).parser.parsePlan(text)


def frame_of(spark: SparkSession, plan: Any) -> DataFrame:
    """Return the rows of an analysed plan; a command would be carried out."""
    from pyspark.sql import DataFrame

    return DataFrame(_parts_of(spark).frame(spark._jsparkSession, plan), spark)


def run_command(spark: SparkSession, text: str) -> None:
    """Run a command of SQL that has no result.

    Spark's `sql` would make an optimized and a physical plan of it as well, an entry in its list
    of queries and a frame of no rows, which takes as long again as all the rest.
    """
    java: Any = spark._jsparkSession
    plan = analysed_plan(spark, text)
    if _parts_of(spark).is_command(plan):
        plan.run(java)
    else:
        # Commands on schemas, and all commands of a catalog that isn't Spark's own.
        java.sql(text)


class _Parts(NamedTuple):
    """What is asked for at each statement: to ask Java for it again is a call each time."""

    state: Any
    parser: Any
    skip: Any
    is_command: Any
    frame: Any


_PARTS: Final[WeakKeyDictionary[SparkSession, _Parts]] = WeakKeyDictionary()


def _parts_of(spark: SparkSession) -> _Parts:
    found = _PARTS.get(spark)
    if found is None:
        java: Any = spark._jsparkSession
        gateway: Any = spark.sparkContext._gateway
        state = java.sessionState()
        of_process = _of_process(gateway._gateway_client)
        found = _PARTS[spark] = _Parts(state, state.sqlParser(), *of_process)
    return found


@lru_cache(maxsize=8)
def _of_process(client: Any) -> tuple[Any, Any, Any]:
    """Return what says to skip commands, whether a plan is one, and what makes frames of plans."""
    from py4j.java_gateway import JavaClass

    commands = JavaClass("java.lang.Class", client).forName(_COMMAND)
    frames = JavaClass(_FRAMES, client)
    return JavaClass(_MODES, client).SKIP(), commands.isInstance, frames.ofRows
