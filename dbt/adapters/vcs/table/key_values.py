"""Key values: a value given for a row's column, converted to the column's type."""

from __future__ import annotations

from datetime import timezone, tzinfo

import pyarrow as pa

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.table.exact_values import Given, exact_value


def key_value(
    name: RelationName,
    column: str,
    type_: str,
    given: Given,
    zone: tzinfo = timezone.utc,
) -> pa.Scalar:
    """Convert a given value to a column's type, without loss.

    All values that people give for rows pass through here; `exact_value` has the rules. A time
    without an offset is in the given zone.

    Raises:
        InputError: The type doesn't hold it.
        UnsupportedError: Arrow has no such type (intervals, VARIANT).
    """
    try:
        return exact_value(given, type_, zone)
    except (ValueError, OverflowError) as error:
        shown = repr(given) if isinstance(given, str) else str(given)
        raise InputError(
            f"{shown} is not a value of the column {column} of {name}, which is {type_} ({error})."
        ) from error
