"""Catalog client: another program's catalog of Iceberg tables and views, as PyIceberg sees it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError, StorageError
from dbt.adapters.vcs.core.store.failures import plain
from dbt.adapters.vcs.merges.export_rules import CatalogTarget

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
            hint = f" It needs the namespace {'.'.join(part)}, as vcs.yml says."
            self._try(partial(self._catalog.create_namespace_if_not_exists, part), hint)

    def location_of(self, kind: str, identifier: tuple[str, ...]) -> str | None:
        """Return where a table's metadata or a view's folder is, None if there is none.

        Returns UNREADABLE if the metadata can't be read, OTHER for a table of another format.
        Some servers say that there is no table when its metadata is gone.

        Raises:
            NotImplementedError: The catalog can't have views.
        """
        errors = self._exceptions

        def load() -> str | None:
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

        found: str | None = self._try(load)
        return found

    def register(self, kind: str, identifier: tuple[str, ...], location: str) -> str | None:
        """Let the catalog have what it doesn't have; return why not if the name is taken."""
        errors = self._exceptions

        def register() -> str | None:
            try:
                if kind == VIEW:
                    self._catalog.register_view(identifier, location)
                else:
                    self._catalog.register_table(identifier, location)
            except (errors.TableAlreadyExistsError, errors.ViewAlreadyExistsError) as error:
                return _told(error)
            except errors.RESTError as error:
                # What has the name, or what is to have it, is out of the server's reach.
                if not str(error).startswith("NotFoundException"):
                    raise
                return _told(error)
            return None

        why: str | None = self._try(register)
        return why

    def replace(self, kind: str, identifier: tuple[str, ...], location: str) -> str | None:
        """Let what the catalog has be another version; return why not if the name is taken now."""
        if kind == TABLE and self._try(lambda: self._is_overwritten(identifier, location)):
            return None
        # Most catalogs don't know how. Dropping it there deletes no file.
        self.drop(kind, identifier)
        return self.register(kind, identifier, location)

    def _is_overwritten(self, identifier: tuple[str, ...], location: str) -> bool:
        errors = self._exceptions
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

        def drop() -> None:
            try:
                if kind == VIEW:
                    self._catalog.drop_view(identifier)
                else:
                    self._catalog.drop_table(identifier)
            except (self._exceptions.NoSuchTableError, self._exceptions.NoSuchViewError):
                return

        self._try(drop)

    def _try(self, work: Callable[[], Any], hint: str = "") -> Any:
        try:
            return work()
        except (NotImplementedError, StorageError):
            raise
        except Exception as error:
            raise StorageError(
                f"The catalog {self._name!r} failed: {_told(error)}.{hint}"
            ) from error


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {plain(error)}".rstrip(". ")
