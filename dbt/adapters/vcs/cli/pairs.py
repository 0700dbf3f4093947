"""Pairs: options that give values by name, `NAME=VALUE`, several times."""

from __future__ import annotations

from collections.abc import Iterable

import click


def read_pairs(given: Iterable[str], *, option: str, shape: str) -> dict[str, str]:
    """Return values by name; a later one takes the place of an earlier one of its name.

    Args:
        given: What was typed.
        option: The option, for messages.
        shape: What it expects, for messages: `COLUMN=VALUE`.

    Raises:
        click.BadParameter: One has no name or no `=`.
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"found {text!r}, expected {shape}", param_hint=option)
        found[name] = value
    return found
