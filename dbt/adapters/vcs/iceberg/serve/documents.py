"""Documents: tables and views as Iceberg's metadata, kept while they are asked for."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Readable, RelationName, TableEntry

MAX_BYTES: Final = 256 * 2**20
"""Of encoded documents; a table of a thousand snapshots takes some hundred KiB."""

MAX_AGE: Final = 900.0
"""Seconds after which a document is made again: of its history, what is no longer kept goes, and
a file that it names is written again if somebody deleted it."""

History: TypeAlias = Literal["all", "refs"]
"""Which snapshots of a table a client wants: all, or those that a ref names."""


@dataclass(frozen=True, slots=True)
class RestDocument:
    """The metadata of a table or view.

    Attributes:
        metadata: As Iceberg's format has it.
        location: URI of the file that holds the same.
    """

    metadata: Mapping[str, Any]
    location: str


class DocumentMaker(Protocol):
    """Makes documents, from any thread.

    Attributes:
        format_version: Format version of the tables whose properties say none.
    """

    format_version: int

    def key(self, commit: CommitId, relation: RelationName, entry: Readable, *, tags: bool) -> str:
        """Return a text that is equal only for equal documents, but for the branch."""
        ...

    def make(
        self,
        commit: CommitId,
        relation: RelationName,
        entry: Readable,
        *,
        branch: str | None,
        tags: bool,
    ) -> RestDocument:
        """Return the document of a table or view, and write the files that it names.

        Args:
            commit: A commit that shows it.
            relation: Its name.
            entry: Its version.
            branch: The branch to which the reader may write files; None for no branch.
            tags: Whether the repository's tags are among a table's refs.

        Raises:
            UnsupportedError: Iceberg has no form for something in it; the message names that.
        """
        ...

    def stage(
        self, commit: CommitId, relation: RelationName, entry: TableEntry, branch: str
    ) -> Mapping[str, Any]:
        """Return the metadata of a table that isn't there yet, and write no file.

        Raises:
            UnsupportedError: Iceberg has no form for something in it; the message names that.
        """
        ...


@dataclass(frozen=True, slots=True)
class Body:
    """An answer's bytes and their entity tag."""

    data: bytes
    tag: str


class Documents:
    """Documents as the bodies of answers; bounded by size, shared by threads.

    Attributes:
        hits: How often a body was there already.
        misses: How often it was made.
    """

    def __init__(
        self,
        maker: DocumentMaker,
        config: Mapping[str, str],
        *,
        max_bytes: int = MAX_BYTES,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._maker = maker
        self._config = dict(config)
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._lock = threading.Lock()
        self._bodies: OrderedDict[tuple[str, ...], tuple[Body, float]] = OrderedDict()
        self._bytes = 0
        self.hits = 0
        self.misses = 0

    @property
    def bytes(self) -> int:
        """Size of the bodies that are kept."""
        return self._bytes

    def body(
        self,
        commit: CommitId,
        relation: RelationName,
        entry: Readable,
        history: History = "all",
        *,
        branch: str | None = None,
        tags: bool = False,
    ) -> Body:
        """Return the body of an answer that loads a table or view.

        Args:
            commit: A commit that shows it.
            relation: Its name.
            entry: Its version.
            history: Which snapshots of a table are wanted.
            branch: The branch to which the reader may write files; None for no branch.
            tags: Whether the reader may know the repository's tags.

        Raises:
            UnsupportedError: Iceberg has no form for something in it.
        """
        same = self._maker.key(commit, relation, entry, tags=tags)
        key = (entry.noun, same, history, branch or "")
        now = self._seconds()
        with self._lock:
            held = self._bodies.get(key)
            if held is not None and now - held[1] < MAX_AGE:
                self._bodies.move_to_end(key)
                self.hits += 1
                return held[0]
        document = self._maker.make(commit, relation, entry, branch=branch, tags=tags)
        body = self._encoded(document, entry, history)
        with self._lock:
            self.misses += 1
            self._keep(key, body, now)
        return body

    @property
    def format_version(self) -> int:
        """Format version of the tables whose properties say none."""
        return self._maker.format_version

    @property
    def config(self) -> dict[str, str]:
        """What clients are told with each table."""
        return dict(self._config)

    def staged(
        self, commit: CommitId, relation: RelationName, entry: TableEntry, branch: str
    ) -> Mapping[str, Any]:
        """Return the metadata of a table that isn't there yet; it isn't kept.

        Raises:
            UnsupportedError: Iceberg has no form for something in it.
        """
        return self._maker.stage(commit, relation, entry, branch)

    def _keep(self, key: tuple[str, ...], body: Body, now: float) -> None:
        old = self._bodies.pop(key, None)
        if old is not None:
            self._bytes -= len(old[0].data)
        if len(body.data) > self._max_bytes:
            return
        self._bodies[key] = (body, now)
        self._bytes += len(body.data)
        while self._bytes > self._max_bytes:
            self._bytes -= len(self._bodies.popitem(last=False)[1][0].data)

    def _encoded(self, document: RestDocument, entry: Readable, history: History) -> Body:
        metadata = document.metadata
        if isinstance(entry, TableEntry) and history == "refs":
            metadata = _of_refs(metadata)
        config = self._config if isinstance(entry, TableEntry) else {}
        data = msgspec.json.encode(
            {"metadata-location": document.location, "metadata": metadata, "config": config}
        )
        return Body(data, f'"{hashlib.sha256(data).hexdigest()[:32]}"')


def _of_refs(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table's metadata with only the snapshots that a ref names."""
    named = {ref["snapshot-id"] for ref in metadata.get("refs", {}).values()}
    named.add(metadata.get("current-snapshot-id"))
    kept = [item for item in metadata.get("snapshots", ()) if item["snapshot-id"] in named]
    return {**metadata, "snapshots": kept}
