"""Python values of Arrow's, whatever their dates: Python's own have years from 1 to 9999.

Spark's dates and timestamps reach far beyond. One that Python can't hold is a `FarMoment`: its
text as Spark spells it (`+12345-06-07`, `-0044-03-15 12:00:00`), which knows the number that Arrow
has for it, so that a row that was taken out can be put back.

The calendar repeats every 400 years, also in weekdays and leap years, so a far year is computed as
the year of the same place in a near cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097
_EPOCH: Final = date(1970, 1, 1)
_DAY: Final = timedelta(days=1)
_MICRO: Final = timedelta(microseconds=1)
_MICROS_OF_DAY: Final = _DAY // _MICRO
_PYTHON_YEARS: Final = range(1, 10_000)


class FarMoment(str):
    """The text of a date or timestamp that Python can't hold.

    Attributes:
        number: Days since 1970 of a date, microseconds of a timestamp.
    """

    __slots__ = ("number",)
    number: int

    @classmethod
    def of(cls, text: str, number: int) -> FarMoment:
        """Return the text with its number."""
        made = cls(text)
        made.number = number
        return made


def python_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return a column's values as Python's, in order: as `to_pylist`, with far moments."""
    try:
        found: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):
        # One value at a time is far slower, so only columns with such a moment pay for it.
        return [python_value(scalar) for scalar in column]
    return found


def python_rows(table: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """Return rows by column name: as `to_pylist`, with far moments."""
    columns = [python_values(column) for column in table.columns]
    return [dict(zip(table.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def python_value(scalar: pa.Scalar) -> Any:
    """Return one value as Python's: as `as_py`, with far moments inside nested values, too."""
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return _far(scalar)


def arrow_array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Return values that `python_values` gave as Arrow's.

    Raises:
        ArrowException, TypeError, ValueError, OverflowError: As `pyarrow.array`.
    """
    import pyarrow

    return pyarrow.array(list(_numbers(values)), type_)


def date_text(days: int) -> str:
    """Return the text of a date as Spark spells it, given as days since 1970."""
    cycles, rest = divmod(days, _CYCLE_DAYS)
    near = _EPOCH + timedelta(days=rest)
    year = near.year + cycles * _CYCLE_YEARS
    # Spark writes years after 9999 with a plus, and the year 0 without a sign.
    sign = "-" if year < 0 else "+" if year not in _PYTHON_YEARS and year else ""
    return f"{sign}{abs(year):04}-{near:%m-%d}"


def moment_text(micros: int, *, fraction: bool = False) -> str:
    """Return the text of a timestamp, given as microseconds since 1970; without a zone.

    Args:
        micros: The timestamp.
        fraction: True to write zeros as the fraction of a second, too.
    """
    days, rest = divmod(micros, _MICROS_OF_DAY)
    clock = (datetime.min + rest * _MICRO).time()
    spec = "microseconds" if fraction or clock.microsecond else "seconds"
    return f"{date_text(days)} {clock.isoformat(spec)}"


def near_year(year: int) -> tuple[int, int]:
    """Return a year that Python has in place of another, and by how many days it is earlier."""
    if year in _PYTHON_YEARS:
        return year, 0
    # Zones have their last rules in the last cycle, and none in the first ones.
    near = year % _CYCLE_YEARS + (_CYCLE_YEARS if year < 1 else 9_600)
    return near, (year - near) // _CYCLE_YEARS * _CYCLE_DAYS


def number_of(moment: date | datetime, days: int) -> int:
    """Return a moment that is some days later as Arrow's number: days or microseconds."""
    if not isinstance(moment, datetime):
        return (moment - _EPOCH).days + days
    zone = timezone.utc if moment.tzinfo is not None else None
    return (moment - datetime.combine(_EPOCH, time(), zone)) // _MICRO + days * _MICROS_OF_DAY


def _far(scalar: pa.Scalar) -> Any:
    import pyarrow

    types, kind = pyarrow.types, scalar.type
    if types.is_date(kind):
        days = scalar.cast(pyarrow.date32()).value
        return FarMoment.of(date_text(days), days)
    if types.is_timestamp(kind):
        micros = scalar.cast(pyarrow.timestamp("us", kind.tz), safe=False).value
        zone = "+00:00" if kind.tz is not None else ""
        return FarMoment.of(f"{moment_text(micros)}{zone}", micros)
    if types.is_map(kind):
        entries = scalar.values.flatten()
        return list(zip(*(python_values(part) for part in entries), strict=True))
    if types.is_struct(kind):
        return {field.name: python_value(scalar[place]) for place, field in enumerate(kind)}
    return python_values(scalar.values)


def _numbers(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, FarMoment):
            yield value.number
        elif isinstance(value, list | tuple):
            yield list(_numbers(value)) if isinstance(value, list) else tuple(_numbers(value))
        elif isinstance(value, dict):
            yield dict(zip(value, _numbers(value.values()), strict=True))
        else:
            yield value


def shown(value: Any) -> str:
    """Return a value as errors show it, shortened."""
    if value is None:
        return "NULL"
    # A moment that Python can't hold comes as text, and is shown as the moment that it is.
    is_text = isinstance(value, str | bytes) and not isinstance(value, FarMoment)
    text = repr(value) if is_text else str(value)
    return text if len(text) <= 80 else text[:77] + "..."
