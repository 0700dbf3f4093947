"""What a merge did, or would do: the report, and its lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from shlex import quote

from dbt.adapters.vcs.changes.diffs.summaries import (
    ChangeSummary,
    differing,
    list_changes,
    rows_text,
)
from dbt.adapters.vcs.changes.merges.branch_landing import LandedWork
from dbt.adapters.vcs.changes.merges.merge_plan import MergeKind, MergePlan
from dbt.adapters.vcs.changes.merges.stale_by_merge import (
    Both,
    NewlyStale,
    changed_by_target,
    newly_stale,
)
from dbt.adapters.vcs.changes.merges.table_merge import Merged
from dbt.adapters.vcs.commands.layout import Block, Span, counted, line, short
from dbt.adapters.vcs.commands.output import changes_text
from dbt.adapters.vcs.core.errors import listed
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReport:
    """What a merge did, or would do.

    Attributes:
        target: The branch that it was merged into.
        how: `up_to_date`; `fast_forward`: the target had no changes of its own; `merge`: it had
            some; `conflict`: some of these conflict (only in a dry run).
        dry_run: True if nothing was changed.
        before: The target's head before.
        after: The target's head now; None in a dry run that would create a commit.
        relations: How each relation was merged, if `how` is `merge`.
        conflicts: The conflicts, one line each.
        stale: Tables, `schema.identifier`, that become stale on the target, each after those that
            it was made from.
        stale_unknown: How many tables this is not known of: unchanged ones, where there are too
            many to look at, and those that can't be read.
    """

    source: str
    target: str
    how: MergeKind
    dry_run: bool
    before: CommitId
    after: CommitId | None
    changes: tuple[ChangeSummary, ...]
    relations: tuple[Merged, ...] = ()
    conflicts: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    stale_unknown: int = 0


def report_of_landed(repository: Repository, landed: LandedWork) -> MergeReport:
    """Return the report of work that landed."""
    plan, before, after = landed
    is_moved = after == plan.work.commit or not plan.work.joins
    # Others may have moved the target since the plan was made: then it was no fast-forward.
    how: MergeKind = plan.how if before == plan.target.head and is_moved else "merge"
    changes = list_changes(repository, before, after)
    stale = NewlyStale()
    if before == after:
        how = "up_to_date"
    else:
        # What the target changed was made without the source, so it is looked at however many
        # tables there are.
        stale = newly_stale(
            repository, Both.of(repository, before, after), changed_by_target(repository, plan)
        )
    return report_of_merge(plan, how, before, after, changes, stale, dry_run=False)


def report_of_merge(
    plan: MergePlan,
    how: MergeKind,
    before: CommitId,
    after: CommitId | None,
    found: Iterable[ChangeSummary],
    stale: NewlyStale,
    *,
    dry_run: bool,
) -> MergeReport:
    """Return the report of a plan; relations and changes lend each other their row counts.

    | relation              | counted by                                              |
    |-----------------------|---------------------------------------------------------|
    | taken from one side   | the summary of the changes                              |
    | merged                | the merge, relative to the head that it was planned for |
    """
    by_name = {str(item.name): item for item in plan.merged if before == plan.target.head}
    # A summary reads little, so of a large table it knows no more than its files say.
    changes = {
        change.name: _counted_by_merge(change, by_name.get(change.name)) for change in found
    }
    return MergeReport(
        source=plan.work.source,
        target=plan.target.name,
        how=how,
        dry_run=dry_run,
        before=before,
        after=after,
        changes=differing(changes.values()),
        relations=tuple(
            _counted_by_summary(item, changes.get(str(item.name))) for item in plan.merged
        ),
        conflicts=plan.conflicts,
        stale=stale.tables,
        stale_unknown=stale.unknown,
    )


def _counted_by_merge(change: ChangeSummary, item: Merged | None) -> ChangeSummary:
    # Only these ways decide on single rows, and so count them.
    if change.is_exact or item is None or item.how not in ("graft", "rewrite"):
        return change
    return replace(
        change,
        rows_added=item.added,
        rows_removed=item.removed,
        rows_modified=item.modified,
        is_exact=True,
    )


def _counted_by_summary(item: Merged, change: ChangeSummary | None) -> Merged:
    # One side was taken as it is, so the merge counted nothing.
    if item.how != "fast_forward" or change is None:
        return item
    return replace(
        item,
        added=change.rows_added,
        removed=change.rows_removed,
        modified=change.rows_modified,
        is_exact=change.is_exact,
    )


def merge_text(report: MergeReport) -> Iterator[Block]:
    """Yield what a merge did, or would do."""
    source, target = Span(report.source, "name"), Span(report.target, "name")
    if report.how == "up_to_date":
        yield line(target, " is up to date: it contains everything from ", source)
        return
    if report.how == "conflict":
        yield line("Can't merge ", source, " into ", target, ": both changed")
        for name in report.conflicts:
            yield line(Span(f"  {name}", "bad"))
        if report.changes:
            yield line("Only these would merge:")
        yield from changes_text(report.changes)
        return
    word = "Would merge " if report.dry_run else "Merged "
    how = _how_text(report)
    after = short(report.after) if report.after else Span("a new commit")
    yield line(word, source, " into ", target, f", {how}: ", short(report.before), " -> ", after)
    yield from changes_text(report.changes)
    relations = sum(1 for change in report.changes if change.kind != "schema")
    yield line(f"{counted(relations, 'relation')}, {rows_text(report.changes)} rows")
    if report.stale:
        becomes = "becomes" if len(report.stale) == 1 else "become"
        step = "" if report.dry_run else f"; see dbt-vcs stale {quote(report.target)}"
        yield line(f"{listed(report.stale, 10)} {becomes} stale{step}")
    if report.stale_unknown:
        tables = counted(report.stale_unknown, "other table")
        yield line(
            f"whether {tables} became stale was not checked; see dbt-vcs stale "
            f"{quote(report.target)}"
        )


def pick_text(report: MergeReport) -> Iterator[Block]:
    """Yield what a pick did, or would do."""
    source, target = Span(report.source, "name"), Span(report.target, "name")
    if report.how == "conflict":
        yield from merge_text(report)
        return
    if report.how == "up_to_date":
        yield line("Nothing to pick: ", target, " has all that ", source, " changed.")
        return
    after = short(report.after) if report.after else Span("a new commit")
    word = "Would pick " if report.dry_run else "Picked "
    yield line(word, source, " on ", target, ": ", short(report.before), " -> ", after)
    yield from changes_text(report.changes)
    if report.stale:
        yield line(f"To see what became stale: dbt-vcs stale {quote(report.target)}")


def _how_text(report: MergeReport) -> str:
    if report.how == "fast_forward":
        return "fast-forward"
    return "merged with what was there" if report.relations else "with a commit of its own"
