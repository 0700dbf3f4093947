"""Bisect: the commit, run and model between a good and a bad commit that broke a condition."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass

from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.history.bisection import Mark, first_bad
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.verbs.bisecting.condition import FORMS, BisectCondition
from dbt.adapters.vcs.verbs.bisecting.looks import Looks, Means
from dbt.adapters.vcs.verbs.bisecting.suspects import Suspect, suspect_of

Tell = Callable[[int, int], None]
"""Is told how many looks are done, and how many commits are left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A commit on which the condition can't be evaluated.

    Attributes:
        commit: The commit.
        reason: Why.
    """

    commit: CommitId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectReport:
    """What a bisection found.

    Attributes:
        condition: The condition as text, or the test's id.
        good: The good commit.
        bad: The bad commit.
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
    means: Means,
    tell: Tell = lambda looks, left: None,
) -> BisectReport:
    """Find the commit that broke a condition, and the model, by looking at as few as possible.

    The graph of commits between the two is halved, merges included. If the good commit is no
    ancestor of the bad one, their merge base has to be good as well. Commits on which the
    condition reads the same versions have one answer.

    Args:
        repository: The repository.
        good: A revision on which the condition holds.
        bad: A revision on which it doesn't.
        condition: The condition.
        means: What to look with.
        tell: Is told how far it is, before each look.

    Raises:
        NotFoundError: There is no such revision, or the two have no common ancestor.
        InputError: The revisions are the same commit or the wrong way round, the condition doesn't
            hold at the good one or holds at the bad one, or it can't be evaluated there.
    """
    ends = _Ends(good, bad, repository.resolve(good), repository.resolve(bad))
    base = _base(repository, ends)
    with closing(Looks(repository, condition, means)) as looks:
        return _Bisection(repository, looks, ends, tell).report(condition, base)


@dataclass(frozen=True, slots=True)
class _Ends:
    """The two revisions as written, and their commits."""

    good_text: str
    bad_text: str
    good: CommitId
    bad: CommitId


class _Bisection:
    """One bisection."""

    def __init__(self, repository: Repository, looks: Looks, ends: _Ends, tell: Tell) -> None:
        self._repository = repository
        self._looks = looks
        self._ends = ends
        self._tell = tell
        self._reasons: dict[CommitId, str] = {}

    def report(self, condition: BisectCondition, base: CommitId | None) -> BisectReport:
        ends = self._ends
        commits = self._repository.only_reached(ends.bad, [ends.good])
        self._check_differ()
        self._check_good(len(commits))
        self._check_bad(len(commits))
        if base is not None:
            self._check_base(base, len(commits))
        found = self._first_bad(commits)
        suspects = tuple(map(self._suspect, found))
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
                for commit in ([] if is_one else found)
                if commit in self._reasons
            ),
            looks=self._looks.done,
        )

    def _first_bad(self, commits: list[CommitId]) -> list[CommitId]:
        """Return the first bad commits of those that the bad one reaches, newest first."""
        good = self._looks.digest(self._ends.good)
        as_good = [commit for commit in commits if self._looks.digest(commit) == good]
        suspects = self._repository.only_reached(self._ends.bad, [self._ends.good, *as_good])
        return self._search(suspects, self._parents)

    def _search(
        self, suspects: list[CommitId], parents_of: Callable[[CommitId], tuple[CommitId, ...]]
    ) -> list[CommitId]:
        known = set(suspects)
        twins: dict[CommitId, CommitId] = {}
        for commit in suspects:
            digest = self._looks.digest(commit)
            for parent in parents_of(commit):
                if parent in known and digest is not None and self._looks.digest(parent) == digest:
                    twins[commit] = parent
        return first_bad(suspects, parents_of, twins, self._look)

    def _suspect(self, commit: CommitId) -> Suspect:
        return suspect_of(self._repository, self._looks, commit, self._bad_steps(commit))

    def _bad_steps(self, commit: CommitId) -> list[CommitId]:
        """Return the step of the commit's run that broke it, several if that is open.

        Nothing is returned if the steps are gone, or none of them broke it by itself.
        """
        steps = _steps_of_published(self._repository, commit)
        if len(steps) < 2:
            return []
        head, fork = steps[0], steps[-1]
        if self._look(fork, len(steps)) is not Mark.GOOD:
            return []
        if self._look(head, len(steps)) is not Mark.BAD:
            return []
        return self._search(steps[:-1], lambda step: self._parents(step)[:1])

    def _look(self, commit: CommitId, left: int) -> Mark:
        self._tell(self._looks.done, left)
        answer = self._looks.at(commit)
        if answer.mark is Mark.SKIPPED:
            self._reasons[commit] = answer.reason
        return answer.mark

    def _parents(self, commit: CommitId) -> tuple[CommitId, ...]:
        return self._repository.objects.commit(commit).parents

    def _check_differ(self) -> None:
        ends, read = self._ends, self._looks.versions(self._ends.bad)
        same = self._looks.digest(ends.good) == self._looks.digest(ends.bad)
        if read is None or read.missing or not same:
            return
        names = ", ".join(str(name) for name, _ in read.entries)
        if not names:
            raise InputError(
                "The condition reads no table of the repository, so it is the same on every "
                f"commit. Write {FORMS}."
            )
        raise InputError(
            f"The condition reads {names}, which {_named(ends.good_text, ends.good)} and "
            f"{_named(ends.bad_text, ends.bad)} show in the same versions, so it is the same "
            "on both. Give other revisions, or look at what changed: "
            f"dbt-vcs diff {ends.good[:12]}..{ends.bad[:12]}"
        )

    def _check_good(self, left: int) -> None:
        ends = self._ends
        where = _named(ends.good_text, ends.good)
        mark = self._look(ends.good, left)
        if mark is Mark.BAD:
            raise InputError(
                f"The condition is already bad at {where}, which should be good. Give an older "
                f"commit as the good one: dbt-vcs log {ends.good[:12]}. A condition is {FORMS}."
            )
        self._check_told(mark, ends.good, where)

    def _check_bad(self, left: int) -> None:
        ends = self._ends
        where = _named(ends.bad_text, ends.bad)
        mark = self._look(ends.bad, left)
        if mark is Mark.GOOD:
            raise InputError(
                f"The condition is good at {where}, which should be bad, so nothing broke it. "
                "Give a commit on which it is broken, or check the condition there: dbt-vcs sql "
                f'"<query>" --branch {ends.bad[:12]}'
            )
        self._check_told(mark, ends.bad, where)

    def _check_base(self, base: CommitId, left: int) -> None:
        ends = self._ends
        if self._look(base, left) is Mark.BAD:
            raise InputError(
                f"{ends.good_text!r} is no ancestor of {ends.bad_text!r}, and the condition is "
                f"already bad at {base[:12]}, where the two parted: it was mended on the way to "
                f"{ends.good_text!r}, not broken on the way to {ends.bad_text!r}. Give an older "
                f"commit as the good one: dbt-vcs log {base[:12]}"
            )

    def _check_told(self, mark: Mark, commit: CommitId, where: str) -> None:
        if mark is Mark.SKIPPED:
            raise InputError(
                f"The condition can't be evaluated at {where}: {self._reasons[commit]}. Give a "
                "commit that has what it reads, or change the condition."
            )


def _base(repository: Repository, ends: _Ends) -> CommitId | None:
    """Return the merge base of revisions that parted; None if the good one is an ancestor."""
    if ends.good == ends.bad:
        raise InputError(
            f"{ends.good_text!r} and {ends.bad_text!r} are the same commit {ends.good[:12]}. Give "
            f"an older commit as the good one: dbt-vcs log {ends.bad[:12]}"
        )
    if repository.is_ancestor(ends.good, ends.bad):
        return None
    if repository.is_ancestor(ends.bad, ends.good):
        raise InputError(
            f"{ends.good_text!r} should be good and older, and {ends.bad_text!r} bad and later, "
            f"but the good one comes after the bad one. If the condition broke between them, swap "
            f"them: dbt-vcs bisect {ends.bad_text} {ends.good_text}"
        )
    base = repository.merge_base(ends.good, ends.bad)
    if base is None:
        raise InputError(
            f"{ends.good_text!r} and {ends.bad_text!r} have no common ancestor, so nothing lies "
            "between them. Give a good commit from the history of the bad one: dbt-vcs log "
            f"{ends.bad[:12]}"
        )
    return base


def _named(text: str, commit: CommitId) -> str:
    return repr(text) if commit.startswith(text) else f"{text!r} ({commit[:12]})"


def _steps_of_published(repository: Repository, published: CommitId) -> list[CommitId]:
    """Return the steps of the run that a commit publishes, newest first.

    The last one is the commit that the run started from. Nothing is returned if it publishes none,
    or if the run's branch and its steps have been collected.
    """
    commit = repository.objects.commit(published)
    if commit.run is None or commit.run.head is None or not commit.parents:
        return []
    steps = [commit.run.head]
    with suppress(DamagedError):
        while not repository.is_ancestor(steps[-1], commit.parents[0]):
            parents = repository.objects.commit(steps[-1]).parents
            if not parents:
                return []
            steps.append(parents[0])
        return steps if len(steps) > 1 else []
    return []
