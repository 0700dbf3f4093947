"""Export rules: which branches a project's `vcs.yml` lets other engines read, and how."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.yaml_text import check_keys, mapping_at

EXPORT_FORMATS: Final = ("iceberg",)
"""The formats that branches are exported in."""

OF_EXPORT: Final[Mapping[str, str]] = {
    "format": "`iceberg`, the default. `main: iceberg` is short for `main: {format: iceberg}`.",
    "format_version": "Iceberg's format version: `2`, the default, or `3`, in which deleted rows "
    "are deletion vectors. Fewer engines read it.",
    "catalog": "A catalog in which the tables are registered after each export, and views where "
    "it can: a name that PyIceberg's configuration knows, or `name` with `type`, `uri` and "
    "further properties of PyIceberg, without credentials.",
    "catalog.namespace": "The catalog's namespace for a schema: a text with `{schema}` "
    "(default), and `{branch}` if the rule is for several branches.",
}
"""What the file may say of exports."""

FORMAT_VERSIONS: Final = (2, 3)
"""The versions of the format that tables are exported in; the first is the default."""

_NAMESPACE: Final = "{schema}"
_SECRET: Final = re.compile(r"secret|password|token|credential|access-key", re.IGNORECASE)
_PASSWORD: Final = re.compile(r"://[^/@]*:[^/@]*@")
_NAME: Final = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTarget:
    """A catalog in which exported tables are registered.

    Attributes:
        name: Its name in PyIceberg's configuration, in files and variables.
        properties: Its properties besides those.
        namespace: The namespace of a schema, with `{schema}` and possibly `{branch}`.
    """

    name: str
    properties: Mapping[str, str] = field(default_factory=dict)
    namespace: str = _NAMESPACE

    @property
    def digest(self) -> str:
        """A digest of what it is besides its name: another one is another catalog."""
        told = json.dumps([dict(self.properties), self.namespace], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def namespace_of(self, branch: str, schema: str) -> tuple[str, ...]:
        """Return the namespace of a schema; characters that catalogs don't take become `_`."""
        plain = re.sub(r"[^A-Za-z0-9_]", "_", branch)
        shown = self.namespace.replace("{branch}", plain).replace(_NAMESPACE, schema)
        return tuple(shown.split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRule:
    """How the branches whose names match a pattern are exported.

    Attributes:
        pattern: The pattern (`*`, `?`, `[...]`).
        format_version: Version of Iceberg's format.
        catalog: Where the tables are registered; None for nowhere.
    """

    pattern: str
    format_version: int = FORMAT_VERSIONS[0]
    catalog: CatalogTarget | None = None

    def fits(self, branch: str) -> bool:
        """Return whether the rule is for a branch."""
        return fnmatchcase(branch, self.pattern)


def read_exports(given: Any, path: str) -> tuple[ExportRule, ...]:
    """Return the rules that a file has under `export`.

    Raises:
        InputError: A key or a value is none of those expected.
    """
    return tuple(
        _rule(pattern, value, f"export.{pattern} in {path}")
        for pattern, value in mapping_at(given or {}, f"export in {path}").items()
    )


def _rule(pattern: str, value: Any, where: str) -> ExportRule:
    told = mapping_at(value, where) if isinstance(value, Mapping) else {"format": value}
    check_keys(told, [key for key in OF_EXPORT if "." not in key], where)
    format_ = told.get("format", EXPORT_FORMATS[0])
    if format_ not in EXPORT_FORMATS:
        raise InputError(f"Found {format_!r} at {where}; expected {' or '.join(EXPORT_FORMATS)}.")
    version = told.get("format_version", FORMAT_VERSIONS[0])
    if version not in FORMAT_VERSIONS or isinstance(version, bool):
        known = " or ".join(map(str, FORMAT_VERSIONS))
        raise InputError(f"Found format_version: {version!r} at {where}; expected {known}.")
    catalog = _catalog(told.get("catalog"), pattern, where)
    return ExportRule(pattern=pattern, format_version=version, catalog=catalog)


def _catalog(given: Any, pattern: str, where: str) -> CatalogTarget | None:
    if given is None:
        return None
    where = f"catalog of {where}"
    told = {"name": given} if isinstance(given, str) else dict(mapping_at(given, where))
    name, namespace = told.pop("name", None), told.pop("namespace", _NAMESPACE)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"Found the name {name!r} of the {where}; expected letters, digits and hyphens."
        )
    if not isinstance(namespace, str) or _NAMESPACE not in namespace:
        raise InputError(
            f"Found namespace: {namespace!r} of the {where}; expected a text with {{schema}}."
        )
    if "{branch}" not in namespace and re.search(r"[*?\[]", pattern):
        raise InputError(
            f"The {where} is for several branches, whose tables would take each other's place. "
            "Add {branch} to its namespace, as in namespace: '{branch}_{schema}'."
        )
    for key, value in told.items():
        if _SECRET.search(key) or _PASSWORD.search(str(value)):
            variable = f"PYICEBERG_CATALOG__{name}__{key.replace('.', '__')}".replace("-", "_")
            raise InputError(
                f"Found {key!r} of the {where}, which others read, too. Set what is secret in "
                f"the environment instead: {variable.upper()}"
            )
    properties = {key: _text(value) for key, value in told.items()}
    return CatalogTarget(name=name, properties=properties, namespace=namespace)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
