"""Write once: files that nobody else writes, and stores that keep what is there."""

from __future__ import annotations

from dbt.adapters.vcs.core.errors import InputError, NotFoundError, StorageError
from dbt.adapters.vcs.core.store.blobs import Blobs


def write_new(blobs: Blobs, path: str, data: bytes) -> None:
    """Store a file in a folder that only this write uses.

    Finding its own bytes there is success: a client that didn't get an answer asks again, and an
    error doesn't tell whether the request had arrived.

    Raises:
        InputError: Another file is there: the folder is not new.
        StorageError: The store failed, and the file is not there as far as can be seen.
    """
    try:
        if blobs.create(path, data):
            return
    except StorageError:
        if not _holds(blobs, path, data):
            raise
        return
    if not _holds(blobs, path, data):
        raise InputError(f"{path} already exists; write to a new folder.")


def check_write_once(blobs: Blobs, path: str, data: bytes) -> None:
    """Check that a store refuses to create a file that exists, and holds these bytes.

    A store that doesn't refuse writes the same bytes once more, so nothing is lost by asking.

    Raises:
        StorageError: It does not, so two writers could both believe that they won.
    """
    if blobs.create(path, data):
        raise StorageError(
            f"The store of {blobs.uri} ignores put-if-absent (If-None-Match), without which "
            "concurrent writers lose each other's commits. Upgrade it, or put the repository in a "
            "store that has it: S3, GCS, Azure, a local disk."
        )


def _holds(blobs: Blobs, path: str, data: bytes) -> bool:
    try:
        return blobs.size(path) == len(data) and blobs.get(path) == data
    except NotFoundError:
        return False
