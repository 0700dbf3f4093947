"""Exports: a branch's tables as files that engines read without a server."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Readable, RelationName, TableEntry, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import each
from dbt.adapters.vcs.core.turns import attempts
from dbt.adapters.vcs.iceberg.export_folder import (
    ExportFolder,
    ExportState,
    NumberedFile,
    Showing,
    export_folder,
)
from dbt.adapters.vcs.iceberg.metadata_files import MetadataPlace, PendingFiles, encoded
from dbt.adapters.vcs.iceberg.table_metadata import (
    NamedCommit,
    describe_table,
    named_commits,
    view_metadata,
)

_MOVE: Final = "dbt-vcs.move"
"""Property of exported tables: the number of the move of the branch that they show."""


# Tables whose files are written at about the cost of one.
_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What changed in a catalog after an export.

    Attributes:
        catalog: Its name.
        registered: The tables and views whose metadata it names now, as `schema.table`.
        dropped: Those that it no longer has.
        refused: Those that were not registered, and why.
        has_views: False if there are views that were not registered, since it can't have any.
    """

    catalog: str
    registered: tuple[str, ...]
    dropped: tuple[str, ...]
    refused: dict[str, str]
    has_views: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchExport:
    """What an export of a branch did.

    Attributes:
        commit: The commit that it pointed to.
        location: URI of the folder with a folder for each schema, and in it one for each table.
        written: The tables whose metadata was written, as `schema.table`.
        removed: The tables that are no longer exported.
        views: The views whose metadata was written, with the URIs of the files.
        refused: The tables and views that can't be exported, and why.
        registration: What changed in the project's catalog; None if it names none.
    """

    branch: str
    commit: CommitId
    location: str
    written: tuple[str, ...]
    removed: tuple[str, ...]
    views: dict[str, str]
    refused: dict[str, str]
    registration: Registration | None = None


def export_branch(
    repository: Repository,
    branch: str,
    *,
    place: MetadataPlace,
    everything: bool = False,
    format_version: int = 2,
) -> BranchExport:
    """Write the metadata of the tables that a branch shows, as far as they changed since.

    It can be stopped at any time and run again, and others can do the same at once: each metadata
    file is created if it is absent, only the hint that names the last one is replaced, and what
    is older than what is there is not written. An export that was overtaken goes on until the
    export shows what the branch does. It waits for a purge, and what it wrote while one began is
    deleted and written again.

    Args:
        place: Where the metadata lies, and how other engines reach the repository.
        everything: Write tables that did not change, too: with today's refs and history.
        format_version: Version of Iceberg's format; another one than the last time means
            everything.

    Raises:
        NotFoundError: There is no such branch.
        RetryError: The branch moved on every attempt, or a purge took too long.
    """
    settled = repository.maintenance.settled
    purges = settled()
    export = _Export(repository, branch, place, format_version)
    for _ in attempts(f"export {branch!r}"):
        is_done = False
        try:
            is_done = export.bring_up_to_date(everything=everything)
        # A purge takes away what was being read. Without one this is damage.
        except (DamagedError, NotFoundError):
            if settled() == purges:
                raise
        if (now := settled()) != purges:
            # What is written may have bounds of erased rows, and names versions that are gone.
            export.take_back()
            purges, everything = now, True
        elif is_done:
            return export.report()
    raise AssertionError("attempts raises when it ends")


class _Export:
    def __init__(
        self, repository: Repository, branch: str, place: MetadataPlace, format_version: int
    ) -> None:
        self._repository = repository
        self._format_version = format_version
        self._branch = branch
        self._place = place
        self._folder: ExportFolder = export_folder(repository.blobs, branch)
        self._head: Branch = repository.branch(branch)
        self._written: set[RelationName] = set()
        self._files: set[tuple[RelationName, int]] = set()
        self._removed: set[RelationName] = set()
        self._refused: dict[str, str] = {}
        self._views: dict[str, str] = {}
        self._new_views: dict[str, str] = {}

    def bring_up_to_date(self, *, everything: bool) -> bool:
        """Export what changed since the last export; return False if the branch moved on."""
        repository = self._repository
        self._head = head = repository.branch(self._branch)
        state = self._folder.state()
        # All tables change with it, not only those of the commits since.
        if state is not None and state.format_version != self._format_version:
            state = None
        if everything:
            state = None
        changed = self._all() if state is None else self._changed_since(state)
        self._refused = {} if state is None else dict(state.refused)
        self._views = {} if state is None else dict(state.views)
        # An overtaken export may have written what a later one had removed.
        changed |= self._written | self._removed
        names = named_commits(repository) if changed else ()
        self._export(sorted(changed), names)
        self._export_views(sorted(changed))
        # Last: an export that is stopped before is done again from the state before it.
        self._folder.finish(
            head.ref.seq,
            ExportState(
                commit=head.head,
                refused=self._refused,
                format_version=self._format_version,
                views=self._views,
            ),
        )
        return repository.branch(self._branch).ref.seq == head.ref.seq

    def take_back(self) -> None:
        """Delete the tables' metadata files that this export wrote."""
        self._folder.take_back(self._files)
        self._files.clear()

    def report(self) -> BranchExport:
        return BranchExport(
            branch=self._branch,
            commit=self._head.head,
            location=self._place.uri(self._folder.path),
            written=tuple(map(str, sorted(self._written))),
            removed=tuple(map(str, sorted(self._removed))),
            views={name: self._place.uri(at) for name, at in sorted(self._new_views.items())},
            refused=dict(sorted(self._refused.items())),
        )

    def _all(self) -> set[RelationName]:
        tree = self._repository.tree(self._head.head)
        shown = {
            RelationName(schema, name)
            for schema in tree.schemas()
            for name, entry in tree.relations(schema).items()
            if isinstance(entry, Readable)
        }
        return shown | self._folder.relations()

    def _changed_since(self, state: ExportState) -> set[RelationName]:
        try:
            changes = self._repository.diff(state.commit, self._head.head).relations
        except DamagedError:
            # The repository has let go of the commit, as after a purge.
            return self._all()
        return {
            change.name
            for change in changes
            if isinstance(change.old, Readable) or isinstance(change.new, Readable)
        }

    def _export(self, relations: Iterable[RelationName], names: Iterable[NamedCommit]) -> None:
        waiting = list(relations)
        while waiting:
            part, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
            files = PendingFiles(self._repository.blobs)
            for _ in attempts(f"export {self._branch!r}"):
                described = {
                    relation: self._metadata_bytes(relation, names, files) for relation in part
                }
                if files.store():
                    break
            gone = [relation for relation, data in described.items() if data is None]
            self._put({name: data for name, data in described.items() if data is not None})
            for relation in gone:
                self._written.discard(relation)
                if self._folder.remove(relation):
                    self._removed.add(relation)

    def _export_views(self, relations: Iterable[RelationName]) -> None:
        """Write views: no folder of tables may have them, so their files lie elsewhere."""
        tree = self._repository.tree(self._head.head)
        for relation in relations:
            old = self._views.pop(str(relation), None)
            self._new_views.pop(str(relation), None)
            if not isinstance(tree.entry(relation), ViewEntry):
                continue
            try:
                found = view_metadata(
                    self._repository, self._head.head, relation, place=self._place
                )
            except UnsupportedError as error:
                self._refused[str(relation)] = str(error)
                continue
            self._views[str(relation)] = found.path
            if found.path != old:
                self._new_views[str(relation)] = found.path

    def _metadata_bytes(
        self, relation: RelationName, names: Iterable[NamedCommit], files: PendingFiles
    ) -> bytes | None:
        """Return a table's metadata file; None for what is not there or can't be exported."""
        self._refused.pop(str(relation), None)
        entry = self._repository.tree(self._head.head).entry(relation)
        if not isinstance(entry, TableEntry):
            return None
        try:
            metadata = describe_table(
                self._repository,
                self._head.head,
                relation,
                place=self._place,
                names=names,
                files=files,
                format_version=self._format_version,
            )
        except UnsupportedError as error:
            self._refused[str(relation)] = str(error)
            return None
        ours = {_MOVE: str(self._head.ref.seq), "dbt-vcs.branch": self._branch}
        metadata["properties"] |= ours
        return encoded(metadata)

    def _put(self, described: dict[RelationName, bytes]) -> None:
        """Write tables' metadata unless it is there."""
        self._removed -= described.keys()
        folder = self._folder
        for _ in attempts(f"export {self._branch!r}"):
            versions = folder.versions_of(described)
            shown: dict[RelationName, Showing] = {}
            new: dict[RelationName, NumberedFile] = {}
            olds = each(folder.last, (versions[name] for name in described))
            now = self._head.ref.seq
            for (relation, data), (old, properties) in zip(described.items(), olds, strict=True):
                last = max(versions[relation], default=0)
                move = int(properties.get(_MOVE, 0))
                # Another export has seen a later move of the branch, and is right.
                if move > now:
                    continue
                # A move without a change makes no other metadata.
                if old.replace(_move_text(move), _move_text(now)) == data:
                    shown[relation] = Showing(last, versions[relation])
                else:
                    new[relation] = NumberedFile(last + 1, data)
            # Before they are there: this may end at any time.
            self._files |= {(name, file.number) for name, file in new.items()}
            # Where another export took the number, the next turn looks at what it wrote.
            lost = folder.add(new)
            self._files -= {(name, new[name].number) for name in lost}
            written = {name: file for name, file in new.items() if name not in lost}
            shown |= {name: Showing(file.number, versions[name]) for name, file in written.items()}
            folder.show(shown)
            self._written |= written.keys()
            described = {name: described[name] for name in lost}
            if not described:
                return


def _move_text(move: int) -> bytes:
    """Return how a metadata file says which move it was made at."""
    return encoded({_MOVE: str(move)})[1:-1]
