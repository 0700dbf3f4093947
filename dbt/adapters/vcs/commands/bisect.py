"""`dbt-vcs bisect`: the commit, run and model that broke a condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import Annotated

import click

from dbt.adapters.vcs.commands.bisect_condition import (
    FORMS,
    BisectCondition,
    Probes,
    condition_of,
    find_test,
)
from dbt.adapters.vcs.commands.failure import NOT_DONE
from dbt.adapters.vcs.commands.layout import Block, Span, age, brief, counted, entry, line, short
from dbt.adapters.vcs.commands.profile import target_folder
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.graph import Mark, first_bad
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.model import Commit, Entry, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine

Tell = Callable[[int, int], None]
"""Is told how many looks are done, and how many commits are left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A commit on which the condition can't be evaluated.

    Attributes:
        reason: Why.
    """

    commit: CommitId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectReport:
    """What a bisection found.

    Attributes:
        condition: The condition as text, or the test's id.
        base: Their merge base, if that was taken as the good one; else None.
        commits: Commits that are in the history of the bad one and not of the good one.
        first_bad: The first bad commit; None if skipped commits leave several.
        candidates: The commits of which one is the first bad one, newest first, if it is not
            known which.
        skipped: Commits among the candidates on which the condition can't be evaluated.
        looks: How often the condition was computed.
    """

    condition: str
    good: CommitId
    bad: CommitId
    base: CommitId | None
    commits: int
    first_bad: Suspect | None
    candidates: tuple[Suspect, ...]
    skipped: tuple[Skipped, ...]
    looks: int


def bisect(
    repository: Repository,
    good: str,
    bad: str,
    condition: BisectCondition,
    *,
    schema: str,
    engine: Callable[[], Engine],
    tell: Tell = lambda looks, left: None,
) -> BisectReport:
    """Find the commit that broke a condition, and the model, by looking at as few as possible.

    The graph of commits between the two is halved, merges included. If the good commit is no
    ancestor of the bad one, their merge base has to be good as well. Commits on which the
    condition reads the same versions have one answer.

    Args:
        good: A revision on which the condition holds.
        bad: A revision on which it doesn't.
        schema: The schema of names without one.
        engine: Makes the engine, when a look first needs it.
        tell: Is told how far it is, before each look.

    Raises:
        NotFoundError: There is no such revision, or the two have no common ancestor.
        InputError: The revisions are the same commit or the wrong way round, the condition doesn't
            hold at the good one or holds at the bad one, or it can't be evaluated there.
    """
    ends = _Ends(good, bad, repository.resolve(good), repository.resolve(bad))
    base = _merge_base(repository, ends, condition)
    with closing(Probes(repository, condition, schema, engine)) as probes:
        return _Bisection(repository, probes, ends, tell).report(condition, base)


@dataclass(frozen=True, slots=True)
class _Ends:
    good_text: str
    bad_text: str
    good: CommitId
    bad: CommitId


class _Bisection:
    def __init__(self, repository: Repository, probes: Probes, ends: _Ends, tell: Tell) -> None:
        self._repository = repository
        self._probes = probes
        self._ends = ends
        self._tell = tell
        self._reasons: dict[CommitId, str] = {}

    def report(self, condition: BisectCondition, base: CommitId | None) -> BisectReport:
        ends = self._ends
        commits = self._repository.only_reached(ends.bad, [ends.good])
        # First, since it costs no look: where both ends read the same versions, nothing can
        # differ.
        self._check_differ()
        self._check_good(len(commits))
        self._check_bad(len(commits))
        if base is not None:
            self._check_base(base, len(commits))
        found = self._first_bad(commits)
        suspects = tuple(
            _suspect_of(self._repository, self._probes, commit, self._bad_steps(commit))
            for commit in found
        )
        is_one = len(found) == 1
        return BisectReport(
            condition=condition.label,
            good=ends.good,
            bad=ends.bad,
            base=base,
            commits=len(commits),
            first_bad=suspects[0] if is_one else None,
            candidates=() if is_one else suspects,
            skipped=tuple(
                Skipped(commit=commit, reason=self._reasons[commit])
                # Skipped commits matter only where they leave open which one it is.
                for commit in ([] if is_one else found)
                if commit in self._reasons
            ),
            looks=self._probes.done,
        )

    def _first_bad(self, commits: list[CommitId]) -> list[CommitId]:
        """Return the first bad commits of those that the bad one reaches, newest first."""
        # Decision 33: only commits that changed what the condition reads are worth a look.
        good = self._probes.digest(self._ends.good)
        as_good = [commit for commit in commits if self._probes.digest(commit) == good]
        # As in git, what is good has good ancestors: all of these drop out without a look.
        suspects = self._repository.only_reached(self._ends.bad, [self._ends.good, *as_good])
        return self._search(suspects, self._parents)

    def _search(
        self, suspects: list[CommitId], parents_of: Callable[[CommitId], tuple[CommitId, ...]]
    ) -> list[CommitId]:
        known = set(suspects)
        twins: dict[CommitId, CommitId] = {}
        for commit in suspects:
            digest = self._probes.digest(commit)
            # Decision 33: what reads the same as its parent can't be the first bad one.
            for parent in parents_of(commit):
                if (
                    parent in known
                    and digest is not None
                    and self._probes.digest(parent) == digest
                ):
                    twins[commit] = parent
        return first_bad(suspects, parents_of, twins, self._mark_at)

    def _bad_steps(self, commit: CommitId) -> list[CommitId]:
        """Return the step of the commit's run that broke it, several if that is open.

        Nothing is returned if the steps are gone, or none of them broke it by itself.
        """
        steps = _steps_of_published(self._repository, commit)
        # Decision 6: a publication is one commit, which hides the node that broke it.
        if len(steps) < 2:
            return []
        head, fork = steps[0], steps[-1]
        # Published on a target that had moved, the run's own steps need not show what broke.
        if self._mark_at(fork, len(steps)) is not Mark.GOOD:
            return []
        # Decision 33: a run that ended well broke it only together with what others had
        # published.
        if self._mark_at(head, len(steps)) is not Mark.BAD:
            return []
        # The steps of a run are a line: its first parents.
        return self._search(steps[:-1], lambda step: self._parents(step)[:1])

    def _mark_at(self, commit: CommitId, left: int) -> Mark:
        self._tell(self._probes.done, left)
        answer = self._probes.at(commit)
        if answer.mark is Mark.SKIPPED:
            self._reasons[commit] = answer.reason
        return answer.mark

    def _parents(self, commit: CommitId) -> tuple[CommitId, ...]:
        return self._repository.objects.commit(commit).parents

    def _check_differ(self) -> None:
        ends, read = self._ends, self._probes.versions(self._ends.bad)
        same = self._probes.digest(ends.good) == self._probes.digest(ends.bad)
        # What can't be evaluated is left to the looks, which tell why.
        if read is None or read.missing or not same:
            return
        names = ", ".join(str(name) for name, _ in read.entries)
        if not names:
            raise InputError(
                "The condition reads no table of the repository, so it is the same on every "
                f"commit. Write {FORMS}."
            )
        raise InputError(
            f"The condition reads {names}, which {_name_of(ends.good_text, ends.good)} and "
            f"{_name_of(ends.bad_text, ends.bad)} show in the same versions, so it is the same "
            "on both. Give other revisions, or look at what changed: "
            f"dbt-vcs diff {ends.good[:12]}..{ends.bad[:12]}"
        )

    def _check_good(self, left: int) -> None:
        ends = self._ends
        where = _name_of(ends.good_text, ends.good)
        mark = self._mark_at(ends.good, left)
        if mark is Mark.BAD:
            raise InputError(
                f"The condition is already bad at {where}, which should be good. Give an older "
                f"commit as the good one: dbt-vcs log {ends.good[:12]}. A condition is {FORMS}."
            )
        self._check_known(mark, ends.good, where)

    def _check_bad(self, left: int) -> None:
        ends = self._ends
        where = _name_of(ends.bad_text, ends.bad)
        mark = self._mark_at(ends.bad, left)
        if mark is Mark.GOOD:
            raise InputError(
                f"The condition is good at {where}, which should be bad, so nothing broke it. "
                "Give a commit on which it is broken, or check the condition there: dbt-vcs sql "
                f"'select ...' --branch {ends.bad[:12]}"
            )
        self._check_known(mark, ends.bad, where)

    def _check_base(self, base: CommitId, left: int) -> None:
        ends = self._ends
        # Else the good end says nothing of the commits on the way to the bad one.
        if self._mark_at(base, left) is Mark.BAD:
            raise InputError(
                f"{ends.good_text!r} is no ancestor of {ends.bad_text!r}, and the condition is "
                f"already bad at {base[:12]}, where the two parted: it was mended on the way to "
                f"{ends.good_text!r}, not broken on the way to {ends.bad_text!r}. Give an older "
                f"commit as the good one: dbt-vcs log {base[:12]}"
            )

    def _check_known(self, mark: Mark, commit: CommitId, where: str) -> None:
        if mark is Mark.SKIPPED:
            raise InputError(
                f"The condition can't be evaluated at {where}: {self._reasons[commit]}. Give a "
                "commit that has what it reads, or change the condition."
            )


def _merge_base(
    repository: Repository, ends: _Ends, condition: BisectCondition
) -> CommitId | None:
    """Return the merge base of revisions that parted; None if the good one is an ancestor."""
    if ends.good == ends.bad:
        raise InputError(
            f"{ends.good_text!r} and {ends.bad_text!r} are the same commit {ends.good[:12]}. Give "
            f"an older commit as the good one: dbt-vcs log {ends.bad[:12]}"
        )
    if repository.is_ancestor(ends.good, ends.bad):
        return None
    # Told apart from commits that parted: here it helps to swap the two.
    if repository.is_ancestor(ends.bad, ends.good):
        raise InputError(
            f"{ends.good_text!r} should be good and older, and {ends.bad_text!r} bad and later, "
            f"but the good one comes after the bad one. If the condition broke between them, swap "
            f"them: dbt-vcs bisect {quote(ends.bad_text)} {quote(ends.good_text)} "
            f"{condition.option} {quote(condition.label)}"
        )
    base = repository.merge_base(ends.good, ends.bad)
    if base is None:
        raise InputError(
            f"{ends.good_text!r} and {ends.bad_text!r} have no common ancestor, so nothing lies "
            "between them. Give a good commit from the history of the bad one: dbt-vcs log "
            f"{ends.bad[:12]}"
        )
    return base


def _name_of(text: str, commit: CommitId) -> str:
    # Digits of an id say which commit it is. A name may point elsewhere tomorrow.
    return repr(text) if commit.startswith(text) else f"{text!r} ({commit[:12]})"


def _steps_of_published(repository: Repository, published: CommitId) -> list[CommitId]:
    """Return the steps of the run that a commit publishes, newest first.

    The last one is the commit that the run started from. Nothing is returned if it publishes none,
    or if the run's branch and its steps have been collected.
    """
    commit = repository.objects.commit(published)
    if commit.run is None or commit.run.head is None or not commit.parents:
        return []
    # Decision 6: the run's last commit is named, and is no parent.
    steps = [commit.run.head]
    # The steps may be gone with the run's branch, long before the commit that publishes them.
    with suppress(DamagedError):
        # Back to where the run left its target, which may have moved on since.
        while not repository.is_ancestor(steps[-1], commit.parents[0]):
            parents = repository.objects.commit(steps[-1]).parents
            if not parents:
                return []
            steps.append(parents[0])
        return steps
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A relation that the condition reads, and that a commit changed.

    Attributes:
        relation: `schema.identifier`.
        node: dbt's unique id of what made the version; None if no node did, as for a drop.
        before: The version before; None if there was none.
        after: The version after; None if there is none.
    """

    relation: str
    node: str | None
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A commit that may be the first bad one.

    Attributes:
        summary: First line of its message.
        invocation: Id of the dbt run that it publishes; None if it publishes none.
        command: dbt's sub-command of the run, or None.
        steps: The step of the run that broke it, several if that is open, none if steps are gone
            or none of them broke it by itself.
        nodes: dbt's unique ids of the nodes that changed what the condition reads, in these steps
            or else in the commit.
        changed: The relations that the condition reads and that these steps, or else the commit,
            changed; for a merge relative to its first parent.
    """

    commit: CommitId
    parents: tuple[CommitId, ...]
    summary: str
    author: str
    committed_at: datetime
    invocation: str | None
    command: str | None
    steps: tuple[CommitId, ...]
    nodes: tuple[str, ...]
    changed: tuple[Changed, ...]


def _suspect_of(
    repository: Repository, probes: Probes, id: CommitId, steps: Sequence[CommitId]
) -> Suspect:
    """Return a commit as a suspect; `steps` are the steps of its run that may have broken it."""
    commit = repository.objects.commit(id)
    # A publication lists the nodes of all its steps, a step only its own.
    own = _nodes_of(commit)
    # Steps between which the answer is open may show one change twice.
    changed: dict[Changed, None] = {}
    # Oldest first, so that changes are listed in the order in which they happened.
    for step in reversed(steps):
        made = repository.objects.commit(step)
        changed.update(dict.fromkeys(_changes(repository, probes, step, own | _nodes_of(made))))
    if not steps:
        changed.update(dict.fromkeys(_changes(repository, probes, id, own)))
    nodes = dict.fromkeys(item.node for item in changed if item.node is not None)
    return Suspect(
        commit=id,
        parents=commit.parents,
        summary=commit.summary,
        author=commit.author,
        committed_at=datetime_of(commit.committed_at),
        invocation=commit.run.invocation if commit.run else None,
        command=commit.run.command if commit.run else None,
        steps=tuple(steps),
        nodes=tuple(nodes),
        changed=tuple(changed),
    )


def _nodes_of(commit: Commit) -> dict[str, str]:
    """Return the nodes of the run that a commit records, by the relation that each built."""
    nodes = commit.run.nodes if commit.run else ()
    return {node.relation: node.id for node in nodes if node.relation is not None}


def _changes(
    repository: Repository, probes: Probes, id: CommitId, nodes: dict[str, str]
) -> Iterator[Changed]:
    parents = repository.objects.commit(id).parents
    new, old = probes.versions(id), probes.versions(parents[0]) if parents else None
    after = dict(new.entries) if new is not None else {}
    before = dict(old.entries) if old is not None else {}
    for name in sorted({*after, *before}):
        was, now = before.get(name), after.get(name)
        if was != now:
            yield Changed(
                relation=str(name),
                node=_maker(repository, name, now, nodes),
                before=was.version if was else None,
                after=now.version if now else None,
            )


def _maker(
    repository: Repository, name: RelationName, entry: Entry | None, nodes: dict[str, str]
) -> str | None:
    """Return the node that made a version: its own, else the one that the run's record names."""
    node = None
    # A view, a function or a drop has no origin: only the record of the run names a node.
    if isinstance(entry, TableEntry):
        node = repository.objects.snapshot(entry.snapshot).origin.node
    return nodes.get(str(name)) if node is None else node


def _check_bisect(*, sql: str | None, test: str | None, **_: object) -> None:
    if (sql is None) == (test is None):
        raise click.UsageError("Give what to look for: either --sql CONDITION or --test NAME.")


@verb(check=_check_bisect)
def bisect_command(
    session: CommandSession,
    good: str,
    bad: str | None = None,
    *,
    sql: Annotated[
        str | None, Option("What holds at GOOD and not at BAD.", metavar="CONDITION")
    ] = None,
    test: Annotated[
        str | None, Option("A test of the dbt project that passes at GOOD only.", metavar="NAME")
    ] = None,
) -> None:
    """Find the commit, run and model that broke a condition.

    GOOD and BAD are revisions; BAD defaults to the branch in the dbt profile, else the default
    branch. The commits between them are halved as by `git bisect`, and the steps of a dbt run as
    well. CONDITION is one boolean, good while it is true, or a query of wrong rows, good while
    there are none. NAME is a test's name or unique id, as dbt last compiled it.

    Exit codes: 0 found; 1 several commits are left since some can't be evaluated, or there is no
    such revision or test; 2 wrong usage, or an error.
    """
    report = bisect(
        session.repository,
        good,
        bad or session.shown,
        _condition(session, sql, test),
        schema=session.schema,
        engine=session.engine,
        tell=lambda looks, left: session.progress.show(
            f"{counted(looks, 'look')} done, {counted(left, 'commit')} left"
        ),
    )
    session.show(report, _bisect_text(report, session.now))
    if report.first_bad is None:
        raise click.exceptions.Exit(NOT_DONE)


def _condition(session: CommandSession, sql: str | None, test: str | None) -> BisectCondition:
    if sql is not None:
        return condition_of(sql)
    assert test is not None
    return find_test(target_folder(session.settings, session.target), test)


def _bisect_text(report: BisectReport, now: datetime) -> Iterator[Block]:
    """Yield the first bad commit, or those of which one is it, and what to do next."""
    if report.base is not None:
        yield line(
            short(report.good),
            " is no ancestor of ",
            short(report.bad),
            ": good is where they parted, ",
            short(report.base),
        )
    if report.first_bad is not None:
        yield from _suspect_text(report.first_bad, now, " is the first bad commit: ")
    else:
        yield line("The first bad commit is one of these, since some could not be evaluated:")
        reasons = {skipped.commit: skipped.reason for skipped in report.skipped}
        for suspect in report.candidates:
            yield from _suspect_text(suspect, now, " ")
            if suspect.commit in reasons:
                yield line(f"  skipped: {brief(reasons[suspect.commit], 200)}")
    looks, commits = counted(report.looks, "look"), counted(report.commits, "commit")
    yield line(f"{looks}; {commits} between good and bad")
    if report.first_bad is not None:
        yield line(f"Next: {_next_step(report.first_bad)}")


def _suspect_text(suspect: Suspect, now: datetime, verb: str) -> Iterator[Block]:
    yield entry(
        short(suspect.commit),
        verb,
        suspect.summary,
        Span(f"  {suspect.author}, {age(suspect.committed_at, now)}", "faint"),
        gives=2,
    )
    if suspect.invocation is not None:
        yield line(f"  run {suspect.invocation} (dbt {suspect.command})")
    if len(suspect.parents) > 1:
        yield line(f"  a merge of {' and '.join(id[:12] for id in suspect.parents)}")
    if suspect.steps:
        word = "step" if len(suspect.steps) == 1 else "one of the steps"
        yield line(f"  {word} {', '.join(step[:12] for step in suspect.steps)}")
    for item in suspect.changed:
        before = "nothing" if item.before is None else item.before[:12]
        after = "nothing" if item.after is None else item.after[:12]
        by = f" by {item.node}" if item.node else ""
        yield line("  ", Span(item.relation, "name"), f" {before} -> {after}{by}")


def _next_step(suspect: Suspect) -> str:
    at = suspect.steps[0] if len(suspect.steps) == 1 else suspect.commit
    # A diff of rows needs one table with two versions; of anything else `show` says more.
    tables = [item for item in suspect.changed if item.before and item.after]
    if len(tables) == 1 and suspect.parents:
        return f"dbt-vcs diff {at[:12]}^..{at[:12]} {quote(tables[0].relation)}"
    return f"dbt-vcs show {suspect.commit[:12]}"
