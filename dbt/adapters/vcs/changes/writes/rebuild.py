"""Rebuilds as a difference: keep only the rows that a rebuild of a table changed.

The rows are written once, as for any rebuild. Then they are compared with the previous version,
and only the differences become tombstones and new blocks. So a rebuild that changes few of many
rows stores few, and every later diff and merge reads few.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dbt.adapters.vcs.changes.writes.rebuild_stage import difference
from dbt.adapters.vcs.changes.writes.stage_write import rewritten
from dbt.adapters.vcs.changes.writes.targets import RowTarget
from dbt.adapters.vcs.changes.writes.versions import joined
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Field, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.workspace.answer import Outcome
from dbt.adapters.vcs.workspace.statement_scope import Scope
from dbt.adapters.vcs.workspace.table_version import Version

REBUILD: Final = "vcs.rebuild"
"""Table property: `delta` stores only the changes of a rebuild; the default is `full`."""

MAX_CHANGED: Final = 0.5
"""Where more of the rows change than this, the table is kept as it was written."""


def is_delta(version: Snapshot) -> bool:
    """Return whether a rebuild of a table should keep only what it changes."""
    return version.properties.get(REBUILD) == "delta"


def put_rebuilt(
    scope: Scope, name: RelationName, version: Snapshot, before: tuple[SnapshotId, Snapshot]
) -> Outcome:
    """Store a rebuild as a table's new version, keeping only the rows that changed.

    Rows are compared by primary key or, without one, by the number of copies of each. If no row
    differs and the definition is unchanged, the table keeps its version. If most rows differ, or
    they can't be compared, the rebuild is kept whole, with a warning.

    Args:
        scope: The statement's scope.
        name: The table.
        version: The rebuild as written, its keys checked, not yet stored.
        before: The version that it follows.
    """
    reason = _incomparable(version, before[1])
    if reason is not None:
        scope.warnings.append(f"The rebuild of {name} was written whole, since {reason}.")
        return _put(scope, name, version, version.rows)
    target = _target(scope, name, version, before[1])
    key = _key(version, before[1])
    with difference(scope, target, version, key) as stage:
        counts = version.rows, before[1].rows
        # Without a key a changed row counts as one removed and one added.
        if stage.rows > MAX_CHANGED * (max(counts) if key else sum(counts)):
            scope.warnings.append(
                f"The rebuild of {name} was written whole, since most of its rows changed."
            )
            return _put(scope, name, version, version.rows)
        result = rewritten(scope, target, stage)
    _discard(scope, version)
    if not result.is_changed and _definition(version) == _definition(before[1]):
        scope.overlay.put(name, TableEntry(snapshot=before[0]))
        return Outcome(relation=name, affected=0)
    segments = joined(scope.overlay.repository, result.segments)
    return _put(scope, name, msgspec.structs.replace(version, segments=segments), result.affected)


def _put(scope: Scope, name: RelationName, version: Snapshot, affected: int) -> Outcome:
    scope.overlay.put_table(name, version)
    return Outcome(relation=name, affected=affected)


def _incomparable(version: Snapshot, before: Snapshot) -> str | None:
    """Return why the rows of two versions can't be compared or kept together; None if they can.

    Added columns are NULL in the old rows; dropped columns are not compared.
    """
    if version.partition_by != before.partition_by:
        return "it is partitioned in another way"
    for field in version.schema.fields:
        old = before.schema.by_id(field.id)
        if old is not None and old.type != field.type:
            return f"the column {field.name} was {old.type} and is {field.type}"
    return None


def _definition(version: Snapshot) -> tuple[object, ...]:
    """Return a table's definition; comments and NOT NULL are set later."""
    fields = [(field.id, field.name, field.type) for field in version.schema.fields]
    return (
        fields,
        version.primary_key,
        version.cluster_by,
        version.comment,
        version.properties,
    )


def _discard(scope: Scope, version: Snapshot) -> None:
    """Delete the unreferenced files of a rebuild: its new rows have been written elsewhere."""
    repository = scope.overlay.repository
    for block in Version.of(repository, version).blocks:
        repository.blobs.delete(block.path)


def _target(scope: Scope, name: RelationName, version: Snapshot, before: Snapshot) -> RowTarget:
    """Return the old rows under the new definition."""
    return RowTarget(
        snapshot=msgspec.structs.replace(version, segments=before.segments),
        read=scope.overlay.repository.objects.segment,
        name=name,
    )


def _key(version: Snapshot, before: Snapshot) -> tuple[Field, ...]:
    """Return the columns that identify rows in both versions; empty if there are none."""
    if version.primary_key != before.primary_key or not version.is_key_enforced:
        return ()
    if not before.is_key_enforced:
        return ()
    return version.key
