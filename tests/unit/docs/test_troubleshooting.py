"""The page on troubleshooting quotes messages as the code has them."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.unit.docs.test_printed_commands import CHECKOUT, PACKAGE, texts

PAGE = (CHECKOUT / "docs/troubleshooting.md").read_text(encoding="utf-8")
OURS = PAGE.partition("## Messages of others")[0]
QUOTED = re.findall(r"^\| `([^`]+)` \| [^|]+ \| [^|]+ \|$", OURS, re.MULTILINE)


@cache
def messages() -> tuple[str, ...]:
    """Return all texts of the package, without the values in them."""
    return tuple(
        text.replace("\n", " ")
        for path in sorted(PACKAGE.rglob("*.py"))
        for text, _, _ in texts(ast.parse(path.read_text(encoding="utf-8")))
    )


def is_in_the_code(message: str) -> bool:
    """Return whether one text has all that is written out of a message, in order."""
    parts = [part.strip() for part in message.split("…") if part.strip()]
    return any(has_in_order(text, parts) for text in messages())


def has_in_order(text: str, parts: list[str]) -> bool:
    place = 0
    for part in parts:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True


@pytest.mark.parametrize("message", QUOTED)
def test_a_quoted_message_is_the_codes(message: str) -> None:
    assert is_in_the_code(message)


def test_every_row_is_read() -> None:
    rows = [line for line in OURS.splitlines() if re.match(r"\| (?!message|---)", line)]
    assert len(QUOTED) == len(rows) > 25


def test_a_message_that_is_none_is_found() -> None:
    assert not is_in_the_code("The repository … is on fire")
