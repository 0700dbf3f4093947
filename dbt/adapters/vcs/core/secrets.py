"""Secrets: locations, options and errors as messages may show them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

HIDDEN: Final = "***"

_QUERY: Final = re.compile(r"\?[^\s\"')]*")
_END: Final = re.compile(r"[?#]")
_URL: Final = re.compile(r"://([^\s\"']*)")
_SECRET: Final = re.compile(
    r"(?i)\b([\w-]*(?:secret|token|password|signature|access_?key|account_?key|credential)"
    r"[\w-]*)([\"']?\s*[=:]\s*[\"']?)[^\s]+"
)
_OPTION: Final = re.compile(r"(?i)(?:[a-z]+|s3|http[12])(?:_(?:[a-z]+|s3))*")
_MIN_LENGTH: Final = 4
"""Characters from which on a value is hidden wherever it occurs, and not only in quotes."""


def shown_location(uri: str) -> str:
    """Return a location for messages: without user, password, query and fragment."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        scheme, separator, rest = uri.partition(":") if "@" in uri else ("", "", uri)
    return f"{scheme}{separator}{_bare(rest)}"


def shown_option(name: str) -> str:
    """Return the name of an option for messages, hidden if it could be a value in its place."""
    return name if _OPTION.fullmatch(name) else HIDDEN


def without_secrets(text: str, values: Iterable[str] = ()) -> str:
    """Return a text without these values, and without anything else that could be a credential."""
    for value in sorted(filter(None, values), key=len, reverse=True):
        for form in {value, value.replace("\\", "\\\\").replace('"', '\\"')}:
            text = text.replace(f'"{form}"', f'"{HIDDEN}"')
            if len(value) >= _MIN_LENGTH:
                text = text.replace(form, HIDDEN)
    text = _URL.sub(lambda url: f"://{_bare(url[1])}", text)
    return _SECRET.sub(rf"\1\2{HIDDEN}", _QUERY.sub("", text))


def _bare(rest: str) -> str:
    """Return what follows `://`, without user, password, query and fragment."""
    head, *query = _END.split(rest, maxsplit=1)
    if "@" in "".join(query):
        # The password may have the question mark, or the query the @: nothing is sure.
        return HIDDEN
    user, at, host = head.rpartition("@")
    return f"{HIDDEN}@{host}" if user and at else host
