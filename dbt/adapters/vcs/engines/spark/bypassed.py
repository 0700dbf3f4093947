"""Relations that a session's owner made in a schema of the branch, bypassing the connection.

Spark has no hook that could refuse a view, or a table with a path of its own. So additions to
such a schema are looked for afterwards. What was in it before the connection belongs to its
owner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.spark.catalog_signs import is_sign
from dbt.adapters.vcs.table.quoting import quoted_relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOWN: Final = "view.dbt-vcs.shown"
"""Property of a view that a connection made; Spark hides properties with this prefix."""

_NAMED: Final = 5


class Bypassed:
    """Finds relations in a catalog that were made bypassing the connections."""

    def __init__(self, spark: SparkSession) -> None:
        """Take a session of the catalog."""
        self._spark = spark
        self._owners: dict[str, frozenset[str]] = {}

    def begin(self, schema: str) -> None:
        """Record the current contents of a schema as its owner's."""
        self._owners[schema] = frozenset(self._listed(schema))

    def found(self, ours: Collection[RelationName] = ()) -> dict[RelationName, str]:
        """Return the relations made since, with their kind, `table` or `view`.

        Args:
            ours: Names to skip, since they are known to be a connection's.
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
        """Return the kind of somebody else's relation, `table` or `view`, or None."""
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
    """Return the message for relations made bypassing a connection, with what to do."""
    names = sorted(made)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    first = names[0]
    return (
        f"Made in this SparkSession without the connection, so not on any branch: "
        f'{_joined(names[:_NAMED])}{more}. Drop it there, spark.sql("drop {made[first]} '
        f'{quoted_relation(first)}"), and make it with client.sql(...), a DataFrame by a '
        "temporary view of it."
    )


def _joined(names: Iterable[RelationName]) -> str:
    return ", ".join(map(str, names))


def _lines(names: Any) -> list[str]:
    """Return a Scala sequence of names, made in a single call."""
    return [name for name in str(names.mkString("\n")).split("\n") if name]
