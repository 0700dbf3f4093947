"""Landing: the single path by which work gets onto a branch.

Merges, resumed merges, promotions, published runs, picks and reverts differ in what they bring (a
plan) and in the conditions it must meet (`Terms`). The rest is shared: make a plan, check it, and
put it on the branch. If another writer was first, plan again. If the plan has conflicts, keep them
on a branch of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from shlex import quote
from typing import Final, NamedTuple, NoReturn

from dbt.adapters.vcs.changes.merges.approvals import check_approved
from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import ConflictTable
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import (
    Clash,
    OpenMerge,
    Terms,
    open_merge_of,
    tables_of,
)
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.changes.merges.merge_plan import MergePlan, Work, plan_merge, planned_changes
from dbt.adapters.vcs.changes.merges.stale_by_merge import Validator, check_fresh
from dbt.adapters.vcs.changes.merges.table_merge import TableMerges
from dbt.adapters.vcs.changes.writes.append import combined
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, TreeId
from dbt.adapters.vcs.core.maintenance import ReplacedError
from dbt.adapters.vcs.core.model import Absent, RelationName, TableEntry, Tree
from dbt.adapters.vcs.core.repository import (
    BranchMovedError,
    Proposal,
    Repository,
    TreeConflictError,
)
from dbt.adapters.vcs.core.retention import check_present, hold_change, hold_work
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges
from dbt.adapters.vcs.core.turns import attempts
from dbt.adapters.vcs.engines.port import Rewriters
from dbt.adapters.vcs.table.files.block_reader import is_readable
from dbt.adapters.vcs.table.python_values import python_rows
from dbt.adapters.vcs.workspace.run_branch import Status, check_tested, record_of, run_of

# Rows that an error shows.
_SHOWN: Final = 100
# Characters of a row that an error shows: a value may have megabytes.
_LONGEST: Final = 500


class LandedWork(NamedTuple):
    """Work that landed.

    Attributes:
        before: The branch's head before.
        after: Its head now; the same if there was nothing to change.
    """

    plan: MergePlan
    before: CommitId
    after: CommitId


def land_work(
    repository: Repository,
    work: Work,
    target: str,
    terms: Terms,
    *,
    author: str,
    sessions: Rewriters,
    validator: Validator | None = None,
) -> LandedWork:
    """Merge work into a branch; keep undecided conflicts for somebody to resolve.

    What `validator` accepted is what lands: it sees each plan, and again after every lost race.

    Raises:
        NotFoundError: There is no such branch, or rows of the work have been collected.
        ProtectedError: The branch only takes promotions, and this is not one.
        ConflictError: The terms are not met, or both sides changed the same thing differently. The
            branch was not changed.
        RetryError: Another writer was first on every attempt; nothing was changed.
    """
    # One for all attempts: what the winner of a race left alone isn't merged again.
    tables = TableMerges(repository, sessions)

    def plan(branch: Branch) -> MergePlan:
        now = _as_now(repository, work)
        # Before anything is read: a collection must not delete what the plan relies on.
        if now.joins:
            hold_work(repository, now.source, now.commit, onto=branch.head, author=author)
        if now.applies is not None and now.base is not None:
            hold_change(repository, now.base, now.commit, onto=branch.head, author=author)
        with repository.maintenance.told(now.commit, branch.head):
            return plan_merge(repository, now, branch, tables)

    what = f"{work.applies or 'merge'} {work.source!r} into {target!r}"
    landed = land_plan(
        repository, target, plan, terms, author=author, what=what, validator=validator
    )
    _close(repository, work, target, author)
    return landed


def land_plan(
    repository: Repository,
    target: str,
    plan_for: Callable[[Branch], MergePlan],
    terms: Terms,
    *,
    author: str,
    what: str,
    validator: Validator | None = None,
) -> LandedWork:
    """Plan against a branch's head and land the result; `what` names the verb in errors.

    Plans again after every lost race. Raises what `land_work` raises.
    """
    with repository.turns.on(target) as turn:
        for _ in turn.attempts(what):
            branch = repository.branch(target)
            branch.check_open(promotes=terms.promotes)
            try:
                plan = plan_for(branch)
            except ReplacedError:
                # A purge has taken what the plan was to read: plan again on the new history.
                continue
            # Requirements that the branch got since the merge was begun hold as well.
            held = terms.on(branch)
            maintenance, sides = repository.maintenance, (plan.work.commit, branch.head)
            try:
                with maintenance.told(*sides):
                    check_terms(repository, plan, held)
                    if validator is not None:
                        plan = validator(plan)
                    recorded = replace(terms, metadata={**terms.metadata, **plan.metadata})
                    if plan.how == "conflict":
                        _refuse_conflicts(repository, plan, held, author)
                    moved = _put(
                        repository, plan, recorded, author, is_validated=validator is not None
                    )
            except ReplacedError:
                if all(maintenance.current(side) == side for side in sides):
                    raise
                # A purge has rewritten one of them since the plan was made: plan again.
                continue
            if moved is not None:
                return LandedWork(plan, *moved)
    raise AssertionError("attempts raises when it ends")


def _as_now(repository: Repository, work: Work) -> Work:
    """Return work with the commits that took the place of its own in purges since it began."""
    current = repository.maintenance.current
    run = None if work.run is None else replace(work.run, fork=current(work.run.fork))
    base = None if work.base is None else current(work.base)
    return replace(work, commit=current(work.commit), run=run, base=base)


def check_terms(repository: Repository, plan: MergePlan, terms: Terms) -> None:
    """Check a plan against the terms; it may still have conflicts.

    Raises:
        ConflictError: It must be a fast-forward and is not; or values were chosen for rows that it
            does not merge; or tests are required, and not all of them passed on exactly the
            versions that would be published; or fresh tables are, and some would be stale; or an
            approval is, and nobody approved that commit.
    """
    plan.check_values()
    if terms.ff_only:
        plan.check_fast_forward()
    if "tests" in terms.require:
        _check_required_tests(repository, plan)
    if "approval" in terms.require and plan.how != "up_to_date":
        _check_unmixed(repository, plan, "An approval is required, and nobody can have seen")
        check_approved(repository, plan.work.source, plan.work.commit, plan.target.name)
    # What a conflict will become isn't known before it is resolved.
    if "fresh" in terms.require and plan.how != "conflict":
        check_fresh(repository, plan)


def _refuse_conflicts(
    repository: Repository, plan: MergePlan, terms: Terms, author: str
) -> NoReturn:
    """Store the conflicts of a plan with the terms, and raise the error that says so."""
    source, target = plan.work.source, plan.target.name
    merge = OpenMerge(
        source=source,
        theirs=plan.work.commit,
        target=target,
        base=plan.work.base,
        mode=plan.work.policy.override,
        terms=terms,
        head=plan.target.head,
    )
    keep_conflicts(
        repository, merge, plan.clashes, author=author, decided=bool(plan.work.decisions)
    )
    seen = " and ".join(item for item in ("tests", "approval") if item in terms.require)
    hint = (
        f". {target!r} requires {seen}, and nothing has seen rows that are chosen by hand: rather "
        f"merge {target!r} into {source!r}, resolve there, test or approve that, and promote it."
        if seen
        else ""
    )
    ends = (
        f"Then: dbt-vcs cherry-pick --continue --branch {quote(target)}. To give the pick up: "
        f"dbt-vcs cherry-pick --abort --branch {quote(target)}"
        if plan.work.applies == "cherry-pick"
        else f"Then: dbt-vcs merge --continue {quote(target)}. To give the merge up: dbt-vcs "
        f"merge --abort {quote(target)}"
    )
    raise ConflictError(
        f"{source!r} and {target!r} changed the same in different ways since {plan.base[:12]}: "
        f"{plan.conflicts_line}. Nothing was changed on {target!r}; the conflicts are kept. "
        f"Look at them: dbt-vcs conflicts {quote(target)}. Choose: dbt-vcs resolve --all --with "
        f"ours {quote(target)} (or theirs, base, delete, or for a single relation). {ends}{hint}"
    )


def keep_conflicts(
    repository: Repository,
    merge: OpenMerge,
    clashes: Iterable[Clash],
    *,
    author: str,
    decided: bool = False,
) -> OpenMerge:
    """Store the conflicts of a merge, replacing those of an earlier merge into the same branch.

    Choices made before for the same conflicts of the same commit are kept. `merge.head` is the
    target's head; the returned merge points to the new branch.

    Args:
        decided: True if choices were made before and these are the conflicts left over; the
            decided conflicts are then kept as well.

    Raises:
        ConflictError: There are more conflicts than can be decided one by one, or they are in
            rows with values that only Spark has.
    """
    clashes = tuple(clashes)
    for item in clashes:
        _check_decidable(item)
    whole = {item.name: item.message for item in clashes if item.rows is None}
    tables = {
        item.name: ConflictTable.of(
            item.name, item.rows, item.columns, key=item.key, required=item.required
        )
        for item in clashes
        if item.rows is not None
    }
    for _ in attempts(f"keep the conflicts of the merge into {merge.target!r}"):
        kept = _kept(repository, merge, whole, tables, author=author, decided=decided)
        if kept is not None:
            return kept
    raise AssertionError("attempts raises when it ends")


def _kept(
    repository: Repository,
    merge: OpenMerge,
    whole: Mapping[RelationName, str],
    tables: Mapping[RelationName, ConflictTable],
    *,
    author: str,
    decided: bool,
) -> OpenMerge | None:
    """Replace the branch that keeps a merge; None if somebody wrote to it meanwhile."""
    choices: Mapping[RelationName, Choice] = {}
    branch = repository.find_branch(merge.branch)
    earlier = open_merge_of(branch) if branch else None
    # Choices made when merging another commit were about other rows.
    if earlier is not None and (earlier.theirs, earlier.base) == (merge.theirs, merge.base):
        choices = _still_chosen(earlier, whole, decided=decided)
        whole = {**{name: earlier.whole[name] for name in choices}, **whole}
        tables = _carried(tables, tables_of(repository, earlier), decided=decided)
    merge = replace(merge, whole=whole, choices=choices)
    # What somebody decided since would be lost with the branch.
    if branch is not None and not repository.delete_unmoved(
        branch, author=author, note="begun again"
    ):
        return None
    # The tree holds only conflict tables: the branch shows what there is to decide.
    changes = TreeChanges(
        schemas={name.schema: SchemaInfo() for name in tables},
        relations={
            name: TableEntry(snapshot=table.put(repository)) for name, table in tables.items()
        },
    )
    tree = repository.edit(TreeId(repository.objects.put(Tree())), changes)
    # Built from an existing branch's name, which may predate the rules for names. It holds a merge
    # once it shows the conflicts, not before: this process may die in between.
    try:
        branch = repository.create_branch(
            merge.branch, merge.head, author=author, note=f"merge {merge.source}", check=False
        )
    except InputError:
        if repository.find_branch(merge.branch) is None:
            raise
        return None
    try:
        landed = repository.land(
            Proposal(
                branch=merge.branch,
                base=branch.head,
                tree=tree,
                author=author,
                message=f"Conflicts of merging {merge.source} into {merge.target}",
                state=merge.state,
                # Relations that conflict as a whole have no conflict table.
                allow_empty=True,
                # Another merge may have begun on a branch of the same name and commit.
                after=branch.ref,
                # If a purge has replaced this commit meanwhile, its rows are in new files, and
                # nothing lands.
                read=(merge.theirs, *((merge.base,) if merge.base else ())),
            )
        )
    except (BranchMovedError, NotFoundError):
        return None
    return replace(merge, head=landed.commit)


_ALL_AT_ONCE: Final = (
    "Nothing was changed. Merge with a mode for all of them: --on-conflict skip, accept or cell."
)


def _check_decidable(clash: Clash) -> None:
    """Check that the rows of a conflict can be kept, to be decided one by one."""
    if clash.rows is None:
        return
    foreign = [f"{field.name} ({field.type})" for field in clash.columns if not is_readable(field)]
    if foreign:
        # Conflicts are kept in tables that Arrow writes.
        raise ConflictError(
            f"{clash}, and can't be decided one by one, since only Spark has the values of "
            f"{', '.join(foreign)}. {_ALL_AT_ONCE}"
        )
    if not clash.more:
        return
    shown = "; ".join(str(row)[:_LONGEST] for row in python_rows(clash.rows.slice(0, _SHOWN)))
    raise ConflictError(
        f"{clash}, too many to be decided one by one, such as: {shown}. {_ALL_AT_ONCE}"
    )


def _still_chosen(
    earlier: OpenMerge, whole: Mapping[RelationName, str], *, decided: bool
) -> dict[RelationName, Choice]:
    """Return the choices for relations as a whole that an earlier merge hands on."""
    return {
        name: choice
        for name, choice in earlier.choices.items()
        # It is the same conflict if both sides did the same as then.
        if (decided and name not in whole) or earlier.whole[name] == whole.get(name)
    }


def _carried(
    new: Mapping[RelationName, ConflictTable],
    old: Mapping[RelationName, ConflictTable],
    *,
    decided: bool,
) -> dict[RelationName, ConflictTable]:
    """Return conflict tables with earlier choices for the same conflicts carried over."""
    found = dict(new)
    for name, before in old.items():
        chosen = before.having_choice()
        after = new.get(name)
        if after is None:
            if decided and len(chosen.rows):
                found[name] = chosen
        # Under other columns or another key, the choices were about other rows.
        elif after.fields == before.fields and after.key == before.key:
            found[name] = after.carrying(chosen, others=decided)
    return found


def _put(
    repository: Repository, plan: MergePlan, terms: Terms, author: str, *, is_validated: bool
) -> tuple[CommitId, CommitId] | None:
    """Return the target's head before and after; None if another plan is needed."""
    work, target = plan.work, plan.target
    if plan.how == "up_to_date":
        return target.head, target.head
    shown = repository.tree(target.head).id
    tree = repository.objects.commit(work.commit).tree
    if plan.changes is not None:
        tree = repository.edit(shown, plan.changes)
    check_present(repository, shown, tree)
    # Metadata is recorded in a commit, so it takes one even if the branch could just move.
    if plan.how == "fast_forward" and work.joins and not terms.metadata:
        note = terms.message or f"{work.source}: fast-forward"
        moved = repository.move_branch(
            target, work.commit, author=author, action="merge", note=note, promotes=terms.promotes
        )
        return None if moved is None else (target.head, moved.head)
    run = work.record
    if run is None and work.run is not None:
        # Its branch may have moved on since the work was chosen.
        run = record_of(repository, replace(work.run, head=work.commit))
    try:
        landed = repository.land(
            Proposal(
                branch=target.name,
                base=target.head,
                tree=tree,
                author=author,
                message=terms.message or _message(work, target.name),
                run=run,
                metadata=terms.metadata,
                parents=(work.commit,) if work.joins else (),
                action=work.action,
                promotes=terms.promotes,
                # Land only what was checked, on a branch that still has the same requirements.
                after=target.ref if terms.is_checked or is_validated else None,
                # Rows that are picked or put back are in new files; the result has no parent that
                # says where they are from.
                read=(work.commit, plan.base),
                # Statements that wait follow with the same move (decision 51).
                combine=partial(combined, repository),
            )
        )
    except (BranchMovedError, TreeConflictError):
        # The target has moved since the plan was made: plan again.
        return None
    return landed.before, landed.commit


def _message(work: Work, target: str) -> str:
    if work.run is not None:
        return f"dbt {work.run.command}, published from {work.run.name}"
    return f"Merge {work.source} into {target}"


def _close(repository: Repository, work: Work, target: str, author: str) -> None:
    """Mark a waiting run as published, also when its conflicts were resolved by hand.

    A shared run that got results after those that landed stays as it is: they wait to be
    published, too.
    """
    run = work.run
    # A run that could not be published is failed. With decisions, it was for its conflicts.
    waits = (Status.PASSED, Status.FAILED) if work.decisions else (Status.PASSED,)
    if run is None or run.target != target or run.status not in waits:
        return
    for _ in attempts(f"mark {run.name} as published"):
        branch = repository.find_branch(run.name)
        found = run_of(branch) if branch is not None else None
        if branch is None or found is None or found.status is Status.PUBLISHED:
            return
        if branch.head != repository.maintenance.current(work.commit):
            return
        state = replace(found, status=Status.PUBLISHED, note="").state
        if repository.move_branch(branch, branch.head, author=author, action="state", state=state):
            return


def _check_required_tests(repository: Repository, plan: MergePlan) -> None:
    """Check that tests passed on every version that the plan puts on its target."""
    _check_unmixed(repository, plan, "Tests are required, and no test can have seen")
    work, target = plan.work, plan.target
    changed = [
        RelationName.of(change.name)
        for change in planned_changes(repository, plan)
        if change.kind != "schema"
    ]
    check_tested(repository, work.commit, target.head, changed)


def _check_unmixed(repository: Repository, plan: MergePlan, unseen: str) -> None:
    """Check that each version that a plan puts on its target is the source's or the target's own.

    Raises:
        ConflictError: The merge itself creates one; `unseen` begins the message.
    """
    work, target = plan.work, plan.target
    if plan.changes is None:
        return
    tested, shown = repository.tree(work.commit), repository.tree(target.head)
    mixed = [
        str(name)
        for name, entry in plan.changes.relations.items()
        if (None if entry is Absent else entry) not in (tested.entry(name), shown.entry(name))
    ]
    if mixed:
        raise ConflictError(
            f"{unseen} what merging makes of {', '.join(mixed)}: {target.name!r} has changed too "
            f"since {work.source!r} left it. Nothing was changed. {_next_step(plan)}"
        )


def _next_step(plan: MergePlan) -> str:
    work, target = plan.work, plan.target.name
    given_up = (
        f"Give this merge up (dbt-vcs merge --abort {quote(target)}). " if work.decisions else ""
    )
    if work.run is not None:
        return f"{given_up}Run dbt build again on what {target!r} has now, then promote that run."
    return (
        f"{given_up}Merge {target!r} into {work.source!r}, test or approve that, then promote it "
        "again."
    )
