"""JSON text: values as JSON; lazily computed rows are written one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

import msgspec

from dbt.adapters.vcs.cli.output import print_lines

_INDENT: Final = "  "
_HELD: Final = (str, bytes, Mapping, list, tuple, set, frozenset)
"""Iterables held in memory; any other iterable is read while it is printed."""


def print_json(value: Any) -> None:
    """Print a value as JSON: objects by field name, times in UTC.

    Binary is hex digits, and numbers that JSON lacks are `"nan"`, `"inf"` and `"-inf"`.
    """
    print_lines(json_lines(value))


def print_jsonl(items: Iterable[Any]) -> None:
    """Print values as JSON, one per line."""
    print_lines(_encoded(item).decode() for item in items)


def json_lines(value: Any) -> Iterator[str]:
    """Yield a value as lines of JSON; its items are read as the lines are consumed."""
    if _is_read(value):
        yield from _listed("", value, "")
    elif is_dataclass(value) and not isinstance(value, type) and _reads(value):
        yield "{"
        pairs = [(field.name, getattr(value, field.name)) for field in fields(value)]
        for number, (name, item) in enumerate(pairs):
            comma = "," if number < len(pairs) - 1 else ""
            head = f'{_INDENT}"{name}": '
            if _is_read(item):
                yield from _listed(head, item, comma, _INDENT)
            else:
                yield f"{head}{_indented(item, _INDENT)}{comma}"
        yield "}"
    else:
        yield _indented(value, "")


def is_listing(value: Any) -> bool:
    """Return whether a value consists of several: a list, or a lazy iterable."""
    return isinstance(value, list | tuple) or _is_read(value)


def _listed(head: str, items: Iterable[Any], comma: str, indent: str = "") -> Iterator[str]:
    """Yield a list, keeping one element in memory at a time."""
    last: str | None = None
    for item in items:
        yield f"{head}[" if last is None else f"{last},"
        last = f"{indent}{_INDENT}{_indented(item, indent + _INDENT)}"
    if last is None:
        yield f"{head}[]{comma}"
    else:
        yield last
        yield f"{indent}]{comma}"


def _indented(value: Any, indent: str) -> str:
    data = _encoded(value)
    # Line breaks inside text are escaped, so any that occur come from the layout.
    return msgspec.json.format(data, indent=2).decode().replace("\n", f"\n{indent}")


def _encoded(value: Any) -> bytes:
    plain = msgspec.to_builtins(value, builtin_types=(bytes,), str_keys=True, enc_hook=_plain)
    return msgspec.json.encode(_writable(plain))


def _writable(value: Any) -> Any:
    """Return a value with what JSON lacks as the text that options such as `--key` take."""
    match value:
        case dict():
            return {name: _writable(item) for name, item in value.items()}
        case list() | tuple():
            return [_writable(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
        case bytes():
            return value.hex()
    return value


def _plain(value: Any) -> Any:
    # msgspec takes no subclass of str, such as the text of a date that Python can't hold.
    return str(value) if isinstance(value, str) else list(value)


def _reads(value: Any) -> bool:
    return any(_is_read(getattr(value, field.name)) for field in fields(value))


def _is_read(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, _HELD) and not _is_value(value)


def _is_value(value: Any) -> bool:
    return is_dataclass(value) or isinstance(value, msgspec.Struct)
