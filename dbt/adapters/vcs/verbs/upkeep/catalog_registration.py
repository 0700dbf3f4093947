"""Catalog registration: exported tables in the catalog that other engines ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retry import attempts
from dbt.adapters.vcs.iceberg.branch_export import Registration
from dbt.adapters.vcs.iceberg.export_folder import ExportFolder, export_folder
from dbt.adapters.vcs.iceberg.metadata_place import MetadataPlace
from dbt.adapters.vcs.merges.export_rules import CatalogTarget
from dbt.adapters.vcs.verbs.upkeep.catalog_client import TABLE, UNREADABLE, VIEW, CatalogClient

Locations = Mapping[RelationName, str]

_TURNS: Final = 3
"""How often a name is looked at that others take or leave at the same time."""


def register_exported(
    repository: Repository,
    branch: str,
    target: CatalogTarget,
    *,
    place: MetadataPlace,
    everything: bool = False,
) -> Registration:
    """Let a catalog show what the export of a branch shows.

    Only what the export changed since the last time is registered. That is written down beside
    the export, so what a killed process left out comes with the next one. Tables that another
    program put into the catalog, or committed to there, are not touched.

    Args:
        repository: The repository.
        branch: The branch, which is exported.
        target: The catalog.
        place: How other engines reach the repository.
        everything: Register tables that did not change, too.

    Raises:
        InputError: A package is missing, or the catalog's settings are wrong.
        StorageError: The catalog failed; what was registered before is.
        RetryError: The export changed on every attempt.
    """
    return _Registering(repository, branch, target, place).run(everything=everything)


class _Registering:
    def __init__(
        self, repository: Repository, branch: str, target: CatalogTarget, place: MetadataPlace
    ) -> None:
        self._folder: ExportFolder = export_folder(repository.blobs, branch)
        self._branch = branch
        self._target = target
        self._place = place
        self._catalog = CatalogClient(target)
        self._has_views = True
        self._known: dict[RelationName, str] = {}
        self._changed: set[RelationName] = set()
        self._dropped: set[RelationName] = set()
        self._refused: dict[RelationName, str] = {}

    def run(self, *, everything: bool) -> Registration:
        """Register until the catalog shows what the export does."""
        record = self._target.name, self._target.digest
        self._known = self._folder.registered(*record)
        stale = set(self._known) if everything else set()
        for _ in attempts(f"register {self._branch!r} in {self._target.name!r}"):
            wanted = self._wanted()
            put = [r for r, at in wanted.items() if r in stale or self._known.get(r) != at]
            put = [relation for relation in put if relation not in self._refused]
            gone = [r for r in self._known if r not in wanted and r not in self._refused]
            stale = set()
            if not put and not gone:
                break
            try:
                self._carry_out(put, gone, wanted)
            finally:
                self._folder.note_registered(*record, self._known)
        return Registration(
            catalog=self._target.name,
            registered=tuple(map(str, sorted(self._changed))),
            dropped=tuple(map(str, sorted(self._dropped))),
            refused={str(name): why for name, why in sorted(self._refused.items())},
            has_views=self._has_views,
        )

    def _wanted(self) -> Locations:
        found = self._folder.versions_of(self._folder.relations())
        tables = {name: versions[max(versions)] for name, versions in found.items() if versions}
        state = self._folder.state() if self._has_views else None
        views = {} if state is None else state.views
        paths = {RelationName(*name.split(".", 1)): path for name, path in views.items()} | tables
        return {name: self._place.uri(path) for name, path in sorted(paths.items())}

    def _carry_out(
        self, put: Iterable[RelationName], gone: Iterable[RelationName], wanted: Locations
    ) -> None:
        namespaces = {self._identifier(relation)[:-1] for relation in put}
        for namespace in sorted(namespaces):
            self._catalog.need_namespace(namespace)
        for relation in gone:
            if self._is_dropped(relation):
                self._dropped.add(relation)
        for relation in put:
            kind = self._kind(wanted[relation])
            known = self._known.get(relation)
            # What is a view now may have been a table.
            if known is not None and self._kind(known) != kind and not self._is_dropped(relation):
                continue
            if kind == VIEW and not self._has_views:
                continue
            try:
                if self._is_put(relation, kind, wanted[relation]):
                    self._known[relation] = wanted[relation]
                    self._changed.add(relation)
            except NotImplementedError:
                self._has_views = False

    def _is_put(self, relation: RelationName, kind: str, location: str) -> bool:
        """Register or replace a table or view; return False if the name is somebody else's."""
        identifier = self._identifier(relation)
        why: str | None = None
        for _ in range(_TURNS):
            found = self._catalog.location_of(kind, identifier)
            if found is None and relation in self._known:
                # Some servers say that there is no table when its metadata is gone.
                found = UNREADABLE
            if found is None:
                why = self._catalog.register(kind, identifier, location)
            elif not self._is_ours(relation, kind, found):
                return False
            else:
                why = self._catalog.replace(kind, identifier, location)
            if why is None:
                return True
            # Somebody was faster: whose is it?
        self._refuse(relation, f"something else of the name {'.'.join(identifier)} ({why})")
        return False

    def _is_dropped(self, relation: RelationName) -> bool:
        """Drop what was registered, and return whether that was ours."""
        kind = self._kind(self._known[relation])
        found = self._catalog.location_of(kind, self._identifier(relation))
        if found is not None and not self._is_ours(relation, kind, found):
            return False
        # Even if none is found: its metadata is gone with the export, and the name may be left.
        self._catalog.drop(kind, self._identifier(relation))
        del self._known[relation]
        return True

    def _kind(self, location: str) -> str:
        return VIEW if location.startswith(self._views) else TABLE

    @property
    def _views(self) -> str:
        return self._place.uri(f"{self._place.folder}/views/")

    def _is_ours(self, relation: RelationName, kind: str, found: str) -> bool:
        """Return whether what the catalog has is what this export put there, by its location."""
        folder = self._place.uri(self._folder.folder_of(relation)) + "/"
        if found.startswith(self._views if kind == VIEW else folder):
            return True
        if found == UNREADABLE and relation in self._known:
            # The table left the export, and its files with it.
            return True
        shown = ".".join(self._identifier(relation))
        self._refuse(relation, f"another {kind} {shown}, whose metadata is {found}")
        return False

    def _refuse(self, relation: RelationName, found: str) -> None:
        self._refused[relation] = (
            f"the catalog has {found}. Drop it there, or choose another namespace in vcs.yml."
        )

    def _identifier(self, relation: RelationName) -> tuple[str, ...]:
        namespace = self._target.namespace_of(self._branch, relation.schema)
        return (*namespace, relation.identifier)
