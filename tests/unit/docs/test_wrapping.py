"""Prose of the pages is wrapped; headings, tables, code and single words may be longer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
PAGES = [
    *sorted((CHECKOUT / "docs").glob("*.md")),
    *sorted((CHECKOUT / "docs/recipes").glob("*.md")),
    CHECKOUT / "README.md",
    CHECKOUT / "CHANGELOG.md",
    CHECKOUT / "CONTRIBUTING.md",
    CHECKOUT / "SECURITY.md",
]
WIDTH = 120
FENCE = re.compile(r"^ *```.*?^ *```[^\n]*$", re.MULTILINE | re.DOTALL)
# A heading, a row of a table, a picture, or a single word, in a list too.
UNBREAKABLE = re.compile(r"^ *(?:#|\||!\[|(?:[-*] |\d+\. )?(?:\S+|`[^`]+`\S*)$)")


def long_lines(text: str) -> Iterator[str]:
    """Yield the lines of prose that are too long."""
    for line in FENCE.sub("", text).splitlines():
        if len(line) > WIDTH and not UNBREAKABLE.match(line):
            yield line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_prose_is_wrapped(page: Path) -> None:
    assert list(long_lines(page.read_text(encoding="utf-8"))) == []


def test_a_long_line_is_found_unless_it_can_not_be_wrapped() -> None:
    prose = "word " * 30
    row, picture, link = f"| {prose} |", f"![{prose}](a.svg)", "- " + "x" * 130
    page = f"# {prose}\n{prose}\n{row}\n{picture}\n{link}\n```sh\n{prose}\n```\n- {prose}\n"
    assert list(long_lines(page)) == [prose, f"- {prose}"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_marker_of_a_conflict_is_left(page: Path) -> None:
    starts = tuple(7 * character + " " for character in "<>|")
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    assert [line for line in text.splitlines() if line.startswith(starts)] == []
