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
from dbt.adapters.vcs.core.secrets import without_secrets

UNSUPPORTED: Final = "UnsupportedOperationException"


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
