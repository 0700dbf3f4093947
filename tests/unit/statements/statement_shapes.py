"""Statements in a form that a table of test cases can spell out."""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.sql.syntax.lexer import Slice
from dbt.adapters.vcs.sql.syntax.names import Name, Reference, Target
from dbt.adapters.vcs.sql.syntax.parser import Query, parse

SPANS = {"verb", "condition", "column_list", "query_start", "text", "reads", "diffs"}


def shape(value: Any, text: str = "") -> Any:
    """Return a statement as its class's name and the fields that are not at their default.

    Names, targets and slices are texts, queries their text; offsets and whole texts are left out.
    """
    if isinstance(value, Slice):
        return text[value.start : value.end]
    if isinstance(value, Name):
        return str(value)
    if isinstance(value, Target):
        return str(value.name)
    if isinstance(value, Query):
        return value.text
    if isinstance(value, tuple):
        return tuple(shape(item, text) for item in value)
    if is_dataclass(value):
        text = getattr(value, "text", text)
        told = {
            f.name: shape(getattr(value, f.name), text)
            for f in fields(value)
            if f.name not in SPANS and getattr(value, f.name) != default_of(f)
        }
        return (type(value).__name__, told)
    return value


def default_of(field: Any) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def of(class_: str, /, **told: Any) -> tuple[str, dict[str, Any]]:
    return (class_, told)


def column(name: str, type: str, **told: Any) -> tuple[str, dict[str, Any]]:
    return of("ColumnDef", name=name, type=type, **told)


def field(name: str, default: str | None = None) -> Field:
    return Field(id="", name=name, type="int", default=default)


def parsed(text: str) -> Any:
    return shape(parse(text))


def told(read: Reference) -> str:
    """Return a reference as `name[@kind:value][!]`, `!` if it has an alias or can have none."""
    at = f"@{read.at.kind}:{read.at.value}" if read.at else ""
    return f"{read.name}{at}{'!' if read.aliased else ''}"


def reads(text: str) -> list[str]:
    """Return what a query or statement reads, in order."""
    statement: Any = parse(text)
    found = statement.reads if hasattr(statement, "reads") else statement.query.reads
    return [told(read) for read in found]
