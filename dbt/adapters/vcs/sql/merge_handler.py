"""Merging one table into another: `snapshot merge` and `snapshot pick`."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.diff_inputs import zone_of
from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.changes.merges.conflicts.stored_conflicts import Clash
from dbt.adapters.vcs.changes.merges.table_merge import (
    TableMerge,
    TableMerged,
    merge_tables,
)
from dbt.adapters.vcs.core.errors import ConflictError, NotFoundError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.sql.handler_registry import handles
from dbt.adapters.vcs.sql.picks import picked_rows
from dbt.adapters.vcs.sql.syntax.names import TableAt
from dbt.adapters.vcs.sql.versioning import SnapshotMerge, SnapshotPick
from dbt.adapters.vcs.table.python_values import python_rows
from dbt.adapters.vcs.workspace.answer import ArrowRows, Outcome
from dbt.adapters.vcs.workspace.points import find_point
from dbt.adapters.vcs.workspace.statement_scope import Scope

_SHOWN = 5
_LONGEST = 500
"""Characters of a row that an error shows; a value may have megabytes."""


@handles(SnapshotMerge)
def snapshot_merge(scope: Scope, statement: SnapshotMerge) -> Outcome:
    """Merge the changes of another version of a table, or of a clone of it.

    The result is one row: `relation`, `mode`, `how` (up_to_date | fast_forward | graft |
    rewrite), `added`, `removed`, `modified`, `conflicts` (MatrixOne paper, section 4.3).

    Raises:
        NotFoundError: There is no such table or version.
        ConflictError: Both changed the same rows in different ways, and the mode is `fail`; or
            they declare different columns. Nothing was changed.
        TooLargeError: Both changed too many of the same rows to compare them one by one.
    """
    work = _work(scope, statement)
    return _answer(scope, work, merge_tables(scope.overlay.repository, work, scope.engine))


@handles(SnapshotPick)
def snapshot_pick(scope: Scope, statement: SnapshotPick) -> Outcome:
    """Merge the changes of chosen rows only; the result is that of `snapshot_merge`.

    If the source changed none of these rows, `how` is `nothing_picked`, a warning says so, and
    nothing is changed.

    Raises:
        NotFoundError: There is no such table or version.
        InputError: The keys don't fit the table's key, or its types don't hold a value.
        ConflictError: As for `snapshot_merge`.
    """
    work = _work(scope, statement)
    picked = picked_rows(scope, work, statement)
    # What the condition read is known only now.
    work = replace(work, only=picked, joins=False, operation="pick", origin=scope.made_by())
    found = merge_tables(scope.overlay.repository, work, scope.engine)
    if isinstance(found, TableMerged) and not found.picked:
        source = scope.name(statement.source.name)
        scope.warnings.append(
            f"Nothing picked: {source} changed no such row since it forked from {work.name}, "
            f"which was not changed. See what was changed: snapshot diff {work.name} and {source}"
        )
        return _row(work, "nothing_picked", 0, 0, 0, 0)
    return _answer(scope, work, found)


def _work(scope: Scope, statement: SnapshotMerge | SnapshotPick) -> TableMerge:
    name = scope.name(statement.target.name)
    scope.overlay.require_table(name)
    entry = scope.overlay.require(name)
    assert isinstance(entry, TableEntry)
    theirs = _version(scope, statement.source)
    override = Mode(statement.mode) if statement.mode else None
    policy = Policy(override=override)
    return TableMerge(
        name=name,
        ours=entry.snapshot,
        theirs=theirs,
        mode=policy.mode_of(name, scope.overlay.snapshot(theirs)),
        based_on=_version(scope, statement.base) if statement.base else None,
        dry_run=statement.dry_run,
        origin=scope.made_by(),
    )


def _version(scope: Scope, table: TableAt) -> SnapshotId:
    name = scope.name(table.name)
    point = find_point(scope.overlay, name, table.at, lambda: zone_of(scope.session))
    read = point.input()
    if read is None or read.snapshot is None:
        raise NotFoundError(f"There is no table {name} to merge from. Check its name and version.")
    scope.note(read)
    return SnapshotId(read.snapshot)


def _answer(scope: Scope, work: TableMerge, found: TableMerged | Clash) -> Outcome:
    if isinstance(found, Clash):
        if not (work.dry_run and found.rows is not None):
            raise _error(work.name, found)
        return _row(work, "rewrite", 0, 0, 0, found.count)
    if not work.dry_run and found.snapshot != work.ours:
        scope.overlay.put(work.name, TableEntry(snapshot=found.snapshot))
    return _row(work, found.how, found.added, found.removed, found.modified, found.conflicts)


def _row(
    work: TableMerge, how: str, added: int, removed: int, modified: int, conflicts: int
) -> Outcome:
    answer = {
        "relation": [str(work.name)],
        "mode": [str(work.mode)],
        "how": [how],
        "added": [added],
        "removed": [removed],
        "modified": [modified],
        "conflicts": [conflicts],
    }
    return Outcome(rows=ArrowRows(pa.table(answer)), relation=work.name)


def _error(name: RelationName, clash: Clash) -> ConflictError:
    if clash.rows is None and clash.message.endswith("."):
        # What a definition forbids is told with the way out.
        return ConflictError(f"{name} can't be merged: {clash.message}")
    if clash.rows is None:
        return ConflictError(
            f"{name} can't be merged: {clash.message}. Nothing was changed. Make the definitions "
            "agree on one side (alter table), then merge again."
        )
    rows = python_rows(clash.rows.slice(0, _SHOWN))
    shown = "; ".join(_brief(str(row)) for row in rows)
    more = f" and {clash.count - len(rows)} more" if clash.count > len(rows) else ""
    return ConflictError(
        f"{name}: {clash.count} {clash.message}: {shown}{more}. Nothing was changed. Choose a "
        "side (when conflict skip | accept | cell), pick rows (snapshot pick), or merge "
        "the branches to resolve them one by one (dbt-vcs merge)."
    )


def _brief(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
