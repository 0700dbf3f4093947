"""The figures at the top of the first pages are those of docs/performance.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt.adapters.vcs.__version__ import version

CHECKOUT = Path(__file__).parents[3]
FIGURE = re.compile(r"\d[\d.,]* m?s")


def rows(page: str) -> list[list[str]]:
    """Return the figures of each row of the table of what was measured."""
    text = (CHECKOUT / page).read_text(encoding="utf-8").partition("| measured")[2]
    return [FIGURE.findall(line) for line in text.partition("\n\n")[0].splitlines()[2:]]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_each_figure_was_measured(page: str) -> None:
    measured = (CHECKOUT / "docs/performance.md").read_text(encoding="utf-8").splitlines()
    assert len(rows(page)) == 4
    for ours, theirs in rows(page):
        # Tables there may have the unit in the heading.
        either = [rf"(?<![\d.]){re.escape(f.split()[0])}(?![\d.])" for f in (ours, theirs)]
        assert any(all(re.search(f, line) for f in either) for line in measured), (ours, theirs)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_version_is_this_one(page: str) -> None:
    assert f"Version {version}," in (CHECKOUT / page).read_text(encoding="utf-8")
