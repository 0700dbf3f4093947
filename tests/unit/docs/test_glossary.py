"""Every word of the glossary lives in the module that the glossary names."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

CHECKOUT = Path(__file__).parents[3]
PACKAGE = CHECKOUT / "dbt/adapters/vcs"
PAGE = CHECKOUT / "docs/glossary.md"
HEAD = "| word | meaning | module | elsewhere |"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| `([\w/.]+)` \|([^|]*)\|$")
MIN_WORDS = 50


class Word(NamedTuple):
    """One row of the glossary."""

    word: str
    meaning: str
    module: str
    elsewhere: str


def tables() -> list[list[str]]:
    """The rows of each table, as text."""
    _, *found = PAGE.read_text(encoding="utf-8").split(HEAD)
    return [[line for line in text.splitlines()[2:] if line.startswith("|")] for text in found]


WORDS = [Word(*found.groups()) for rows in tables() for row in rows if (found := ROW.match(row))]


def subject_of(path: Path) -> str:
    """A module's docstring, and the names and docstrings of what it defines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [ast.get_docstring(tree) or ""]
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            texts += [node.name, ast.get_docstring(node) or ""]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            texts.append(ast.unparse(node))
    return "\n".join(texts)


def test_every_row_is_read() -> None:
    assert MIN_WORDS < len(WORDS) == sum(map(len, tables()))


def test_words_are_in_order_and_explained_once() -> None:
    named = [[row.split("|")[1].strip() for row in rows] for rows in tables()]
    assert [sorted(words) for words in named] == named
    assert len({word.word for word in WORDS}) == len(WORDS)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.word)
def test_the_module_of_a_word_exists_and_is_about_it(word: Word) -> None:
    """The word is in what the module says of itself, or names what it defines."""
    (path,) = [root / word.module for root in (PACKAGE, CHECKOUT) if (root / word.module).exists()]
    text = subject_of(path).lower()
    for part in re.split(r",? ", word.word):
        assert part in text


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.word)
def test_a_meaning_is_one_or_two_sentences(word: Word) -> None:
    assert word.meaning.endswith(".")
    assert len(re.findall(r"\.(?: |$)", word.meaning)) <= 2
