"""Commit requests: what a client wants of one table, as the protocol writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dbt.adapters.vcs.iceberg.serve.request_names import Namespace
from dbt.adapters.vcs.iceberg.serve.rest_error import RestError

Record = Mapping[str, Any]

_DEPTH: Final = 100

MAIN: Final = "main"
"""Iceberg's name for what the branch shows of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest:
    """One table's part of a commit.

    Attributes:
        namespace: The levels above the table's name.
        name: The table's name.
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


def texts_of(body: Record, key: str) -> dict[str, str]:
    """Return an object of texts in a body; empty if it is left out.

    Raises:
        RestError: It is something else.
    """
    found = body.get(key) or {}
    if not isinstance(found, Mapping) or not all(isinstance(v, str) for v in found.values()):
        raise bad_request(f"Expected an object of texts as {key}, found {found!r}.")
    return dict(found)


def bad_request(message: str) -> RestError:
    """Return the error for a request that can't be carried out as it is."""
    return RestError(400, "BadRequestException", message)


def _tagged(body: Record, key: str, tag: str) -> tuple[Record, ...]:
    found = body.get(key)
    fits = isinstance(found, Sequence) and all(
        isinstance(item, Mapping) and isinstance(item.get(tag), str) for item in found
    )
    if not fits or found is None:
        raise bad_request(f"Expected a list of objects with `{tag}` as {key}.")
    return tuple(found)
