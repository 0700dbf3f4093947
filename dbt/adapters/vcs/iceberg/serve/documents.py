"""Tables and views as the server's answers: made of manifests, kept while asked for."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Readable, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.objects import BoundedCache
from dbt.adapters.vcs.iceberg.client_manifests import client_folder
from dbt.adapters.vcs.iceberg.manifest_files import prepare
from dbt.adapters.vcs.iceberg.metadata_files import FOLDER, MetadataFile, PendingFiles, place_of
from dbt.adapters.vcs.iceberg.shown_history import kept_since
from dbt.adapters.vcs.iceberg.table_metadata import (
    NamedCommit,
    describe_table,
    table_metadata,
    view_metadata,
)

MAX_BYTES: Final = 256 * 2**20
"""Of encoded documents; a table of a thousand snapshots takes some hundred KiB."""

MAX_AGE: Final = 900.0
"""Seconds after which a document is made again: of its history, what is no longer kept goes, and
a file that it names is written again if somebody deleted it."""

History: TypeAlias = Literal["all", "refs"]
"""Which snapshots of a table a client wants: all, or those that a ref names."""


@dataclass(frozen=True, slots=True)
class Body:
    """An answer's bytes and their entity tag."""

    data: bytes
    tag: str


class Documents:
    """Documents as the bodies of answers; bounded by size, shared by threads.

    Attributes:
        config: What clients are told with each table.
        hits: How often a body was there already.
        misses: How often it was made.
    """

    def __init__(
        self,
        maker: IcebergDocuments,
        config: Mapping[str, str],
        *,
        max_bytes: int = MAX_BYTES,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self.maker = maker
        self.config = config
        self._seconds = seconds
        self._bodies: BoundedCache[tuple[str, ...], tuple[Body, float]] = BoundedCache(max_bytes)
        self._counting = threading.Lock()
        self.hits = 0
        self.misses = 0

    @property
    def bytes(self) -> int:
        """Size of the bodies that are kept."""
        return self._bodies.bytes

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
            entry: Its version.
            history: Which snapshots of a table are wanted.
            branch: The branch to which the reader may write files; None for no branch.
            tags: Whether the reader may know the repository's tags.

        Raises:
            UnsupportedError: Iceberg has no form for something in it.
        """
        same = self.maker.key(commit, relation, entry, tags=tags)
        # The document of who may write names the folder of the branch's clients.
        key = (entry.noun, same, history, branch or "")
        now = self._seconds()
        held = self._bodies.get(key)
        if held is not None and now - held[1] < MAX_AGE:
            with self._counting:
                self.hits += 1
            return held[0]
        # Two may make one document at once, so that nobody waits for another's.
        document = self.maker.make(commit, relation, entry, branch=branch, tags=tags)
        body = self._body_of(document, entry, history)
        with self._counting:
            self.misses += 1
        self._bodies.put(key, (body, now), len(body.data))
        return body

    def _body_of(self, document: MetadataFile, entry: Readable, history: History) -> Body:
        metadata = document.metadata
        if isinstance(entry, TableEntry) and history == "refs":
            metadata = _of_refs(metadata)
        # A view has no files, so it comes without the settings and credentials of the store.
        config = self.config if isinstance(entry, TableEntry) else {}
        data = msgspec.json.encode(
            {"metadata-location": document.location, "metadata": metadata, "config": config}
        )
        # Of the bytes, so that all servers of a repository give a document the same tag.
        return Body(data, f'"{hashlib.sha256(data).hexdigest()[:32]}"')


def _of_refs(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table's metadata with only the snapshots that a ref names."""
    named = {ref["snapshot-id"] for ref in metadata.get("refs", {}).values()}
    # A table always needs the one that it shows.
    named.add(metadata.get("current-snapshot-id"))
    kept = [item for item in metadata.get("snapshots", ()) if item["snapshot-id"] in named]
    return {**metadata, "snapshots": kept}


_KNOWN: Final = 32 * 2**20
"""Bytes of the first commits of versions that are kept."""

_FIRST: Final = 512
"""Bytes of one of them: three ids and a name."""

# Folders in which nothing ever is. Trino creates a table only if nothing is in its location, and
# its `remove_orphan_files` deletes there what it doesn't know: files of other branches.
_LOCATIONS: Final = f"{FOLDER}/locations/tables"


class IcebergDocuments:
    """Makes the documents of one repository, from any thread.

    A document has the history of its table, which is that of the commit that first showed its
    version: all later commits that show the same version have the same document. Its refs are
    `main`, which is what the commit shows, and, for those who may read tags, the tags that show a
    version of the history. Who may write to a branch is given the branch's folder.
    """

    def __init__(self, repository: Repository, format_version: int = 2) -> None:
        """Make documents of a repository.

        Args:
            format_version: Format version of the tables whose properties say none.
        """
        # A package that is missing is an error of the start, and no request waits for the import.
        prepare(format_version)
        self.format_version = format_version
        self._repository = repository
        self._tags = ServedTags(repository)
        self._place = place_of(repository)
        self._known: BoundedCache[tuple[CommitId, RelationName, str], CommitId] = BoundedCache(
            _KNOWN
        )

    def key(self, commit: CommitId, relation: RelationName, entry: Readable, *, tags: bool) -> str:
        """Return a text that is equal only for equal documents, but for the branch."""
        digest = self._tags.now().digest if tags and isinstance(entry, TableEntry) else ""
        return f"{relation} {entry.version} {self._first(commit, relation, entry)} {digest}"

    def make(
        self,
        commit: CommitId,
        relation: RelationName,
        entry: Readable,
        *,
        branch: str | None,
        tags: bool,
    ) -> MetadataFile:
        """Return the document of a table or view, and write the files that it names.

        Args:
            commit: A commit that shows it.
            entry: Its version.
            branch: The branch to which the reader may write files; None for no branch.
            tags: Whether the repository's tags are among a table's refs.

        Raises:
            UnsupportedError: Iceberg has no form for it; the message says of what.
        """
        place = self._place
        if not isinstance(entry, TableEntry):
            return view_metadata(self._repository, commit, relation, place=place)
        table = table_metadata(
            self._repository,
            commit,
            relation,
            place=place,
            names=self._tags.now().names if tags else (),
            format_version=self.format_version,
        )
        if table.version != entry.snapshot:
            raise UnsupportedError(
                f"The version {entry.snapshot[:12]} of {relation} was named by its id, and the "
                f"commit {commit[:12]} shows another one. Ask for a commit that shows it, one of "
                f"these: dbt-vcs log {commit[:12]} --relation {quote(str(relation))}"
            )
        return table._replace(metadata=self._with_folders(table.metadata, entry, branch))

    def stage(
        self, commit: CommitId, relation: RelationName, entry: TableEntry, branch: str
    ) -> dict[str, Any]:
        """Return the metadata of a table that isn't there yet, and write no file.

        Raises:
            UnsupportedError: Iceberg has no form for something in it.
        """
        files = PendingFiles(self._repository.blobs)
        metadata = describe_table(
            self._repository,
            commit,
            relation,
            place=self._place,
            files=files,
            format_version=self.format_version,
        )
        return self._with_folders(metadata, entry, branch)

    def _with_folders(
        self, metadata: dict[str, Any], entry: TableEntry, branch: str | None
    ) -> dict[str, Any]:
        """Return a table's metadata with the folder where clients are to put their files, if any.

        It is one folder for rows and manifests: DuckDB makes only that of rows.
        """
        table = self._repository.objects.snapshot(entry.snapshot).table
        paths = {"write.object-storage.enabled": "false"}
        if branch is not None:
            folder = self._place.uri(client_folder(table, branch))
            paths |= {"write.data.path": folder, "write.metadata.path": folder}
        return {
            **metadata,
            "location": self._place.uri(f"{_LOCATIONS}/{table}"),
            "properties": {**metadata["properties"], **paths},
        }

    def _first(self, commit: CommitId, relation: RelationName, entry: Readable) -> CommitId:
        """Return the first commit, of a line that ends with one, to show what that shows.

        Commits older than the retention are not read. What is found is kept, so that the next
        head of a branch is followed only to the last one.
        """
        found = self._known.get((commit, relation, entry.version))
        if found is not None:
            return found
        since, id = kept_since(self._repository), commit
        while found is None:
            stored = self._repository.objects.commit(id)
            parent = stored.parents[0] if stored.parents else None
            if (
                parent is None
                or stored.committed_at < since
                or self._repository.tree(parent).entry(relation) != entry
            ):
                found = id
            else:
                id = parent
                found = self._known.get((id, relation, entry.version))
        self._known.put((commit, relation, entry.version), found, _FIRST)
        return found


TAGS_AGE: Final = 10.0
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
        """Return the tags, `TAGS_AGE` seconds old at most, without those of a damaged log."""
        with self._lock:
            now = self._seconds()
            if self._held is None or now - self._held[1] >= TAGS_AGE:
                self._held = (self._read(), now)
            return self._held[0]

    def _read(self) -> TagList:
        names = tuple(NamedCommit(tag.name, "tag", tag.commit) for tag in self._repository.tags())
        text = "".join(f"{item.name}\0{item.commit}\0" for item in names)
        return TagList(names, hashlib.sha256(text.encode()).hexdigest()[:16] if names else "")
