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
    | the same version once more     | it is older than the retention period, and another  |
    |                                | result of the node has the version                  |
    | an answer, columns, "nothing"  | it is older than the retention period               |
    | one that can't be read         | it is no file of a running writer                   |

    A result that is taken is stored again every other day, so one that is in use is young.

    Args:
        blobs: The repository's store.
        objects: Its manifests.
        kept: What the collection keeps.
        before: Results that are younger stay.
        horizon: Where the retention period begins.
    """
    results = Results(blobs)

    stored = sorted(results.all(), key=lambda item: item.modified_at, reverse=True)
    found = each(lambda item: results.find(item.key), stored)
    seen: set[tuple[str | None, ...]] = set()
    old: list[StoredResult] = []
    for item, result in zip(stored, found, strict=True):
        if result is None:
            is_old = True
        elif not result.version:
            is_old = item.modified_at < horizon
        else:
            same = (result.node, result.kind, result.target, result.version)
            is_again = same in seen and item.modified_at < horizon
            seen.add(same)
            is_old = is_again or not _is_held(result, objects, kept)
        if is_old and item.modified_at < before:
            old.append(item)
    return old


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
