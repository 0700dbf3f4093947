"""Same rows: a new version that has the rows of the one before keeps its files.

So what was computed from the table stays known, and a build that changes nothing ends in the
versions that it began with. Where the comparison would take long, the new version stays.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import msgspec

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Entry, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.table.limits import Limits, TooLargeError
from dbt.adapters.vcs.workspace.statement_scope import Scope

_LIMITS: Final = Limits(rows=1_000_000, bytes=64 * 2**20, memory=2**29)
"""Up to here reading both takes less time than Spark takes for the smallest table."""


def keep_same_rows(
    scope: Scope, name: RelationName, before: Entry | None, *, is_rebuild: bool
) -> None:
    """Put the files of the version before back, if a statement gave the same rows.

    A rebuild that gets rid of deleted rows stays, since it reads faster.

    Args:
        scope: The statement's scope; it has been carried out.
        name: What it made or changed.
        before: What the name showed before.
        is_rebuild: True if it wrote all rows.
    """
    after = scope.overlay.entry(name)
    if after == before or not isinstance(before, TableEntry) or not isinstance(after, TableEntry):
        return
    old, new = (scope.overlay.snapshot(entry.snapshot) for entry in (before, after))
    if _layout(old) != _layout(new) or old.rows != new.rows or old.segments == new.segments:
        return
    if is_rebuild and any(ref.deleted for ref in old.segments):
        return
    if not _has_same_rows(scope, old, new):
        return
    if _definition(name, old) == _definition(name, new):
        scope.overlay.put(name, before)
        return
    kept = msgspec.structs.replace(new, segments=old.segments, parents=(before.snapshot,))
    scope.overlay.put_table(name, kept)


def _has_same_rows(scope: Scope, old: Snapshot, new: Snapshot) -> bool:
    compared = Difference(repository=scope.overlay.repository, before=old, after=new)
    with suppress(TooLargeError, UnsupportedError):
        return not any(compared.counts(limits=_LIMITS))
    return False


def _layout(snapshot: Snapshot) -> tuple[Any, ...]:
    """Return what decides how files look inside."""
    fields = [
        msgspec.structs.replace(field, comment=None, default=None)
        for field in snapshot.schema.fields
    ]
    return fields, snapshot.partition_by, snapshot.cluster_by


def _definition(name: RelationName, snapshot: Snapshot) -> tuple[Any, ...]:
    """Return everything about a version but its files, its past and when it was made."""
    inputs = snapshot.origin.inputs
    read = {(item.relation, item.version) for item in inputs if item.relation != str(name)}
    return (
        snapshot.schema,
        snapshot.primary_key,
        snapshot.comment,
        snapshot.properties,
        snapshot.origin.node,
        read,
    )
