"""Changed ingredients: what differs between the keys of two results, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Input
from dbt.adapters.vcs.core.origins.results import Result
from dbt.adapters.vcs.reuse.derivation_key import SETTING
from dbt.adapters.vcs.statements.syntax.excerpts import excerpt
from dbt.adapters.vcs.statements.syntax.lexer import tokenize

_LENGTH: Final = 40

_PLAIN: Final = {
    "schema": "the schema of names without one is another",
    "user": "another user ran it, and its text asks who does",
    "always": "reuse: always was set or taken away",
}
_ENGINE: Final = {
    "dbt-vcs": "this version of dbt-vcs computes some things in another way",
    "server": "another Spark server computes it",
    "spark": "Spark has another version",
}


def changed_ingredients(before: Result, after: Result) -> Iterator[str]:
    """Yield a clause for each ingredient of a result that differs from those of another one."""
    old, new = dict(before.ingredients), dict(after.ingredients)
    settings = [name for name in _differing(old, new) if name.startswith(SETTING)]
    for name in _differing(old, new):
        if name == "text":
            yield _text(before, after)
        elif name == "target":
            yield f"{after.target}, which it changes, was another"
        elif name == "settings" and not settings:
            yield "a setting that counts has another value"
        elif name in settings:
            setting = name.removeprefix(SETTING)
            yield _ENGINE.get(setting) or f"the setting {setting} has another value"
        elif name.startswith(("reads ", "difference ")):
            yield _read(name, before, after)
        elif name in _PLAIN:
            yield _PLAIN[name]


def _differing(old: dict[str, str], new: dict[str, str]) -> list[str]:
    return [name for name in dict.fromkeys([*new, *old]) if old.get(name) != new.get(name)]


def _read(name: str, before: Result, after: Result) -> str:
    kind, _, read = name.partition(" ")
    if kind == "difference":
        between = read.replace(", ", " and ")
        return f"the difference that it reads, of {between}, is between other versions"
    if name not in before.ingredients:
        return f"it reads {read} now"
    if name not in after.ingredients:
        return f"it no longer reads {read}"
    return f"{read} {_change(next(_inputs(read, after), None))}"


def _inputs(read: str, result: Result) -> Iterator[Input]:
    return (item for item in result.inputs if item.relation == read)


def _change(read: Input | None) -> str:
    if read is None or read.snapshot is not None:
        return "has other rows or columns"
    if read.external is not None:
        return "has other files, by their paths, sizes or times"
    return "is another, or something that it reads is"


def _text(before: Result, after: Result) -> str:
    """Return where the texts of two results begin to differ."""
    try:
        old, new = tokenize(before.statement)[:-1], tokenize(after.statement)[:-1]
    except InputError:
        return "its text or a config is another"
    pairs = zip(old, new, strict=False)
    at = next(
        (place for place, (left, right) in enumerate(pairs) if left.text != right.text),
        min(len(old), len(new)),
    )
    if at == max(len(old), len(new)):
        is_seed = (after.node or "").startswith("seed.")
        return "its rows or a config are others" if is_seed else "a config is another"
    left, right = (
        excerpt(text[tokens[at].start :], _LENGTH) if at < len(tokens) else "its end"
        for text, tokens in ((before.statement, old), (after.statement, new))
    )
    return f"its text is another: `{right}`, before `{left}`"
