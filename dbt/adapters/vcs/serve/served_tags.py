"""Served tags: the repository's tags, as clients find them among a table's refs."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.metadata_refs import NamedCommit

MAX_AGE: Final = 10.0
"""Seconds for which tags are served as they were read; listing them for each answer would take
longer than the answer."""


class TagList(NamedTuple):
    """All tags at a moment, and a text that is equal only for equal ones."""

    names: tuple[NamedCommit, ...]
    digest: str


class ServedTags:
    """Keeps the tags of a repository for some seconds; shared by threads.

    Branches are left out: they move with each publish, and with them every document would change.
    Clients name them as warehouses, or in front of a namespace.
    """

    def __init__(
        self, repository: Repository, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._repository = repository
        self._seconds = seconds
        self._lock = threading.Lock()
        self._held: tuple[TagList, float] | None = None

    def now(self) -> TagList:
        """Return the tags, at most `MAX_AGE` seconds old; those with a damaged log are missing."""
        with self._lock:
            now = self._seconds()
            if self._held is None or now - self._held[1] >= MAX_AGE:
                self._held = (self._read(), now)
            return self._held[0]

    def _read(self) -> TagList:
        names = tuple(NamedCommit(tag.name, "tag", tag.commit) for tag in self._repository.tags())
        text = "".join(f"{item.name}\0{item.commit}\0" for item in names)
        return TagList(names, hashlib.sha256(text.encode()).hexdigest()[:16] if names else "")
