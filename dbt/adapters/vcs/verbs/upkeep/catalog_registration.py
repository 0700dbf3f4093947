"""Catalog registration: exported tables in the catalog that other engines ask for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError, StorageError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retry import attempts
from dbt.adapters.vcs.iceberg.branch_export import Registration
from dbt.adapters.vcs.iceberg.export_folder import ExportFolder, export_folder
from dbt.adapters.vcs.iceberg.metadata_place import MetadataPlace
from dbt.adapters.vcs.merges.export_rules import CatalogTarget

_INSTALL: Final = (
    "Registering tables in a catalog needs a package that is not installed. Install it: "
    "pip install 'dbt-vcs[catalog]'"
)

TABLE: Final = "table"
VIEW: Final = "view"

Locations = Mapping[RelationName, str]


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
        self._catalog = _Catalog(target)
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
                if self._is_ours(relation, kind):
                    self._catalog.put(kind, self._identifier(relation), wanted[relation])
                    self._known[relation] = wanted[relation]
                    self._changed.add(relation)
            except NotImplementedError:
                self._has_views = False

    def _is_dropped(self, relation: RelationName) -> bool:
        """Drop what was registered, and return whether that was ours."""
        kind = self._kind(self._known[relation])
        if not self._is_ours(relation, kind):
            return False
        self._catalog.drop(kind, self._identifier(relation))
        del self._known[relation]
        return True

    def _kind(self, location: str) -> str:
        return VIEW if location.startswith(self._views) else TABLE

    @property
    def _views(self) -> str:
        return self._place.uri(f"{self._place.folder}/views/")

    def _is_ours(self, relation: RelationName, kind: str) -> bool:
        """Return whether the catalog has nothing of the name, or what this export put there."""
        folder = self._place.uri(self._folder.folder_of(relation)) + "/"
        found = self._catalog.location_of(kind, self._identifier(relation))
        if found is None or found.startswith(self._views if kind == VIEW else folder):
            return True
        if found == "" and relation in self._known:
            # The table left the export, and its files with it.
            return True
        shown = ".".join(self._identifier(relation))
        self._refused[relation] = (
            f"the catalog has another {kind} {shown}, whose metadata is "
            f"{found or 'not readable'}. Drop it there, or choose another namespace in vcs.yml."
        )
        return False

    def _identifier(self, relation: RelationName) -> tuple[str, ...]:
        namespace = self._target.namespace_of(self._branch, relation.schema)
        return (*namespace, relation.identifier)


class _Catalog:
    """PyIceberg's catalog; what fails in it is a StorageError that names it."""

    def __init__(self, target: CatalogTarget) -> None:
        try:
            from pyiceberg import catalog, exceptions
        except ImportError as error:
            raise InputError(_INSTALL) from error
        self._name = target.name
        self._exceptions = exceptions
        try:
            self._catalog: Any = catalog.load_catalog(target.name, **target.properties)
        except Exception as error:
            raise InputError(
                f"The catalog {target.name!r} can't be opened: {_told(error)}. Its settings are "
                "those of vcs.yml, of .pyiceberg.yaml and of variables that begin with "
                f"PYICEBERG_CATALOG__{target.name.upper().replace('-', '_')}__."
            ) from error

    def need_namespace(self, namespace: tuple[str, ...]) -> None:
        """Make a namespace, and those around it, unless they are there."""
        for depth in range(1, len(namespace) + 1):
            part = namespace[:depth]
            self._try(partial(self._catalog.create_namespace_if_not_exists, part))

    def location_of(self, kind: str, identifier: tuple[str, ...]) -> str | None:
        """Return where a table's metadata or a view's folder is.

        None if there is none of the kind, "" if its metadata can't be read.

        Raises:
            NotImplementedError: The catalog can't have views.
        """

        def load() -> str | None:
            try:
                if kind == VIEW:
                    return str(self._catalog.load_view(identifier).metadata.location) + "/"
                return str(self._catalog.load_table(identifier).metadata_location)
            except (self._exceptions.NoSuchTableError, self._exceptions.NoSuchViewError):
                return None
            except FileNotFoundError:
                return ""

        found: str | None = self._try(load)
        return found

    def put(self, kind: str, identifier: tuple[str, ...], location: str) -> None:
        """Let a table or view have its metadata in a file, whether it is there or not."""

        def put() -> None:
            try:
                self._register(kind, identifier, location)
            except (
                self._exceptions.TableAlreadyExistsError,
                self._exceptions.ViewAlreadyExistsError,
            ):
                self._replace(kind, identifier, location)

        self._try(put)

    def _register(self, kind: str, identifier: tuple[str, ...], location: str) -> None:
        if kind == VIEW:
            self._catalog.register_view(identifier, location)
        else:
            self._catalog.register_table(identifier, location)

    def _replace(self, kind: str, identifier: tuple[str, ...], location: str) -> None:
        if kind == TABLE:
            try:
                self._catalog.register_table(identifier, location, overwrite=True)
                return
            except (
                NotImplementedError,
                self._exceptions.TableAlreadyExistsError,
                self._exceptions.BadRequestError,
            ):
                pass
        # Most catalogs don't know how. Dropping it there deletes no file.
        self.drop(kind, identifier)
        self._register(kind, identifier, location)

    def drop(self, kind: str, identifier: tuple[str, ...]) -> None:
        """Take a table or view out of the catalog, if it is there; its files stay."""

        def drop() -> None:
            try:
                if kind == VIEW:
                    self._catalog.drop_view(identifier)
                else:
                    self._catalog.drop_table(identifier)
            except (self._exceptions.NoSuchTableError, self._exceptions.NoSuchViewError):
                return

        self._try(drop)

    def _try(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except (NotImplementedError, StorageError):
            raise
        except Exception as error:
            raise StorageError(f"The catalog {self._name!r} failed: {_told(error)}.") from error


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(". \n")
