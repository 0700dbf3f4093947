"""Outside files: what a result depends on that is not in the repository."""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.store.opening import CLOUD_SCHEMES, open_blobs

_SCHEME: Final = re.compile(r"[A-Za-z][\w+.-]*:")
_PATTERN: Final = re.compile(r"[*?\[{]")
_MANY: Final = 100_000
"""Files from which on looking at each would take longer than it is worth."""


class UnknownFilesError(Exception):
    """Files can't be looked at without an engine; the text says why."""


def files_digest(location: str, options: Mapping[str, str]) -> str:
    """Return a digest of the files at a location: their paths, sizes and times.

    Args:
        location: A path or URI, with Hadoop's patterns.
        options: Options of the object store, as for the repository's.

    Raises:
        UnknownFilesError: They can't be listed from here, or there are none.
    """
    scheme = _SCHEME.match(location)
    if scheme is None or scheme[0].lower() == "file:":
        found = sorted(_local(_local_path(location)))
    elif scheme[0].rstrip(":").lower() in CLOUD_SCHEMES:
        found = sorted(_in_store(location, options))
    else:
        raise UnknownFilesError(f"files at {location} can't be listed without Spark")
    if not found:
        raise UnknownFilesError(f"there are no files at {location}")
    return hashlib.sha256(repr(found).encode()).hexdigest()[:32]


def _local_path(location: str) -> str:
    return unquote(urlsplit(location).path) if location.startswith("file:") else location


def _local(pattern: str) -> Iterator[tuple[str, int, int]]:
    if "{" in pattern:
        raise UnknownFilesError(f"the pattern {pattern} has alternatives")
    places = glob.glob(pattern) if _PATTERN.search(pattern) else [pattern]
    count = 0
    for place in places:
        path = Path(place)
        for file in path.rglob("*") if path.is_dir() else [path]:
            if not file.is_file():
                continue
            count += 1
            if count > _MANY:
                raise UnknownFilesError(f"there are more than {_MANY} files at {pattern}")
            stat = file.stat()
            yield str(file.absolute()), stat.st_size, stat.st_mtime_ns


def _in_store(location: str, options: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    match = _PATTERN.search(location)
    fixed = location if match is None else location[: match.start()].rpartition("/")[0]
    base, _, last = fixed.rstrip("/").rpartition("/")
    if "://" not in base or base.endswith(":/"):
        raise UnknownFilesError(f"{location} names no folder of a bucket")
    try:
        blobs = open_blobs(base, options)
        for count, info in enumerate(blobs.walk(last)):
            if count > _MANY:
                raise UnknownFilesError(f"there are more than {_MANY} files at {location}")
            yield info.path, info.bytes, info.modified_at
    except VcsError as error:
        raise UnknownFilesError(f"{location} can't be listed: {error}") from error
