"""Stale by a merge: tables that follow from what each side shows, and not from both together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.model import Absent, Entry, RelationName
from dbt.adapters.vcs.core.origins.staleness import (
    Meeting,
    NewlyMoved,
    entries_of,
    newly_moved,
    stale_among,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.merges.merge_plan import MergePlan

_SHOWN: Final = 10


def skewed_by(repository: Repository, plan: MergePlan) -> list[NewlyMoved]:
    """Return the tables that a plan makes stale because its two sides meet, by name.

    There are none unless both sides have moved. What a side shows stale by itself is left out. Of
    a plan with conflicts, the relations that are undecided count as the target shows them.
    """
    if plan.combination is None:
        return []
    target, source = plan.target.head, plan.work.commit
    by_theirs = {item.name for item in repository.diff(plan.base, source).relations}
    by_ours = {item.name for item in repository.diff(plan.base, target).relations}
    ours = repository.tree(target)

    def merged(name: RelationName) -> Entry | None:
        return _shown(plan, name, ours.entry(name))

    return newly_moved(
        repository,
        Meeting(
            ours=ours,
            theirs=repository.tree(source),
            merged=merged,
            by_ours=by_ours - by_theirs,
            by_theirs=by_theirs,
        ),
    )


def stale_after(repository: Repository, plan: MergePlan) -> tuple[str, ...]:
    """Return the tables that a plan makes stale, each after those that it was made from.

    A table that was stale on the target before, in the same version, is left out.
    """
    if plan.how == "up_to_date":
        return ()
    before = entries_of(repository.tree(plan.target.head))
    if plan.combination is None:
        after = entries_of(repository.tree(plan.work.commit))
    else:
        names = (*before, *plan.combination.changes.relations)
        told = ((name, _shown(plan, name, before.get(name))) for name in names)
        after = {name: entry for name, entry in told if entry is not None}
    return newly_stale(repository, before, after)


def newly_stale(
    repository: Repository,
    before: dict[RelationName, Entry],
    after: dict[RelationName, Entry],
) -> tuple[str, ...]:
    """Return the tables that are stale after a change and were not before, as stored."""
    found = stale_among(repository, after)
    if not found:
        return ()
    known = {(item.relation, item.snapshot) for item in stale_among(repository, before)}
    return tuple(str(i.relation) for i in found if (i.relation, i.snapshot) not in known)


def check_fresh(repository: Repository, plan: MergePlan) -> None:
    """Check that a plan makes no table stale.

    Raises:
        ConflictError: It does; the message names the tables and what to do.
    """
    stale = stale_after(repository, plan)
    if stale:
        raise ConflictError(
            f"{plan.target.name!r} requires fresh tables, and these would be stale there: "
            f"{joined(stale)}. Nothing was changed. Merge {plan.target.name!r} into "
            f"{plan.work.source!r}, build them there (dbt-vcs stale --select prints what to "
            "build), and promote again."
        )


def moved_text(item: NewlyMoved) -> str:
    """Return a table and the inputs that moved, as `table (input, input)`."""
    return f"{item.relation} ({', '.join(sorted({str(moved.relation) for moved in item.moved}))})"


def joined(items: Iterable[str]) -> str:
    """Return items as one text; of many only the first are named."""
    known = list(items)
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return ", ".join(known[:_SHOWN]) + more


def _shown(plan: MergePlan, name: RelationName, ours: Entry | None) -> Entry | None:
    """Return what the target will show under a name."""
    assert plan.combination is not None
    changes = plan.combination.changes
    entry = changes.relations.get(name)
    if entry is Absent or (entry is None and changes.schemas.get(name.schema) is Absent):
        return None
    return ours if entry is None else entry
