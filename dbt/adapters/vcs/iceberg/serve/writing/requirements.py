"""Requirements of a commit, checked against what the branch shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.iceberg.serve.rest_error import RestError, no_relation
from dbt.adapters.vcs.iceberg.serve.writing.commit_request import MAIN, Record, bad_request

# Requirement, key of its value, key of the table's, and Iceberg's words if they differ.
_EQUAL: Final = {
    "assert-table-uuid": ("uuid", "table-uuid", "UUID does not match: expected"),
    "assert-last-assigned-field-id": (
        "last-assigned-field-id",
        "last-column-id",
        "last assigned field id changed: expected id",
    ),
    "assert-current-schema-id": (
        "current-schema-id",
        "current-schema-id",
        "current schema changed: expected id",
    ),
    "assert-last-assigned-partition-id": (
        "last-assigned-partition-id",
        "last-partition-id",
        "last assigned partition id changed: expected id",
    ),
    "assert-default-spec-id": (
        "default-spec-id",
        "default-spec-id",
        "default partition spec changed: expected id",
    ),
    "assert-default-sort-order-id": (
        "default-sort-order-id",
        "default-sort-order-id",
        "default sort order changed: expected id",
    ),
}


def check_requirements(
    table: str, requirements: Iterable[Record], metadata: Record | None
) -> None:
    """Check what a client requires of a table.

    The snapshot that the client started from is not compared: rows that others changed meanwhile
    are merged with the client's, or the commit is refused there.

    Args:
        table: The table's name, for messages.
        requirements: As in the request.
        metadata: The table as the branch shows it; None if it isn't there.

    Raises:
        RestError: One of them doesn't hold, or is unknown.
    """
    for item in requirements:
        kind = item["type"]
        if kind == "assert-create":
            if metadata is not None:
                raise requirement_failed(f"table already exists: {table}")
        elif metadata is None:
            raise no_relation(table, TableEntry)
        elif kind == "assert-ref-snapshot-id":
            check_ref(table, item, metadata)
        elif kind in _EQUAL:
            given, there, differs = _EQUAL[kind]
            if item.get(given) != metadata[there]:
                raise requirement_failed(f"{differs} {item.get(given)} != {metadata[there]}")
        else:
            raise bad_request(f"There is no requirement {kind!r} of a table.")


def check_ref(table: str, item: Record, metadata: Record) -> None:
    """Check that a requirement of a ref is of the one that can be written, at a known snapshot."""
    if item.get("ref") != MAIN:
        raise bad_request(
            f"The commit requires something of the ref {item.get('ref')!r} of {table}. Branches "
            "and tags are the repository's: write to `main` of the table in the warehouse of "
            "the branch."
        )
    wanted = item.get("snapshot-id")
    if wanted is None:
        raise requirement_failed(f"{table} has a snapshot already")
    if base_version(metadata, wanted) is None:
        raise requirement_failed(f"{table} has no snapshot {wanted} on this branch")


def base_version(metadata: Record, snapshot: Any) -> str | None:
    """Return the version of a table that a snapshot is, or None."""
    for item in metadata.get("snapshots", ()):
        if item["snapshot-id"] == snapshot:
            return str(item["summary"]["vcs.snapshot"])
    return None


def requirement_failed(what: str, noun: str = "table") -> RestError:
    """Return the error for a requirement that doesn't hold, in the protocol's words first."""
    return RestError(
        409,
        "CommitFailedException",
        f"Requirement failed: {what}. Nothing was changed; load the {noun} again, and repeat the "
        "change.",
    )
