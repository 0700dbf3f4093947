"""Every command in a message of the package can be typed as it is printed."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache

import click
import pytest

from dbt.adapters.vcs.commands import COMMANDS
from tests.unit.docs.test_commands import CHECKOUT, _a_folder_of_profiles, parse  # noqa: F401

PACKAGE = CHECKOUT / "dbt/adapters/vcs"
BEGINS = re.compile(rf"\bdbt-vcs (?:{'|'.join(COMMANDS)})\b|(?<=: )dbt (?:build|run|test|retry)\b")
ENDS = re.compile(r"[.,;:)]?(?:\s|$)|`")
# A text may end between two words of a command.
NAMES = re.compile(r'dbt-vcs (?:[a-z]|"\n)|: dbt (?:(?:build|run|test|retry)\b|"\n)')
HOLE = "\x00"
"""Stands for a value that a message is made with."""


def texts(tree: ast.AST) -> Iterator[tuple[str, list[ast.expr], int]]:
    """Yield the texts of a module besides docstrings: with holes, what fills them, the line."""
    nodes = list(ast.walk(tree))
    joined = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    within = {id(part) for node in joined for part in ast.walk(node)} - set(map(id, joined))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    aside = docstrings | within
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            filled = [part for part in node.values if isinstance(part, ast.FormattedValue)]
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values
            )
            yield text, [part.value for part in filled], node.lineno
        elif isinstance(node, ast.Constant) and id(node) not in aside:
            yield str(node.value), [], node.lineno


def is_quoted(value: ast.expr, known: set[str]) -> bool:
    """Return whether a value is words of a shell: quoted, or the digits of a commit."""
    match value:
        case ast.Call(func=ast.Name(id="quote")) | ast.Call(func=ast.Attribute(attr="quote")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="shlex"), attr="join")):
            return True
        case ast.Subscript(slice=ast.Slice(lower=None)):
            return True
        case ast.IfExp():
            return is_quoted(value.body, known) and is_quoted(value.orelse, known)
        case ast.JoinedStr():
            parts = [part for part in value.values if isinstance(part, ast.FormattedValue)]
            return all(is_quoted(part.value, known) for part in parts)
    # A review gets its options as a text of quoted ones.
    return isinstance(value, ast.Name) and value.id in {*known, "options"}


def quoted_names(tree: ast.AST) -> set[str]:
    """Return the names that a module gives to quoted words."""
    return {
        node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and is_quoted(node.value, set())
    }


@cache
def modules() -> list[tuple[str, ast.Module]]:
    """Return the modules of the package that may name a command, with their paths."""
    sources = [(path, path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))]
    return [
        (path.relative_to(PACKAGE).as_posix(), ast.parse(source))
        for path, source in sources
        if NAMES.search(source)
    ]


def printed() -> Iterator[tuple[str, str, list[tuple[ast.expr, bool]]]]:
    """Yield each command in a message with its place and the values in it."""
    for path, tree in modules():
        known = quoted_names(tree)
        for text, filled, line in texts(tree):
            for found in BEGINS.finditer(text):
                words, *quotation = text[found.start() :].split("`")
                before = text[: found.start()].count(HOLE)
                # A sentence may name a command in quotes without its arguments.
                if not quotation or HOLE in words:
                    values = [(value, is_quoted(value, known)) for value in filled[before:]]
                    yield f"{path}:{line}", words, values


PRINTED = [
    pytest.param(text, filled, id=f"{place} {text}"[:90]) for place, text, filled in printed()
]


def command_of(text: str) -> str:
    """Return the longest command that a text begins with.

    Raises:
        click.UsageError: No words from its beginning are one.
    """
    found, refused = "", click.UsageError("")
    words = text.replace(HOLE, "x1").split()
    for many in range(2, len(words) + 1):
        command = " ".join(words[:many]).rstrip(".,;:)")
        try:
            parse(shlex.split(command))
            found = command
        except click.UsageError as error:
            refused = error
        except ValueError:
            # A quotation that ends in a later word.
            continue
        if words[many - 1][-1] in ".;:)":
            break
    if not found:
        raise refused
    return found


@pytest.mark.parametrize(("text", "filled"), PRINTED)
def test_a_printed_command_is_one(text: str, filled: list[tuple[ast.expr, bool]]) -> None:
    command = command_of(text)
    assert not re.search(r"[|<>\[\]]", " ".join(text.split()[: len(command.split()) + 2])), text
    for value, quoted in filled[: command.count("x1")]:
        assert quoted, ast.unparse(value)
