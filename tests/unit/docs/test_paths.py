"""Pages for contributors: every path that they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
PAGE = CHECKOUT / "CONTRIBUTING.md"
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)`|\]\(([^)#:]+)\)")
PATHS = sorted({a or b for a, b in PATH.findall(PAGE.read_text(encoding="utf-8"))})


def test_the_page_names_paths() -> None:
    assert len(PATHS) > 15


@pytest.mark.parametrize("path", PATHS)
def test_a_named_path_exists(path: str) -> None:
    assert (CHECKOUT / path).exists()
