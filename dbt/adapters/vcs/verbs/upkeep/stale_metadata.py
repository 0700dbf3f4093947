"""Stale metadata: files for other engines about versions whose rows are not kept."""

from __future__ import annotations

from typing import Final

from dbt.adapters.vcs.core.plan.collect import Needed
from dbt.adapters.vcs.iceberg.metadata_place import FOLDER

_ID: Final = 64
"""Characters of the id of an object."""


def is_stale(path: str, kept: Needed) -> bool:
    """Return whether a file is metadata that nobody needs as long as only these rows are kept.

    It never is the metadata of a version whose rows are kept, nor anything that such metadata
    names. Files that don't say in their names what they are about are stale with their table.
    What an export or a catalog shows is no matter of this: its versions are kept.
    """
    if not path.startswith(f"{FOLDER}/"):
        return False
    kind, owner, *inner = path.split("/")[1:]
    if kind == "views":
        return ("view", owner) not in kept.objects
    if kind != "tables":
        return False
    if owner not in kept.whole:
        return True
    if inner[0] == "metadata":
        return inner[2] not in kept.whole
    about = inner[-1].partition("-")[0]
    return inner[0] in ("lists", "manifests") and len(about) == _ID and about not in kept.whole
