"""A list of files and their sizes that Spark reads instead of asking the store for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import quote

_LOG: Final = "_spark_metadata"
_VERSION: Final = "v1"
_PLAIN: Final = "/=,'*!~@:"
_BLOCK_SIZE: Final = 128 * 1024**2


class FileList:
    """A list in the form of the log of Spark's file sink.

    Spark takes the files and sizes of a folder with such a log from the log, wherever the files
    are. The name is in braces, a pattern that doesn't match itself: if the log is gone or ignored,
    Spark fails with PATH_NOT_FOUND, and doesn't take the folder for a table without files.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Make a list without files, unless it exists.

        Args:
            folder: A local folder.
            name: A name without characters that are special in paths; each list has its own.
        """
        self._log = folder / f"{{{name}}}" / _LOG
        self._new = folder / f"{name}.new"
        self.location = f"file:{self._log.parent}"
        self._log.mkdir(parents=True, exist_ok=True)
        self._put("0", [])

    def fill(self, root: str, files: Mapping[str, int], times: Mapping[str, int]) -> None:
        """Add the files, unless this was done before.

        Args:
            root: The repository as Spark names it.
            files: The size in bytes of each file, by its path relative to the repository.
            times: When a file changed, as Spark should see it, in milliseconds; 0 for others.
        """
        lines = (
            _line(uri(f"{root}/{path}"), size, times.get(path, 0)) for path, size in files.items()
        )
        self._put("1", list(lines))

    def fill_linked(
        self, root: Path, files: Mapping[str, int], column: str, values: Mapping[str, int]
    ) -> None:
        """Add links to local files, unless this was done before.

        Spark takes the name of a link's folder for a column, with one value in all rows of a
        file.

        Args:
            root: The repository's folder.
            files: The size in bytes of each file, by its path relative to the repository.
            column: The column's name.
            values: Its value in each file; no two have the same.
        """
        lines = []
        for path, size in files.items():
            link = self._log.parent / f"{column}={values[path]}" / PurePosixPath(path).name
            if not link.is_symlink():
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(root / path)
            lines.append(_line(uri(f"file:{link}"), size, 0))
        self._put("1", lines)

    def _put(self, batch: str, lines: Sequence[str]) -> None:
        place = self._log / batch
        if not place.exists():
            self._new.write_text("\n".join([_VERSION, *lines]))
            self._new.rename(place)


def uri(path: str) -> str:
    """Return Hadoop's spelling of a path, with a scheme, as a URI."""
    scheme, _, rest = path.partition(":")
    authority = ""
    if rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    return f"{scheme}://{authority}{quote(rest, safe=_PLAIN)}"


def _line(uri: str, size: int, time: int) -> str:
    return json.dumps(
        {
            "path": uri,
            "size": size,
            "isDir": False,
            "modificationTime": time,
            "blockReplication": 1,
            "blockSize": _BLOCK_SIZE,
            "action": "add",
        }
    )
