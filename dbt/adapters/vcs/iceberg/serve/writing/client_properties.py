"""Table properties that clients set: stored, honoured another way, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dbt.adapters.vcs.iceberg.serve.writing.commit_request import Record, bad_request, is_texts
from dbt.adapters.vcs.iceberg.table_metadata import FORMAT_VERSION, FORMAT_VERSIONS

NAME_MAPPING: Final = "schema.name-mapping.default"

# What the catalog sets for every table.
FIXED: Final = frozenset(
    {
        "write.format.default",
        "write.data.path",
        "write.metadata.path",
        "write.object-storage.enabled",
        "write.location-provider.impl",
        "write.folder-storage.path",
        "write.object-storage.path",
        "gc.enabled",
        "vcs.relation",
        "vcs.snapshot",
    }
)


def to_store(given: Mapping[str, str], shown: Mapping[str, str], version: int) -> dict[str, str]:
    """Return the properties of a request that are stored with the table.

    Left out are those that the table shows already, its format version among them, and the
    mapping of names, which is made of the columns.

    Args:
        given: As in the request.
        shown: What the table's metadata has; empty for a new table.
        version: The format version that the table has; that of others for a new table.

    Raises:
        RestError: One of them has a value that the catalog can't honour.
    """
    kept: dict[str, str] = {}
    for key, value in given.items():
        if key == FORMAT_VERSION:
            kept |= version_to_store(value, version, is_new=not shown)
        elif key == NAME_MAPPING or shown.get(key) == value:
            continue
        elif key in FIXED and not _fits(key, value):
            raise bad_request(
                f"The property {key} is set by the catalog and can't be {value!r}. Leave it out."
            )
        elif key not in FIXED:
            kept[key] = value
    return kept


def to_remove(keys: Any) -> tuple[str, ...]:
    """Return the properties that a request removes.

    Raises:
        RestError: The catalog itself sets one of them.
    """
    if keys and not is_texts(keys):
        raise bad_request(f"Expected a list of names as removals, found {keys!r}.")
    for key in keys:
        if key in FIXED or key in (NAME_MAPPING, FORMAT_VERSION):
            raise bad_request(f"The property {key} is set by the catalog and can't be removed.")
    return tuple(keys)


def version_to_store(wanted: object, version: int, *, is_new: bool) -> dict[str, str]:
    """Return the property that gives a table the format version that a client wants.

    Args:
        wanted: The version.
        version: The version that the table has, or would have without the property.
        is_new: True for a table that is not there yet, which may have a lower one, too.

    Raises:
        RestError: There is no such version, or the table has a higher one.
    """
    found = next((number for number in FORMAT_VERSIONS if str(number) == str(wanted)), None)
    if found is None:
        known = " or ".join(map(str, FORMAT_VERSIONS))
        raise bad_request(
            f"The catalog serves tables in format version {known}, and the client wants "
            f"{wanted}. Name one of them, or leave the version out."
        )
    if found < version and not is_new:
        raise bad_request(
            f"The table has format version {version}, and tables don't go back to {found}."
        )
    return {} if found == version else {FORMAT_VERSION: str(found)}


def shown_properties(metadata: Record | None) -> dict[str, str]:
    """Return the properties that a table's metadata shows."""
    return {} if metadata is None else dict(metadata["properties"])


def _fits(key: str, value: str) -> bool:
    """Return whether a value is what the catalog does anyway, as for a staged table's paths."""
    as_is = {
        "write.format.default": "parquet",
        "write.object-storage.enabled": "false",
        "gc.enabled": "false",
    }
    return as_is.get(key, "").lower() == value.lower()
