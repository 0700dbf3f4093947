"""Commit requests: what a client wants of a table, and what it requires of the branch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.iceberg.serve.rest_protocol import (
    Namespace,
    RestError,
    bad_request,
    no_relation,
)
from dbt.adapters.vcs.iceberg.table_metadata import MAIN
from dbt.adapters.vcs.sql.syntax.names import Name, Target

Record = Mapping[str, Any]

# Types are walked by functions that call themselves, and Python ends at a thousand levels.
_DEPTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest:
    """One table's part of a commit.

    Attributes:
        namespace: The levels above the table's name.
        requirements: What must hold on the branch, else nothing is changed.
        updates: The changes, in order.
    """

    namespace: Namespace
    name: str
    requirements: tuple[Record, ...]
    updates: tuple[Record, ...]

    @property
    def creates(self) -> bool:
        """True if the table must not be there before."""
        return any(item["type"] == "assert-create" for item in self.requirements)

    @property
    def replaces(self) -> bool:
        """True if the table is built again: nothing that `main` of it showed is kept."""
        removed = self.of_action("remove-snapshot-ref")
        return any(item.get("ref-name") == MAIN for item in removed)

    def of_action(self, *actions: str) -> list[Record]:
        """Return the updates of some kinds, in order."""
        return [item for item in self.updates if item["action"] in actions]


def target(relation: RelationName) -> Target:
    """Return a relation as statements name what they are about."""
    return Target(
        name=Name(schema=relation.schema, identifier=relation.identifier), start=0, end=0
    )


def read_body(data: bytes) -> Record:
    """Return a request's JSON object.

    Raises:
        RestError: It is none, or nests too deep for all that walks through it.
    """
    try:
        found = msgspec.json.decode(data)
        _check_depth(found)
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = None
    except RecursionError:
        raise bad_request(
            f"The request's body has more than {_DEPTH} levels. Nothing was changed; put fewer "
            "lists, maps and structs inside of each other."
        ) from None
    if not isinstance(found, dict):
        raise bad_request("Expected a JSON object as the request's body.")
    return found


def _check_depth(value: Any) -> None:
    # Level by level: a function that calls itself is what the limit protects.
    level = [value]
    for _ in range(_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
        level = below
        if not level:
            return
    raise RecursionError


def read_commit(body: Record, namespace: Namespace, name: str) -> CommitRequest:
    """Return a commit of one table.

    Raises:
        RestError: The body has another form.
    """
    return CommitRequest(
        namespace=namespace,
        name=name,
        requirements=_tagged(body, "requirements", "type"),
        updates=_tagged(body, "updates", "action"),
    )


def read_identifier(value: Any, where: str) -> tuple[Namespace, str]:
    """Return the namespace and the name of a table in a body.

    Raises:
        RestError: The value is no identifier.
    """
    if isinstance(value, Mapping):
        namespace, name = value.get("namespace"), value.get("name")
        if isinstance(name, str) and name and isinstance(namespace, list) and is_texts(namespace):
            return tuple(namespace), name
    raise bad_request(f"Expected a namespace and a name as {where}, found {value!r}.")


def is_texts(value: Any) -> bool:
    """Return whether a value is a list of names."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) and v for v in value)


def removals_of(item: Record) -> tuple[str, ...]:
    """Return the names of properties that a request removes; empty if it names none.

    Raises:
        RestError: They are no list of names.
    """
    found = item.get("removals") or []
    if found and not is_texts(found):
        raise bad_request(f"Expected a list of names as removals, found {found!r}.")
    return tuple(found)


def texts_of(body: Record, key: str) -> dict[str, str]:
    """Return an object of texts in a body; empty if it is left out.

    Raises:
        RestError: It is something else.
    """
    found = body.get(key) or {}
    if not isinstance(found, Mapping) or not all(isinstance(v, str) for v in found.values()):
        raise bad_request(f"Expected an object of texts as {key}, found {found!r}.")
    return dict(found)


def _tagged(body: Record, key: str, tag: str) -> tuple[Record, ...]:
    found = body.get(key)
    fits = isinstance(found, Sequence) and all(
        isinstance(item, Mapping) and isinstance(item.get(tag), str) for item in found
    )
    if not fits or found is None:
        raise bad_request(f"Expected a list of objects with `{tag}` as {key}.")
    return tuple(found)


# What a requirement names, the key of the table's own, and Iceberg's words if they differ.
_EQUAL: Final = {
    "table-uuid": ("table-uuid", "UUID does not match: expected"),
    "last-assigned-field-id": ("last-column-id", "last assigned field id changed: expected id"),
    "current-schema-id": ("current-schema-id", "current schema changed: expected id"),
    "last-assigned-partition-id": (
        "last-partition-id",
        "last assigned partition id changed: expected id",
    ),
    "default-spec-id": ("default-spec-id", "default partition spec changed: expected id"),
    "default-sort-order-id": (
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
        elif (what := kind.removeprefix("assert-")) in _EQUAL and what != kind:
            there, differs = _EQUAL[what]
            given = item.get("uuid" if what == "table-uuid" else what)
            if given != metadata[there]:
                raise requirement_failed(f"{differs} {given} != {metadata[there]}")
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
