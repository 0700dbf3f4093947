"""Values that an option takes in a form of its own: `NAME=VALUE`, and names behind commas."""

from __future__ import annotations

from typing import Any

import click


class Pair(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases only
    """`NAME=VALUE`, as a pair; an option takes several, and the last one of a name counts.

    A pair is taken as it is, so that an operation may give values that are no texts.

    Attributes:
        name: The form, for messages: `COLUMN=VALUE`.
        is_exact: True if numbers, dates and NULL are kept as such; else all values are texts.
    """

    def __init__(self, shape: str, *, is_exact: bool = False) -> None:
        self.name = shape
        self.is_exact = is_exact

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Return a name and its value.

        Raises:
            click.BadParameter: There is no name or no `=`.
        """
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not name or not equals:
            self.fail(f"found {value!r}, expected {self.name}", param, ctx)
        return name, text


class Names(click.ParamType):  # type: ignore[type-arg]  # as above
    """Names separated by commas, as a tuple of texts; a tuple is taken as it is."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names, without the white space around them."""
        if isinstance(value, tuple):
            return value
        return tuple(name.strip() for name in str(value).split(",") if name.strip())
