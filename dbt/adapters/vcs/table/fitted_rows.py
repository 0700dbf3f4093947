"""Fitted rows: Arrow tables as rows of a table, in its columns, types and lengths, exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field, RelationName, Schema
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.snapshot import fitted
from dbt.adapters.vcs.table.python_values import python_values
from dbt.adapters.vcs.table.types import arrow_type

_SHOWN: Final = 3


def fitted_rows(name: RelationName, rows: pa.Table, schema: Schema) -> pa.Table:
    """Return rows with a table's columns, named by field id, in its types.

    Columns are found by name, in any case. One that is not given is NULL. Values are kept as they
    are: numbers become wider or narrower numbers, a time without a zone is in UTC, and texts are
    padded or cut as char(n) and varchar(n) are. Of what a type can't hold nothing is rounded,
    except floats in narrower ones.

    Args:
        name: What errors call the table.
        rows: The rows.
        schema: The table's columns.

    Raises:
        InputError: A column is unknown, lacking or given twice, or doesn't hold a value.
        UnsupportedError: Only Spark can write a column's type or default.
    """
    given = _by_name(name, rows.schema, schema)
    columns = [_column(name, rows, given.get(field.id), field) for field in schema.fields]
    return pa.table(columns, names=[field.id for field in schema.fields])


def _by_name(name: RelationName, given: pa.Schema, schema: Schema) -> Mapping[str, int]:
    """Return the places of the given columns, by field id."""
    places: dict[str, int] = {}
    for place, column in enumerate(given.names):
        field = schema.find(column)
        if field is None:
            raise InputError(
                f"{name} has no column {column}; it has: {', '.join(schema.names)}. Nothing was "
                "changed. Leave the column out, or add it: alter table "
                f"{name} add columns ({column} ...)."
            )
        if field.id in places:
            raise InputError(f"The column {field.name} of {name} was given twice.")
        places[field.id] = place
    return places


def _column(name: RelationName, rows: pa.Table, place: int | None, field: Field) -> Any:
    wanted = arrow_type(field.type)
    if place is None:
        if field.default is not None:
            raise UnsupportedError(
                f"The column {field.name} of {name} has the default {field.default}, which only "
                "SQL computes. Nothing was changed. Give its values, or write with SQL."
            )
        return pa.nulls(rows.num_rows, wanted)
    column = _decoded(rows.column(place))
    try:
        found = _exact(column, wanted)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise InputError(
            f"The column {field.name} of {name} is {field.type}, and a value that was given as "
            f"{column.type} doesn't fit: {error}. Nothing was changed; convert the values first."
        ) from error
    if found is None:
        raise InputError(
            f"The column {field.name} of {name} is {field.type}, and was given as {column.type}. "
            "Nothing was changed; convert the values first."
        )
    return limited(str(name), found, field)


def _decoded(column: Any) -> Any:
    """Return a column without dictionaries and views."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        return _decoded(column.cast(type_.value_type))
    if pa.types.is_string_view(type_):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(type_):
        return column.cast(pa.large_binary())
    return column


def _exact(column: Any, wanted: pa.DataType) -> Any:
    """Return values in another type; None if it has other values altogether.

    Raises:
        ArrowException: A value doesn't fit. ValueError: It would be rounded.
    """
    given = column.type
    if given == wanted:
        return column
    if pa.types.is_null(given):
        return pa.nulls(len(column), wanted)
    if pa.types.is_nested(wanted):
        return column.cast(wanted) if _is_alike(given, wanted) else None
    if pa.types.is_floating(given) and pa.types.is_floating(wanted):
        return column.cast(wanted)
    if _is_number(given) and _is_number(wanted):
        return _same_back(column, column.cast(wanted))
    if pa.types.is_temporal(wanted):
        return _moments(column, wanted)
    return column.cast(wanted) if _kind(given) == _kind(wanted) is not None else None


def _moments(column: Any, wanted: pa.DataType) -> Any:
    given = column.type
    zoned = pa.types.is_timestamp(given) and given.tz is not None
    if not (pa.types.is_date(given) or pa.types.is_timestamp(given)):
        return None
    if pa.types.is_timestamp(wanted):
        if wanted.tz is None:
            return None if zoned else column.cast(wanted)
        # Between a zone and another one, or from none, which is UTC here.
        return column.cast(wanted) if zoned else column.cast(pa.timestamp("us")).cast(wanted)
    return None if zoned else _same_back(column, column.cast(wanted))


def _same_back(column: Any, found: Any) -> Any:
    """Return the values found if they lead back to those given.

    Raises:
        ValueError: One was rounded.
    """
    if pa.types.is_decimal(column.type) and pa.types.is_floating(found.type):
        return found
    back = found.cast(column.type, safe=False)
    differs = pc.fill_null(pc.not_equal(back, column), pa.scalar(False))
    if pc.any(differs).as_py():
        some = python_values(column.filter(differs).slice(0, _SHOWN))
        raise ValueError(f"{', '.join(map(str, some))} would be rounded")
    return found


def _is_alike(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether nested values have the same shape, and Arrow casts their parts exactly."""
    if given == wanted or pa.types.is_null(given):
        return True
    one, other = _shape(given), _shape(wanted)
    return one[0] == other[0] is not None and all(map(_is_alike, one[1], other[1]))


def _shape(type_: pa.DataType) -> tuple[object, tuple[pa.DataType, ...]]:
    """Return what nested values have in common, None if nothing, and the types of their parts."""
    if pa.types.is_struct(type_):
        names = tuple(field.name for field in type_)
        return names, tuple(field.type for field in type_)
    if pa.types.is_map(type_):
        return "map", (type_.key_type, type_.item_type)
    if _is_one_of(type_, pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list):
        return "list", (type_.value_type,)
    if pa.types.is_timestamp(type_):
        return ("timestamp", type_.tz), ()
    for is_one in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal):
        if is_one(type_):
            return is_one.__name__, ()
    return _kind(type_), ()


def _is_number(type_: pa.DataType) -> bool:
    return _is_one_of(type_, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)


def _kind(type_: pa.DataType) -> str | None:
    """Return what types that differ only in how values are laid out have in common."""
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return "text"
    binaries = pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary
    return "binary" if _is_one_of(type_, *binaries) else None


def _is_one_of(type_: pa.DataType, *tests: Callable[[pa.DataType], bool]) -> bool:
    return any(is_one(type_) for is_one in tests)


def limited(name: str, column: Any, field: Field) -> Any:
    """Return a column with the lengths that char(n) and varchar(n) prescribe.

    Args:
        name: What errors call the table or file.
        column: The values.
        field: The table's column.

    Raises:
        InputError: A text is too long.
        UnsupportedError: The texts are within nested values.
    """
    length = type_of(field.type).length
    if length is None:
        if "char(" in field.type:
            raise UnsupportedError(
                f"The column {field.name} of {name} is {field.type}: only Spark checks lengths "
                "within nested values. Nothing was changed. Write with SQL."
            )
        return column
    texts = column.combine_chunks().dictionary_encode()
    values = [fitted(text, field.type) for text in texts.dictionary.to_pylist()]
    longest = max(values, key=len, default="")
    if len(longest) > length:
        raise InputError(
            f"The column {field.name} of {name} is {field.type}, and {longest!r} has "
            f"{len(longest)} characters. Nothing was changed; shorten the values first."
        )
    return pa.array(values, pa.string()).take(texts.indices)
