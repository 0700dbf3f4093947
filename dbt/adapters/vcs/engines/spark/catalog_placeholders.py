"""Placeholders: what a private catalog answers of a relation whose rows nobody asked for.

Spark describes a relation from its catalog. For such statements a name shows a placeholder: a
relation with columns, but without rows or a place to write any. The locations of placeholders and
of schemas are paths of a file system that rejects every path, so that a table that a Python model
saves under a name, a folder that nobody commits, is refused. Spark's error quotes the path, so
the path says what to do instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.engines.dataframes.frame_session import DEFAULTS
from dbt.adapters.vcs.engines.port import Placeholder
from dbt.adapters.vcs.engines.spark.context import java_class
from dbt.adapters.vcs.sql.syntax.names import CATALOG
from dbt.adapters.vcs.table.quoting import literal, quoted, quoted_relation, sql_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME: Final = "dbt-vcs"
# Part of every Spark; rejects every path that isn't `file:`, and quotes it.
_FILE_SYSTEM: Final = "org.apache.hadoop.fs.RawLocalFileSystem"

# Property of a view that is a placeholder; Spark hides properties with this prefix.
_SIGN: Final = "view.dbt-vcs.sign"


class CatalogPlaceholders:
    """The placeholders in one catalog. Not safe to use from several threads at once."""

    def __init__(self, spark: SparkSession, private: str) -> None:
        """Take a session of the catalog, and a database for the templates of placeholders."""
        self._spark = spark
        self._private = private
        self._shapes: dict[str, dict[str, Any]] = {}
        # Each lookup is a call to the JVM, and a branch may have thousands of relations.
        self._members: dict[tuple[str, str], Any] = {}
        self._options: dict[str | None, Any] = {}
        self._nothing: dict[type, Any] = {}
        java: Any = spark._jsparkSession
        self._catalog: Any = java.sharedState().externalCatalog()
        context: Any = spark.sparkContext
        # Otherwise Spark's error names the unknown file system, but not the path.
        context._jsc.hadoopConfiguration().set(f"fs.{_SCHEME}.impl", _FILE_SYSTEM)

    def wall(self, schema: str) -> None:
        """Make it impossible to create tables in a database."""
        elements = {
            **_elements(self._catalog.getDatabase(schema)),
            "locationUri": self._uri(_way_round(f"the schema {schema}")),
        }
        self._catalog.alterDatabase(self._spark_class("CatalogDatabase")(*elements.values()))

    def query_columns(self, name: RelationName) -> tuple[str, ...]:
        """Return the names that the query of a view in the catalog gives its columns."""
        if not self._catalog.tableExists(name.schema, name.identifier):
            return ()
        found = self._catalog.getTable(name.schema, name.identifier).viewQueryColumnNames()
        return tuple(found.apply(n) for n in range(found.size()))

    def put_up(
        self, name: RelationName, placeholder: Placeholder, queried: Sequence[str] = ()
    ) -> None:
        """Show a placeholder under a name, unless a Python model has something of its own there.

        Args:
            queried: The column names of a view's query; empty if they are the view's own.
        """
        shape = self._shape(placeholder.kind)
        changes = {
            "identifier": self._identifier(name),
            "schema": self._columns(placeholder),
            "comment": self._option(placeholder.comment)
            if placeholder.comment
            else self._often(None),
        }
        if placeholder.created_at is not None:
            changes["createTime"] = placeholder.created_at // 1000
        if placeholder.kind == "view":
            changes |= self._view(name, placeholder, queried, _dict(shape["properties"]))
        else:
            changes |= self._table_parts(name, placeholder)
        # The catalog itself takes what no statement could make: a table at a place that no file
        # system has.
        self._catalog.createTable(self._table({**shape, **changes}), True)

    def _view(
        self,
        name: RelationName,
        placeholder: Placeholder,
        queried: Sequence[str],
        shape: Mapping[str, str],
    ) -> dict[str, Any]:
        names = [column.name for column in placeholder.columns]
        text = self._option(placeholder.text)
        properties = {**placeholder.properties, **_view_properties(shape, name, queried or names)}
        return {
            "viewText": text,
            "viewOriginalText": text,
            "properties": self._map(properties),
        }

    def _table_parts(self, name: RelationName, placeholder: Placeholder) -> dict[str, Any]:
        place = self._option(self._uri(_way_round(str(name))))
        stored = {**self._storage, "locationUri": place}
        return {
            "storage": self._spark_class("CatalogStorageFormat")(*stored.values()),
            "partitionColumnNames": self._sequence(placeholder.partition_by),
            # As of a table that Spark made, for `show table extended` and the like.
            "tracksPartitionsInCatalog": bool(placeholder.partition_by),
            "properties": self._map({**placeholder.properties, **_clustering(placeholder)}),
        }

    def take_down(self, name: RelationName) -> None:
        """Remove the placeholder under a name, if there is one."""
        if not self._catalog.tableExists(name.schema, name.identifier):
            return
        found = self._catalog.getTable(name.schema, name.identifier)
        if not _is_placeholder(found):
            return
        if found.viewText().isEmpty():
            # Spark would delete the files of a managed table.
            external = self._spark_class("CatalogTableType").EXTERNAL()
            self._catalog.alterTable(self._table({**_elements(found), "tableType": external}))
        self._catalog.dropTable(name.schema, name.identifier, True, True)

    def _shape(self, kind: str) -> dict[str, Any]:
        """Return the template for a kind, with everything else that Spark records."""
        if kind not in self._shapes:
            name = RelationName(self._private, f"sign_{kind}")
            what = "as select 1 a" if kind == "view" else "(a int) using parquet"
            self._spark.sql(f"create {kind} if not exists {quoted_relation(name)} {what}")
            self._shapes[kind] = _elements(self._catalog.getTable(name.schema, name.identifier))
        return self._shapes[kind]

    @cached_property
    def _storage(self) -> dict[str, Any]:
        return _elements(self._shape("table")["storage"])

    def _table(self, elements: Mapping[str, Any]) -> Any:
        return self._spark_class("CatalogTable")(*elements.values())

    def _identifier(self, name: RelationName) -> Any:
        made = self._class("org.apache.spark.sql.catalyst.TableIdentifier")
        catalog = self._often(CATALOG)
        return made(name.identifier, self._often(name.schema), catalog)

    def _columns(self, placeholder: Placeholder) -> Any:
        """Return the columns as Spark's catalog keeps them."""
        made = self._member("org.apache.spark.sql.types.StructType", "fromDDL")(
            ", ".join(
                f"{quoted(column.name)} {sql_type(column.type)}"
                + ("" if column.nullable else " not null")
                + (f" comment {literal(column.comment)}" if column.comment else "")
                for column in placeholder.columns
            )
        )
        if any(column.default is not None for column in placeholder.columns):
            written = json.loads(made.json())
            for field, column in zip(written["fields"], placeholder.columns, strict=True):
                if column.default is not None:
                    field["metadata"] |= dict.fromkeys(DEFAULTS, column.default)
            made = self._class("org.apache.spark.sql.types.DataType").fromJson(json.dumps(written))
        if any(_has_length(column.type) for column in placeholder.columns):
            lengths = self._class("org.apache.spark.sql.catalyst.util.CharVarcharUtils")
            # Spark keeps them as strings, with the length in the metadata of the column.
            made = lengths.replaceCharVarcharWithStringInSchema(made)
        return made

    def _uri(self, text: str) -> Any:
        return self._class("java.net.URI")(_SCHEME, None, f"/{text}", None)

    def _option(self, value: Any) -> Any:
        return self._member("scala.Option", "apply")(value)

    def _often(self, value: str | None) -> Any:
        """Return a Scala option, cached, since most placeholders share its value."""
        if value not in self._options:
            self._options[value] = self._option(value)
        return self._options[value]

    def _sequence(self, items: Sequence[str]) -> Any:
        return self._python_utils("toSeq", list(items))

    def _map(self, items: Mapping[str, str]) -> Any:
        return self._python_utils("toScalaMap", dict(items))

    def _python_utils(self, method: str, items: list[str] | dict[str, str]) -> Any:
        made = self._nothing.get(type(items)) if not items else None
        if made is None:
            made = self._member("org.apache.spark.api.python.PythonUtils", method)(items)
        if not items:
            self._nothing[type(items)] = made
        return made

    def _member(self, name: str, method: str) -> Any:
        """Return a static method, cached, since each lookup is a call to Spark's process."""
        if (name, method) not in self._members:
            self._members[name, method] = getattr(self._class(name), method)
        return self._members[name, method]

    def _spark_class(self, name: str) -> Any:
        return self._class(f"org.apache.spark.sql.catalyst.catalog.{name}")

    def _class(self, name: str) -> Any:
        return java_class(self._spark.sparkContext, name)


def _way_round(what: str) -> str:
    return (
        f"{what} is on a branch: read and write it with client.sql(...) of connect(...), "
        "a DataFrame by a temporary view of it"
    )


def _is_placeholder(found: Any) -> bool:
    """Return whether a relation is a placeholder, by its location or a view's mark."""
    if found.viewText().isDefined():
        return bool(found.properties().contains(_SIGN))
    place = found.storage().locationUri()
    return bool(place.isDefined() and place.get().getScheme() == _SCHEME)


def _view_properties(
    shape: Mapping[str, str], name: RelationName, queried: Sequence[str]
) -> dict[str, str]:
    kept = {key: text for key, text in shape.items() if not key.startswith("view.query.out.")}
    numbered = {f"view.query.out.col.{i}": column for i, column in enumerate(queried)}
    return {
        **kept,
        _SIGN: "true",
        "view.catalogAndNamespace.part.1": name.schema,
        "view.query.out.numCols": str(len(queried)),
        **numbered,
    }


def _clustering(placeholder: Placeholder) -> dict[str, str]:
    """Return the property in which Spark stores the clustering columns."""
    if not placeholder.cluster_by:
        return {}
    return {"clusteringColumns": json.dumps([[name] for name in placeholder.cluster_by])}


def _elements(value: Any) -> dict[str, Any]:
    """Return the fields of a Scala case class in the order of its constructor."""
    count = range(value.productArity())
    return {value.productElementName(i): value.productElement(i) for i in count}


def _dict(items: Any) -> dict[str, str]:
    pairs = items.toSeq()
    return {pairs.apply(i)._1(): pairs.apply(i)._2() for i in range(pairs.size())}


def _has_length(type_: str) -> bool:
    """Return whether a type is char(n) or varchar(n), or contains one."""
    return any(part.length is not None for part in type_of(type_).whole())
