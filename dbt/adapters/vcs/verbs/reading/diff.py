"""Diff: how two commits differ by relation, and how two versions of a table differ by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.diffs.summaries import summarize
from dbt.adapters.vcs.rows.limits import LIMITS, Limits
from dbt.adapters.vcs.statements.syntax.diff_call import DiffShape
from dbt.adapters.vcs.verbs.reading.diff_range import (
    Ends,
    name_of,
    read_ends,
    read_points,
    resolved,
)
from dbt.adapters.vcs.verbs.reading.diff_report import DiffReport, RelationDiff
from dbt.adapters.vcs.verbs.reading.relation_diff import TablePair, relation_diff
from dbt.adapters.vcs.worktree.points import Point

_AT_ONCE: Final = 16


def read_diff(
    repository: Repository,
    words: Sequence[str],
    *,
    branch: str,
    columns: Sequence[str] = (),
    shape: DiffShape = "changes",
    limit: int | None = None,
    limits: Limits = LIMITS,
) -> DiffReport:
    """Compare the two sides given by words, as `read_ends` parses them; starts no engine.

    Args:
        repository: The repository.
        words: Revisions and tables.
        branch: The current branch.
        columns: Compare only these columns and the key; needs a single table.
        shape: Of the rows.
        limit: Maximum number of rows of a named table; None for all, 0 for counts alone.
        limits: The most that is read of one table.

    Raises:
        NotFoundError: There is no such revision, version or relation.
        InputError: The words can't be parsed, or there is no such column.
        UnsupportedError: Columns have types that can't be compared, or not without Spark.
        TooLargeError: Rows are requested, and there are too many for this process.
    """
    ends = read_ends(repository, words, branch)
    if not ends.tables and ends.table is None:
        if columns:
            raise InputError("--columns needs a table; name it: dbt-vcs diff a..b s.t")
        return _commits(repository, ends, limits)
    if shape == "three_way":
        ends = ends.without_merge_base()
    points = read_points(repository, ends, branch)
    if points is None:
        return _commits(repository, ends, limits)
    pair = _pair(repository, points, tuple(columns))
    if limit == 0:
        found = pair.counted(limits)
        return DiffReport(
            before=ends.before, after=ends.after, is_equal=found.how == "equal", relations=(found,)
        )
    # Whoever asks for counts does not wait for what reads rows.
    from dbt.adapters.vcs.verbs.reading.row_diffs import row_diff_report

    return row_diff_report(ends, points, pair, shape=shape, limit=limit, limits=limits)


def _commits(repository: Repository, ends: Ends, limits: Limits) -> DiffReport:
    before, after = resolved(repository, ends)
    found = repository.diff(before, after)
    wanted = name_of(ends.table) if ends.table else None
    relations = [item for item in found.relations if wanted in (None, item.name)]
    # Several small tables at once, large ones one by one, so that they fit into memory together.
    memory = None if limits.memory is None else limits.memory // _AT_ONCE
    few = Limits(limits.rows // _AT_ONCE, limits.bytes // _AT_ONCE, memory)
    drafts = each(lambda change: relation_diff(repository, change, few), relations)
    exact = (
        item if item.is_exact else relation_diff(repository, change, limits)
        for change, item in zip(relations, drafts, strict=True)
    )
    differing = tuple(item for item in exact if item.how != "equal")
    schemas = () if wanted else summarize(repository, found.schemas, ())
    return DiffReport(
        before=ends.before,
        after=ends.after,
        is_equal=not differing and not schemas,
        schemas=schemas,
        relations=differing,
    )


def _pair(
    repository: Repository, points: tuple[Point, Point], columns: tuple[str, ...]
) -> TablePair:
    old, new = points
    before, after = (
        None if point.id is None else repository.objects.snapshot(point.id) for point in points
    )
    name = str(new.relation)
    if old.relation != new.relation:
        name = f"{old.relation} -> {new.relation}"
    how = "changed"
    if before is None or after is None:
        how = "added" if before is None else "removed"
    draft = RelationDiff(name=name, kind="table", how=how)
    return TablePair(
        repository=repository, draft=draft, before=before, after=after, columns=columns
    )
