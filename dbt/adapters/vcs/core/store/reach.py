"""Reach: whether what is written to a location could change or remove a repository's files."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

_SAME: Final = {
    "s3a": "s3",
    "s3n": "s3",
    "azure": "az",
    "abfs": "az",
    "abfss": "az",
    "wasb": "az",
    "wasbs": "az",
    "adl": "az",
}
"""Schemes of one store, by the one that stands for all."""

_PARTS: Final = ("", "refs", "objects", "data")
"""Folders of a repository that may be links to another disk."""


class _Place(NamedTuple):
    """A location in an object store; the account is empty if it is not known."""

    scheme: str
    account: str
    bucket: str
    path: str


def reaches(location: str, uri: str) -> bool:
    """Return whether a location is in the repository at `uri`, or a folder that holds it.

    Both may be paths or URIs; relative paths start from the working directory. On a local disk
    links are followed, and `..` is taken as the system and as Hadoop take it.
    """
    here, there = _scheme(location), _scheme(uri)
    if not here and not there:
        roots = [Path(path, part) for path in _local(uri) for part in _PARTS]
        return any(_meet(Path(path), root) for path in _local(location) for root in roots)
    if not here or not there:
        return False
    mine, theirs = _place(location), _place(uri)
    accounts = {place.account for place in (mine, theirs)} - {""}
    if mine[0] != theirs[0] or mine.bucket != theirs.bucket or len(accounts) > 1:
        return False
    return _covers(mine.path, theirs.path) or _covers(theirs.path, mine.path)


def _scheme(text: str) -> str:
    head, separator, _ = text.partition(":")
    # One letter before the colon is a Windows drive.
    scheme = head.lower() if separator and len(head) > 1 and "/" not in head else ""
    return "" if scheme == "file" else _SAME.get(scheme, scheme)


def _local(text: str) -> set[str]:
    """Return the paths that a text could mean on this machine."""
    if text[:5].lower() == "file:":
        rest = text[5:]
        text = "/" + rest.lstrip("/") if not rest.startswith("//") else urlsplit(text).path
    spelled = {text, unquote(text), os.path.expanduser(text)}
    whole = {os.path.abspath(path) for path in spelled if path and "\0" not in path}
    # Hadoop drops `..` from the text; the system follows links before it goes up.
    return whole | {os.path.join(os.getcwd(), path) for path in spelled if "\0" not in path}


def _meet(path: Path, root: Path) -> bool:
    """Return whether one of two paths is the other one, or in it."""
    mine, theirs = path.resolve(), root.resolve()
    return _is_in(mine, theirs) or _is_in(theirs, mine)


def _is_in(path: Path, folder: Path) -> bool:
    return any(_is_same(each, folder) for each in (path, *path.parents))


def _is_same(one: Path, other: Path) -> bool:
    if one == other:
        return True
    try:
        # Bind mounts, and disks that ignore case.
        return one.samefile(other)
    except OSError:
        return False


def _place(uri: str) -> _Place:
    parts = urlsplit(uri)
    container, at, host = parts.netloc.rpartition("@")
    is_azure = _scheme(uri) == "az" and bool(at)
    path = posixpath.normpath("/" + unquote(parts.path).strip("/")).strip("/")
    return _Place(
        scheme=_scheme(uri),
        account=host.partition(".")[0] if is_azure else "",
        bucket=container if is_azure else host,
        path=path,
    )


def _covers(folder: str, path: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")
