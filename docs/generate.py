"""Write the tables of configuration.md from the code: `python docs/generate.py`.

The script writes the parts between `<!-- generated: NAME -->` and `<!-- end -->`, from fields,
constants and their docstrings. The rest of the page is written by hand.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.changes.merges import hook_rules
from dbt.adapters.vcs.changes.merges import project_rules as rules
from dbt.adapters.vcs.credentials import VcsCredentials
from dbt.adapters.vcs.impl import VcsConfig

DOCS: Final = Path(__file__).parent
PAGE: Final = DOCS / "configuration.md"
PACKAGE: Final = DOCS.parent / "dbt/adapters/vcs"
_SECTION: Final = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_PROPERTY: Final = re.compile(r"Table property: (.+)", re.DOTALL)


class UndescribedError(Exception):
    """A setting has no docstring."""


def page(text: str) -> str:
    """Return the page with the tables generated from the code.

    Raises:
        UndescribedError: A field or property has no description.
    """
    return _SECTION.sub(lambda found: f"{found[1]}\n{_TABLES[found[2]]()}\n{found[3]}", text)


def profile() -> str:
    """Return the table of a profile's fields."""
    said = attributes_of(VcsCredentials)
    kinds = get_type_hints(VcsCredentials)
    defaults = {item.name: _shown_default(item) for item in fields(VcsCredentials)}
    _check(said, defaults)
    rows = [(f"`{name}`", defaults[name], _words(kinds[name]), said[name]) for name in said]
    return table(("field", "default", "type", "meaning"), rows)


def configs() -> str:
    """Return the table of configs that the adapter adds to dbt's."""
    said = attributes_of(VcsConfig)
    kinds = get_type_hints(VcsConfig)
    _check(said, [item.name for item in fields(VcsConfig) if not item.name.startswith("_")])
    rows = [(f"`{name}`", _words(kinds[name]), meaning) for name, meaning in said.items()]
    return table(("config", "type", "meaning"), rows)


def properties() -> str:
    """Return the table of known table properties, wherever they are defined."""
    found = {
        name: meaning
        for path in sorted(PACKAGE.rglob("*.py"))
        for name, meaning in _properties_in(path)
    }
    return table(("property", "meaning"), [(f"`{name}`", found[name]) for name in sorted(found)])


def project_rules() -> str:
    """Return the table of keys in vcs.yml."""
    rows = [(f"`{name}`", meaning) for name, meaning in rules.TOP.items()]
    rows += [
        (f"`relations.<schema.table>.{name}`", said) for name, said in rules.OF_RELATION.items()
    ]
    rows += [(f"`export.<pattern>.{name}`", said) for name, said in rules.OF_EXPORT.items()]
    rows += [(f"`review.{name}`", said) for name, said in rules.OF_REVIEW.items()]
    rows += [(f"`on.{name}`", said) for name, said in hook_rules.EVENTS.items()]
    rows += [(f"`on.<event>[].{name}`", said) for name, said in hook_rules.OF_HOOK.items()]
    rows += [(f"`branches.<pattern>.{name}`", said) for name, said in rules.OF_BRANCH.items()]
    return table(("key", "meaning"), rows)


def environment() -> str:
    """Return the table of the environment variables."""
    found = constants_of(Path(str(variables.__file__)))
    return table(("variable", "meaning"), [(f"`{name}`", said) for name, said in found.items()])


def attributes_of(described: type) -> dict[str, str]:
    """Return the entries of the section Attributes of a class's docstring, in order."""
    text = inspect.cleandoc(described.__dict__["__doc__"]).partition("Attributes:\n")[2]
    found = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", text, re.MULTILINE)
    return {name: " ".join(meaning.split()) for name, meaning in found}


def constants_of(path: Path) -> dict[str, str]:
    """Return the values of a module's text constants, each with the docstring below it."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    found: dict[str, str] = {}
    for node, below in zip(body, [*body[1:], ast.Pass()], strict=True):
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant)):
            continue
        if isinstance(node.value.value, str):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            said = str(below.value.value) if is_text else ""
            found[node.value.value] = " ".join(said.split())
    return found


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines
    )


def _properties_in(path: Path) -> Iterator[tuple[str, str]]:
    for name, said in constants_of(path).items():
        matched = _PROPERTY.match(said)
        if matched:
            yield name, matched[1][0].upper() + matched[1][1:]
        elif re.fullmatch(r"vcs\.(?!json$|yml$)[a-z_]+", name):
            raise UndescribedError(
                f"{name} in {path.name} has no docstring that begins with 'Table property: '."
            )


def _check(said: Collection[str], known: Collection[str]) -> None:
    odd = sorted(set(said) ^ set(known))
    if odd:
        raise UndescribedError(
            f"{', '.join(odd)}: fields and the lines under Attributes in the docstring differ."
        )


def _words(kind: Any) -> str:
    """Return the name of a type as the page shows it."""
    if get_origin(kind) in (Union, UnionType):
        parts = [_words(part) for part in get_args(kind) if part is not NoneType]
        return " or ".join(dict.fromkeys(sorted(parts, key=list(_WORDS.values()).index)))
    return _WORDS[get_origin(kind) or kind]


def _shown_default(item: Field[Any]) -> str:
    if item.default is MISSING or item.default in (None, ""):
        return ""
    return f"`{str(item.default).lower() if isinstance(item.default, bool) else item.default}`"


_WORDS: Final[Mapping[Any, str]] = {
    str: "text",
    bool: "`true` or `false`",
    int: "number",
    list: "list",
    dict: "names with values",
}
_TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "profile": profile,
    "configs": configs,
    "properties": properties,
    "rules": project_rules,
    "environment": environment,
}


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
