"""Pruning: the blocks that may hold rows meeting a condition, by their bounds.

A block is skipped only if that is certain to be right. Any doubt (a type whose comparison
depends on a setting or a collation, a constant of another kind, a missing bound) keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any, Final, NamedTuple

from dbt.adapters.vcs.core.ids import micros_of
from dbt.adapters.vcs.core.model import Block, ColumnStats, Field, Schema
from dbt.adapters.vcs.core.model.data_type import FLOATS, INTEGERS, TIMESTAMPS, type_of
from dbt.adapters.vcs.sql.syntax.conditions import Comparison, Constant
from dbt.adapters.vcs.table.python_values import FarMoment

_ORDERED: Final = (*INTEGERS, "date", "decimal")
_DAY: Final = 86_400_000_000
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2})?)(?:\.\d{1,6})?)?(?:Z| ?[+-]\d{2}:\d{2})?"
)
# Spark may round a decimal of more digits before it compares.
_MAX_DIGITS: Final = 30


class Interval(NamedTuple):
    """Bounds of values, both inclusive; None for no bound."""

    low: Any
    high: Any


def matching(
    blocks: Iterable[Block], schema: Schema, comparisons: Sequence[Comparison]
) -> tuple[Block, ...]:
    """Return the blocks in which a row may meet all the comparisons, in their order."""
    checks = [
        (field, item) for item in comparisons if (field := schema.find(item.column)) is not None
    ]
    return tuple(
        block for block in blocks if all(_may_hold(block, field, item) for field, item in checks)
    )


def within(blocks: Iterable[Block], field: Field, low: Any, high: Any) -> tuple[Block, ...]:
    """Return the blocks in which a column may have a value between two Python values.

    Both have the column's own type, as fetched by the engine; None if there is no value.
    """
    if low is None or high is None:
        return ()
    span = Interval(_scalar_of_value(field.type, low), _scalar_of_value(field.type, high))
    # Bounds don't include NaN, so they say nothing about where it is.
    if span.low is None or span.high is None or type_of(field.type).kind in FLOATS:
        return tuple(blocks)
    return tuple(block for block in blocks if _meets(block.stats.get(field.id), field, span))


def is_ordered(type_: str) -> bool:
    """Return whether `within` can leave out blocks by a column of this type."""
    found = type_of(type_)
    return found.kind in _ORDERED or found.is_plain_text


def _may_hold(block: Block, field: Field, comparison: Comparison) -> bool:
    stats = block.stats.get(field.id)
    # A file that lacks the column may count as NULL, and readers see the initial value.
    if stats is None or (stats.nulls == block.rows and field.initial is not None):
        return True
    operator = comparison.operator
    if operator == "is null":
        return stats.nulls != 0
    if stats.nulls == block.rows:
        return False  # nothing but NULL: no comparison with a constant is true
    if operator == "is not null":
        return True
    spans = [_span(field.type, value) for value in comparison.values]
    return any(span is None or _reaches(stats, field, operator, span) for span in spans)


def _reaches(stats: ColumnStats, field: Field, operator: str, span: Interval) -> bool:
    if operator in ("=", "<=>", "in"):
        return _meets(stats, field, span)
    if operator in ("<", "<="):
        return _meets(stats, field, Interval(None, span.high))
    # NaN is above all bounds and not included in any.
    return type_of(field.type).kind in FLOATS or _meets(stats, field, Interval(span.low, None))


def _meets(stats: ColumnStats | None, field: Field, span: Interval) -> bool:
    if stats is None:
        return True
    low, high = (_comparable(field.type, bound) for bound in (stats.min, stats.max))
    above = low is not None and span.high is not None and low > span.high
    below = high is not None and span.low is not None and high < span.low
    return not (above or below)


def _comparable(type_: str, bound: Any) -> Any:
    if bound is not None and type_of(type_).kind == "decimal":
        return Decimal(bound)
    return bound


def _span(type_: str, constant: Constant) -> Interval | None:
    """Return the interval of values that a constant may have in a type; None if uncertain."""
    kind, value = constant
    if kind == "number":
        number = _number(type_, value)
        return None if number is None else Interval(number, number)
    if kind == "string" and type_of(type_).is_plain_text:
        return Interval(value, value)
    if kind in ("string", "date") and type_ == "date":
        return _days(value)
    if kind in ("string", "date", "timestamp") and type_ in TIMESTAMPS:
        return _instants(value)
    return None


def _number(type_: str, text: str) -> Any:
    if sum(character.isdigit() for character in text) > _MAX_DIGITS:
        return None
    kind = type_of(type_).kind
    if kind in (*INTEGERS, "decimal"):
        return Decimal(text)
    return float(text) if kind in FLOATS else None


def _days(text: str) -> Interval | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        day = date.fromisoformat(text).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    return Interval(day, day)


def _instants(text: str) -> Interval | None:
    """Return the two days around a timestamp."""
    # The text may be meant in any time zone, and none is more than a day from UTC.
    found = _TIME.fullmatch(text.strip())
    if not found:
        return None
    try:
        moment = datetime.fromisoformat(f"{found[1]} {found[2] or '00:00'}")
    except ValueError:
        return None
    micros = micros_of(moment.replace(tzinfo=timezone.utc))
    return Interval(micros - _DAY, micros + _DAY)


def _scalar_of_value(type_: str, value: Any) -> Any:
    if type_ == "date":
        return value.number if isinstance(value, FarMoment) else value.toordinal() - _EPOCH_DAY
    return value if is_ordered(type_) else None
