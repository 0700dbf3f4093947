"""Outside files: what a result depends on that is not in the repository."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.store.opening import CLOUD_SCHEMES, open_blobs

_SCHEME: Final = re.compile(r"[A-Za-z][\w+.-]*:")
_PATTERN: Final = re.compile(r"[*?\[{\\]")
_WILD: Final = re.compile(r"[*?]")
_OF_HADOOP: Final = re.compile(r"[\[{\\]")
_WHOLE: Final = 1 << 20
"""Bytes up to which a file is read to know whether it changed."""

_END: Final = 1 << 16
_MANY: Final = 100_000
"""Files from which on looking at each would take longer than it is worth."""


class UnknownFilesError(Exception):
    """Files can't be looked at without an engine; the text says why."""


def files_digest(location: str, options: Mapping[str, str]) -> str:
    """Return a digest of the files at a location: their paths and contents.

    It may cover more files than Spark reads there, never fewer. Of a file beyond a megabyte the
    size, the time and both ends count; in an object store the tag that it gives each object.

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


def _local(pattern: str) -> Iterator[tuple[str, int, str]]:
    """Return path, size and contents of at least the files that Spark reads."""
    count = 0
    try:
        for file in _below(_places(pattern)):
            if isinstance(file, _Link):
                yield str(file.path), -1, str(file.target)
                continue
            count += 1
            if count > _MANY:
                raise UnknownFilesError(f"there are more than {_MANY} files at {pattern}")
            yield str(file), file.stat().st_size, _contents(file)
    except OSError as error:
        raise UnknownFilesError(f"{pattern} can't be listed: {error}") from error


def _places(pattern: str) -> Iterable[Path]:
    """Return files and folders that have all that Hadoop finds by a pattern, or more.

    From a part with a class, alternatives or an escape on, everything is taken: Hadoop has rules
    of its own there, such as `[^x]` and `{a/b,c}`.
    """
    first, *parts = Path(os.path.abspath(pattern)).parts
    places = [Path(first)]
    for part in parts:
        if _OF_HADOOP.search(part):
            break
        if _WILD.search(part):
            inside = (child for place in places if place.is_dir() for child in place.iterdir())
            places = [child for child in inside if fnmatchcase(child.name, part)]
        else:
            places = [place / part for place in places]
    return places


class _Link(NamedTuple):
    path: Path
    target: Path


def _below(places: Iterable[Path]) -> Iterator[Path | _Link]:
    """Return files, also in linked folders, which Spark follows; each folder's only once.

    A link to a folder comes as itself as well, since folders' names are partitions.
    """
    seen: set[Path] = set()
    waiting = list(places)
    while waiting:
        path = waiting.pop()
        if path.is_file():
            yield path
        elif path.is_dir():
            target = path.resolve()
            if path.is_symlink():
                yield _Link(path, target)
            if target not in seen:
                seen.add(target)
                waiting += path.iterdir()


def _contents(file: Path) -> str:
    """Return a digest of a file's contents; of a large one the ends and the time count."""
    found = file.stat()
    with file.open("rb") as opened:
        if found.st_size <= _WHOLE:
            return hashlib.sha256(opened.read()).hexdigest()
        first = opened.read(_END)
        opened.seek(-_END, os.SEEK_END)
        return hashlib.sha256(repr((first, opened.read(), found.st_mtime_ns)).encode()).hexdigest()


def _in_store(location: str, options: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
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
            yield info.path, info.bytes, info.tag or str(info.modified_at)
    except VcsError as error:
        raise UnknownFilesError(f"{location} can't be listed: {error}") from error
