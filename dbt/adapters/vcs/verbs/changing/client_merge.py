"""Client merges: a client's change joined with what others did since it loaded the table."""

from __future__ import annotations

import pyarrow as pa

from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Origin, RelationName, Snapshot
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.diffs.row_diff import TableDiff, diff
from dbt.adapters.vcs.merges.conflicts.policy import Policy
from dbt.adapters.vcs.merges.conflicts.stored_conflicts import Clash
from dbt.adapters.vcs.merges.table_merge import TableMerge, TableMerged, merge_tables
from dbt.adapters.vcs.rows.equality import group_ids
from dbt.adapters.vcs.rows.limits import MERGE_LIMITS, TooLargeError
from dbt.adapters.vcs.rows.sorted_numbers import are_among


def merged(
    repository: Repository,
    name: RelationName,
    *,
    base: SnapshotId,
    now: SnapshotId,
    changed: SnapshotId,
    origin: Origin,
) -> SnapshotId:
    """Merge a client's version with the branch's, row by row, as a run that is published is.

    A client that replaces rows looked at them first. So a row that both took away is a conflict,
    even where a run's merge takes this for the same change: otherwise two clients that each
    replace a table's rows would leave the new rows of both.

    Args:
        repository: The repository.
        name: The table, for messages.
        base: The version that the client loaded.
        now: The branch's version.
        changed: The client's change applied to `base`.
        origin: Who makes the merged version.

    Returns:
        The merged version; stored, but nothing refers to it yet.

    Raises:
        ConflictError: Both changed the same rows or columns, or they can't be merged here.
    """
    read = repository.objects.snapshot
    old, ours, theirs = read(base), read(now), read(changed)
    try:
        if _shape(old) != _shape(ours):
            raise _refusal(name, "its columns, key or partitions")
        if _removed_by_both(repository, old, ours, theirs):
            raise _refusal(name, "rows that the client deletes or replaces")
        found = merge_tables(
            repository,
            TableMerge(
                name=name,
                ours=now,
                theirs=changed,
                mode=Policy().mode_of(name, theirs),
                based_on=base,
                origin=origin,
            ),
            None,
        )
    except (TooLargeError, InputError) as error:
        raise ConflictError(
            f"Others changed {name} since the client loaded it, and the two can't be merged: "
            f"{error} Nothing was changed; load the table again, and repeat the change."
        ) from error
    if isinstance(found, Clash):
        raise _refusal(name, f"the same ({found})")
    assert isinstance(found, TableMerged)
    return found.snapshot


def _refusal(name: RelationName, what: str) -> ConflictError:
    return ConflictError(
        f"Since the client loaded {name}, others changed {what}. Nothing was changed; load the "
        "table again, and repeat the change."
    )


def _shape(version: Snapshot) -> tuple[object, ...]:
    return version.table, version.schema, version.primary_key, version.partition_by


def _removed_by_both(
    repository: Repository, base: Snapshot, ours: Snapshot, theirs: Snapshot
) -> bool:
    """Return whether both took away the same row, which is one by its key if there is one."""
    for side in (ours, theirs):
        if not delta(base, side, repository.objects.segment).rows_removed:
            return False
    one, other = (
        _removed(diff(repository, base, side, limits=MERGE_LIMITS), base)
        for side in (ours, theirs)
    )
    both = pa.concat_tables([one, other])
    codes = group_ids(both.columns, both.num_rows)
    return bool(are_among(codes[: one.num_rows], codes[one.num_rows :]).any())


def _removed(difference: TableDiff, base: Snapshot) -> pa.Table:
    """Return what tells the rows apart that a version lacks and its base has."""
    net = difference.net
    gone = net.before[(net.before >= 0) & (net.after < 0)]
    names = [field.name for field in base.key or base.schema.fields]
    return difference.rows.select(names).take(pa.array(gone))
