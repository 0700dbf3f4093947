"""`dbt-vcs merge` and `promote`: apply a branch's changes to another branch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from shlex import quote
from typing import Annotated

import click

from dbt.adapters.vcs.changes.merges.branch_landing import check_terms, land_work
from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import Decisions, decided_rows
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import (
    OpenMerge,
    Terms,
    begun_meanwhile,
    check_seen,
    close_merge,
    find_open_merge,
    open_merge_of,
    shown_name,
    tables_of,
)
from dbt.adapters.vcs.changes.merges.conflicts.policy import OnStale, Policy
from dbt.adapters.vcs.changes.merges.contracts import check_contracts
from dbt.adapters.vcs.changes.merges.merge_plan import (
    MergeKind,
    MergePlan,
    Work,
    plan_merge,
    planned_changes,
)
from dbt.adapters.vcs.changes.merges.project_rules import Contract
from dbt.adapters.vcs.changes.merges.stale_by_merge import (
    NewlyStale,
    ReadSetCheck,
    Validator,
    stale_after,
)
from dbt.adapters.vcs.changes.merges.table_merge import TableMerges
from dbt.adapters.vcs.commands.failure import ShownFailure
from dbt.adapters.vcs.commands.layout import Block, Span, line
from dbt.adapters.vcs.commands.merge_report import (
    MergeReport,
    merge_text,
    pick_text,
    report_of_landed,
    report_of_merge,
)
from dbt.adapters.vcs.commands.options import Pair
from dbt.adapters.vcs.commands.revisions import (
    Source,
    named_branch,
    resolve_source,
    unpublished_lines,
)
from dbt.adapters.vcs.commands.session import CommandSession, sessions_of
from dbt.adapters.vcs.commands.verb import DryRun, Message, OnConflict, Option, check_only, verb
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine, Rewriters
from dbt.adapters.vcs.workspace.run_branch import run_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """How to merge.

    Attributes:
        terms: The conditions for landing, and how it is recorded; `promotes` makes the merge a
            promotion.
        policy: What to do about conflicts.
        force: True to also merge a run that did not succeed.
        dry_run: True to change nothing.
        protection: The requirements of the target in the project's rules, stored on it first; a
            dry run is only held to them. None for no rule.
        on_stale: What becomes of a run whose target moved away from what it read. `heal` refuses
            what `fail` does, since only the run itself can compute its tables again.
        contracts: What changes of the target may do.
        commit: The commit to merge, if not the one that the source shows by then.
    """

    terms: Terms = field(default_factory=Terms)
    policy: Policy = field(default_factory=Policy)
    force: bool = False
    dry_run: bool = False
    protection: Protection | None = None
    on_stale: OnStale = OnStale.HEAL
    contracts: tuple[Contract, ...] = ()
    commit: CommitId | None = None

    def check_of(self, repository: Repository, work: Work) -> Validator | None:
        """Return what judges the plans of a merge; None if nothing has to."""
        if work.run is None:
            return contract_check(repository, self.contracts)
        # Decision 31: a run must come out as if it had started after what was published meanwhile.
        # Forced, it lands all the same, and its commit names the stale tables.
        fresh = ReadSetCheck(repository, OnStale.WARN if self.force else self.on_stale)
        # What is computed again has to keep to the contracts, too.
        return lambda plan: check_contracts(repository, self.contracts, fresh(plan))


def contract_check(repository: Repository, contracts: tuple[Contract, ...]) -> Validator | None:
    """Return what refuses plans that break contracts; None without any."""
    if not contracts:
        return None
    return lambda plan: check_contracts(repository, contracts, plan)


def merge(
    repository: Repository,
    source: str,
    target: str,
    request: MergeRequest | None = None,
    *,
    author: str,
    engine: Callable[[], Engine] | None = None,
) -> MergeReport:
    """Merge a revision into a branch.

    This works as in git: nothing happens if the target already contains the source, the target is
    fast-forwarded if it has no commits of its own, and otherwise there is a commit with both as
    parents. Tables that both sides changed are merged row by row. The branch of a dbt run is
    published instead: its steps become one commit, and once that is on the run's target branch,
    the run counts as published. A promotion is the only kind of merge that a protected branch
    accepts; if the branch requires tests, they must have passed on exactly the versions that are
    published (`workspace.run_branch`).

    Args:
        source: A revision.
        target: A branch.
        request: How to merge; None for the defaults.
        engine: Creates the engine, for tables with more rows changed on both sides than fit into
            this process; a local Spark if None.

    Raises:
        NotFoundError: The source or the target does not exist.
        InputError: The target is the branch of a run or of a merge, or the two have no common
            history; or a promotion is asked to take a run that did not succeed.
        ProtectedError: The target accepts only promotions, and this is not one.
        ConflictError: Both sides changed a row in different ways, and the policy doesn't decide:
            the conflicts are kept to be resolved; or the terms are not met; or the source belongs
            to a run that did not succeed, and `force` is not set; or a contract is broken. The
            target was not changed.
        RetryError: Others moved the target on every attempt; nothing was changed.
    """
    request = request or MergeRequest()
    if request.terms.promotes and request.force:
        raise InputError("A run that did not succeed can't be promoted, so force is not allowed.")
    work = _work_of(repository, source, request)
    return merge_as(repository, work, target, request, author=author, engine=engine)


def merge_as(
    repository: Repository,
    work: Work,
    target: str,
    request: MergeRequest,
    *,
    author: str,
    engine: Callable[[], Engine] | None = None,
) -> MergeReport:
    """Merge work into a branch as requested; see `merge` for the contract."""
    if not request.dry_run:
        # Stored before the plan is made, which is held to it.
        repository.ensure_protection(target, request.protection, author=author)
        return merge_work(
            repository,
            work,
            target,
            request.terms,
            author=author,
            engine=engine,
            validator=request.check_of(repository, work),
        )
    check_target(repository, target)
    with sessions_of(engine, repository.blobs, "merge") as sessions:
        return _report_of_plan(repository, work, target, request, sessions)


def _work_of(repository: Repository, source: str, request: MergeRequest) -> Work:
    if request.commit is not None:
        found = Source(request.commit, repository.find_ref(source))
    else:
        found = resolve_source(repository, source, force=request.force)
    return Work(source=source, commit=found.commit, run=found.run, policy=request.policy)


def check_target(repository: Repository, target: str) -> None:
    """Raise unless a branch can be merged into.

    Raises:
        NotFoundError: It does not exist.
        InputError: It is a tag, or the branch of a run or of a merge.
    """
    branch = repository.find_branch(target)
    if branch is None and repository.find_tag(target) is not None:
        raise InputError(
            f"{target!r} is a tag, which can't move. Give a branch to merge into, or create one "
            f"there first: dbt-vcs branch create NAME {quote(target)}"
        )
    branch = branch or repository.branch(target)
    what = "dbt run" if run_of(branch) else "merge" if open_merge_of(branch) else None
    if what is not None:
        raise InputError(
            f"{target!r} is the branch of a {what} and can't be merged into. Give another target."
        )


def merge_work(
    repository: Repository,
    work: Work,
    target: str,
    terms: Terms,
    *,
    author: str,
    engine: Callable[[], Engine] | None = None,
    validator: Validator | None = None,
) -> MergeReport:
    """Merge work into a branch on the given terms; see `merge` for the contract."""
    check_target(repository, target)
    with sessions_of(engine, repository.blobs, "merge") as sessions:
        landed = land_work(
            repository, work, target, terms, author=author, sessions=sessions, validator=validator
        )
    return report_of_landed(repository, landed)


def _report_of_plan(
    repository: Repository, work: Work, target: str, request: MergeRequest, sessions: Rewriters
) -> MergeReport:
    """Return what `land_work` would do."""
    # A dry run stores no rule on the target, but is held to it.
    branch, terms = repository.branch(target).assuming(request.protection), request.terms
    branch.check_open(promotes=terms.promotes)
    plan = plan_merge(repository, work, branch, TableMerges(repository, sessions))
    check_terms(repository, plan, terms.on(branch))
    check = request.check_of(repository, work)
    if check is not None:
        check(plan)
    how, after = _head_after(plan, terms)
    return report_of_merge(
        plan,
        how,
        branch.head,
        after,
        planned_changes(repository, plan),
        # A merge with conflicts doesn't land, so it makes nothing stale.
        NewlyStale() if plan.conflicts else stale_after(repository, plan),
        dry_run=True,
    )


def _head_after(plan: MergePlan, terms: Terms) -> tuple[MergeKind, CommitId | None]:
    """Return how a plan would land, and the target's head then; None for a new commit."""
    if plan.how == "up_to_date":
        return plan.how, plan.target.head
    # Decision 6: a run's commits don't become part of the target's history: one new commit
    # publishes them.
    if plan.how != "fast_forward" or not plan.work.joins:
        return plan.how, None
    # Metadata needs a commit to be in.
    return ("merge", None) if terms.metadata else (plan.how, plan.work.commit)


def continue_merge(
    repository: Repository,
    target: str,
    *,
    author: str,
    engine: Callable[[], Engine] | None = None,
    contracts: tuple[Contract, ...] = (),
    seen: CommitId | None = None,
) -> MergeReport:
    """Finish a merge whose conflicts are resolved, and delete its conflict branch.

    The merge is planned again with the choices made, so the target may have moved in the meantime;
    new conflicts are kept as conflicts. The requirements from when the merge started apply, and so
    do the target's current ones. The engine is as for `merge`, and the contracts are the target's.
    `seen` is the head of the merge's branch that the caller saw; None for its present one.

    Raises:
        NotFoundError: No such merge is waiting.
        ProtectedError: The target now accepts only promotions, and the merge isn't one.
        ConflictError: Some conflicts are not resolved yet, or there are new ones; or somebody else
            decided since `seen`; or tests are required, and none can have seen the chosen rows; or
            a contract is broken. The merge keeps waiting.
    """
    # Decision 13: planned again, since the target may have moved while people decided.
    merge = find_open_merge(repository, target)
    check_seen(merge, seen, "merged")
    # The merged branch may be deleted by now: the record of the merge has its commit.
    source = repository.find_branch(merge.source) if merge.base is None else None
    work = Work(
        source=merge.source,
        commit=merge.theirs,
        run=run_of(source) if source is not None else None,
        base=merge.base,
        applies="cherry-pick" if merge.base is not None else None,
        # The mode that the merge was started with, not that of a project that changed since.
        policy=Policy(override=merge.mode),
        decisions=_decisions(repository, merge),
    )
    report = merge_work(
        repository,
        work,
        target,
        merge.terms,
        author=author,
        engine=engine,
        validator=contract_check(repository, contracts),
    )
    # Decision 13: the conflicts are a branch, which goes once the merge has landed. Somebody may
    # have begun another one since, which stays, or have aborted this one too late.
    close_merge(repository, merge, author=author)
    return report


def abort_merge(
    repository: Repository, target: str, *, author: str, seen: CommitId | None = None
) -> OpenMerge:
    """Abort a merge; the target is not changed.

    Raises:
        NotFoundError: No such merge is waiting.
        ConflictError: Its branch is not at `seen`, where the caller saw it; or another merge was
            begun meanwhile.
    """
    merge = find_open_merge(repository, target)
    if not close_merge(repository, merge, author=author, seen=seen):
        raise begun_meanwhile(find_open_merge(repository, target), "aborted")
    return merge


def _decisions(repository: Repository, merge: OpenMerge) -> dict[RelationName, Decisions]:
    open_ = sorted(map(shown_name, merge.whole.keys() - merge.choices.keys()))
    if open_:
        raise ConflictError(
            f"Not resolved yet: {', '.join(open_)}. Choose ours, theirs, base or delete: dbt-vcs "
            f"resolve {quote(open_[0].removeprefix('schema '))} {quote(merge.target)} --with ours"
        )
    found = {name: Decisions(whole=choice) for name, choice in merge.choices.items()}
    for name, table in tables_of(repository, merge).items():
        # Columns are chosen for the relation as a whole, and its rows one by one besides.
        found[name] = replace(found.get(name, Decisions()), rows=decided_rows(table))
    return found


def _aborted_text(merge: OpenMerge) -> Iterator[Block]:
    source, target = Span(merge.source, "name"), Span(merge.target, "name")
    what, onto = ("merge", " into ") if merge.base is None else ("pick", " on ")
    yield line(f"Aborted the {what} of ", source, onto, target, ", which is unchanged.")


def _check_merge(
    *, source: str | None, target: str | None, go_on: bool, abort: bool, **_: object
) -> None:
    if not (go_on or abort):
        if source is None:
            raise click.UsageError("Missing argument 'SOURCE'.")
        return
    form = "--abort" if abort else "--continue"
    hint = "To see what still waits for a decision: dbt-vcs conflicts TARGET"
    check_only(form, "source", "target", "abort" if abort else "go_on", hint=hint)
    if source and target:
        raise click.UsageError(f"{form} takes only the target.")


@verb(check=_check_merge)
def merge_command(
    session: CommandSession,
    source: str | None = None,
    target: str | None = None,
    *,
    on_conflict: OnConflict = None,
    go_on: Annotated[
        bool, Option("Finish a merge whose conflicts are resolved.", "--continue")
    ] = False,
    abort: Annotated[bool, "Abort a merge that is waiting for its conflicts."] = False,
    ff_only: Annotated[bool, "Refuse unless the merge is a fast-forward."] = False,
    dry_run: DryRun = False,
    message: Annotated[str | None, Option("Message of the merge commit.", "-m")] = None,
    force: Annotated[bool, "Also merge a run that failed or is still running."] = False,
) -> None:
    """Merge a branch, with all its relations in one step.

    SOURCE is any revision. TARGET defaults to the branch in the dbt profile, else the default
    branch. Tables that both sides changed are merged row by row. The branch of a dbt run is
    published as one commit. With --continue or --abort, give only TARGET.
    """
    if go_on or abort:
        # The only name that is given is that of the target.
        continue_or_abort(session, source or target or session.branch, abort=abort)
        return
    assert source is not None
    terms = Terms(message=message, ff_only=ff_only)
    _merge(session, source, target, terms, on_conflict, force=force, dry_run=dry_run)


def _merge(
    session: CommandSession,
    source: str,
    target: str | None,
    terms: Terms,
    on_conflict: str | None,
    *,
    force: bool = False,
    dry_run: bool,
) -> None:
    target = target or session.branch
    request = replace(
        merge_request(session, target, terms, on_conflict), force=force, dry_run=dry_run
    )
    report = noted_merge(session, source, target, request)
    session.show(report, merge_text(report))
    if report.how == "up_to_date":
        session.warn(unpublished_lines(session.repository, source, target))
    if report.how == "conflict":
        raise ShownFailure(ConflictError)


def merge_request(
    session: CommandSession,
    target: str,
    terms: Terms | None = None,
    on_conflict: str | None = None,
) -> MergeRequest:
    """Return how the command's project wants a branch to be merged into."""
    return MergeRequest(
        terms=terms or Terms(),
        policy=session.policy(on_conflict),
        protection=session.rules.protection_of(target),
        on_stale=session.rules.on_stale,
        contracts=session.rules.contracts_on(session.repository, target),
    )


def noted_merge(
    session: CommandSession, source: str, target: str, request: MergeRequest
) -> MergeReport:
    """Merge as `merge` does, and note for the project's hooks what happened."""
    made = partial(
        merge,
        session.repository,
        source,
        target,
        request,
        author=session.author,
        engine=session.engine,
    )
    if request.dry_run:
        return made()
    return noted(session, source, target, _action(session, source, request.terms), made)


def noted_continuation(
    session: CommandSession, target: str, seen: CommitId | None = None
) -> MergeReport:
    """Continue a merge as `continue_merge` does, and note it for the project's hooks."""
    waiting = find_open_merge(session.repository, target)
    made = partial(
        continue_merge,
        session.repository,
        session.bound(target),
        author=session.author,
        engine=session.engine,
        contracts=session.rules.contracts_on(session.repository, target),
        seen=seen,
    )
    is_pick = waiting.base is not None
    action = "cherry-pick" if is_pick else _action(session, waiting.source, waiting.terms)
    return noted(session, waiting.source, target, action, made)


def _action(session: CommandSession, source: str, terms: Terms) -> str:
    branch = named_branch(session.repository, source)
    if branch is not None and run_of(branch) is not None:
        return "publish"
    return "promote" if terms.promotes else "merge"


def noted(
    session: CommandSession,
    source: str,
    target: str,
    action: str,
    made: Callable[[], MergeReport],
) -> MergeReport:
    """Return what `made` does to a branch, and note it for the project's hooks as this action."""
    session.watch(target)
    with session.noting_stop(target, source=source, action=action):
        report = made()
    # Without an id only after a dry run.
    after = report.after or report.before
    session.note_landed(target, report.before, after, source=source, action=action)
    return report


def continue_or_abort(session: CommandSession, into: str, *, abort: bool) -> None:
    """Continue or abort the merge into a branch that is waiting for its conflicts."""
    if abort:
        gone = abort_merge(session.repository, into, author=session.author)
        session.show(gone, _aborted_text(gone))
        return
    is_pick = find_open_merge(session.repository, into).base is not None
    done = noted_continuation(session, into)
    session.show(done, pick_text(done) if is_pick else merge_text(done))


@verb()
def promote_command(
    session: CommandSession,
    source: str,
    target: str | None = None,
    *,
    on_conflict: OnConflict = None,
    dry_run: DryRun = False,
    message: Message = None,
    metadata: Annotated[
        tuple[tuple[str, str], ...],
        Option(
            "Extra metadata for the commit, such as ticket=SHOP-12; can be repeated.",
            type=Pair("KEY=VALUE"),
        ),
    ] = (),
) -> None:
    """Publish a branch, all of its relations or none.

    SOURCE is a branch or the branch of a run that passed. TARGET defaults to the branch in the dbt
    profile, else the default branch; it can be protected. If it requires tests, they must have
    passed on exactly the versions that are published.
    """
    terms = Terms(message=message, metadata=dict(metadata), promotes=True)
    _merge(session, source, target, terms, on_conflict, dry_run=dry_run)
