"""Reuse reasons: why the results of a node were computed, and not taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import datetime_of
from dbt.adapters.vcs.core.model import Input
from dbt.adapters.vcs.core.origins.results import Result
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.reuse.derivation_key import SETTING
from dbt.adapters.vcs.statements.syntax.excerpts import excerpt
from dbt.adapters.vcs.statements.syntax.lexer import tokenize
from dbt.adapters.vcs.verbs.reusing.recorded_nodes import RecordedNode, recorded_nodes
from dbt.adapters.vcs.verbs.reusing.remembered import is_node, known_results

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """How a node ended in the last run that left a record of it.

    Attributes:
        invocation: dbt's invocation id.
        command: dbt's sub-command.
        branch: The branch that the run was for.
        at: When.
        status: dbt's word for how it ended.
        reused: Where all of its results were computed; None if it computed any.
        saved: Seconds that those results took.
        refused: Why results could not be looked up; none if all could.
    """

    invocation: str
    command: str
    branch: str
    at: datetime
    status: str
    reused: str | None
    saved: float
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedStatement:
    """A statement of a node that was computed.

    Attributes:
        statement: Its beginning.
        at: When it was last computed.
        branch: The branch that it was computed for.
        invocation: dbt's invocation id, or None.
        before: When a statement of its kind was computed before; None if never.
        before_branch: The branch that it was computed for then.
        differs: What differs between the two, a clause for each; nothing if it wasn't computed
            before.
    """

    statement: str
    at: datetime
    branch: str
    invocation: str | None
    before: datetime | None
    before_branch: str
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseReasons:
    """Why results of a node were computed.

    Attributes:
        node: dbt's unique id.
        last: The last run on record; None without any.
        statements: Its statements, the last computed first.
    """

    node: str
    last: LastRun | None
    statements: tuple[ComputedStatement, ...]


def reuse_reasons(repository: Repository, node: str, branch: str) -> ReuseReasons:
    """Return why a node's results were computed when they last were.

    Args:
        repository: The repository.
        node: Its unique id or name.
        branch: The branch whose history is searched for runs, besides the branches of runs.

    Raises:
        NotFoundError: No such node has a result or a record, or there is no such branch.
        InputError: Several nodes have the name.
    """
    results = [
        item.result
        for item in known_results(repository)
        if item.result.node is not None and is_node(item.result.node, node)
    ]
    runs = [item for item in recorded_nodes(repository, branch) if is_node(item.node.id, node)]
    ids = sorted({str(item.node) for item in results} | {item.node.id for item in runs})
    if not ids:
        raise NotFoundError(
            f"No run on record built {node!r}, and nothing is remembered of it. Expected a node's "
            f"name or unique id. Build it: dbt build --select {node}"
        )
    if len(ids) > 1:
        raise InputError(
            f"{len(ids)} nodes are named {node!r}. Give the id of one: {', '.join(ids)}."
        )
    last = max(runs, key=lambda item: item.at, default=None)
    return ReuseReasons(
        node=ids[0],
        last=None if last is None else _last(last),
        statements=tuple(_statements(results)),
    )


def _last(found: RecordedNode) -> LastRun:
    node = found.node
    return LastRun(
        invocation=found.invocation,
        command=found.command,
        branch=found.branch,
        at=datetime_of(found.at),
        status=node.status,
        reused=node.reused,
        saved=node.saved,
        refused=() if node.refused is None else tuple(node.refused.split("; ")),
    )


def _statements(results: Iterable[Result]) -> Iterator[ComputedStatement]:
    """Yield each kind of statement as it was last computed."""
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in sorted(results, key=lambda item: item.made_at, reverse=True):
        words = excerpt(result.statement).split(" ", 1)
        groups.setdefault((result.kind, result.target, words[0].lower()), []).append(result)
    changes = [group for (kind, *_), group in groups.items() if kind not in ("answer", "columns")]
    # What a model asks while it is rendered says little, unless that is all it does.
    for group in changes or groups.values():
        yield _statement(group)


def _statement(group: Sequence[Result]) -> ComputedStatement:
    last = group[0]
    before = next((item for item in group[1:] if item.invocation != last.invocation), None)
    return ComputedStatement(
        statement=excerpt(last.statement, 60),
        at=datetime_of(last.made_at),
        branch=last.branch,
        invocation=last.invocation,
        before=None if before is None else datetime_of(before.made_at),
        before_branch="" if before is None else before.branch,
        differs=() if before is None else tuple(_changed_ingredients(before, last)),
    )


def _changed_ingredients(before: Result, after: Result) -> Iterator[str]:
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
