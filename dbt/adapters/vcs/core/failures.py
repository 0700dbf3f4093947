"""Errors of stores, and locations and options, as messages may show them: without secrets."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

from dbt.adapters.vcs.core.errors import NoSpaceError, NotFoundError, StorageError, VcsError

_FULL = (errno.ENOSPC, errno.EDQUOT)
# A client without credentials asks the machine's own service for a role at last.
_NO_CREDENTIALS = re.compile(r"//(169\.254\.\d+\.\d+|metadata\.google\.internal)/")
_OS_CODE = re.compile(r"\(os error (\d+)\)")


def translated(verb: str, path: str, uri: str) -> AbstractContextManager[None]:
    """Turn errors of a store inside the block into NotFoundError or StorageError.

    `verb` is `read`, `write`, `list` or `delete`; our own errors pass unchanged.
    """
    return _Translation(verb, path, uri)


class _Translation(AbstractContextManager[None]):
    # A class, since a generator costs as much as the calls to a local disk that it is around.
    __slots__ = ("_path", "_uri", "_verb")

    def __init__(self, verb: str, path: str, uri: str) -> None:
        self._verb = verb
        self._path = path
        self._uri = uri

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, VcsError):
            return
        if isinstance(error, FileNotFoundError):
            # A write makes its file, so what is missing is the bucket.
            if self._verb == "write":
                raise StorageError(
                    f"Could not write {self._path}: there is no {self._uri}. "
                    "Create the bucket or container, or check the location, then try again."
                ) from error
            raise NotFoundError(f"There is no file {self._path} in {self._uri}.") from error
        if isinstance(error, OSError | ValueError | RuntimeError):
            raise _storage_error(error, self._verb, self._path, self._uri) from error


def plain(error: BaseException, hidden: Iterable[str] = ()) -> str:
    """Return the first line of an error's text, without anything that could be a credential."""
    text = (str(error).strip() or type(error).__name__).partition("\n")[0]
    return without_secrets(text, hidden)


def _storage_error(error: Exception, verb: str, path: str, uri: str) -> StorageError:
    code = _os_code(error)
    if isinstance(error, PermissionError) or code in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(
            f"No permission to {verb} in {uri} ({path}: {plain(error)}). "
            "Check the rights of this user, or the credentials, on that location."
        )
    if _NO_CREDENTIALS.search(str(error)):
        return StorageError(
            f"Found no credentials to {verb} {path} in {uri}: there are none in the environment "
            "(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for S3) nor in storage_options, and "
            "this machine has no role. Set them there, or use --storage-option NAME=VALUE."
        )
    if code in _FULL:
        # A kind of its own, since a collection goes on where a disk is full.
        return NoSpaceError(
            f"No space left to {verb} {path} in {uri}. Free some space, then try again; "
            "nothing that was committed before is touched."
        )
    return StorageError(
        f"Could not {verb} {path} in {uri}: {plain(error)}. "
        "Check that the location is reachable, then try again."
    )


def _os_code(error: Exception) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    # obstore gives the number in its text alone.
    found = _OS_CODE.search(str(error))
    return int(found.group(1)) if found else None


HIDDEN: Final = "***"

_QUERY: Final = re.compile(r"\?[^\s\"')]*")
_END: Final = re.compile(r"[?#]")
_URL: Final = re.compile(r"://([^\s\"']*)")
_SECRET: Final = re.compile(
    r"(?i)\b([\w-]*(?:secret|token|password|signature|access_?key|account_?key|credential)"
    r"[\w-]*)([\"']?\s*[=:]\s*[\"']?)[^\s]+"
)
_OPTION: Final = re.compile(r"(?i)(?:[a-z]+|s3|http[12])(?:_(?:[a-z]+|s3))*")
# Characters from which on a value is hidden wherever it occurs, and not only in quotes.
_MIN_LENGTH: Final = 4


def shown_location(uri: str) -> str:
    """Return a location for messages: without user, password, query and fragment."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        # A URI that lost its slashes may still hold a password.
        scheme, separator, rest = uri.partition(":") if "@" in uri else ("", "", uri)
    return f"{scheme}{separator}{_bare(rest)}"


def shown_option(name: str) -> str:
    """Return the name of an option for messages, hidden if it could be a value in its place."""
    return name if _OPTION.fullmatch(name) else HIDDEN


def without_secrets(text: str, values: Iterable[str] = ()) -> str:
    """Return a text without these values, and without anything else that could be a credential."""
    # The longest first: a value may be part of another one.
    for value in sorted(filter(None, values), key=len, reverse=True):
        # obstore's errors show settings as Rust prints them, with escapes.
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
