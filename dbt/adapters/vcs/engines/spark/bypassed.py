"""What the owner of a session made in a schema of the branch, past the connection.

Spark asks nobody before it makes a view, or a table with a path of its own. So what has come into
such a schema is looked for afterwards. What was in it when the connection came is its owner's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.spark.catalog_signs import is_sign
from dbt.adapters.vcs.rows.quoting import quoted_relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOWN: Final = "view.dbt-vcs.shown"
"""Property of a view that a connection made for a statement; Spark shows nobody what begins so."""

_NAMED: Final = 5


class Bypassed:
    """What has been made past the connections in the schemas of a catalog."""

    def __init__(self, spark: SparkSession) -> None:
        """Take a session of the catalog."""
        self._spark = spark
        self._owners: dict[str, frozenset[str]] = {}

    def begin(self, schema: str) -> None:
        """Take what a schema holds now as its owner's."""
        self._owners[schema] = frozenset(self._listed(schema))

    def found(self, ours: Collection[RelationName] = ()) -> dict[RelationName, str]:
        """Return what has been made since, and its kind, `table` or `view`.

        Args:
            ours: Names that need no look, as they are known to be a connection's.
        """
        there = set(_lines(self._catalog.listDatabases()))
        names = [
            name
            for schema, owners in self._owners.items()
            if schema in there
            for identifier in self._listed(schema)
            if identifier not in owners and (name := RelationName(schema, identifier)) not in ours
        ]
        kinds = {name: self.kind(name) for name in names}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    def kind(self, name: RelationName) -> str | None:
        """Return what somebody else made under a name, `table` or `view`; None if nothing."""
        if not self._catalog.tableExists(name.schema, name.identifier):
            return None
        table = self._catalog.getTable(name.schema, name.identifier)
        if is_sign(table) or table.properties().contains(SHOWN):
            return None
        return "view" if table.viewText().isDefined() else "table"

    def _listed(self, schema: str) -> list[str]:
        return _lines(self._catalog.listTables(schema))

    @property
    def _catalog(self) -> Any:
        java: Any = self._spark._jsparkSession
        return java.sharedState().externalCatalog()


def sentence(made: dict[RelationName, str]) -> str:
    """Return what to tell of things that were made past a connection, and what to do."""
    names = sorted(made)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    first = names[0]
    return (
        f"Made in this SparkSession past the connection, so on no branch: "
        f'{_joined(names[:_NAMED])}{more}. Drop it there, spark.sql("drop {made[first]} '
        f'{quoted_relation(first)}"), and make it with client.sql(...), a DataFrame by a '
        "temporary view of it."
    )


def _joined(names: Iterable[RelationName]) -> str:
    return ", ".join(map(str, names))


def _lines(names: Any) -> list[str]:
    """Return a Scala sequence of names; one call, however many there are."""
    return [name for name in str(names.mkString("\n")).split("\n") if name]
