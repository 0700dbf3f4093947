"""Set aside: files that a repair takes away, kept where nothing reads them."""

from __future__ import annotations

from typing import Final

from dbt.adapters.vcs.core.errors import NotFoundError, RetryError
from dbt.adapters.vcs.core.store.blobs import Blobs

ASIDE: Final = "damaged"
"""The folder of files that repairs took away, each below the id of its repair."""


def put_aside(blobs: Blobs, path: str, repair: str) -> bool:
    """Take a file away and keep its bytes; return False if it is not there."""
    try:
        data = blobs.get(path)
    except NotFoundError:
        return False
    # First the copy: if the process dies here, nothing is lost and the repair is begun again.
    blobs.create(f"{ASIDE}/{repair}/{path}", data)
    blobs.delete(path)
    return True


def replace_file(blobs: Blobs, path: str, data: bytes, repair: str) -> None:
    """Give a file other bytes; the old ones are kept aside.

    Raises:
        RetryError: Somebody else wrote the file meanwhile.
    """
    put_aside(blobs, path, repair)
    if not blobs.create(path, data) and blobs.get(path) != data:
        raise RetryError(
            f"The file {path} was written by somebody else during the repair. Repair again, when "
            "nobody writes there."
        )
