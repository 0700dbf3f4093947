"""Merge plan: how a commit, or the work of a run, gets onto a branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dbt.adapters.vcs.changes.diffs.change_summary import ChangeSummary
from dbt.adapters.vcs.changes.diffs.summaries import list_changes, summarize
from dbt.adapters.vcs.changes.merges.conflicts.decisions import Decisions
from dbt.adapters.vcs.changes.merges.conflicts.policy import Policy
from dbt.adapters.vcs.changes.merges.table_merges import TableMerges
from dbt.adapters.vcs.changes.merges.trees import Combination, combine
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Absent, RelationName, Run
from dbt.adapters.vcs.core.plan.tree_merge import Change, SchemaChange, info_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.run_branch import RunBranch

How: TypeAlias = Literal["up_to_date", "fast_forward", "merge", "conflict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What to merge.

    Attributes:
        source: The revision that was given.
        commit: The commit that it names.
        run: The run whose branch it is, or None.
        policy: What to do about conflicts.
        decisions: Decisions about single conflicts, by relation.
        record: The record of the run; None to use the one of its branch.
        undoes: True for a revert, so the commit does not become a parent of the result.
        base: The commit of the target that a run was put on after it began; None for where it
            began.
    """

    source: str
    commit: CommitId
    run: RunBranch | None
    policy: Policy = field(default_factory=Policy)
    decisions: Mapping[RelationName, Decisions] = field(default_factory=dict)
    record: Run | None = None
    undoes: bool = False
    base: CommitId | None = None

    @property
    def joins(self) -> bool:
        """Whether the commit becomes part of the target's history."""
        return self.run is None and not self.undoes

    @property
    def action(self) -> str:
        """What the branch's log calls it."""
        if self.undoes:
            return "revert"
        return "merge" if self.run is None else "publish"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """How to merge.

    Attributes:
        work: What to merge.
        target: The branch to merge into, as it was when the plan was made.
        how: The kind of merge.
        base: The commit that both sides are compared with.
        combination: What changes on the target, if `how` is `merge` or `conflict`.
    """

    work: Work
    target: Branch
    how: How
    base: CommitId
    combination: Combination | None = None

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The undecided conflicts, one line each."""
        if self.combination is None:
            return ()
        return tuple(str(clash) for clash in self.combination.clashes)

    def check_fast_forward(self) -> None:
        """Check that the target can be fast-forwarded.

        Raises:
            ConflictError: The target has commits that the source lacks.
        """
        if self.how not in ("merge", "conflict"):
            return
        source, target = self.work.source, self.target.name
        step = "Build again" if self.work.run else f"Merge {target!r} into {source!r} first"
        raise ConflictError(
            f"{target!r} has commits that {source!r} lacks, so it can't be fast-forwarded. "
            f"Nothing was changed. {step}, or merge without --ff-only."
        )

    def check_values(self) -> None:
        """Check that values chosen by hand have a merge of rows to go into.

        Raises:
            ConflictError: Values were chosen for rows, and the plan merges none.
        """
        chosen = any(item.has_values for item in self.work.decisions.values())
        if self.combination is None and chosen:
            raise ConflictError(
                f"Values were chosen for rows, and by now {self.target.name!r} has all of "
                f"{self.work.source!r}, or nothing else. Nothing was changed. Give the merge up "
                "(dbt-vcs merge --abort), and set the values with an update."
            )


def plan_merge(
    repository: Repository, work: Work, target: Branch, tables: TableMerges
) -> MergePlan:
    """Plan a merge; nothing that a reader could see is written.

    | base, the nearest common ancestor  | how                                                  |
    |------------------------------------|------------------------------------------------------|
    | is the source                      | `up_to_date`                                         |
    | is the target's head               | `fast_forward`                                       |
    | is neither                         | `merge`, `conflict` if something could not be decided |

    The base of a run is the commit it forked from; a target that has the run's commit is up to
    date. Tables that were merged for an earlier plan, and have not changed since, are as they were
    merged then.

    Raises:
        InputError: The two have no common history.
    """
    bases = _bases(repository, work, target)
    base = bases[0]
    if base == work.commit or (work.run and _has_run(repository, work.run, target.head)):
        return MergePlan(work=work, target=target, how="up_to_date", base=base)
    if base == target.head:
        return MergePlan(work=work, target=target, how="fast_forward", base=base)
    combination = combine(
        repository,
        bases=bases,
        ours=target.head,
        theirs=work.commit,
        policy=work.policy,
        decisions=work.decisions,
        tables=tables,
    )
    how: How = "conflict" if combination.clashes else "merge"
    return MergePlan(work=work, target=target, how=how, base=base, combination=combination)


def planned_changes(repository: Repository, plan: MergePlan) -> tuple[ChangeSummary, ...]:
    """Return how the target would change; for a conflict, what merges cleanly."""
    if plan.how == "up_to_date":
        return ()
    if plan.combination is None:
        return list_changes(repository, plan.target.head, plan.work.commit)
    changes = plan.combination.changes
    ours = repository.tree(plan.target.head)
    relations = [
        Change(name, ours.entry(name) or Absent, entry)
        for name, entry in sorted(changes.relations.items())
    ]
    schemas = []
    for name, info in sorted(changes.schemas.items()):
        before = info_of(ours.schema_ref(name)) if ours.has_schema(name) else Absent
        schemas.append(SchemaChange(name, before, info))
    return summarize(repository, schemas, relations)


def _bases(repository: Repository, work: Work, target: Branch) -> list[CommitId]:
    if work.run is not None:
        return [work.base or work.run.fork]
    found = repository.merge_bases(work.commit, target.head)
    if not found:
        raise InputError(
            f"{work.source!r} and {target.name!r} have no common history, so there is nothing to "
            "compare their changes with."
        )
    return found


def _has_run(repository: Repository, run: RunBranch, head: CommitId) -> bool:
    """Return whether a branch has a run's commit, even one that no publisher recorded."""
    forked_at = repository.objects.commit(run.fork).committed_at
    for _, commit in repository.log(head):
        if commit.committed_at <= forked_at:
            return False
        if commit.run is not None and commit.run.invocation == run.invocation:
            return True
    return False
