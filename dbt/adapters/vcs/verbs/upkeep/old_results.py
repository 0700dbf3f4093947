"""Old results: what is remembered of statements and can't be of use any more."""

from __future__ import annotations

from collections.abc import Sequence

from dbt.adapters.vcs.core.ids import Micros, SnapshotId
from dbt.adapters.vcs.core.origins.results import Result, Results, StoredResult
from dbt.adapters.vcs.core.plan.collect import Needed
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.core.store.objects import ObjectStore


def old_results(
    blobs: Blobs, objects: ObjectStore, kept: Needed, *, before: Micros, horizon: Micros
) -> Sequence[StoredResult]:
    """Return the results that a collection deletes.

    They keep nothing, so what is deleted too early is only computed again.

    | result                         | deleted once                                        |
    |--------------------------------|-----------------------------------------------------|
    | a version of a table           | its manifest or its rows are not kept               |
    | a view or a function           | its text is not kept                                |
    | an answer, columns, "nothing"  | it is older than the retention period               |
    | one that can't be read         | it is no file of a running writer                   |

    Args:
        blobs: The repository's store.
        objects: Its manifests.
        kept: What the collection keeps.
        before: Results that are younger stay.
        horizon: Where the retention period begins.
    """
    results = Results(blobs)

    def is_old(stored: StoredResult) -> bool:
        result = results.find(stored.key)
        if result is None:
            return True
        if not result.version:
            return stored.modified_at < horizon
        return not _is_held(result, objects, kept)

    found = [stored for stored in results.all() if stored.modified_at < before]
    return [stored for stored, old in zip(found, each(is_old, found), strict=True) if old]


def _is_held(result: Result, objects: ObjectStore, kept: Needed) -> bool:
    """Return whether the version of a result can be taken after the collection.

    The rows of a table's version may be kept by another version that has the same segments: one
    that was made from it in the same node, or that was taken from it on another branch.
    """
    if result.kind != "table":
        return (result.kind, result.version) in kept.objects
    if result.version in kept.whole:
        return True
    if ("snapshot", result.version) not in kept.objects:
        return False
    segments = objects.snapshot(SnapshotId(result.version)).segments
    return all(ref.id in kept.whole for ref in segments)
