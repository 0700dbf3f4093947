"""Freshness of sources from the times in the manifests: no row is read."""

from __future__ import annotations

from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import Micros, SnapshotId
from dbt.adapters.vcs.core.model import RelationName, ViewEntry
from dbt.adapters.vcs.scope.mounts import Externals
from dbt.adapters.vcs.worktree.overlay import Overlay

_KEEPS_ROWS: Final = frozenset({"alter", "clone", "optimize"})
"""Operations after which a table holds the rows that it held before, or that another one held."""

_HOW: Final = (
    "Name a column that tells (loaded_at_field, or a query as loaded_at_query), or set "
    "freshness: null."
)


def loaded_at(overlay: Overlay, name: RelationName, externals: Externals) -> Micros:
    """Return when the rows of a table were last written.

    Compaction, cloning and changes of columns, comments and properties don't count.

    Raises:
        NotFoundError: There is no such relation.
        InputError: It is a view, or files outside the repository: neither has such a time.
    """
    external = externals.get(name)
    if external is not None:
        raise InputError(
            f"{name} stands for files at {external.location}: they are not versioned, so no "
            f"manifest tells when rows came in. {_HOW}"
        )
    entry = overlay.require(name)
    if isinstance(entry, ViewEntry):
        raise InputError(
            f"{name} is a view, and only a table's manifest tells when rows came in. {_HOW}"
        )
    return _written_at(overlay, entry.snapshot)


def _written_at(overlay: Overlay, id: SnapshotId) -> Micros:
    snapshot = overlay.snapshot(id)
    while snapshot.operation in _KEEPS_ROWS and snapshot.parents:
        snapshot = overlay.snapshot(snapshot.parents[0])
    return snapshot.created_at
