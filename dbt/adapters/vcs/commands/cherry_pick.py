"""`dbt-vcs cherry-pick`: apply the changes of single commits to a branch."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Annotated

import click

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import OpenMerge, Terms, find_open_merge
from dbt.adapters.vcs.changes.merges.merge_plan import Work
from dbt.adapters.vcs.commands.failure import ShownFailure
from dbt.adapters.vcs.commands.merge import (
    MergeRequest,
    continue_or_abort,
    merge_as,
    merge_request,
    noted,
)
from dbt.adapters.vcs.commands.merge_report import MergeReport, pick_text
from dbt.adapters.vcs.commands.revert import parent_of
from dbt.adapters.vcs.commands.revisions import is_range, resolve_source
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import (
    DryRun,
    Mainline,
    Message,
    OnConflict,
    Option,
    ToChange,
    check_message,
    check_only,
    verb,
)
from dbt.adapters.vcs.core.errors import ConflictError, InputError, VcsError
from dbt.adapters.vcs.core.graph import ancestors
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine


def cherry_pick(
    repository: Repository,
    revision: str,
    target: str,
    request: MergeRequest | None = None,
    *,
    author: str,
    mainline: int = 1,
    engine: Callable[[], Engine] | None = None,
) -> MergeReport:
    """Apply what a commit changed, relative to its parent number `mainline`, to a branch.

    This is git's three-way merge with the commit's parent as base and the commit as theirs. The
    result is a new commit whose message is that of the commit, with git's line "(cherry picked
    from commit ...)" at the end, and whose author is who picks. There is none if the branch has
    all that the commit changed.

    Args:
        revision: The commit.
        target: The branch.
        request: How to merge; None for the defaults. It is no promotion.
        author: The author of the new commit.
        mainline: The number of the parent.
        engine: As for `merge`.

    Raises:
        NotFoundError: There is no such revision or branch, or rows have been garbage-collected.
        InputError: The commit has no such parent; or the revision is the branch of a run, of which
            a commit is only a step; or the target is the branch of a run or of a merge.
        ProtectedError: The target accepts only promotions.
        ConflictError: The target changed the same in another way, and the policy doesn't decide:
            the conflicts are kept as those of a merge; or a contract is broken; or the commit
            belongs to a run that did not succeed. The target was not changed.
        RetryError: Others moved the target on every attempt; nothing was changed.
    """
    request = request or MergeRequest()
    source = resolve_source(repository, revision)
    commit = source.commit
    if source.run is not None:
        raise InputError(
            f"{revision!r} is the branch of a dbt run, and its commits are only steps of it. To "
            f"have all of the run: dbt-vcs merge {shlex.quote(revision)} {shlex.quote(target)}"
        )
    base = parent_of(repository, commit, mainline)
    message = request.terms.message or repository.objects.commit(commit).message
    terms = Terms(
        message=f"{message.rstrip()}\n\n(cherry picked from commit {commit})",
        metadata={**request.terms.metadata, "picks": commit},
    )
    work = Work(
        source=revision,
        base=base,
        commit=commit,
        run=None,
        policy=request.policy,
        applies="cherry-pick",
    )
    return merge_as(
        repository, work, target, replace(request, terms=terms), author=author, engine=engine
    )


def commits_of(repository: Repository, revisions: Sequence[str]) -> list[str]:
    """Return the revisions to pick one after the other; `a..b` becomes its commits, oldest first.

    These are the commits of b's line of first parents that a lacks, so that what was merged into
    b counts once, as in the commit of the merge.

    Raises:
        NotFoundError: There is no such revision.
        InputError: A range has no commits, or three dots.
    """
    found = [
        commit
        for text in revisions
        for commit in (
            _commits_between(repository, text) if is_range(repository, text) else [text]
        )
    ]
    # Nothing is picked if one of them is misspelled, and `main~1` is another commit once one is.
    return [repository.resolve(text)[:12] for text in found] if len(found) > 1 else found


def _commits_between(repository: Repository, text: str) -> list[str]:
    if "..." in text:
        raise InputError(
            f"Expected a commit or a..b to pick, found {text!r}. To have all that a branch "
            "changed: dbt-vcs merge SOURCE TARGET"
        )
    left, right = repository.resolve_range(text)
    read = repository.objects.commit
    old = set(ancestors([left], lambda id: read(id).parents))
    line_of_first = ancestors([right], lambda id: read(id).parents[:1])
    wanted = list(takewhile(lambda id: id not in old, line_of_first))
    if not wanted:
        raise InputError(f"{text!r} has no commits to pick: its first end has them all.")
    return [id[:12] for id in reversed(wanted)]


def _check_pick(
    *,
    commits: tuple[str, ...],
    go_on: bool,
    abort: bool,
    message: str | None,
    **_: object,
) -> None:
    if go_on or abort:
        form = "--abort" if abort else "--continue"
        check_only(form, "branch", "abort" if abort else "go_on")
        return
    if not commits:
        raise click.UsageError("Missing argument 'COMMIT...'.")
    check_message(message=message)


@verb(check=_check_pick)
def cherry_pick_command(
    session: CommandSession,
    commits: Annotated[tuple[str, ...], Option(metavar="COMMIT...")] = (),
    *,
    branch: ToChange = None,
    go_on: Annotated[
        bool, Option("Finish a pick whose conflicts are resolved.", "--continue")
    ] = False,
    abort: Annotated[bool, "Abort a pick that is waiting for its conflicts."] = False,
    on_conflict: OnConflict = None,
    dry_run: DryRun = False,
    message: Message = None,
    mainline: Mainline = 1,
) -> None:
    """Apply the changes of single commits.

    COMMIT is any revision, or a..b for the commits that b has and a lacks. Each becomes a new
    commit on the branch, which defaults to the one in the dbt profile, else the default branch. A
    conflict waits as that of a merge does. With --continue or --abort, give only the branch.
    """
    if go_on or abort:
        into = branch or session.branch
        _check_picks(find_open_merge(session.repository, into))
        continue_or_abort(session, into, abort=abort)
        return
    revisions = commits_of(session.repository, commits)
    if len(revisions) > 1 and (dry_run or message is not None):
        option = session.spelled("--dry-run" if dry_run else "--message")
        raise click.UsageError(f"{option} can be used with one commit, found {len(revisions)}.")
    target = branch or session.branch
    asked = merge_request(session, target, Terms(message=message), on_conflict)
    request = replace(asked, dry_run=dry_run)
    reports = _pick_all(session, revisions, target, request, mainline)
    session.show(reports, (block for report in reports for block in pick_text(report)))
    if any(report.how == "conflict" for report in reports):
        raise ShownFailure(ConflictError)


def _check_picks(waiting: OpenMerge) -> None:
    """Refuse to continue or abort a merge as a pick."""
    if waiting.base is None:
        raise InputError(
            f"What waits for its conflicts on {waiting.target!r} is the merge of "
            f"{waiting.source!r}, and no pick. To finish it: dbt-vcs merge --continue "
            f"{shlex.quote(waiting.target)}. To give it up: dbt-vcs merge --abort "
            f"{shlex.quote(waiting.target)}"
        )


def _pick_all(
    session: CommandSession,
    revisions: Sequence[str],
    target: str,
    request: MergeRequest,
    mainline: int,
) -> list[MergeReport]:
    """Pick revisions one after the other; an error says what was picked before, and the rest."""
    reports: list[MergeReport] = []
    for at, revision in enumerate(revisions):
        try:
            pick = partial(
                cherry_pick,
                session.repository,
                revision,
                target,
                request,
                author=session.author,
                mainline=mainline,
                engine=session.engine,
            )
            reports.append(
                pick()
                if request.dry_run
                else noted(session, revision, target, "cherry-pick", pick)
            )
        except VcsError as error:
            options = ["--branch", target]
            # Relative to another parent, the rest would bring other changes.
            options += ["--mainline", str(mainline)] if mainline != 1 else []
            mode = request.policy.override
            options += ["--on-conflict", str(mode)] if mode is not None else []
            for told in _rest(reports, revisions[at + 1 :], options):
                error.args = (f"{str(error).rstrip('.')}. {told}", *error.args[1:])
            raise
    return reports


def _rest(
    done: Sequence[MergeReport], left: Sequence[str], options: Sequence[str]
) -> Iterator[str]:
    """Yield what to add to an error in the middle of several picks."""
    if done:
        yield f"Picked before that: {', '.join(report.source for report in done)}"
    if left:
        yield f"Afterwards, for the rest: dbt-vcs cherry-pick {shlex.join([*left, *options])}"
