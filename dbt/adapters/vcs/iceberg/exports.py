"""Exports: Iceberg metadata of a branch, written to files and registered in a catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from shlex import quote
from typing import Any, Final

from dbt.adapters.vcs.changes.merges.project_rules import CatalogTarget, ExportRule
from dbt.adapters.vcs.core.errors import InputError, StorageError, VcsError
from dbt.adapters.vcs.core.failures import plain
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.turns import attempts
from dbt.adapters.vcs.iceberg.branch_export import BranchExport, Registration, export_branch
from dbt.adapters.vcs.iceberg.export_folder import ExportFolder, export_folder
from dbt.adapters.vcs.iceberg.metadata_files import FOLDER, MetadataPlace, place_of


def export(
    repository: Repository,
    branch: str,
    rule: ExportRule | None = None,
    *,
    everything: bool = False,
    format_version: int | None = None,
) -> BranchExport:
    """Write Iceberg metadata of the tables of a branch that changed since the last export.

    If the project's rule names a catalog, the tables are registered there afterwards.

    Args:
        rule: What the project says of it; None if it says nothing.
        everything: Write tables that did not change, too.
        format_version: Version of Iceberg's format; None for the rule's.

    Raises what `export_branch` and `register_exported` raise.
    """
    place = place_of(repository)
    rule = rule or ExportRule(pattern=branch)
    report = export_branch(
        repository,
        branch,
        place=place,
        everything=everything,
        format_version=format_version or rule.format_version,
    )
    if rule.catalog is None:
        return report
    try:
        done = register_exported(
            repository, branch, rule.catalog, place=place, everything=everything
        )
    except VcsError as error:
        raise type(error)(f"{error} The files of the export are written all the same.") from error
    return replace(report, registration=done)


def export_after(
    repository: Repository, branch: str, rule: ExportRule, warn: Callable[[str], object]
) -> None:
    """Export a branch that moved; what can't be exported is a warning.

    The move is done, so nothing that goes wrong here may look as if it had not been.
    """
    again = f"Export again: dbt-vcs export --branch {quote(branch)}"
    try:
        report = export(repository, branch, rule)
    except VcsError as error:
        warn(f"{branch} moved, and other engines don't see it yet: {error} {again}")
    except Exception as error:
        kind = type(error).__name__
        warn(f"{branch} moved, and other engines don't see it yet: {kind}: {error}. {again}")
    else:
        for relation, why in report.refused.items():
            warn(f"{relation} is not exported: {why}")
        if report.registration is not None:
            for relation, why in report.registration.refused.items():
                warn(f"{relation} is not registered in {report.registration.catalog}: {why}")


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
        branch: The branch, which is exported.
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
                # Also after a failure: what is registered by now is not repeated by the next
                # export.
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
        # Some catalogs refuse a table whose namespace is not there.
        for namespace in sorted(namespaces):
            self._catalog.need_namespace(namespace)
        # Before others are put: a table's name may be a view's now.
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
            # Not every catalog has views; the tables come all the same.
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
        return self._place.uri(f"{FOLDER}/views/")

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


_INSTALL: Final = (
    "Registering tables in a catalog needs a package that is not installed. Install it: "
    "pip install 'dbt-vcs[catalog]'"
)

TABLE: Final = "table"
VIEW: Final = "view"
UNREADABLE: Final = "not readable"
OTHER: Final = "not Iceberg's"
"""Stand for the location of metadata that is gone, and of what is no table of Iceberg's."""


class CatalogClient:
    """A catalog; what fails in it is a StorageError that names it."""

    def __init__(self, target: CatalogTarget) -> None:
        try:
            # An extra package, and slow to import.
            from pyiceberg import catalog, exceptions
        except ImportError as error:
            raise InputError(_INSTALL) from error
        self._name = target.name
        self._exceptions = exceptions
        try:
            self._catalog: Any = catalog.load_catalog(target.name, **target.properties)
        except Exception as error:
            raise InputError(
                f"The catalog {target.name!r} can't be opened: {_reason(error)}. Its settings are "
                "those of vcs.yml, of .pyiceberg.yaml and of variables that begin with "
                f"PYICEBERG_CATALOG__{target.name.upper().replace('-', '_')}__."
            ) from error

    def need_namespace(self, namespace: tuple[str, ...]) -> None:
        """Make a namespace, and those around it, unless they are there."""
        for depth in range(1, len(namespace) + 1):
            part = namespace[:depth]
            hint = f" It needs the namespace {'.'.join(part)}, as vcs.yml says."
            with self._naming_failures(hint):
                self._catalog.create_namespace_if_not_exists(part)

    def location_of(self, kind: str, identifier: tuple[str, ...]) -> str | None:
        """Return where a table's metadata or a view's folder is, None if there is none.

        Returns UNREADABLE if the metadata can't be read, OTHER for a table of another format.
        Some servers say that there is no table when its metadata is gone.

        Raises:
            NotImplementedError: The catalog can't have views.
        """
        errors = self._exceptions
        with self._naming_failures():
            try:
                if kind == VIEW:
                    return str(self._catalog.load_view(identifier).metadata.location) + "/"
                return str(self._catalog.load_table(identifier).metadata_location)
            except (errors.NoSuchIcebergTableError, errors.NoSuchPropertyException):
                # Hive's and Glue's tables of any format are in one catalog.
                return OTHER
            except (errors.NoSuchTableError, errors.NoSuchViewError):
                return None
            except FileNotFoundError:
                return UNREADABLE

    def register(self, kind: str, identifier: tuple[str, ...], location: str) -> str | None:
        """Let the catalog have what it doesn't have; return why not if the name is taken."""
        errors = self._exceptions
        with self._naming_failures():
            try:
                if kind == VIEW:
                    self._catalog.register_view(identifier, location)
                else:
                    self._catalog.register_table(identifier, location)
            except (errors.TableAlreadyExistsError, errors.ViewAlreadyExistsError) as error:
                return _reason(error)
            except errors.RESTError as error:
                # What has the name, or what is to have it, is out of the server's reach.
                if not str(error).startswith("NotFoundException"):
                    raise
                return _reason(error)
        return None

    def replace(self, kind: str, identifier: tuple[str, ...], location: str) -> str | None:
        """Let what the catalog has be another version; return why not if the name is taken now."""
        if kind == TABLE and self._is_overwritten(identifier, location):
            return None
        # Most catalogs don't know how. Dropping it there deletes no file.
        self.drop(kind, identifier)
        return self.register(kind, identifier, location)

    def _is_overwritten(self, identifier: tuple[str, ...], location: str) -> bool:
        errors = self._exceptions
        with self._naming_failures():
            try:
                self._catalog.register_table(identifier, location, overwrite=True)
            except (NotImplementedError, errors.TableAlreadyExistsError, errors.BadRequestError):
                return False
            except errors.RESTError as error:
                # As Iceberg's own servers answer.
                if not str(error).startswith("UnsupportedOperationException"):
                    raise
                return False
        return True

    def drop(self, kind: str, identifier: tuple[str, ...]) -> None:
        """Take a table or view out of the catalog, if it is there; its files stay."""
        errors = self._exceptions
        with self._naming_failures(), suppress(errors.NoSuchTableError, errors.NoSuchViewError):
            if kind == VIEW:
                self._catalog.drop_view(identifier)
            else:
                self._catalog.drop_table(identifier)

    @contextmanager
    def _naming_failures(self, hint: str = "") -> Iterator[None]:
        try:
            yield
        except (NotImplementedError, StorageError):
            raise
        except Exception as error:
            raise StorageError(
                f"The catalog {self._name!r} failed: {_reason(error)}.{hint}"
            ) from error


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {plain(error)}".rstrip(". ")
