"""A client on a repository of its own; all of a module share one Spark session."""

from tests.functional.clients import SPARK, Sql, client, rows_of, sql

__all__ = ["SPARK", "Sql", "client", "rows_of", "sql"]
