"""Errors, named for what the caller can do about them."""

from __future__ import annotations

from collections.abc import Iterable


class VcsError(Exception):
    """Root of every error that dbt-vcs raises.

    The message says what was expected, what was found and the next step to take.
    """


class InputError(VcsError):
    """The request can't be carried out as written: fix the input."""


class NotFoundError(InputError):
    """Nothing has the given name: check the name."""


class UnsupportedError(InputError):
    """The statement is understood but not supported on versioned tables."""


class ReadOnlyError(InputError):
    """A change was requested of something that is read-only."""


class ProtectedError(InputError):
    """The branch only takes promotions: promote the changes."""


class ConflictError(VcsError):
    """Both sides changed the same thing differently: resolve, then try again."""


class RetryError(VcsError):
    """Other writers were first on every attempt: try again."""


class StorageError(VcsError):
    """The store refused or failed (permission, space, network): fix it, then try again."""


class NoSpaceError(StorageError):
    """The store is full: free some space, then try again."""


class DamagedError(VcsError):
    """Stored bytes are damaged: restore them from a backup."""


class FormatError(VcsError):
    """The repository has a format that this version of dbt-vcs doesn't know, or can't work on."""


class EngineError(VcsError):
    """The engine that computes rows failed: the message quotes it."""


def listed(items: Iterable[str], most: int, between: str = ", ") -> str:
    """Return the first items of a list for a sentence, and how many there are besides."""
    known = list(items)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return f"{between.join(known[:most])}{more}"
