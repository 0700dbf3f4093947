"""Forms of operations whose argument names differ from the parameters of their command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How the arguments of an operation become parameters of its command.

    Attributes:
        arguments: Names of the arguments that replace parameters.
        replaced: Names of the parameters that they replace.
        modes: How the operation sets flags without an argument of their own, by parameter.
        convert: Converts the given arguments to parameters.
    """

    arguments: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    modes: Mapping[str, str] = field(default_factory=dict)
    convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    def arguments_of(self, parameters: Sequence[str]) -> list[str]:
        """Return the argument names for a command with these parameters."""
        return [*self.arguments, *(name for name in parameters if name not in self.replaced)]

    def parameters_of(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that the arguments replace."""
        return dict(given) if self.convert is None else self.convert(dict(given))


def _merge(given: dict[str, Any]) -> dict[str, Any]:
    flags = {"merge": None, "continue": "go_on", "abort": "abort"}
    return _with_flag("merge", "action", given.pop("action", "merge"), flags, given)


def _diff(given: dict[str, Any]) -> dict[str, Any]:
    points = _points(given.pop("revisions", ""), given.pop("relation", ""))
    flags = {"rows": None, "stat": "stat", "summary": "summary", "schema": "schema"}
    return _with_flag(
        "diff", "output", given.pop("output", "rows"), flags, {**given, "points": points}
    )


def _points(revisions: Any, relation: Any) -> list[Any]:
    """Return the revisions, of which one text can hold several, and the relation."""
    points = revisions.split() if isinstance(revisions, str) else [revisions]
    return [*points, relation] if relation != "" else points


def _resolve(given: dict[str, Any]) -> dict[str, Any]:
    # Without a relation, an operation applies to all.
    return given if "relation" in given else {**given, "all": True}


def _with_flag(
    verb: str, name: str, value: Any, flags: Mapping[str, str | None], given: dict[str, Any]
) -> dict[str, Any]:
    if value not in flags:
        raise InputError(f"{verb} has no {name} {value!r}; expected one of {', '.join(flags)}.")
    flag = flags[value]
    return given if flag is None else {**given, flag: True}


FORMS: Final[Mapping[str, Form]] = {
    "merge": Form(
        arguments=("action",),
        replaced=("go_on", "abort"),
        modes={"go_on": "action: continue", "abort": "action: abort"},
        convert=_merge,
    ),
    "diff": Form(
        arguments=("revisions", "relation", "output"),
        replaced=("points", "stat", "summary", "schema"),
        modes={name: f"output: {name}" for name in ("stat", "summary", "schema")},
        convert=_diff,
    ),
    "resolve": Form(
        replaced=("all", "nulls"), modes={"all": "no relation", "nulls": "set"}, convert=_resolve
    ),
}
"""By command."""
