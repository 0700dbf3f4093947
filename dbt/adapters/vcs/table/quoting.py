"""Names and text as Spark SQL writes them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.model.data_type import Type, type_of


def quoted(name: str) -> str:
    """Return an identifier in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def quoted_relation(name: RelationName) -> str:
    """Return `schema.identifier`, each part in backquotes."""
    return f"{quoted(name.schema)}.{quoted(name.identifier)}"


def literal(text: str) -> str:
    """Return a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@lru_cache(maxsize=10_000)
def sql_type(text: str) -> str:
    """Return a stored type as SQL and DDL name it, whatever the session sets.

    A bare `timestamp` is what `spark.sql.timestampType` says, and in manifests always an instant.
    """
    return str(_explicit(type_of(text))) if "timestamp" in text else text


def options_clause(options: dict[str, str]) -> str:
    """Return the inside of OPTIONS ( ... )."""
    return ", ".join(f"{literal(key)} {literal(value)}" for key, value in options.items())


def _explicit(type_: Type) -> Type:
    kind = "timestamp_ltz" if type_.kind == "timestamp" else type_.kind
    return replace(type_, kind=kind, parts=tuple(map(_explicit, type_.parts)))
