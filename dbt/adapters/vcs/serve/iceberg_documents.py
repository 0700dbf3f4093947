"""Iceberg documents: tables and views at a commit, made for the server's answers."""

from __future__ import annotations

from typing import Any, Final

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Readable, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.cache import BoundedCache
from dbt.adapters.vcs.iceberg.manifest_files import prepare
from dbt.adapters.vcs.iceberg.metadata_place import FOLDER, place_of
from dbt.adapters.vcs.iceberg.pending_files import PendingFiles
from dbt.adapters.vcs.iceberg.shown_history import kept_since
from dbt.adapters.vcs.iceberg.table_metadata import describe_table, table_metadata
from dbt.adapters.vcs.iceberg.view_metadata import view_metadata
from dbt.adapters.vcs.rows.partition_values import CLIENT_FOLDER
from dbt.adapters.vcs.serve.documents import RestDocument
from dbt.adapters.vcs.serve.served_tags import ServedTags

_KNOWN: Final = 32 * 2**20
"""Bytes of the first commits of versions that are kept."""

_FIRST: Final = 512
"""Bytes of one of them: three ids and a name."""

_LOCATIONS: Final = f"{FOLDER}/locations/tables"
"""Folders in which nothing ever is. Trino creates a table only if nothing is in its location, and
its `remove_orphan_files` deletes there what it doesn't know: files of other branches."""


def client_folder(repository: Repository, entry: TableEntry) -> str:
    """Return the folder where clients of a table's version are to put their files.

    It is a folder as that of any write: collection takes what no commit names. All who start from
    one version share it, so that equal documents stay equal; clients give files names of their
    own.
    """
    table = repository.objects.snapshot(entry.snapshot).table
    return f"data/{table}/w=x{entry.snapshot[:32]}/{CLIENT_FOLDER}"


class IcebergDocuments:
    """Makes the documents of one repository, from any thread.

    A document has the history of its table, which is that of the commit that first showed its
    version: all later commits that show the same version have the same document. Its refs are
    `main`, which is what the commit shows, and the tags that show a version of the history.
    """

    def __init__(self, repository: Repository, format_version: int = 2) -> None:
        """Make documents of a repository.

        Args:
            repository: The repository.
            format_version: Format version of the tables whose properties say none.
        """
        prepare(format_version)
        self.format_version = format_version
        self._repository = repository
        self._tags = ServedTags(repository)
        self._place = place_of(repository)
        self._known: BoundedCache[tuple[CommitId, RelationName, str], CommitId] = BoundedCache(
            _KNOWN
        )

    def key(self, commit: CommitId, relation: RelationName, entry: Readable) -> str:
        """Return a text that is equal only for equal documents."""
        tags = self._tags.now().digest if isinstance(entry, TableEntry) else ""
        return f"{relation} {entry.version} {self._first(commit, relation, entry)} {tags}"

    def make(self, commit: CommitId, relation: RelationName, entry: Readable) -> RestDocument:
        """Return the document of a table or view, and write the files that it names.

        Raises:
            UnsupportedError: Iceberg has no form for it; the message says of what.
        """
        place = self._place
        if not isinstance(entry, TableEntry):
            view = view_metadata(self._repository, commit, relation, place=place)
            return RestDocument(view.metadata, view.location)
        tags = self._tags.now().names
        table = table_metadata(
            self._repository,
            commit,
            relation,
            place=place,
            names=tags,
            format_version=self.format_version,
        )
        if table.snapshot != entry.snapshot:
            raise UnsupportedError(
                f"The version {entry.snapshot[:12]} of {relation} was named by its id, and the "
                f"commit {commit[:12]} shows another one. Ask for a commit that shows it: "
                f"dbt-vcs log --relation {relation} lists them."
            )
        return RestDocument(self._writable(table.metadata, entry), table.location)

    def stage(self, commit: CommitId, relation: RelationName, entry: TableEntry) -> dict[str, Any]:
        """Return the metadata of a table that isn't there yet, and write no file."""
        files = PendingFiles(self._repository.blobs)
        described = describe_table(
            self._repository,
            commit,
            relation,
            place=self._place,
            files=files,
            format_version=self.format_version,
        )
        return self._writable(described.metadata, entry)

    def _writable(self, metadata: dict[str, Any], entry: TableEntry) -> dict[str, Any]:
        """Return a table's metadata with the folder where clients are to put their files.

        It is one folder for rows and manifests: DuckDB makes that of rows alone.
        """
        table = self._repository.objects.snapshot(entry.snapshot).table
        folder = self._place.uri(client_folder(self._repository, entry))
        paths = {
            "write.data.path": folder,
            "write.metadata.path": folder,
            "write.object-storage.enabled": "false",
        }
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
        found = self._known_first(commit, relation, entry)
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
                found = self._known_first(id, relation, entry)
        self._known.put((commit, relation, entry.version), found, _FIRST)
        return found

    def _known_first(
        self, commit: CommitId, relation: RelationName, entry: Readable
    ) -> CommitId | None:
        return self._known.get((commit, relation, entry.version))
