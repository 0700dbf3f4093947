"""Whether a Python model's text gives the same rows each time, as far as its text shows.

Nobody can tell for certain, so what isn't known to be harmless counts as not repeatable. The
config `reuse: always` says otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.statements.syntax.canonical import chance_in, choice_in, moment_in

_MODULES: Final = frozenset(
    {
        "__future__",
        "collections",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "functools",
        "itertools",
        "json",
        "math",
        "numpy",
        "operator",
        "pandas",
        "polars",
        "pyarrow",
        "pyspark",
        "re",
        "statistics",
        "string",
        "typing",
        "unicodedata",
    }
)
_CHANCE: Final = frozenset(
    {
        "Random",
        "any_value",
        "approxQuantile",
        "choice",
        "collect_list",
        "collect_set",
        "current_date",
        "current_timestamp",
        "default_rng",
        "first",
        "getenv",
        "head",
        "last",
        "limit",
        "localtimestamp",
        "monotonically_increasing_id",
        "now",
        "rand",
        "randn",
        "random",
        "randomSplit",
        "sample",
        "sampleBy",
        "shuffle",
        "spark_partition_id",
        "tail",
        "take",
        "today",
        "unix_timestamp",
        "utcnow",
        "uuid",
    }
)
_OUTSIDE: Final = frozenset({"catalog", "read", "readStream", "sql", "table"})
"""What reads relations or files of which dbt doesn't know."""

_CALLED_OUTSIDE: Final = frozenset(
    {"__import__", "compile", "eval", "exec", "globals", "input", "open"}
)
_OF_ITSELF: Final = frozenset({"is_incremental", "this"})


def unrepeatable(code: str) -> str | None:
    """Return what in a model's code may give other rows the next time; None without any."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return "it does not parse"
    return next(_doubts(tree), None)


def reads_itself(code: str) -> bool:
    """Return whether a model may read the table that it replaces: `dbt.this`, incremental ones."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in _OF_ITSELF
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
        for node in ast.walk(ast.parse(code))
    )


def _doubts(tree: ast.AST) -> Iterator[str]:
    documents = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in documents:
                word = _sql_word(text)
                if word is not None:
                    yield f"it has the text {word}"
            case ast.Import(names=names):
                yield from _unknown(alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names):
                yield from _unknown([module or "."])
                yield from (f"it uses {alias.name}" for alias in names if alias.name in _CHANCE)
            case ast.Attribute(attr=attribute) if attribute in _CHANCE | _OUTSIDE:
                yield f"it uses {attribute}"
            case ast.Name(id=name) if name in _CALLED_OUTSIDE:
                yield f"it calls {name}"


def _unknown(modules: Iterable[str]) -> Iterator[str]:
    for name in modules:
        if name.partition(".")[0] not in _MODULES:
            yield f"it imports {name}"


def _sql_word(text: str) -> str | None:
    """Return a word of a text that would not be repeatable if the text were SQL."""
    try:
        return moment_in(text) or chance_in(text) or choice_in(text)
    except InputError:
        return None
