"""Set aside: files that a repair takes away, kept where nothing reads them."""

from __future__ import annotations

from typing import Final

from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.condemned import Condemned
from dbt.adapters.vcs.core.store.objects import next_name, object_path

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
    """Give a file the bytes that its name or its digest asks for; the old ones are kept aside.

    It is not deleted first: a request to delete that arrives late would take the new bytes.
    """
    if not blobs.create(path, data):
        blobs.create(f"{ASIDE}/{repair}/{path}", blobs.get(path))
        blobs.replace_all({path: data})


def replace_object(blobs: Blobs, kind: str, id: str, data: bytes, repair: str) -> None:
    """Do what `replace_file` does for an object, under a name that no collection condemned."""
    condemned = Condemned(blobs)
    condemned.refresh()
    path = object_path(kind, id)
    free = condemned.free(path)
    while path != free and put_aside(blobs, path, repair):
        # Readers try the names in this order, so one that is damaged would hide the new one.
        path = next_name(blobs, kind, id, path) or free
    replace_file(blobs, free, data, repair)
