"""Replay plan: the steps of a run that would do something else if the run began now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from dbt.adapters.vcs.core.model import Entry, Input, RelationName, TableEntry
from dbt.adapters.vcs.core.origins.staleness import is_rebuilt_since, moved_inputs, name_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.project.healing.run_log import LoggedStep

Columns: TypeAlias = tuple[tuple[str, str], ...]
"""Names, in lower case, and types of columns."""

Shown: TypeAlias = Callable[[RelationName], Entry | None]
"""Returns what is shown under a name."""


class RunSides(NamedTuple):
    """A run and what it is published on.

    Attributes:
        base: What the target showed when the run began.
        ours: What it shows now.
        merged: What it would show with the run merged into it.
    """

    base: Shown
    ours: Shown
    merged: Shown


class Replay(NamedTuple):
    """A step that has to be carried out again.

    Attributes:
        step: The step.
        why_not: Why that can't be done; None if it can.
        columns: Names and types of the columns that its temporary views must have, since dbt
            wrote its statements for them; None for any.
    """

    step: LoggedStep
    why_not: str | None
    columns: Columns | None = None


def plan_replays(
    repository: Repository, steps: Sequence[LoggedStep], sides: RunSides
) -> list[Replay]:
    """Return the steps to carry out again, in order; tests that store nothing aside.

    | a step                                                          | again          |
    |-----------------------------------------------------------------|----------------|
    | read what is another version now                                | yes            |
    | read a table of a step that is carried out again                | yes            |
    | changed a table that the target changed, too                    | yes, if it can |
    | changed a relation of a step that is carried out again          | yes            |
    | changed a relation that such a step read before                 | yes            |
    | anything else                                                   | no             |

    What can't be carried out again and both sides changed is left to the merge. What the run
    itself changed before a step read it counts as the merge shows it.
    """
    forced: set[RelationName] = set()
    while True:
        found = _Planner(repository, steps, sides, forced).run()
        missed = _missed(steps, found)
        if not missed:
            return found
        forced |= missed


def _missed(steps: Sequence[LoggedStep], found: Sequence[Replay]) -> set[RelationName]:
    """Return relations of steps that have to be carried out again because others are.

    They share a relation, or a step read a relation before the run changed it.
    """
    chosen = {id(replay.step) for replay in found}
    wanted = {name for replay in found for name in replay.step.writes}
    missed: set[RelationName] = set()
    for step in steps:
        if id(step) in chosen:
            wanted.update(map(name_of, step.reads))
        else:
            missed |= wanted & step.writes.keys()
    return missed


class _Planner:
    """One pass over the steps."""

    def __init__(
        self,
        repository: Repository,
        steps: Sequence[LoggedStep],
        sides: RunSides,
        forced: set[RelationName],
    ) -> None:
        self._repository = repository
        self._steps = [step for step in steps if step.writes]
        self._base, self._ours, self._merged = sides
        self._forced = forced
        self._remade: set[RelationName] = set()

    def run(self) -> list[Replay]:
        found = []
        for number, step in enumerate(self._steps):
            moved, why_not = self._moved(number, step), step.why_not_again()
            both = self._both_changed(step)
            if moved or self._forced & step.writes.keys() or (both and why_not is None):
                columns = None
                if why_not is None:
                    why_not, columns = self._other_columns(step, moved)
                found.append(Replay(step, why_not, columns))
                self._remade.update(
                    name for name, entry in step.writes.items() if isinstance(entry, TableEntry)
                )
        return found

    def _moved(self, number: int, step: LoggedStep) -> list[Input]:
        """Return what is another version now."""
        later = {name for item in self._steps[number + 1 :] for name in item.writes}
        moved = []
        for item in step.reads:
            name = name_of(item)
            if item.external is not None or item.pinned or name in step.writes:
                continue
            shown = self._ours if name in later else self._merged
            if name in self._remade or self._differs(item, shown):
                moved.append(item)
        return moved

    def _both_changed(self, step: LoggedStep) -> bool:
        """Return whether a relation of a step is another one on the target, and since the base."""
        for name, entry in step.writes.items():
            now = self._ours(name)
            if now == self._base(name) or now == entry:
                continue
            if not isinstance(entry, TableEntry) or self._differs(_input(name, entry), self._ours):
                return True
        return False

    def _other_columns(
        self, step: LoggedStep, moved: Sequence[Input]
    ) -> tuple[str | None, Columns | None]:
        """Return why a text that was written for some columns doesn't fit, and what it was for.

        dbt writes the columns of the table into the statements of incremental models, and compares
        them with those of the new rows, which are a temporary view. Where what is read has other
        columns by now, the statements fit if the view still has those of the table.
        """
        kept = [
            (self._base(name), self._ours(name))
            for name, entry in step.writes.items()
            if isinstance(entry, TableEntry) and not self._is_rebuilt(name, entry)
        ]
        if any(self._columns(old) != self._columns(new) for old, new in kept):
            return "the columns of its table have changed, which its statements name", None
        read = [
            (TableEntry(snapshot=item.snapshot), self._merged(name_of(item)))  # type: ignore[arg-type]
            for item in moved
            if item.snapshot is not None
        ]
        if not kept or all(self._columns(old) == self._columns(new) for old, new in read):
            return None, None
        if len(kept) > 1:
            return "what it reads has other columns now, and it changes several tables", None
        return None, self._columns(kept[0][1])

    def _is_rebuilt(self, name: RelationName, entry: TableEntry) -> bool:
        before = self._base(name)
        since = before.snapshot if isinstance(before, TableEntry) else None
        return is_rebuilt_since(self._repository, entry.snapshot, since)

    def _columns(self, entry: Entry | None) -> Columns | None:
        if not isinstance(entry, TableEntry):
            return None
        schema = self._repository.objects.snapshot(entry.snapshot).schema
        return tuple((field.name.lower(), str(field.type)) for field in schema.fields)

    def _differs(self, item: Input, shown: Shown) -> bool:
        return bool(moved_inputs(self._repository, [item], shown))


def _input(name: RelationName, entry: TableEntry) -> Input:
    return Input(relation=str(name), snapshot=entry.snapshot)
