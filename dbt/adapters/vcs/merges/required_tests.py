"""Required tests: a plan lands only if tests passed on exactly the versions that it lands."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.model import Absent
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.merges.merge_plan import MergePlan, planned_changes
from dbt.adapters.vcs.runs.evidence import check_tested
from dbt.adapters.vcs.scope.mounts import relation_of


def check_required_tests(repository: Repository, plan: MergePlan) -> None:
    """Check that tests passed on every version that the plan puts on its target.

    Tests run on the source, so they can't have seen a table that the merge itself creates.

    Raises:
        ConflictError: Some version has no passed tests; the message says what to do.
    """
    work, target = plan.work, plan.target
    if plan.combination is not None:
        tested, shown = repository.tree(work.commit), repository.tree(target.head)
        mixed = [
            str(name)
            for name, entry in plan.combination.changes.relations.items()
            if (None if entry is Absent else entry) not in (tested.entry(name), shown.entry(name))
        ]
        if mixed:
            raise ConflictError(
                f"Tests are required, and no test can have seen what merging makes of "
                f"{', '.join(mixed)}: {target.name!r} has changed too since {work.source!r} left "
                f"it. Nothing was changed. {_next_step(plan)}"
            )
    changed = [
        relation_of(change.name)
        for change in planned_changes(repository, plan)
        if change.kind != "schema"
    ]
    check_tested(repository, work.commit, target.head, changed)


def _next_step(plan: MergePlan) -> str:
    work, target = plan.work, plan.target.name
    given_up = f"Give this merge up (dbt-vcs merge --abort {target}). " if work.decisions else ""
    if work.run is not None:
        return f"{given_up}Run dbt build again on what {target!r} has now, then promote that run."
    return (
        f"{given_up}Merge {target!r} into {work.source!r}, run dbt test there, then promote it "
        "again."
    )
