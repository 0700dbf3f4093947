"""Row filters: SQL conditions as Arrow expressions, and the columns that a filter reads.

A row passes if the filter is true; NULL is not true. Arrow's `&`, `|` and `~` know SQL's three
values.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from functools import reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Field, Schema
from dbt.adapters.vcs.core.model.data_type import FLOATS, INTEGERS, TIMESTAMPS, type_of
from dbt.adapters.vcs.sql.syntax.conditions import (
    Comparison,
    ConditionTree,
    Constant,
    Junction,
    LikePattern,
    Negation,
    check_condition,
    condition_tree,
)
from dbt.adapters.vcs.table.types import arrow_type

_WHOLE: Final = re.compile(r"-?\d+(\.0*)?")
_COMPARED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": lambda column, value: column == value,
    # Never NULL, which `not` would keep.
    "<=>": lambda column, value: (column == value) & column.is_valid(),
    "in": lambda column, value: column == value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
}
_HELP: Final = (
    "Without Spark a filter is comparisons of columns with constants, joined by and, or, not: "
    "=, <>, <=>, <, <=, >, >=, in, between, like, is null. For another condition use SQL."
)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
# Spark refuses a pattern with such a backslash. Arrow would drop the backslash.
_ODD_ESCAPE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\(?![\\%_])")


def filter_of(condition: str, schema: Schema) -> pc.Expression:
    """Return a SQL condition as an Arrow expression over a table's columns, by name.

    Raises:
        InputError: It is no condition, or more than comparisons of columns with constants, or it
            compares values in a way that only SQL knows.
        NotFoundError: There is no such column.
    """
    check_condition(condition, "The filter")
    tree = condition_tree(condition)
    if tree is None:
        raise InputError(f"The filter {condition!r} can't be computed here. {_HELP}")
    return _expression(tree, schema)


def named_by(filter: pc.Expression, fields: Iterable[Field]) -> tuple[Field, ...]:
    """Return the columns, of the given ones, that an expression reads.

    Raises:
        InputError: It reads a column that is not among them, or can't be computed.
    """
    known = tuple(fields)
    _try(filter, known)
    return tuple(
        # Arrow doesn't list the columns of an expression: it reads those that it can't do without.
        field
        for field in known
        if _fails(filter, [item for item in known if item is not field])
    )


def _fails(filter: pc.Expression, fields: Sequence[Field]) -> bool:
    try:
        _try(filter, fields)
    except InputError:
        return True
    return False


def _try(filter: pc.Expression, fields: Sequence[Field]) -> None:
    schema = pa.schema([pa.field(field.name, arrow_type(field.type)) for field in fields])
    try:
        schema.empty_table().filter(filter)
    except (pa.ArrowException, TypeError) as error:
        names = ", ".join(field.name for field in fields)
        raise InputError(
            f"The filter {filter} can't be computed: {error}. The columns are: {names}."
        ) from error


def _expression(tree: ConditionTree, schema: Schema) -> pc.Expression:
    if isinstance(tree, Negation):
        return ~_expression(tree.of, schema)
    if isinstance(tree, Junction):
        join = operator.and_ if tree.word == "and" else operator.or_
        return reduce(join, (_expression(part, schema) for part in tree.parts))
    return _like(tree, schema) if isinstance(tree, LikePattern) else _term(tree, schema)


def _like(like: LikePattern, schema: Schema) -> pc.Expression:
    field = schema.field(like.column)
    if not type_of(field.type).is_plain_text:
        raise InputError(f"{field.name} is {field.type}, and can't be matched by like. {_HELP}")
    if _ODD_ESCAPE.search(like.pattern):
        raise InputError(
            f"The pattern {like.pattern!r} has a backslash that escapes neither %, _ nor a "
            "backslash. Write it twice."
        )
    return pc.match_like(pc.field(field.name), like.pattern)


def _term(comparison: Comparison, schema: Schema) -> pc.Expression:
    field = schema.field(comparison.column)
    column = pc.field(field.name)
    if comparison.operator == "is null":
        return column.is_null()
    if comparison.operator == "is not null":
        return column.is_valid()
    compare = _COMPARED[comparison.operator]
    terms = [compare(column, _scalar(field, value)) for value in comparison.values]
    if comparison.operator in (">", ">=") and type_of(field.type).kind in FLOATS:
        # In SQL NaN is above every number.
        terms.append(pc.is_nan(column))
    return reduce(lambda one, other: one | other, terms)


def _scalar(field: Field, constant: Constant) -> pa.Scalar:
    """Return a constant as a value that Arrow compares with a column as SQL does."""
    try:
        found = _value(field, constant)
    except (ValueError, ArithmeticError, InvalidOperation, pa.ArrowException) as error:
        raise InputError(
            f"{constant.value!r} is not a value of {field.name}, which is {field.type}: {error}."
        ) from error
    if found is None:
        raise InputError(
            f"{field.name} is {field.type}, and can't be compared with the {constant.kind} "
            f"{constant.value!r} here. {_HELP}"
        )
    return found


def _value(field: Field, constant: Constant) -> pa.Scalar | None:
    type_, kind, text = type_of(field.type), constant.kind, constant.value
    if kind == "number":
        return _number(type_.kind, arrow_type(field.type), text)
    if kind == "boolean":
        return pa.scalar(text == "true") if type_.kind == "boolean" else None
    if kind == "string" and type_.is_plain_text:
        return pa.scalar(text, pa.string())
    # Python also reads 20260131 and 2026-W05-6, which are no dates to Spark.
    if type_.kind == "date" and kind in ("string", "date") and _DATE.fullmatch(text):
        return pa.scalar(date.fromisoformat(text), pa.date32())
    if type_.kind in TIMESTAMPS:
        return _moment(type_.kind, text)
    return None


def _number(kind: str, type_: pa.DataType, text: str) -> pa.Scalar | None:
    if kind in FLOATS:
        return pa.scalar(float(text), pa.float64())
    if kind in INTEGERS and _WHOLE.fullmatch(text):
        # An int64 for all types: a constant beyond the column's range is compared, not refused.
        return pa.scalar(int(Decimal(text)), pa.int64())
    return pa.scalar(Decimal(text), type_) if kind == "decimal" else None


def _moment(kind: str, text: str) -> pa.Scalar | None:
    """Return a time; without a zone it is in UTC."""
    moment = datetime.fromisoformat(text)
    if kind == "timestamp_ntz":
        return None if moment.tzinfo else pa.scalar(moment, pa.timestamp("us"))
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return pa.scalar(moment, pa.timestamp("us", "UTC"))
