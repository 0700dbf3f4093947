"""Deleted places of a version: what its tombstones delete from some of its files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.model import Block
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.version_mounts import TableMount
from dbt.adapters.vcs.rows.deletion_bitmap import DeletionBitmap, deletion_bitmap, text_size
from dbt.adapters.vcs.rows.files.block_reader import Files, Positions

LOST: Final = (
    "The rows of a version without a name are collected when it is older than the retention; "
    "restore those of any other from a backup."
)
_MAX_WRITTEN: Final = 2_000
"""The most deleted rows to inline in a query one by one."""

_MAX_MARKED: Final = 2_000_000
"""The most deleted rows to inline as a bitmap; above this, Spark reads the tombstones."""

_MAX_TEXT: Final = 4 * 1024**2
"""The most characters of a bitmap, which Spark parses with each query."""

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

    def bitmap(self) -> DeletionBitmap | None:
        """Return them as a bitmap; None if it would be large, or the files' rows aren't known.

        Raises:
            DamagedError: A tombstone is missing, or deletes a row that isn't in its file.
        """
        known = {item.path: item.rows for item in self._mount.entries if isinstance(item, Block)}
        rows = {file: known[file] for file in sorted(self._files) if file in known}
        few = self.count <= _MAX_MARKED and text_size(sum(rows.values()), self.count) <= _MAX_TEXT
        if len(rows) < len(self._files) or not few or not self._is_cheap(_MARKED_FACTOR):
            return None
        return deletion_bitmap(rows, self._positions())

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
