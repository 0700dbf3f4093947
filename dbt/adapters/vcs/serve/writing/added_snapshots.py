"""Added snapshots: the new rows of a commit, and what the client started from."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.serve.rest_error import RestError
from dbt.adapters.vcs.serve.writing.commit_request import (
    MAIN,
    CommitRequest,
    Record,
    bad_request,
)
from dbt.adapters.vcs.serve.writing.requirements import base_version
from dbt.adapters.vcs.verbs.changing.adopt import AddedSnapshot


def added_snapshot(
    table: str, request: CommitRequest, metadata: Record | None, folder: str
) -> AddedSnapshot | None:
    """Return the last of the snapshots that a commit adds, which has all their rows, or None.

    Args:
        table: The table's name, for messages.
        request: The commit.
        metadata: The table as the branch shows it; None if it isn't there.
        folder: The folder where the branch's clients put files of the table.

    Raises:
        RestError: A ref is set to something else, a snapshot isn't the next one, or it is unknown
            what the client started from.
    """
    snapshots = [_snapshot(item) for item in request.of_action("add-snapshot")]
    _check_refs(request, snapshots)
    if not snapshots:
        return None
    for before, after in pairwise(snapshots):
        if after.get("parent-snapshot-id") != before.get("snapshot-id"):
            raise bad_request("Each snapshot of a commit has the one before as its parent.")
    last = snapshots[-1].get("manifest-list")
    if not isinstance(last, str):
        raise bad_request(f"The snapshot of {table} has no manifest list.")
    if metadata is None or request.replaces:
        return AddedSnapshot(manifest_list=last, folder=folder, base=None)
    base = base_version(metadata, snapshots[0].get("parent-snapshot-id"))
    if base is None:
        raise RestError(
            409,
            "CommitFailedException",
            f"The snapshot of {table} doesn't follow one that the branch has. Nothing was "
            "changed; load the table again, and repeat the change.",
        )
    replaces = any(_replaces(item) for item in snapshots)
    return AddedSnapshot(
        manifest_list=last, folder=folder, base=SnapshotId(base), replaces=replaces
    )


def operation_of(item: Record) -> str:
    """Return what a client calls the change that an update of a snapshot makes."""
    summary = _snapshot(item).get("summary")
    return str(summary.get("operation", "change")) if isinstance(summary, Mapping) else "change"


def _replaces(snapshot: Mapping[str, Any]) -> bool:
    """Return whether a client says that the rows of a snapshot take the place of others."""
    summary = snapshot.get("summary")
    said = summary if isinstance(summary, Mapping) else {}
    return said.get("operation") == "overwrite" or said.get("replace-partitions") == "true"


def _snapshot(item: Record) -> Mapping[str, Any]:
    found = item.get("snapshot")
    if not isinstance(found, Mapping):
        raise bad_request(f"Expected an object as snapshot, found {found!r}.")
    return found


def _check_refs(request: CommitRequest, snapshots: list[Mapping[str, Any]]) -> None:
    ids = [item.get("snapshot-id") for item in snapshots]
    refs = request.of_action("set-snapshot-ref")
    if any(item.get("ref-name") != MAIN or item.get("snapshot-id") not in ids for item in refs):
        raise bad_request(
            "Which version of a table a branch shows is the repository's: go back to another "
            "one with dbt-vcs restore. Branches and tags are made with dbt-vcs branch and tag."
        )
    if snapshots and (not refs or refs[-1].get("snapshot-id") != ids[-1]):
        raise bad_request(
            "A snapshot that `main` of the table doesn't show can't be kept. Write to a branch "
            "of the repository: dbt-vcs branch create NAME."
        )
