"""Deleted places of a version: what its tombstones delete from some of its files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.model import Block
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.version_mounts import TableMount
from dbt.adapters.vcs.table.deletion_bitmap import (
    DeletionBitmap,
    deletion_bitmap,
    number_count,
    text_size,
)
from dbt.adapters.vcs.table.file_numbers import FileNumbers
from dbt.adapters.vcs.table.files.block_reader import Files, Positions

LOST: Final = (
    "The rows of a version without a name are collected when it is older than the retention; "
    "restore those of any other from a backup."
)
_MAX_WRITTEN: Final = 2_000
"""The most deleted rows to inline in a query one by one."""

_MAX_MARKED: Final = 2_000_000
"""The most deleted rows to inline as a bitmap; above this, Spark reads the tombstones."""

_MAX_TEXT: Final = 4 * 1024**2
"""The most characters of a bitmap that is written out, which Spark parses with each query."""

_MAX_NUMBERS: Final = 2 * 1024**2
"""The most numbers of another one, of eight bytes, which go to the executors with each query."""

_MAX_READ: Final = 4 * 1024**2
"""The most bytes of tombstones to read on the driver."""

_MAX_FILES: Final = 16
"""The most tombstones to read there; each is a request if the store is remote."""

_MARKED_FACTOR: Final = 64
"""How much more may be read for a bitmap, which needs two columns of the tombstones."""


class DeletedPlaces:
    """The deleted rows of some files of a version.

    Args:
        mount: The version.
        files: The files.
        blobs: The repository's store.

    Attributes:
        tombstones: The tombstones that delete rows of the files.
        count: How many rows they delete.
    """

    def __init__(self, mount: TableMount, files: Collection[str], blobs: Blobs) -> None:
        self._mount = mount
        self._files = frozenset(files)
        self._blobs = blobs
        self.tombstones = [
            item for item in mount.tombstones if not self._files.isdisjoint(item.targets)
        ]
        self.count = sum(
            rows
            for item in self.tombstones
            for target, rows in item.targets.items()
            if target in self._files
        )

    def bitmap(self, numbers: FileNumbers, *, written: bool) -> DeletionBitmap | None:
        """Return them as a bitmap of numbered rows; None if it would be large.

        Args:
            numbers: The numbers of the rows.
            written: True if it is to be written out in the text of a query.

        Raises:
            DamagedError: A tombstone is missing, or deletes a row that isn't in its file.
        """
        if self.count > _MAX_MARKED or not self._is_cheap(_MARKED_FACTOR):
            return None
        size, most = (text_size, _MAX_TEXT) if written else (number_count, _MAX_NUMBERS)
        if size(numbers, self.count) > most:
            return None
        return deletion_bitmap(numbers, self._positions())

    def numbers(self) -> FileNumbers | None:
        """Return the numbers of the files' rows; None if it isn't known how many there are."""
        known = {item.path: item.rows for item in self._mount.entries if isinstance(item, Block)}
        rows = {file: known[file] for file in sorted(self._files) if file in known}
        return FileNumbers.of(rows) if len(rows) == len(self._files) else None

    def positions(self) -> Mapping[str, Positions] | None:
        """Return their positions by file; None if there are too many for a query's text.

        Raises:
            DamagedError: A tombstone is missing.
        """
        few = self.count <= _MAX_WRITTEN and self._is_cheap(1)
        return self._positions() if few else None

    def _is_cheap(self, factor: int) -> bool:
        size = sum(item.bytes for item in self.tombstones)
        return size <= factor * _MAX_READ and len(self.tombstones) <= factor * _MAX_FILES

    def _positions(self) -> Mapping[str, Positions]:
        try:
            return Files(self._blobs).deletions(self.tombstones, self._files)
        except NotFoundError as error:
            raise DamagedError(f"A table version lacks deleted rows: {error} {LOST}") from error
