"""Where Iceberg metadata lies, and what it calls the repository's files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dbt.adapters.vcs.core.repository import Repository

FOLDER: Final = "iceberg"
"""Everything made for other engines lies below it, and can be deleted and made again."""

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataPlace:
    """A place for metadata in a repository.

    Attributes:
        root: URI of the repository, as the engines that read the metadata reach it.
        folder: Folder of the metadata, relative to the repository.
    """

    root: str
    folder: str = FOLDER

    def uri(self, path: str) -> str:
        """Return the URI of a file, given its path in the repository.

        Nothing is escaped: what looks like an escape is part of the file's name.
        """
        return f"{self.root}/{path}"


def place_of(repository: Repository, folder: str = FOLDER) -> MetadataPlace:
    """Return the place in a repository that engines reach under the location it was opened at."""
    return MetadataPlace(root=root_of(repository.uri), folder=folder)


def root_of(location: str) -> str:
    """Return a repository's location as Iceberg writes it: `file:///…`, `s3://…`."""
    location = location.rstrip("/")
    if not _SCHEME.match(location):
        return f"file://{location}"
    return re.sub("^s3a://", "s3://", location)
