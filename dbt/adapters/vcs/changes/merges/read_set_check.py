"""Read set check: whether a run's tables follow from what its target would show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from dbt.adapters.vcs.changes.merges.conflicts.policy import OnStale
from dbt.adapters.vcs.changes.merges.merge_plan import MergePlan
from dbt.adapters.vcs.changes.merges.stale_by_merge import joined, moved_text, skewed_by
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.origins.staleness import NewlyMoved
from dbt.adapters.vcs.core.repository import Repository

EARLIER: Final = "healed_later_runs"
"""Metadata of a commit whose run counts as earlier than others: their tables, computed again."""


class Judged(NamedTuple):
    """A plan that may land.

    Attributes:
        plan: The plan; perhaps another one than was looked at.
        told: What the commit records of it, as metadata.
    """

    plan: MergePlan
    told: Mapping[str, str]


Judge: TypeAlias = Callable[[MergePlan], Judged]
"""Looks at a plan before it lands or its conflicts are kept, and raises if it must not land."""


class Healed(NamedTuple):
    """A plan whose stale tables were computed again.

    Attributes:
        plan: The plan, with what was computed.
        tables: The relations of the run that were computed again, in order.
        earlier: The tables of other runs that were, as if this run had come before them.
        notes: Why others were not, a sentence each.
    """

    plan: MergePlan
    tables: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


Healer: TypeAlias = Callable[[MergePlan], Healed]
"""Computes what a plan makes stale again; raises a `ConflictError` where that can't be done."""


class ReadSetCheck:
    """Judges the plans of a run that is published, by `on_stale`.

    A run is as good as one that began now if its tables follow from what the target will show. It
    is checked only if the target has moved since the run began. Tables of others that become stale
    by the run are reported: they are what they would be if the run had begun now.

    Attributes:
        lines: What to say about the last plan, once it has landed.
        stale: The tables that this names as stale, `schema.identifier`.
    """

    def __init__(
        self, repository: Repository, on_stale: OnStale, healer: Healer | None = None
    ) -> None:
        """Without a healer, `heal` refuses what `fail` refuses."""
        self.lines: tuple[str, ...] = ()
        self.stale: frozenset[str] = frozenset()
        self._repository = repository
        self._on_stale = on_stale
        self._healer = healer if on_stale is OnStale.HEAL else None

    def __call__(self, plan: MergePlan) -> Judged:
        """Return what may land.

        Raises:
            ConflictError: Tables of the run are stale, and `on_stale` doesn't let them land.
        """
        healed = Healed(plan) if self._healer is None else self._healer(plan)
        again = {*healed.tables, *healed.earlier}
        found = skewed_by(self._repository, healed.plan)
        stale = [item for item in found if str(item.relation) not in again]
        own = [item for item in stale if item.is_theirs]
        if own and self._on_stale is not OnStale.WARN:
            raise ConflictError(refusal(healed.plan, own, self._on_stale))
        self.lines = (*_lines(healed, stale), *healed.notes)
        self.stale = frozenset(str(item.relation) for item in stale)
        told = {}
        if healed.tables:
            told["healed"] = ", ".join(healed.tables)
        if healed.earlier:
            told[EARLIER] = ", ".join(healed.earlier)
        if stale:
            told["stale"] = ", ".join(map(moved_text, stale))
        return Judged(healed.plan, told)


def refusal(plan: MergePlan, own: Sequence[NewlyMoved], on_stale: OnStale) -> str:
    """Return the text of an error about tables of a run that are stale."""
    target = plan.target.name
    return (
        f"{target!r} has moved since the run began, and the run made these tables from versions "
        f"that {target!r} does not show any more: {joined(map(moved_text, own))} (on_stale: "
        f"{on_stale}). Run the dbt command again: it builds on {target!r} as it is now, and takes "
        "what is not stale from what was computed before."
    )


def _lines(healed: Healed, stale: Sequence[NewlyMoved]) -> list[str]:
    target = healed.plan.target.name
    lines = []
    again = (*healed.tables, *healed.earlier)
    if again:
        lines.append(f"Computed again on what {target} shows now: {joined(again)}.")
    if stale:
        lines.append(
            f"Stale on {target}, since others changed what was read: "
            f"{joined(map(moved_text, stale))}. See dbt-vcs stale {target}."
        )
    return lines
