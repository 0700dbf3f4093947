"""Rebuilds as a difference: keep only the rows that a rebuild of a table changed.

The rows are written once, as for any rebuild. Then they are compared with the previous version,
and only the differences become tombstones and new blocks. So a rebuild that changes few of many
rows stores few, and every later diff and merge reads few.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Final

import msgspec

from dbt.adapters.vcs.changes.writes.stage import ACTION, MATCHED, RowTarget, Stage, staged
from dbt.adapters.vcs.changes.writes.stage_write import rewritten
from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Field, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN, REBUILD
from dbt.adapters.vcs.core.origins.results import RowCounts
from dbt.adapters.vcs.core.plan.delta import delta, signed_pieces
from dbt.adapters.vcs.engines.port import VersionMounts
from dbt.adapters.vcs.engines.row_sessions import row_session
from dbt.adapters.vcs.table.equality import canonical, equals
from dbt.adapters.vcs.table.limits import LIMITS
from dbt.adapters.vcs.table.manifests import joined_segments
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope
from dbt.adapters.vcs.workspace.table_version import Version

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
        version: The rebuild as written, its keys checked, not yet stored.
        before: The version that it follows.
    """
    reason = _incomparable(version, before[1])
    if reason is not None:
        scope.warnings.append(f"The rebuild of {name} was written whole, since {reason}.")
        return _put(scope, name, version, RowCounts(version.rows))
    # The old rows, under the new definition.
    target = RowTarget(
        snapshot=msgspec.structs.replace(version, segments=before[1].segments),
        read=scope.overlay.repository.objects.segments,
        name=name,
    )
    key = _key(version, before[1])
    with difference(scope, target, version, key) as stage:
        counts = version.rows, before[1].rows
        # Without a key a changed row counts as one removed and one added.
        if stage.rows > MAX_CHANGED * (max(counts) if key else sum(counts)):
            scope.warnings.append(
                f"The rebuild of {name} was written whole, since most of its rows changed."
            )
            return _put(scope, name, version, RowCounts(version.rows))
        result = rewritten(scope, target, stage)
    _discard(scope, version)
    # History shows changes only: the table keeps the version that it had.
    if not result.is_changed and _definition(version) == _definition(before[1]):
        scope.overlay.put(name, TableEntry(snapshot=before[0]))
        return Outcome(affected=0, counts=RowCounts())
    segments = joined_segments(scope.overlay.repository.objects, result.segments)
    return _put(scope, name, msgspec.structs.replace(version, segments=segments), result.counts)


def _put(scope: Scope, name: RelationName, version: Snapshot, counts: RowCounts) -> Outcome:
    scope.overlay.put_table(name, version)
    return Outcome(affected=sum(counts), counts=counts)


def _incomparable(version: Snapshot, before: Snapshot) -> str | None:
    """Return why the rows of two versions can't be compared or kept together; None if they can."""
    # Columns that only one version has are no reason: an added one is NULL in the old rows, a
    # dropped one is not compared.
    if version.partition_by != before.partition_by:
        return "it is partitioned in another way"
    for field in version.schema.fields:
        old = before.schema.by_id(field.id)
        if old is not None and old.type != field.type:
            return f"the column {field.name} was {old.type} and is {field.type}"
    return None


def _definition(version: Snapshot) -> tuple[object, ...]:
    # dbt sets comments of columns and NOT NULL by statements after the rebuild.
    fields = [(field.id, field.name, field.type) for field in version.schema.fields]
    return (
        fields,
        version.primary_key,
        version.cluster_by,
        version.comment,
        version.properties,
    )


def _discard(scope: Scope, version: Snapshot) -> None:
    # The new rows of the rebuild have been written elsewhere, and nothing refers to its own files.
    repository = scope.overlay.repository
    for block in Version.of(repository, version).blocks:
        repository.blobs.delete(block.path)


def _key(version: Snapshot, before: Snapshot) -> tuple[Field, ...]:
    """Return the columns that identify rows in both versions; empty if there are none."""
    # A key that isn't enforced may repeat, and a join by it would multiply rows.
    if version.primary_key != before.primary_key or not version.is_key_enforced:
        return ()
    if not before.is_key_enforced:
        return ()
    return version.key


_NEW: Final = "__vcs_new"
_NTH: Final = "__vcs_nth"


def difference(
    scope: Scope, target: RowTarget, wanted: Snapshot, key: Sequence[Field]
) -> AbstractContextManager[Stage]:
    """Compare the rows of a table with those that it should have.

    DuckDB compares what fits this process; more rows, and types that Arrow lacks, are Spark's.

    Args:
        target: The table; its schema is that of `wanted`.
        wanted: The rows that it should have, without tombstones.
        key: Columns unique on both sides; without any, rows are compared by the number of copies
            of each.

    Returns:
        A context with the stage, which can be applied within the block.
    """
    repository, schema = scope.overlay.repository, target.snapshot.schema
    change = delta(target.snapshot, wanted, repository.objects.segments)
    if LIMITS.allow(item.piece for item in signed_pieces(change)):
        fields = schema.fields
        # Spark knows the values of some partitions' names that Arrow can't read.
        with (
            suppress(UnsupportedError),
            row_session(repository.blobs, fields, lambda: scope.session) as session,
        ):
            if session.is_here:
                rows = session.query(_changes(scope, session, target, wanted, key)).arrow()
                return nullcontext(Stage.in_memory(schema, rows))
    query = _changes(scope, scope.session, target, wanted, key)
    return staged(scope, target.name, target.snapshot, query, analysing=scope.mounts.steady)


def _changes(
    scope: Scope,
    session: VersionMounts,
    target: RowTarget,
    wanted: Snapshot,
    key: Sequence[Field],
) -> str:
    """Return the query of the rows of a stage, and mount what it reads."""
    fields = target.snapshot.schema.fields
    named = ", ".join(f"{quoted(field.id)} as {quoted(field.name)}" for field in fields)
    version = Version.of(scope.overlay.repository, wanted)
    mounted = session.mount_physical(version.mount())
    come = f"(select {named}, true as {_NEW} from {mounted})"
    have = target.located(session, target.blocks)
    equal = [_equal(field) for field in fields]
    if key:
        on = " and ".join(map(_equal, key))
        differs = f"not ({' and '.join(equal)})"
    else:
        # The first copy of a row meets the first copy on the other side, and so on. What is left
        # over was added or removed.
        have, come = (_numbered(rows, fields) for rows in (have, come))
        on = " and ".join([*equal, f"o.{_NTH} = n.{_NTH}"])
        differs = "false"
    stage = Stage(table=target.snapshot.schema, files=(), rows=0, bytes=0)
    values = ", ".join(
        f"{side}.{quoted(field.name)} {name}"
        for side, names in (("o", stage.old), ("n", stage.new))
        for name, field in zip(names, fields, strict=True)
    )
    return (
        f"select case when n.{_NEW} is null then 'delete' when o.{POSITION_COLUMN} is null "
        f"then 'insert' else 'update' end {ACTION}, o.{FILE_COLUMN}, o.{POSITION_COLUMN}, "
        f"cast(null as boolean) {MATCHED}, {values} from {have} o "
        f"full outer join {come} n on {on} "
        f"where n.{_NEW} is null or o.{POSITION_COLUMN} is null or {differs}"
    )


def _numbered(rows: str, fields: Sequence[Field]) -> str:
    """Return rows with a number that distinguishes equal ones."""
    values = ", ".join(canonical(f"r.{quoted(field.name)}", field.type) for field in fields)
    # Equal rows are alike, so any order numbers them.
    number = f"row_number() over (partition by {values} order by 0)"
    return f"(select r.*, {number} as {_NTH} from {rows} r)"


def _equal(field: Field) -> str:
    """Return SQL for whether an old and a new row are equal in a column."""
    return equals(f"o.{quoted(field.name)}", f"n.{quoted(field.name)}", field.type)
