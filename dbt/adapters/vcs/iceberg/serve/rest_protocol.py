"""What Iceberg's REST protocol asks and answers: errors, names in paths, pages, JSON."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

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
from dbt.adapters.vcs.core.failures import without_secrets
from dbt.adapters.vcs.core.model import Entry, RelationName, TableEntry, ViewEntry

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
    # Its text may name a URL with keys of the store.
    told = f"{type(error).__name__}: {without_secrets(str(error))}"
    return RestError(500, "InternalServerError", f"dbt-vcs serve failed unexpectedly: {told}")


def bad_request(message: str) -> RestError:
    """Return the error for a request that can't be carried out as it is."""
    return RestError(400, "BadRequestException", message)


def forbidden(message: str) -> RestError:
    """Return the error for a request that its bearer may not make."""
    return RestError(403, "ForbiddenException", message)


# Clients' tests, and some programs, look for the beginnings of these sentences.
def no_namespace(name: str, hint: str = "") -> RestError:
    """Return the error for a namespace that isn't there."""
    return RestError(404, NO_NAMESPACE, f"Namespace does not exist: {name}{hint}")


EntryType: TypeAlias = type[TableEntry] | type[ViewEntry]
"""Whether a table or a view is meant."""


def no_relation(name: RelationName | str, type_: EntryType, hint: str = "") -> RestError:
    """Return the error for a table or a view that isn't there."""
    noun = type_.noun.capitalize()
    return RestError(404, f"NoSuch{noun}Exception", f"{noun} does not exist: {name}{hint}")


def name_taken(name: RelationName, there: Entry, wanted: EntryType) -> RestError:
    """Return the error for a relation to be made under a name that has one."""
    noun = there.noun.capitalize()
    same = "" if isinstance(there, wanted) else " with same name"
    return RestError(409, TAKEN, f"{noun}{same} already exists: {name}")


NAMESPACES: Final = "/namespaces"
NAMESPACE: Final = "/namespaces/{namespace}"
TABLES: Final = f"{NAMESPACE}/tables"
TABLE: Final = f"{TABLES}/{{table}}"
VIEWS: Final = f"{NAMESPACE}/views"
VIEW: Final = f"{VIEWS}/{{view}}"


SEPARATOR: Final = "\x1f"
"""What stands between the levels of a namespace."""

Namespace: TypeAlias = tuple[str, ...]

N = TypeVar("N")

MAX_PAGE: Final = 10_000
_PAGE: Final = 1_000

# They stand where a prefix may stand, if there is none.
_TAKEN: Final = frozenset({"config", "namespaces", "oauth", "tables", "transactions", "views"})
_ESCAPED: Final = re.compile(rb"[^A-Za-z0-9._~-]")
_SIZE: Final = re.compile(r"[1-9][0-9]{0,8}")
_ANY: Final = re.compile(rb"(?s:.)")
_HEX: Final = re.compile(rb"=([0-9A-F]{2})")


def prefix_of(revision: str) -> str:
    """Return the prefix of paths for a revision.

    It is one segment of a path that no client has to escape: bytes other than letters, digits and
    `. _ ~ -` become `=XX`.
    """
    data = revision.encode()
    # Clients take `.` and `..` out of a path, so a name of dots is escaped as a whole.
    if not revision.strip("."):
        return _ANY.sub(_hex, data).decode()
    # Escaped by its first letter, which stands for itself otherwise.
    if revision in _TAKEN:
        return f"={data[0]:02X}{revision[1:]}"
    return _ESCAPED.sub(_hex, data).decode()


def revision_of(prefix: str) -> str:
    """Return the revision that a prefix stands for, whether a client escaped it again or not."""
    data = unquote(prefix).encode()
    try:
        return _HEX.sub(lambda found: bytes([int(found[1], 16)]), data).decode()
    except UnicodeDecodeError:
        raise bad_request(f"{prefix!r} is not UTF-8.") from None


def namespace_of(text: str) -> Namespace:
    """Return the levels of a namespace in a path or query, which may still be escaped."""
    # Some clients escape the separator, and the path is given as it was sent.
    return tuple(unquote(text).split(SEPARATOR))


def paged(
    request: Request, items: Sequence[N], text: Callable[[N], str]
) -> tuple[Sequence[N], str | None]:
    """Return the items of the page that a request asks for, and the token of the next one.

    Without a token the request wants everything at once, as the protocol says; an empty one asks
    for the first page.

    Args:
        items: All of them, sorted by `text`.
        text: What a token keeps of an item.

    Raises:
        RestError: The token is none of ours, or the size is no positive number.
    """
    token, size = request.query_params.get("pageToken"), request.query_params.get("pageSize")
    if token is None:
        return items, None
    if size is not None and not _SIZE.fullmatch(size):
        raise bad_request(f"The pageSize is {size!r}; expected a positive number.")
    # A token is where the page before ended, so that pages don't shift while tables come and go.
    last = _last_of(token)
    count = min(int(size), MAX_PAGE) if size else _PAGE
    left = [item for item in items if last is None or text(item) > last]
    if len(left) <= count:
        return left, None
    return left[:count], base64.urlsafe_b64encode(text(left[count - 1]).encode()).decode()


def _last_of(token: str) -> str | None:
    """Return the name that the page before ended with; None for the first page."""
    if not token:
        return None
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise bad_request(
            f"The pageToken {token!r} is none that this server gave. Ask for the first page, "
            "with an empty pageToken.",
        ) from None


def _hex(byte: re.Match[bytes]) -> bytes:
    return b"=%02X" % byte[0][0]


JSON: Final = "application/json"
# Answers after which more of a body could arrive, which nobody reads.
_UNREAD: Final = frozenset({408, 413})


def answer(value: Any, status: int = 200) -> Response:
    """Return an answer with a JSON value."""
    return Response(msgspec.json.encode(value), status, media_type=JSON)


def failure(error: RestError) -> Response:
    """Return an error as an answer."""
    told = {"message": error.message, "type": error.kind, "code": error.status}
    response = answer({"error": told}, error.status)
    # RFC 9110: an answer with this status says how to authenticate.
    if error.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if error.status in _UNREAD:
        response.headers["Connection"] = "close"
    return response


def asked_namespace(request: Request) -> Namespace:
    """Return the namespace in a request's path."""
    return namespace_of(request.path_params["namespace"])


def asked_name(request: Request, what: str) -> str:
    """Return the name of a table or view in a request's path."""
    return unquote(request.path_params[what])
