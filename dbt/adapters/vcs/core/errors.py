"""Errors, named for what the caller can do about them."""

from __future__ import annotations


class VcsError(Exception):
    """Root of every error that dbt-vcs raises.

    The message says what was expected, what was found and the next step to take.
    """


class InputError(VcsError):
    """The request can't be carried out as written: fix the input."""


class NotFoundError(InputError):
    """A name that was given stands for nothing: check the name."""


class UnsupportedError(InputError):
    """The statement is understood and not supported on versioned tables."""


class ReadOnlyError(InputError):
    """A change was asked of something that is only being read."""


class ProtectedError(InputError):
    """The branch takes changes by promotion alone: promote them."""


class ConflictError(VcsError):
    """Both sides changed one thing in different ways: resolve, then try again."""


class RetryError(VcsError):
    """Another writer won every race of a bounded number: try again."""


class StorageError(VcsError):
    """The store refused or failed (permission, space, network): mend it, then try again."""


class DamagedError(VcsError):
    """Stored bytes are not what they must be: restore them from a backup."""


class FormatError(VcsError):
    """The repository was written by a newer version: upgrade dbt-vcs."""


class EngineError(VcsError):
    """The engine that computes rows failed: the message carries its own words."""
