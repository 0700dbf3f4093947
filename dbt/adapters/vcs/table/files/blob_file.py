"""A blob as a file that is read in parts."""

from __future__ import annotations

import io

from dbt.adapters.vcs.core.store.blobs import Blobs


class BlobFile(io.RawIOBase):
    """A blob as a file that can be read from any place; each read is one range of the store."""

    def __init__(self, blobs: Blobs, path: str, size: int) -> None:
        super().__init__()
        self._blobs = blobs
        self._path = path
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True: it can be read from any position."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Return bytes from the position on, all that are left for -1."""
        length = self._size - self._at if size < 0 else min(size, self._size - self._at)
        data = self._blobs.range(self._path, self._at, length) if length > 0 else b""
        self._at += len(data)
        return data
