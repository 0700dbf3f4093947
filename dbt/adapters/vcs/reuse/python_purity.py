"""Whether a Python model surely gives the same rows each time, by its text.

Python can read anything, so nothing is taken for harmless but what is named here: relations by
`dbt.ref` and `dbt.source`, and Spark's frames and column expressions over them. Of any other model
a person has to say it, by the config `reuse: true` (decision 40).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.canonical import (
    REPEATABLE,
    moment_in,
    names_place,
    names_user,
)

# Functions of columns; two ask the clock if they are called without arguments.
_FUNCTIONS: Final = REPEATABLE - {"to_unix_timestamp", "unix_timestamp"}

# What may be imported, and which names of it; of types, all whose names end with `Type`.
_MODULES: Final = {
    "__future__": frozenset({"annotations"}),
    "datetime": frozenset({"date", "datetime", "timedelta"}),
    "decimal": frozenset({"Decimal"}),
    "functools": frozenset({"partial", "reduce"}),
    "math": frozenset[str](),
    "pyspark.sql": frozenset({"Column", "DataFrame", "Window", "functions", "types"}),
    "pyspark.sql.functions": _FUNCTIONS | {"broadcast", "col", "column", "expr", "lit", "when"},
    "pyspark.sql.types": frozenset({"StructField"}),
    "pyspark.sql.window": frozenset({"Window"}),
    "typing": frozenset({"Any"}),
}

_OF_DBT: Final = "config is_incremental ref source this"
_OF_FRAMES: Final = """
    agg alias asc asc_nulls_first asc_nulls_last astype bitwiseAND bitwiseOR bitwiseXOR cache
    columns countDistinct count_distinct createDataFrame crossJoin cube desc desc_nulls_first
    desc_nulls_last distinct drop dropFields dropna eqNullSafe exceptAll fill fillna getField
    getItem groupBy groupby hint ilike intersect intersectAll isNaN isNotNull isNull isin join like
    melt na name orderBy otherwise over persist pivot repartition rlike rollup schema select
    selectExpr sort subtract sumDistinct sum_distinct toDF try_cast union unionAll unionByName
    unpivot where withColumn withColumnRenamed withColumns withColumnsRenamed withField
"""
_OF_WINDOWS: Final = """
    currentRow partitionBy rangeBetween rowsBetween unboundedFollowing unboundedPreceding
"""
_OF_VALUES: Final = "append extend items keys strip values"
_ATTRIBUTES: Final = frozenset(
    " ".join([_OF_DBT, _OF_FRAMES, _OF_WINDOWS, _OF_VALUES]).split()
).union(*_MODULES.values())
_OF_PYTHON: Final = """
    __name__ abs all any bool dict enumerate float int isinstance len list max min print range
    reversed round sorted str sum tuple zip
"""
_BUILTINS: Final = frozenset(_OF_PYTHON.split())
# Names by which a model reads the table that it replaces.
_OF_ITSELF: Final = frozenset({"is_incremental", "this"})

# What may be a call in a text of SQL, and words before a parenthesis that are none.
_BEFORE_PARENTHESIS: Final = re.compile(r"(\w*)[\s`]*\(")
_WORDS: Final = frozenset({"and", "by", "else", "in", "not", "or", "over", "then", "when"})


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
        # A class of the model's own.
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
        for node in ast.walk(ast.parse(code))
    )


def _doubts(tree: ast.AST) -> Iterator[str]:
    documents = _documents(tree)
    bound = _bound(tree) | _BUILTINS
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)):
                if id(node) not in documents and not _is_harmless(text):
                    yield f"it has the text {text!r}"
            case ast.Import(names=names):
                yield from (f"it imports {a.name}" for a in names if a.name not in _MODULES)
            case ast.ImportFrom(module=module, names=names):
                yield from _import_doubts(module or ".", names)
            # Whose attribute it is can't be told, so a name is either harmless on all or on none.
            case ast.Attribute(attr=name) if not _is_in(name, _ATTRIBUTES):
                yield f"it uses {name}"
            case ast.Name(id=name) if name not in bound:
                yield f"it uses {name}"
            # The hashes of texts differ in each process.
            case ast.Set() | ast.SetComp():
                yield "it has a set, whose order varies"


def _documents(tree: ast.AST) -> set[int]:
    """Return the ids of the constants that are docstrings or stand alone."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def _import_doubts(module: str, names: list[ast.alias]) -> Iterator[str]:
    known = _MODULES.get(module)
    if known is None:
        yield f"it imports {module}"
    else:
        yield from (f"it uses {a.name}" for a in names if not _is_in(a.name, known))


def _bound(tree: ast.AST) -> set[str]:
    """Return the names that code gives a meaning to."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
    return found


def _is_in(name: str, names: frozenset[str]) -> bool:
    return name in names or name.endswith("Type")


def _is_harmless(text: str) -> bool:
    """Return whether a text gives the same each time, be it a name, a value or a part of SQL."""
    called = _BEFORE_PARENTHESIS.findall(text.lower())
    if any(name not in _FUNCTIONS and name not in _WORDS for name in called):
        return False
    try:
        return not (
            # As a piece of SQL, and as a literal: `date 'today'` is a moment, too.
            moment_in(text) or moment_in(f"'{text}'") or names_user(text) or names_place(text)
        )
    except InputError:
        return False
