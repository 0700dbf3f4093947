"""Values of operations: an argument from YAML or Jinja, in the form that its option accepts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import click
import pyarrow as pa

from dbt.adapters.vcs.cli.pairs import NameList, Pair
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.rows.exact_values import Given


def value_for(param: click.Parameter, value: Any) -> Any:
    """Return a value as the command line parser would pass it to a parameter.

    None means not given. So do `false` for a flag, an empty list or mapping, and the parameter's
    default, because macros pass these on.

    Raises:
        InputError: The parameter can't accept the value.
    """
    name = str(param.name)
    if isinstance(param, click.Option) and param.is_flag:
        return _flag(name, value) or None
    if isinstance(param.type, Pair):
        return _pairs(name, param.type, value) or None
    if param.multiple or param.nargs == -1:
        return _words(name, value) or None
    if isinstance(param.type, NameList):
        return _names(name, value) or None
    text = _number(value) if _is_number(param.type) else None
    text = _word(name, value) if text is None else text
    return None if text == str(param.default) else text


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"The argument {name!r} is {value!r}; expected true or false.")
    return value


def _words(name: str, value: Any) -> tuple[Any, ...]:
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(_word(name, item) for item in items)


def _is_number(type_: object) -> bool:
    return isinstance(type_, click.types.IntParamType | click.types.FloatParamType)


def _number(value: Any) -> str | None:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _word(name: str, value: Any) -> str:
    """Return text; YAML reads a commit id that consists only of digits as a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InputError(
        f"The argument {name!r} is {value!r}, which is not text. Put it in quotes: {name}: '...'"
    )


def _names(name: str, value: Any) -> Any:
    """Return names given as a list; text is split by the parameter's own type."""
    if isinstance(value, list | tuple):
        return tuple(_word(name, item).strip() for item in value)
    return _word(name, value)


def _pairs(name: str, type_: Pair, value: Any) -> tuple[tuple[str, Any], ...]:
    """Return the pairs of a mapping; a number or date from YAML stays one if it is exact.

    As text it could differ from what was written: YAML reads `1.50` as 1.5 and `yes` as true.
    """
    if not isinstance(value, Mapping):
        raise InputError(
            f"The argument {name!r} is {value!r}; expected names with values: {name}: {{id: 7}}."
        )
    if not type_.is_exact:
        return tuple((str(key), str(item)) for key, item in value.items())
    return tuple((str(column), _exact(name, column, item)) for column, item in value.items())


def _exact(name: str, column: Any, value: Any) -> Given:
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
        f"The argument {name!r} has {value!r} for {column}, which is not a single value. Put it "
        f"in quotes: {name}: {{{column}: '...'}}"
    )
