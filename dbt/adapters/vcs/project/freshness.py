"""Freshness of sources from the times in manifests, without reading rows."""

from __future__ import annotations

from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import Micros, SnapshotId
from dbt.adapters.vcs.core.model import RelationName, ViewEntry
from dbt.adapters.vcs.core.origins.row_digests import rows_digest
from dbt.adapters.vcs.core.origins.staleness import RESTORE
from dbt.adapters.vcs.workspace.mounts import Externals
from dbt.adapters.vcs.workspace.overlay import Overlay

_KEEPS_ROWS: Final = frozenset({"alter", "clone", "consume", "optimize"})
"""Operations that leave a table's rows unchanged, or take them from another table."""

_HOW: Final = (
    "Name a column with the load time (loaded_at_field, or a query as loaded_at_query), or set "
    "freshness: null."
)


def loaded_at(overlay: Overlay, name: RelationName, externals: Externals) -> Micros:
    """Return when the rows of a table were last written.

    Compaction, cloning, builds that change no row, and changes of columns, comments and properties
    don't count. A restored version of the table's own past is as old as that.

    Raises:
        NotFoundError: There is no such relation.
        InputError: It is a view or files outside the repository, which have no such time.
    """
    external = externals.get(name)
    if external is not None:
        raise InputError(
            f"{name} refers to files at {external.location}, which are not versioned, so no "
            f"manifest has the time of their last load. {_HOW}"
        )
    entry = overlay.require(name)
    if isinstance(entry, ViewEntry):
        raise InputError(
            f"{name} is a view, and only a table's manifest has the time of its last load. {_HOW}"
        )
    return _written_at(overlay, entry.snapshot)


def _written_at(overlay: Overlay, id: SnapshotId) -> Micros:
    snapshot = overlay.snapshot(id)
    while snapshot.operation in _KEEPS_ROWS and snapshot.parents:
        snapshot = overlay.snapshot(snapshot.parents[0])
    if snapshot.operation != RESTORE:
        return snapshot.created_at
    rows, before = rows_digest(snapshot), snapshot
    while before.parents:
        before = overlay.snapshot(before.parents[0])
        if before.operation != RESTORE and rows_digest(before) == rows:
            return before.created_at
    return snapshot.created_at
