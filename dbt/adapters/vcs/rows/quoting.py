"""Names and text as Spark SQL writes them."""

from __future__ import annotations

from dbt.adapters.vcs.core.model import RelationName


def quoted(name: str) -> str:
    """Return an identifier in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def quoted_relation(name: RelationName) -> str:
    """Return `schema.identifier`, each part in backquotes."""
    return f"{quoted(name.schema)}.{quoted(name.identifier)}"


def literal(text: str) -> str:
    """Return a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def options_clause(options: dict[str, str]) -> str:
    """Return the inside of OPTIONS ( ... )."""
    return ", ".join(f"{literal(key)} {literal(value)}" for key, value in options.items())
