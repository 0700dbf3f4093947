"""The list of what is refused: each statement of it is, in a sentence with the way round."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.sql.syntax.parser import parse

PAGE = Path(__file__).parents[3] / "docs" / "sql.md"
TITLE = "## What is refused\n"
ROW = re.compile(r"^\| `([^`]+)` \| (.+) \|$", re.MULTILINE)
LISTED = ROW.findall(PAGE.read_text(encoding="utf-8").partition(TITLE)[2].partition("\n## ")[0])


def test_there_is_a_list() -> None:
    assert len(LISTED) > 30
    assert len({statement for statement, _ in LISTED}) == len(LISTED)


@pytest.mark.parametrize(("statement", "instead"), LISTED, ids=[row[0] for row in LISTED])
def test_what_the_page_lists_is_refused_with_the_way_round(statement: str, instead: str) -> None:
    try:
        parse(statement)
    except UnsupportedError as error:
        message = str(error)
    else:
        pytest.fail(f"`{statement}` is taken: take it off the list in docs/sql.md.")
    assert message.endswith(".")
    assert "\n" not in message
    # What is wrong, and what to do: no more.
    assert len(re.findall(r"(?<!\.)\.(?: |$)", message)) in (1, 2), message
    for words in re.findall(r"`([^`]+)`", instead):
        assert words in message
