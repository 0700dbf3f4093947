"""Links from the pages beside the guide lead to pages, and to headings, that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

CHECKOUT = Path(__file__).parents[3]
LINK = re.compile(r"\]\((docs/[^)#]+)(?:#([^)]+))?\)")
LINKS = [
    pytest.param(found[1], found[2], id=f"{page.name}: {found[1]}#{found[2] or ''}")
    for page in sorted(CHECKOUT.glob("*.md"))
    for found in LINK.finditer(page.read_text(encoding="utf-8"))
]


def test_there_are_links_to_headings() -> None:
    assert len([link for link in LINKS if link.values[1]]) > 5


@pytest.mark.parametrize(("path", "heading"), LINKS)
def test_a_link_leads_somewhere(path: str, heading: str | None) -> None:
    target = CHECKOUT / path
    assert target.exists()
    if heading:
        titles = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        assert heading in {slugify(title, "-") for title in titles}
