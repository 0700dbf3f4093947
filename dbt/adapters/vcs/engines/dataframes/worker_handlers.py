"""Calls the user's code in Spark's Python workers, where it is sent by value.

A worker may not have dbt-vcs, so this module uses only itself and the standard library.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Mapping
from typing import Any

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_FRACTIONS = ("float", "double")


class Scalar:
    """A handler that takes a row's arguments; its result is converted to the declared type."""

    def __init__(self, handler: Callable[..., Any], name: str, type_: str) -> None:
        self.handler = handler
        self.name = name
        self.type = type_

    def __call__(self, *arguments: Any) -> Any:
        """Return the row's value."""
        return fitted(self.handler(*arguments), self.type, self.name)


class Aggregate:
    """A class that accumulates a group's rows: `accumulate(*values)`, then `finish()`."""

    def __init__(self, handler: Callable[[], Any], name: str, type_: str) -> None:
        self.handler = handler
        self.name = name
        self.type = type_

    def __call__(self, *columns: Any) -> Any:
        """Return the group's value, given an Arrow column for each argument."""
        state = self.handler()
        for values in zip(*(column.to_pylist() for column in columns), strict=True):
            state.accumulate(*values)
        return fitted(state.finish(), self.type, self.name)


def fitted(value: Any, type_: str, name: str) -> Any:
    """Convert a value for a Spark type; Spark would turn a misfit into NULL.

    NumPy and pandas numbers count as Python's. An integer fits a fractional type, and a float
    without a fraction fits an integer type.

    Raises:
        TypeError: It doesn't fit.
    """
    # A scalar of NumPy or pandas, which this module can't import.
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if value is None:
        return None
    kind = type_.partition("(")[0].partition("<")[0].partition(" ")[0]
    if isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool):
        number = _number(value, kind)
        if number is not None:
            return number
    expected = _EXPECTED.get(kind)
    fits = expected is None or isinstance(value, expected)
    if not fits or (kind == "date" and isinstance(value, datetime.datetime)):
        raise TypeError(
            f"the function {name} should return {type_}, and returned "
            f"{type(value).__name__}: {value!r:.80}"
        )
    return value


def _number(
    value: int | float | decimal.Decimal, kind: str
) -> int | float | decimal.Decimal | None:
    """Return a number converted to a type; None if the type is not a number or can't hold it."""
    if kind in _FRACTIONS:
        return float(value)
    if kind in _WHOLE and math.isfinite(value) and value == int(value):
        return int(value)
    return decimal.Decimal(str(value)) if kind == "decimal" else None


# Python types accepted for a Spark type; other Spark types are left to Spark.
_EXPECTED: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys((*_WHOLE, *_FRACTIONS, "decimal"), ()),
    "boolean": bool,
    "string": str,
    "char": str,
    "varchar": str,
    "binary": (bytes, bytearray),
    "date": datetime.date,
    "timestamp": datetime.datetime,
    "timestamp_ntz": datetime.datetime,
    "array": (list, tuple),
    "map": dict,
}
