"""External sources: dbt sources that are files outside the repository."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.workspace.mounts import External

_FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
    ".txt": "text",
}
_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "csv": {"header": "true", "inferSchema": "true", "escape": '"'}
}


def externals_of(sources: Mapping[str, Any], project_root: Path) -> dict[RelationName, External]:
    """Return the sources with `external_location` in their meta, by name.

    A table's `meta` overrides its source's `meta`. In a location, `{name}`, `{identifier}` and
    `{schema}` are replaced by the table's; a relative path is relative to the project. `format` is
    derived from the file extension if it is not given, `options` are Spark's reader options.

    Raises:
        InputError: The format of a location is unknown, a placeholder is unknown, or one name
            refers to two locations.
    """
    found: dict[RelationName, External] = {}
    labels: dict[RelationName, str] = {}
    for source in sources.values():
        meta = {**(source.source_meta or {}), **(source.meta or {})}
        config_meta = getattr(source.config, "meta", None) or {}
        meta = {**meta, **config_meta}
        if "external_location" in meta:
            name = RelationName(source.schema.lower(), source.identifier.lower())
            external = _external(source, meta, project_root)
            if found.setdefault(name, external) != external:
                raise InputError(
                    f"{labels[name]} and {_label(source)} are both called {name} (case is "
                    f"ignored), at {found[name].location} and {external.location}. Give one "
                    "of them another identifier."
                )
            labels[name] = _label(source)
    return found


def _label(source: Any) -> str:
    return f"The source {source.source_name}.{source.name}"


def _external(source: Any, meta: Mapping[str, Any], project_root: Path) -> External:
    label = _label(source)
    try:
        location = str(meta["external_location"]).format(
            name=source.name, identifier=source.identifier, schema=source.schema
        )
    except (KeyError, IndexError, ValueError) as error:
        raise InputError(
            f"{label} has an external_location with an unknown placeholder ({error}); "
            "expected {name}, {identifier} or {schema}."
        ) from error
    if "://" not in location and not location.startswith("/"):
        location = str(project_root.resolve() / location)
    format = meta.get("format") or _FORMATS.get(_suffix(location))
    if format is None:
        raise InputError(
            f"{label} has the external_location {meta['external_location']}, whose format is not "
            "clear from its extension. Set it: meta: {format: parquet}."
        )
    given = {str(key): _text(value) for key, value in (meta.get("options") or {}).items()}
    defaults = dict(_DEFAULTS.get(str(format), {}))
    if _suffix(location) == ".tsv":
        defaults["sep"] = "\t"
    return External(location=location, format=str(format), options={**defaults, **given})


def _suffix(location: str) -> str:
    path = PurePosixPath(location.rstrip("/"))
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".bz2", ".zst")]
    return suffixes[-1].lower() if suffixes else ""


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
