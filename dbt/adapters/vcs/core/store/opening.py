"""Opening: from the URI of a repository to its blobs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.secrets import shown_location, shown_option
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.failures import plain
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.core.store.memory import MemoryBlobs

CLOUD_SCHEMES: Final = frozenset({"s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl"})
SCHEME_OPTION: Final = "spark_scheme"
"""The one option of a store that only the engine reads: the scheme that Spark has for S3."""

_CLIENT_OPTIONS: Final = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "default_content_type",
        "http1_only",
        "http2_only",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "proxy_ca_certificate",
        "proxy_excludes",
        "proxy_url",
        "timeout",
        "user_agent",
    }
)
_ALLOW_HTTP: Final = "AWS_ALLOW_HTTP"
_RETRIES: Final[Any] = {"max_retries": 6, "retry_timeout": timedelta(seconds=60)}
_NO_RETRIES: Final[Any] = {"max_retries": 0, "retry_timeout": timedelta(seconds=0)}
"""For deletions: a request that is repeated for a minute would arrive long after the last look."""

_DELETED_WITHIN: Final = "10s"
_CONTAINER_AT_ACCOUNT: Final = frozenset({"abfs", "abfss"})
"""Schemes in which the bucket stands before the `@`."""

_SCHEME: Final = re.compile(r"([A-Za-z][\w+.:-]*)://|(?i:(file):/)|(?i:(memory):)")
_PASSWORD: Final = re.compile(r"(?s)[A-Za-z][\w+.-]*:.*:.*@")
_YES: Final = frozenset({"true", "1", "yes", "on"})
_NO: Final = frozenset({"false", "0", "no", "off"})


def open_blobs(uri: str, options: Mapping[str, str] | None = None) -> Blobs:
    """Return the store of a URI; nothing is read or written.

    Args:
        uri: A local path (`~` and relative ones too), `file://`, `s3://bucket/folder`,
            `gs://`, `az://container/folder`, or `memory://` (a new, empty one each time).
        options: For an object store obstore's configuration and client keys, such as
            `aws_region` or `allow_http`. For a local folder `fsync`: `false` trades safety on
            power loss for speed.

    Raises:
        InputError: The URI or an option is not understood.
    """
    options = dict(options or {})
    _check_no_password(uri)
    scheme = _scheme(uri)
    if scheme == "memory":
        return MemoryBlobs()
    if scheme in CLOUD_SCHEMES:
        return _open_cloud(uri, options)
    if scheme not in ("", "file"):
        raise InputError(
            f"The repository {shown_location(uri)} has the scheme {scheme}://, which is not "
            "known. Use a local path, file://, s3://, gs:// or az://."
        )
    fsync = _flag("fsync", options.pop("fsync", "true"))
    if options:
        raise InputError(
            f"The storage option {shown_option(min(options))} has no meaning for the local folder "
            f"{uri}. The only one there is `fsync`."
        )
    return LocalBlobs(_local_path(uri, scheme), fsync=fsync)


def located(uri: str, folder: Path) -> str:
    """Return a location as an absolute one: a relative path is taken from `folder`."""
    if _scheme(uri) or not uri.strip() or uri.startswith("~"):
        return uri
    return str(folder / uri)


def _scheme(uri: str) -> str:
    found = _SCHEME.match(uri)
    return (found[1] or found[2] or found[3]).lower() if found else ""


def _check_no_password(uri: str) -> None:
    """Refuse credentials in a location, where messages, logs and dbt's artifacts would show them.

    A URI of one slash counts, too: it would be a local path.
    """
    if _scheme(uri) in ("file", "memory") or not _PASSWORD.match(uri):
        return
    raise InputError(
        f"The repository {shown_location(uri)} names a user or password in its location. "
        "Credentials belong in the environment or in `storage_options`; an object store is "
        "written s3://bucket/folder, gs:// or az://."
    )


def _local_path(uri: str, scheme: str) -> Path:
    text = uri
    if scheme == "file":
        parts = _split(uri)
        if parts.netloc not in ("", "localhost"):
            place = shown_location(uri).removeprefix(f"{parts.scheme}://")
            raise InputError(
                f"The repository file://{place} names a host, and a file:// location is on this "
                f"machine. For an absolute path write three slashes: file:///{place}"
            )
        # Importing it loads all of HTTP, which a plain path does not need.
        from urllib.request import url2pathname

        text = url2pathname(parts.path)
    if not text.strip() or "\0" in text:
        raise InputError("The repository location is empty. Give a path or a URI.")
    try:
        return Path(text).expanduser().resolve()
    except (RuntimeError, OSError) as error:
        raise InputError(
            f"The repository {shown_location(uri)} is no usable path: {plain(error)}. Give an "
            "absolute path."
        ) from None


def _open_cloud(uri: str, options: dict[str, str]) -> Blobs:
    # A local repository does without obstore.
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    from dbt.adapters.vcs.core.store.cloud import CloudBlobs

    parts = _split(uri)
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")
    has_user = "@" in parts.netloc and parts.scheme not in _CONTAINER_AT_ACCOUNT
    if has_user or ":" in parts.netloc:
        raise InputError(
            f"The repository {shown_location(uri)} names a user in its location. Credentials "
            "belong in the environment or in `storage_options`."
        )
    hidden = [*options.values(), *options.keys() - set(filter(_is_name, options))]
    hidden += [parts.query, parts.fragment, uri]
    options.pop(SCHEME_OPTION, None)
    client: dict[str, Any] = {key: options.pop(key) for key in options.keys() & _CLIENT_OPTIONS}
    client.setdefault("timeout", "60s")
    if _ALLOW_HTTP in os.environ:
        # obstore takes the rest of a connection from the environment by itself.
        client.setdefault("allow_http", os.environ[_ALLOW_HTTP])
    try:
        settings: dict[str, Any] = {
            "config": dict(options),
            "client_options": client,
            "retry_config": _RETRIES,
        }
        store = from_url(uri, **settings)
        settings["client_options"] = {**client, "timeout": _DELETED_WITHIN}
        deleting = from_url(uri, **{**settings, "retry_config": _NO_RETRIES})
    except (BaseError, ValueError) as error:
        raise InputError(
            f"The repository {shown} can't be opened: {plain(error, hidden)}. "
            "Check the location and `storage_options`."
        ) from None
    # What was opened is no secret: a container stands there, and Spark needs it.
    return CloudBlobs(store, f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/"), deleting)


def _flag(name: str, value: str) -> bool:
    text = str(value).strip().lower()
    if text not in _YES | _NO:
        # The value may be a secret in the wrong place, so it is not repeated.
        raise InputError(f"The storage option {name} has another value; expected true or false.")
    return text in _YES


def _split(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError:
        raise InputError(
            f"The repository {shown_location(uri)} is no valid URI. Check the part after ://."
        ) from None


def _is_name(option: str) -> bool:
    return shown_option(option) == option
