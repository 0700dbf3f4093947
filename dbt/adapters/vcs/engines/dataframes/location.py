"""Where Spark finds the repository: its URI, and patterns that name exact files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.store.opening import SCHEME_OPTION

_GLOB: Final = re.compile(r"([\\{},*?\[\]])")
_S3_SCHEMES: Final = ("s3a", "s3")
_ACCOUNT_KEYS: Final = ("account_name", "azure_storage_account_name", "azure_account_name")


def spark_root(uri: str, storage_options: Mapping[str, str] = {}) -> str:
    """Return the repository's location in Hadoop's spelling, without a trailing `/`.

    Args:
        uri: The repository's location.
        storage_options: The store's options; `spark_scheme` is Spark's scheme for S3, and Azure
            needs `account_name`.

    Raises:
        InputError: Spark can't reach such a store.
    """
    scheme, colon, rest = uri.partition("://")
    if not colon:
        return "file:" + os.path.abspath(uri)
    if scheme == "file":
        return "file:" + os.path.abspath(rest)
    if scheme in ("s3", "s3a"):
        return f"{_s3_scheme(storage_options)}://{rest.rstrip('/')}"
    if scheme in ("gs", "abfs", "abfss", "hdfs"):
        return uri.rstrip("/")
    if scheme in ("az", "azure", "adl"):
        return _azure(uri, storage_options)
    raise InputError(
        f"Spark can't read a repository at {uri}; put it in a local folder or at s3://, gs:// "
        "or az://."
    )


def hadoop_root(uri: str, storage_options: Mapping[str, str]) -> str:
    """Return the same; empty for a repository in memory, which has no file for Spark to read.

    Raises:
        InputError: As `spark_root` does, for any other store that Spark can't reach.
    """
    return "" if uri.startswith("memory:") else spark_root(uri, storage_options)


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


def _s3_scheme(storage_options: Mapping[str, str]) -> str:
    scheme = storage_options.get(SCHEME_OPTION, _S3_SCHEMES[0])
    if scheme not in _S3_SCHEMES:
        raise InputError(
            f"The storage option {SCHEME_OPTION} is not one of {', '.join(_S3_SCHEMES)}: Spark "
            "has a repository on S3 under s3a://, and on EMR under s3://."
        )
    return scheme


def _azure(uri: str, storage_options: Mapping[str, str]) -> str:
    # As for the store itself, the environment says what the options don't.
    known = {**os.environ, **storage_options}
    lower = {key.lower(): value for key, value in known.items()}
    account = next((lower[key] for key in _ACCOUNT_KEYS if key in lower), None)
    parts = urlsplit(uri)
    if account is None:
        raise InputError(
            f"The storage account of {uri} is not known; add `account_name` to `storage_options`."
        )
    path = parts.path.rstrip("/")
    return f"abfss://{parts.netloc}@{account}.dfs.core.windows.net{path}"
