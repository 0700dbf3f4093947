"""Arguments: what YAML or Jinja gave for a verb's parameter, as the verb takes it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import pyarrow as pa

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.rows.exact_values import Given


def check_action(verb: str, action: Any, known: tuple[str, ...]) -> None:
    """Raise unless a verb knows an action."""
    if action not in known:
        raise InputError(f"{verb} has no action {action!r}; expected one of {', '.join(known)}.")


def needed(verb: str, action: str, name: str, value: Any) -> str:
    """Return a text that an action can't do without."""
    if value is None:
        raise InputError(f"{verb} {action} needs the argument {name!r}.")
    return word(name, value)


def word(name: str, value: Any) -> str:
    """Return a text; YAML takes a commit id of digits alone for a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InputError(
        f"The argument {name!r} is {value!r}, which is no text. Put it in quotes: {name}: '...'"
    )


def words(name: str, value: Any) -> tuple[str, ...]:
    """Return texts, given as a list or separated by commas."""
    if value is None:
        return ()
    given = value if isinstance(value, list | tuple) else word(name, value).split(",")
    return tuple(word(name, item).strip() for item in given)


def number(name: str, value: Any) -> int:
    """Return a whole number, 0 or more."""
    text_of = str(value)
    if isinstance(value, bool) or not text_of.isdecimal():
        raise InputError(f"The argument {name!r} is {value!r}; expected a whole number.")
    return int(text_of)


def flag(name: str, value: Any) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise InputError(f"The argument {name!r} is {value!r}; expected true or false.")
    return value


def by_column(name: str, value: Any) -> dict[str, Given]:
    """Return values by column, as `exact_value` takes them; NULL for none.

    What YAML read as a number, a date or a truth value stays one: as text it might be another
    value than what was written (`1.50` is read as 1.5, `yes` as true).
    """
    if not isinstance(value, Mapping):
        raise InputError(
            f"The argument {name!r} is {value!r}; expected values by column: {name}: {{id: 7}}."
        )
    return {str(column): _value(name, column, item) for column, item in value.items()}


def _value(name: str, column: Any, value: Any) -> Given:
    if value is None:
        return pa.scalar(None)
    if isinstance(value, str):
        return value
    if isinstance(value, bool | float | date) or (
        isinstance(value, int) and abs(value) < 2**63  # what int64 holds
    ):
        return pa.scalar(value)
    if isinstance(value, int):
        return str(value)
    raise InputError(
        f"The argument {name!r} has {value!r} for {column}, which is no single value. Put it in "
        f"quotes: {name}: {{{column}: '...'}}"
    )
