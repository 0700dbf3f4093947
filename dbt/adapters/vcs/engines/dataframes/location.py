"""Where Spark finds the repository: its URI, and patterns that name exact files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from dbt.adapters.vcs.core.errors import InputError

_GLOB: Final = re.compile(r"([\\{},*?\[\]])")
_ACCOUNT_KEYS: Final = ("account_name", "azure_storage_account_name", "azure_account_name")


def spark_root(uri: str, storage_options: Mapping[str, str] = {}) -> str:
    """Return the repository's location in Hadoop's spelling, without a trailing `/`.

    Raises:
        InputError: Spark can't reach such a store.
    """
    scheme, colon, rest = uri.partition("://")
    if not colon:
        return "file:" + os.path.abspath(uri)
    if scheme == "file":
        return "file:" + os.path.abspath(rest)
    if scheme in ("s3", "s3a"):
        return f"s3a://{rest.rstrip('/')}"
    if scheme in ("gs", "abfs", "abfss", "hdfs"):
        return uri.rstrip("/")
    if scheme in ("az", "azure", "adl"):
        return _azure(uri, storage_options)
    raise InputError(
        f"Spark can't read a repository at {uri}; put it in a local folder or at s3://, gs:// "
        "or az://."
    )


def exact_files(root: str, folder: str, files: Iterable[str]) -> str:
    """Return one path pattern for files below `<root>/<folder>`, given relative to that folder.

    Characters in names that are wildcards for Hadoop are escaped.
    """
    base = f"{root}/{folder}" if folder else root
    inside = ",".join(map(escaped_path, files))
    return f"{escaped_path(base)}/{{{inside}}}"


def escaped_path(text: str) -> str:
    """Return a path pattern that only one path matches."""
    return _GLOB.sub(r"\\\1", text)


def _azure(uri: str, storage_options: Mapping[str, str]) -> str:
    lower = {key.lower(): value for key, value in storage_options.items()}
    account = next((lower[key] for key in _ACCOUNT_KEYS if key in lower), None)
    parts = urlsplit(uri)
    if account is None:
        raise InputError(
            f"The storage account of {uri} is not known; add `account_name` to `storage_options`."
        )
    path = parts.path.rstrip("/")
    return f"abfss://{parts.netloc}@{account}.dfs.core.windows.net{path}"
