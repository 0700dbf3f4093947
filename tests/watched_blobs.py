"""Stores in memory that see how they are asked."""

import threading
from collections.abc import Iterator
from typing import Any

from dbt.adapters.vcs.core.store.blobs import BlobInfo, MemoryBlobs


class RequestBlobs(MemoryBlobs):
    """Counts requests that read; a listing is one."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = 0

    def get(self, path: str) -> bytes:
        self.requests += 1
        return super().get(path)

    def exists(self, path: str) -> bool:
        self.requests += 1
        return super().exists(path)

    # All listings of this store are made of it.
    def walk(self, folder: str) -> Iterator[BlobInfo]:
        self.requests += 1
        return super().walk(folder)


class TogetherBlobs(MemoryBlobs):
    """Answers reads of some objects only nine together."""

    def __init__(self, *clock: Any) -> None:
        super().__init__(*clock)
        self.together: set[str] = set()
        self.met = threading.Barrier(9)

    def get(self, path: str) -> bytes:
        if path in self.together:
            self.together.discard(path)
            self.met.wait(10)
        return super().get(path)
