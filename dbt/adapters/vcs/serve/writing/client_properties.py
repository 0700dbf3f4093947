"""Table properties that clients set: stored, honoured another way, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dbt.adapters.vcs.serve.writing.commit_request import Record, bad_request, is_texts

NAME_MAPPING: Final = "schema.name-mapping.default"
FORMAT_VERSION: Final = "format-version"

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


def to_store(
    given: Mapping[str, str], shown: Mapping[str, str], version: int = 2
) -> dict[str, str]:
    """Return the properties of a request that are stored with the table.

    Left out are those that the table shows already, and the mapping of names, which is made of
    the columns.

    Args:
        given: As in the request.
        shown: What the table's metadata has; empty for a new table.
        version: The format version of tables.

    Raises:
        RestError: One of them has a value that the catalog can't honour.
    """
    kept: dict[str, str] = {}
    for key, value in given.items():
        if key == FORMAT_VERSION:
            check_version(value, version)
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
        if key in FIXED or key == NAME_MAPPING:
            raise bad_request(f"The property {key} is set by the catalog and can't be removed.")
    return tuple(keys)


def check_version(value: object, version: int) -> None:
    """Check that a client wants the format version that the catalog serves.

    Raises:
        RestError: It wants another one.
    """
    if str(value) != str(version):
        raise bad_request(
            f"The catalog serves tables in format version {version}, and the client wants "
            f"{value}. Leave the version out."
        )


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
