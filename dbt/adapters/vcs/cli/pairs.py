"""Option values with a special form: `NAME=VALUE`, names separated by commas, and `1%`."""

from __future__ import annotations

from typing import Any

import click


# Generic from click 8.5 on, which mypy then wants to see.
class Pair(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """`NAME=VALUE` as a pair; if a name is repeated, the last value wins.

    A pair is accepted as it is, so that an operation can pass values that aren't text.

    Attributes:
        name: The form, for messages: `COLUMN=VALUE`.
        is_exact: True if numbers, dates and NULL are kept as such; otherwise all values are text.
    """

    def __init__(self, shape: str, *, is_exact: bool = False) -> None:
        self.name = shape
        self.is_exact = is_exact

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Return a name and its value.

        Raises:
            click.BadParameter: The name or the `=` is missing.
        """
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not name or not equals:
            self.fail(f"expected {self.name}, found {value!r}", param, ctx)
        return name, text


class NameList(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Names separated by commas, as a tuple of strings; a tuple is accepted as it is."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names, without the white space around them."""
        if isinstance(value, tuple):
            return value
        return tuple(name.strip() for name in str(value).split(",") if name.strip())


class Percent(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A share such as `1%` or `0.5%`, as a number of hundredths: more than 0%, at most 100%."""

    name = "percent"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number before the percent sign.

        Raises:
            click.BadParameter: It is no such share.
        """
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) if text.endswith("%") else 0.0
        except ValueError:
            share = 0.0
        if not 0 < share <= 100:
            self.fail(
                f"expected a share such as 1% or 0.5%, more than 0% and at most 100%; found "
                f"{text!r}",
                param,
                ctx,
            )
        return share
