"""Arguments: what YAML or Jinja gave for a verb's parameter, as the verb takes it."""

from __future__ import annotations

from typing import Any

from dbt.adapters.vcs.core.errors import InputError


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
