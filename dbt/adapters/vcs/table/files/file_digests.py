"""Digests of Parquet files: is this the file that its entry describes, byte for byte."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import pyarrow as pa

from dbt.adapters.vcs.core.errors import DamagedError, VcsError

MAGIC: Final = b"PAR1"
_DIGITS: Final = 32

HELP: Final = (
    "Restore it from a backup of the repository: dbt-vcs repair shows how, and what else can be "
    "done; dbt-vcs fsck --data finds all damaged files."
)
"""The next step where a file of rows is damaged."""


class Entry(Protocol):
    """What an entry says about its file; digests that it lacks are empty."""

    @property
    def path(self) -> str:
        """The file, relative to the repository."""

    @property
    def bytes(self) -> int:
        """The file's size; 0 if it isn't known."""

    @property
    def footer(self) -> str:
        """Digest of the footer."""

    @property
    def whole(self) -> str:
        """Digest of the whole file."""


def digest(data: bytes) -> str:
    """Return the digest of some bytes: 32 hexadecimal digits of their SHA-256."""
    return digest_of_parts([data])


def digest_of_parts(parts: Iterable[bytes]) -> str:
    """Return the digest of some bytes that come in parts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:_DIGITS]


def footer_of(tail: bytes) -> bytes | None:
    """Return a file's footer, with its length and the magic after it; None if it isn't there.

    Args:
        tail: The end of the file.
    """
    if len(tail) < 12 or tail[-4:] != MAGIC:
        return None
    length = int.from_bytes(tail[-8:-4], "little") + 8
    return tail[-length:] if length + 4 <= len(tail) else None


def check_footer(entry: Entry, found: str) -> None:
    """Check the digest of a footer that was read.

    Raises:
        DamagedError: The entry has another one.
    """
    if entry.footer and found != entry.footer:
        raise _another(entry.path, "footer", entry.footer, found)


def check_whole(entry: Entry, data: bytes) -> None:
    """Check a file whose bytes are all at hand, as far as its entry has digests.

    Raises:
        DamagedError: It is another file, or a damaged one.
    """
    if entry.whole and (found := digest(data)) != entry.whole:
        raise _another(entry.path, "file", entry.whole, found)
    if entry.footer:
        check_footer(entry, digest(footer_of(data) or b""))


@contextmanager
def damage_told(path: str) -> Iterator[None]:
    """Turn what Arrow raises for bytes that it can't read into an error that names the file."""
    try:
        yield
    except VcsError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedError(f"{path} is damaged: {error}. {HELP}") from error


def _another(path: str, what: str, expected: str, found: str) -> DamagedError:
    return DamagedError(
        f"{path} is not the file that was written: the digest of its {what} is {found}, expected "
        f"{expected}. It is damaged, or another file is in its place. {HELP}"
    )
