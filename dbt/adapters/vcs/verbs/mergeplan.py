"""Merge plan: in which way a commit, or the work of a run, gets onto a branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Absent
from dbt.adapters.vcs.core.plan.trees import Change, SchemaChange, TreeMerge, info_of, merge_trees
from dbt.adapters.vcs.core.repository import Branch, Repository
from dbt.adapters.vcs.verbs.changes import ChangeSummary, count_changes, list_changes
from dbt.adapters.vcs.workspace.runs import RunBranch

How: TypeAlias = Literal["up_to_date", "fast_forward", "merge", "conflict"]

_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be merged.

    Attributes:
        source: The revision that was given.
        commit: What it means.
        run: The run whose branch it is, or None.
    """

    source: str
    commit: CommitId
    run: RunBranch | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """How to merge.

    Attributes:
        work: What.
        target: Into what, as it was when the plan was made.
        how: In which way.
        base: The commit that both sides are compared with.
        merged: What changes on the target, if `how` is `merge` or `conflict`.
    """

    work: Work
    target: Branch
    how: How
    base: CommitId
    merged: TreeMerge | None = None

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Relations, and schemas' comments or properties, that both sides changed."""
        if self.merged is None:
            return ()
        return (
            *(str(name) for name in self.merged.conflicts),
            *(f"schema {name}" for name in self.merged.schema_conflicts),
        )

    def check(self, *, ff_only: bool) -> None:
        """Raise if the plan can't be carried out.

        Raises:
            ConflictError: Both sides changed one relation, or `ff_only` is set and both changed
                something.
        """
        source, target = self.work.source, self.target.name
        if self.how == "conflict":
            found = self.conflicts
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise ConflictError(
                f"{source!r} and {target!r} both changed, since {self.base[:12]}: "
                f"{', '.join(found[:_SHOWN])}{more}. Nothing was changed. Build these again on a "
                f"branch made from {target!r}, and merge that."
            )
        if self.how == "merge" and ff_only:
            step = "Build again" if self.work.run else f"Merge {target!r} into {source!r} first"
            raise ConflictError(
                f"{target!r} has commits that {source!r} lacks, so it can't be fast-forwarded. "
                f"Nothing was changed. {step}, or merge without --ff-only."
            )


def plan_merge(repository: Repository, work: Work, target: Branch) -> MergePlan:
    """Return how to merge; nothing is written.

    | base, the nearest common ancestor  | how                                               |
    |------------------------------------|---------------------------------------------------|
    | is the source                      | `up_to_date`                                      |
    | is the target's head               | `fast_forward`                                    |
    | is neither                         | `merge`, `conflict` if both changed one relation  |

    The base of a run is where it forked, and a target that has the run's commit is up to date.

    Raises:
        InputError: Both have no common history.
    """
    base = _base(repository, work, target)
    if base == work.commit or (work.run and _has_run(repository, work.run, target.head)):
        return MergePlan(work=work, target=target, how="up_to_date", base=base)
    if base == target.head:
        return MergePlan(work=work, target=target, how="fast_forward", base=base)
    objects = repository.objects
    old, ours, theirs = (
        objects.tree(objects.commit(id).tree) for id in (base, target.head, work.commit)
    )
    merged = merge_trees(old, ours, theirs, objects.schema_tree)
    clashes = bool(merged.conflicts or merged.schema_conflicts)
    how: How = "conflict" if clashes else "merge"
    return MergePlan(work=work, target=target, how=how, base=base, merged=merged)


def planned_changes(repository: Repository, plan: MergePlan) -> tuple[ChangeSummary, ...]:
    """Return how the target would change; for a conflict, what merges cleanly."""
    if plan.how == "up_to_date":
        return ()
    if plan.merged is None:
        return list_changes(repository, plan.target.head, plan.work.commit)
    ours = repository.tree(plan.target.head)
    relations = [
        Change(name, ours.entry(name) or Absent, entry)
        for name, entry in sorted(plan.merged.relations.items())
    ]
    schemas = []
    for name, info in sorted(plan.merged.schemas.items()):
        before = info_of(ours.schema_ref(name)) if ours.has_schema(name) else Absent
        schemas.append(SchemaChange(name, before, info))
    return count_changes(repository, schemas, relations)


def _base(repository: Repository, work: Work, target: Branch) -> CommitId:
    if work.run is not None:
        return work.run.fork
    found = repository.merge_base(work.commit, target.head)
    if found is None:
        raise InputError(
            f"{work.source!r} and {target.name!r} have no common history, so there is nothing to "
            "compare their changes with."
        )
    return found


def _has_run(repository: Repository, run: RunBranch, head: CommitId) -> bool:
    """Tell whether a branch has the commit of a run, also if its publisher died before saying."""
    forked_at = repository.objects.commit(run.fork).committed_at
    for _, commit in repository.log(head):
        if commit.committed_at <= forked_at:
            return False
        if commit.run is not None and commit.run.invocation == run.invocation:
            return True
    return False
