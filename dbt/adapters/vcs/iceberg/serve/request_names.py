"""Names in a request: revisions, namespaces and pages, as a path or query spells them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar
from urllib.parse import unquote

from dbt.adapters.vcs.iceberg.serve.rest_error import RestError

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
    if not revision.strip("."):
        return _ANY.sub(_hex, data).decode()
    if revision in _TAKEN:
        return f"={data[0]:02X}{revision[1:]}"
    return _ESCAPED.sub(_hex, data).decode()


def revision_of(prefix: str) -> str:
    """Return the revision that a prefix stands for, whether a client escaped it again or not."""
    data = unquote(prefix).encode()
    try:
        return _HEX.sub(lambda found: bytes([int(found[1], 16)]), data).decode()
    except UnicodeDecodeError:
        raise RestError(400, "BadRequestException", f"{prefix!r} is not UTF-8.") from None


def namespace_of(text: str) -> Namespace:
    """Return the levels of a namespace in a path or query, which may still be escaped."""
    return tuple(unquote(text).split(SEPARATOR))


def page(
    names: Sequence[N], token: str | None, size: str | None, text: Callable[[N], str]
) -> tuple[Sequence[N], str | None]:
    """Return the names of one page, and the token of the next one if there are more.

    Args:
        names: All of them, sorted by `text`.
        token: The request's token: None for everything at once, as the protocol says, empty for
            the first page.
        size: The number of names in a page.
        text: What a token keeps of a name.

    Raises:
        RestError: The token is none of ours, or the size is no positive number.
    """
    if token is None:
        return names, None
    if size is not None and not _SIZE.fullmatch(size):
        raise RestError(
            400, "BadRequestException", f"The pageSize is {size!r}; expected a positive number."
        )
    last = _last_of(token)
    count = min(int(size), MAX_PAGE) if size else _PAGE
    left = [name for name in names if last is None or text(name) > last]
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
        raise RestError(
            400,
            "BadRequestException",
            f"The pageToken {token!r} is none that this server gave. Ask for the first page, "
            "with an empty pageToken.",
        ) from None


def _hex(byte: re.Match[bytes]) -> bytes:
    return b"=%02X" % byte[0][0]
