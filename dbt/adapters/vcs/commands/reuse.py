"""`dbt-vcs reuse`: what is remembered of computed results, and why one was computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import Annotated, Final

import click

from dbt.adapters.vcs.commands.layout import Block, Grid, Span, age, counted, line, size
from dbt.adapters.vcs.commands.remembered import (
    DropReport,
    RecordedNode,
    RememberedResult,
    ReuseFigures,
    drop_remembered,
    is_node,
    known_results,
    list_remembered,
    recorded_nodes,
    reuse_figures,
)
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb, verbs
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import datetime_of
from dbt.adapters.vcs.core.model import Input
from dbt.adapters.vcs.core.origins.results import Result
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.reuse.cache_key import SETTING
from dbt.adapters.vcs.sql.syntax.excerpts import excerpt
from dbt.adapters.vcs.sql.syntax.lexer import tokenize

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
            f"name or unique id. Build it: dbt build --select {quote(node)}"
        )
    if len(ids) > 1:
        raise InputError(
            f"{len(ids)} nodes are named {node!r}. Give the id of one: {', '.join(ids)}."
        )
    # By time, since the runs of other branches come first in the list.
    last = max(runs, key=lambda item: item.at, default=None)
    return ReuseReasons(
        node=ids[0],
        last=None if last is None else _last_run(last),
        statements=tuple(_statements(results)),
    )


def _last_run(found: RecordedNode) -> LastRun:
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
        # A node makes several statements; each is compared with the last one of its kind.
        words = excerpt(result.statement).split(" ", 1)
        groups.setdefault((result.kind, result.target, words[0].lower()), []).append(result)
    changes = [group for (kind, *_), group in groups.items() if kind not in ("answer", "columns")]
    # What a model asks while it is rendered says little, unless that is all it does.
    for group in changes or groups.values():
        yield _statement(group)


def _statement(group: Sequence[Result]) -> ComputedStatement:
    last = group[0]
    # Of another run: in one run, a node may carry out statements of one kind several times.
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
    settings = [name for name in _changed_names(old, new) if name.startswith(SETTING)]
    for name in _changed_names(old, new):
        if name == "text":
            yield _text_change(before, after)
        elif name == "target":
            yield f"{after.target}, which it changes, was another"
        # The digest of all settings differs with any of them, so it says more only where none is
        # named.
        elif name == "settings" and not settings:
            yield "a setting that counts has another value"
        elif name in settings:
            setting = name.removeprefix(SETTING)
            yield _ENGINE.get(setting) or f"the setting {setting} has another value"
        elif name.startswith(("reads ", "difference ")):
            yield _change_of_input(name, before, after)
        elif name in _PLAIN:
            yield _PLAIN[name]


def _changed_names(old: dict[str, str], new: dict[str, str]) -> list[str]:
    return [name for name in dict.fromkeys([*new, *old]) if old.get(name) != new.get(name)]


def _change_of_input(name: str, before: Result, after: Result) -> str:
    kind, _, read = name.partition(" ")
    if kind == "difference":
        between = read.replace(", ", " and ")
        return f"the difference that it reads, of {between}, is between other versions"
    if name not in before.ingredients:
        return f"it reads {read} now"
    if name not in after.ingredients:
        return f"it no longer reads {read}"
    found = next((item for item in after.inputs if item.relation == read), None)
    return f"{read} {_input_change(found)}"


def _input_change(read: Input | None) -> str:
    if read is None or read.snapshot is not None:
        return "has other rows or columns"
    if read.external is not None:
        return "has other files, by their paths, sizes or times"
    return "is another, or something that it reads is"


def _text_change(before: Result, after: Result) -> str:
    """Return where the texts of two results begin to differ."""
    try:
        old, new = tokenize(before.statement)[:-1], tokenize(after.statement)[:-1]
    except InputError:
        return "its text or a config is another"
    # Not strict: one text may be the beginning of the other.
    pairs = zip(old, new, strict=False)
    at = next(
        (place for place, (left, right) in enumerate(pairs) if left.text != right.text),
        min(len(old), len(new)),
    )
    # No token differs. Besides the text, this ingredient covers a seed's rows and configs.
    if at == max(len(old), len(new)):
        is_seed = (after.node or "").startswith("seed.")
        return "its rows or a config are others" if is_seed else "a config is another"
    left, right = (
        excerpt(text[tokens[at].start :], _LENGTH) if at < len(tokens) else "its end"
        for text, tokens in ((before.statement, old), (after.statement, new))
    )
    return f"its text is another: `{right}`, before `{left}`"


# How those reasons begin that a person may know better: `reuse: always` overrides these.
_BY_CHOICE: Final = ("it depends on the moment", "it may give another result", "Spark does not")


def _reasons_text(reasons: ReuseReasons, now: datetime) -> Iterator[Block]:
    yield line(Span(reasons.node, "name"))
    if reasons.last is not None:
        yield from _last_text(reasons.last, now)
    for statement in reasons.statements:
        yield from _statement_text(statement, now)
    if not reasons.statements:
        yield line("  No result of it is remembered.")


def _last_text(last: LastRun, now: datetime) -> Iterator[Block]:
    run = f"dbt {last.command} for {last.branch}, {age(last.at, now)} ({last.invocation})"
    if last.reused is not None:
        yield line(f"  Reused from {last.reused} by {run}: {last.saved:.1f} s of work saved.")
        return
    yield line(f"  Ended as {last.status} in {run}; not all of it was taken.")
    for why in last.refused:
        yield line(f"  Not looked up: {why}.")
    if any(choice in why for why in last.refused for choice in _BY_CHOICE):
        yield line("  To take such a result in any case, set the config reuse: always.")


def _statement_text(statement: ComputedStatement, now: datetime) -> Iterator[Block]:
    on = f" for {statement.branch}" if statement.branch else ""
    yield line(
        Span("  "), Span(statement.statement), f" was last computed{on} {age(statement.at, now)}."
    )
    if statement.before is None:
        yield line("    Nothing is remembered of an earlier time.")
        return
    where = f" for {statement.before_branch}" if statement.before_branch else ""
    yield line(f"    Since it was computed{where} {age(statement.before, now)}:")
    for clause in statement.differs:
        yield line(f"      {clause}")
    if not statement.differs:
        yield line("      nothing that is on record differs; its result was dropped or collected")


_SHOWN: Final = 12


def _results_text(results: Sequence[RememberedResult], now: datetime) -> Iterator[Block]:
    if not results:
        yield line("Nothing is remembered.")
        return
    yield Grid(
        heads=("KEY", "KIND", "NODE", "ROWS", "SECONDS", "AGE", "BRANCH"),
        rows=tuple(
            (
                Span(item.key[:_SHOWN], "commit"),
                Span(item.kind),
                Span(item.node or item.relation, "name"),
                Span(
                    "gone" if not item.is_held else "" if item.rows is None else f"{item.rows:,}"
                ),
                Span(f"{item.seconds:.2f}"),
                Span(age(item.made_at, now), "faint"),
                Span(item.branch),
            )
            for item in results
        ),
        right=frozenset({"ROWS", "SECONDS"}),
        whole=frozenset({"KEY"}),
        first=("KEY", "KIND", "NODE"),
    )


def _figures_text(figures: ReuseFigures, now: datetime) -> Iterator[Block]:
    if not figures.results:
        yield line("Nothing is remembered.")
    else:
        since = "" if figures.oldest is None else f", the oldest {age(figures.oldest, now)}"
        yield line(
            f"Remembered: {counted(figures.results, 'result')} of "
            f"{counted(figures.nodes, 'node')}, {size(figures.bytes)}{since}."
        )
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in figures.kinds.items())
        yield line(f"  {kinds}; they took {figures.seconds:,.1f} s to compute.")
    yield line(
        f"In {figures.days:g} days: {counted(figures.runs, 'run')} on record. Of "
        f"{counted(figures.ended, 'node')}, {figures.reused:,} "
        f"{'was' if figures.reused == 1 else 'were'} reused, {figures.saved:,.1f} s of work saved."
    )


def _dropped_text(report: DropReport) -> Iterator[Block]:
    if not report.results:
        yield line("Nothing was remembered.")
        return
    nodes = f" of {counted(len(report.nodes), 'node')}" if report.nodes else ""
    yield line(
        f"Forgot {counted(report.results, 'result')}{nodes}, {size(report.bytes)}. Tables and "
        "history are as before; the next build computes what it needs of these."
    )


@verbs()
def reuse_command() -> None:
    """Show what is remembered of computed results, and why one was computed.

    Without a command: list them. NODE is a node's name or unique id.
    """


@verb(reuse_command)
def reuse_list(
    session: CommandSession,
    *,
    node: Annotated[str | None, Option("Only the results of this node.", metavar="NODE")] = None,
) -> None:
    """List remembered results, newest first."""
    found = list_remembered(session.repository, node)
    session.show(found, _results_text(found, session.now))


@verb(reuse_command)
def reuse_stats(
    session: CommandSession,
    *,
    days: Annotated[float, Option("How far back runs are counted.", metavar="DAYS")] = 30,
) -> None:
    """Show how much is remembered, and what it saved.

    Runs are those of the branch in the dbt profile, else the default branch, and those that left a
    branch behind.
    """
    found = reuse_figures(session.repository, session.shown, days=days)
    session.show(found, _figures_text(found, session.now))


@verb(reuse_command)
def reuse_why(session: CommandSession, node: str) -> None:
    """Show why results of NODE were computed when they last were."""
    found = reuse_reasons(session.repository, node, session.shown)
    session.show(found, _reasons_text(found, session.now))


def _check_drop(*, node: str | None, key: str | None, all: bool) -> None:
    if (node is not None) + (key is not None) + all != 1:
        raise click.UsageError("Say what to forget: one of --node NODE, --key KEY and --all.")


@verb(reuse_command, check=_check_drop)
def reuse_drop(
    session: CommandSession,
    *,
    node: Annotated[str | None, Option("The results of this node.", metavar="NODE")] = None,
    key: Annotated[
        str | None, Option("The result with this key, or its first digits.", metavar="KEY")
    ] = None,
    all: Annotated[bool, "All results."] = False,
) -> None:
    """Forget results, which are computed again when they are needed.

    No table, view or history loses anything.
    """
    report = drop_remembered(session.repository, node=node, key=key)
    session.show(report, _dropped_text(report))
