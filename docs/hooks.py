"""What mkdocs is told beside its settings: GitHub and mkdocs read one set of pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

_CELL: Final = re.compile(r"<td.*?</td>", re.DOTALL)
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_FENCE: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


class UndescribedError(Exception):
    """A page has no title, or no sentence."""


def on_page_content(html: str, **_: Any) -> str:
    r"""Show `a | b` where a cell's code says `a \| b`, as GitHub wants it written."""
    return _CELL.sub(lambda cell: cell[0].replace(r"\|", "|"), html)


def on_post_build(config: Any) -> None:
    """Put llms.txt at the root of the site, for programs that read it."""
    place = Path(config["site_dir"]) / "llms.txt"
    place.write_text(llms_txt(config, Path(config["docs_dir"])), encoding="utf-8")


def llms_txt(settings: Any, docs: Path) -> str:
    """Return the list of all pages by group, each with its title and first sentence.

    It has the form of https://llmstxt.org. Pages that are not in the navigation are at the end, as
    optional. Addresses are relative to the site's root, where the list is.

    Raises:
        UndescribedError: A page has no title, or no sentence.
    """
    groups = {
        name: [page for item in pages for page in item.values()]
        for group in settings["nav"] or ()
        for name, pages in group.items()
    }
    named = {page for pages in groups.values() for page in pages}
    every = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    groups["Optional"] = sorted(every - named)
    lines = [f"# {settings['site_name']}", "", f"> {settings['site_description']}"]
    for name, pages in groups.items():
        lines += ["", f"## {name}", "", *(_listed_page(page, docs) for page in pages)]
    return "\n".join(lines) + "\n"


def _listed_page(page: str, docs: Path) -> str:
    # Of a page that begins with an example, what follows it.
    text = _FENCE.sub("", (docs / page).read_text(encoding="utf-8"))
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    prose = re.search(r"^(?![#!|<>\s-])\S.*(?:\n\S.*)*", text, re.MULTILINE)
    if title is None or prose is None:
        raise UndescribedError(f"{page} has no title, or no sentence before its lists and tables.")
    # A decision begins with a word in bold that says what the sentence is.
    said = re.sub(r"^\*\*[^*]+\.\*\* ", "", " ".join(_LINK.sub(r"\1", prose[0]).split()))
    first = re.match(r".*?[.?](?= |$)", said)
    address = re.sub(r"README(?=\.html$)", "index", page.removesuffix(".md") + ".html")
    return f"- [{title[1]}]({address}): {first[0] if first else said.removesuffix(':') + '.'}"
