"""Errors as the protocol of Iceberg's REST catalogs has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dbt.adapters.vcs.core.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    ProtectedError,
    ReadOnlyError,
    RetryError,
    StorageError,
    VcsError,
)
from dbt.adapters.vcs.core.model import Entry, RelationName, TableEntry, ViewEntry
from dbt.adapters.vcs.core.secrets import without_secrets

UNSUPPORTED: Final = "UnsupportedOperationException"

NO_NAMESPACE = "NoSuchNamespaceException"
TAKEN = "AlreadyExistsException"


# Not frozen: `with` sets the traceback of an exception.
@dataclass(eq=False)
class RestError(Exception):
    """An answer that is an error.

    Attributes:
        status: Of HTTP.
        kind: The protocol's name of it, which clients tell errors by.
        message: What was expected, what was found, and the next step.
    """

    status: int
    kind: str
    message: str

    @property
    def body(self) -> dict[str, Any]:
        """The answer's JSON."""
        return {"error": {"message": self.message, "type": self.kind, "code": self.status}}


# The first that fits counts.
_KINDS: Final[tuple[tuple[type[VcsError], int, str], ...]] = (
    (NotFoundError, 404, "NotFoundException"),
    (ReadOnlyError, 406, UNSUPPORTED),
    (ProtectedError, 403, "ForbiddenException"),
    (InputError, 400, "BadRequestException"),
    (ConflictError, 409, "CommitFailedException"),
    (RetryError, 409, "CommitFailedException"),
    (StorageError, 503, "ServiceUnavailableException"),
)


def rest_error(error: Exception) -> RestError:
    """Return an exception as an answer; one that nobody expected keeps its secrets."""
    if isinstance(error, RestError):
        return error
    for type_, status, kind in _KINDS:
        if isinstance(error, type_):
            return RestError(status, kind, str(error))
    if isinstance(error, VcsError):
        return RestError(500, "InternalServerError", str(error))
    told = f"{type(error).__name__}: {without_secrets(str(error))}"
    return RestError(500, "InternalServerError", f"dbt-vcs serve failed unexpectedly: {told}")


# Clients' tests, and some programs, look for the beginnings of these sentences.
def no_namespace(name: str, hint: str = "") -> RestError:
    """Return the error for a namespace that isn't there."""
    return RestError(404, NO_NAMESPACE, f"Namespace does not exist: {name}{hint}")


def no_relation(
    name: RelationName | str, type_: type[TableEntry] | type[ViewEntry], hint: str = ""
) -> RestError:
    """Return the error for a table or a view that isn't there."""
    noun = type_.noun.capitalize()
    return RestError(404, f"NoSuch{noun}Exception", f"{noun} does not exist: {name}{hint}")


def name_taken(
    name: RelationName, there: Entry, wanted: type[TableEntry] | type[ViewEntry]
) -> RestError:
    """Return the error for a relation to be made under a name that has one."""
    noun = there.noun.capitalize()
    same = "" if isinstance(there, wanted) else " with same name"
    return RestError(409, TAKEN, f"{noun}{same} already exists: {name}")
