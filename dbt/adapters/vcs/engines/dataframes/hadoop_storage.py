"""The repository as Spark finds it: its URI, Hadoop's settings to reach it, and who sees it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.opening import HEADER_PATH as HEADER
from dbt.adapters.vcs.core.store.opening import SCHEME_OPTION, is_yes
from dbt.adapters.vcs.engines.engine_errors import StatementError

# What Hadoop takes for a wildcard, and its escape.
_GLOB: Final = re.compile(r"([\\{},*?\[\]])")
_S3_SCHEMES: Final = ("s3a", "s3")
_ACCOUNT_NAMES: Final = ("account_name", "azure_storage_account_name", "azure_account_name")


def spark_root(uri: str, storage_options: Mapping[str, str] = {}) -> str:
    """Return the repository's location in Hadoop's spelling, without a trailing `/`.

    Args:
        storage_options: The store's options; `spark_scheme` is Spark's scheme for S3, and Azure
            needs `account_name`.

    Raises:
        InputError: Spark can't reach such a store.
    """
    scheme, _, rest = uri.partition("://")
    if is_folder(uri):
        return "file:" + os.path.abspath(uri.removeprefix("file://"))
    if scheme in ("s3", "s3a"):
        return f"{_s3_scheme(storage_options)}://{rest.rstrip('/')}"
    if scheme in ("gs", "abfs", "abfss", "hdfs"):
        return uri.rstrip("/")
    if scheme in ("az", "azure", "adl"):
        return _azure_root(uri, storage_options)
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


def _azure_root(uri: str, storage_options: Mapping[str, str]) -> str:
    # As for the store itself, the environment says what the options don't.
    known = {**os.environ, **storage_options}
    lower = {key.lower(): value for key, value in known.items()}
    account = next((lower[key] for key in _ACCOUNT_NAMES if key in lower), None)
    parts = urlsplit(uri)
    if account is None:
        raise InputError(
            f"The storage account of {uri} is not known; add `account_name` to `storage_options`."
        )
    path = parts.path.rstrip("/")
    return f"abfss://{parts.netloc}@{account}.dfs.core.windows.net{path}"


PACKAGES: Final = "spark.jars.packages"

_CONNECTORS: Final = {
    "s3a": "hadoop-aws",
    "gs": "hadoop-gcp",
    "abfs": "hadoop-azure",
    "abfss": "hadoop-azure",
}
# Connectors of other makers for the same scheme.
_OTHERS: Final = {"gs": "gcs-connector"}

_CLASS_PATHS: Final = (
    PACKAGES,
    "spark.jars",
    "spark.driver.extraClassPath",
    "spark.executor.extraClassPath",
)
_S3: Final = {
    "access_key_id": "fs.s3a.access.key",
    "secret_access_key": "fs.s3a.secret.key",
    "session_token": "fs.s3a.session.token",
    "token": "fs.s3a.session.token",
    "endpoint": "fs.s3a.endpoint",
    "endpoint_url": "fs.s3a.endpoint",
    "default_region": "fs.s3a.endpoint.region",
    "region": "fs.s3a.endpoint.region",
}
_KEY_FILES: Final = ("service_account", "service_account_path", "application_credentials")
_ACCOUNT_KEYS: Final = ("account_key", "access_key", "master_key", "key")
_SIGNATURES: Final = ("sas_key", "sas_token")
_TENANTS: Final = ("tenant_id", "authority_id")
_OAUTH: Final = "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
_AUTHORITY: Final = "https://login.microsoftonline.com"


def with_connector(user: Mapping[str, str], root: str, jars: Path) -> dict[str, str]:
    """Return a user's settings with the package of the connector that a location needs.

    It has the version of the Hadoop that Spark has. Nothing is added if the connector is among
    Spark's jars or the user's, or if `spark.jars.packages` is empty: then it is said to be there.

    Args:
        user: Settings for starting Spark.
        root: The repository's location, as Spark knows it.
        jars: The folder of Spark's own jars.
    """
    scheme = root.partition(":")[0]
    connector = _CONNECTORS.get(scheme)
    packages = user.get(PACKAGES)
    if connector is None or packages == "":
        return dict(user)
    said = " ".join(user.get(key, "") for key in _CLASS_PATHS)
    if any(name in said for name in (connector, _OTHERS.get(scheme, connector))):
        return dict(user)
    # A connector for another version of Hadoop fails when it is first used.
    versions = [jar.stem.rpartition("-")[2] for jar in jars.glob("hadoop-client-api-*.jar")]
    if not versions or any(jars.glob(f"{connector}-*.jar")):
        return dict(user)
    added = f"org.apache.hadoop:{connector}:{versions[0]}"
    return dict(user) | {PACKAGES: f"{packages},{added}" if packages else added}


def storage_settings(
    root: str, options: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Return Hadoop's settings for the options with which the repository's own store is opened.

    Args:
        root: The repository's location, as Spark knows it.
        options: The store's options, credentials among them.
        environ: The process's environment, whose variables the store takes as options, too.

    Raises:
        InputError: Hadoop can't use one of the options.
    """
    scheme = root.partition(":")[0]
    if scheme in ("s3", "s3a"):
        return _s3(_options_by_name(options, environ, "aws_"))
    if scheme == "gs":
        return _gs(_options_by_name(options, {}, "google_"))
    if scheme in ("abfs", "abfss"):
        host = urlsplit(root).netloc.rpartition("@")[2]
        named = _options_by_name(options, environ, "azure_")
        return _azure({key.removeprefix("storage_"): value for key, value in named.items()}, host)
    return {}


def _options_by_name(
    options: Mapping[str, str], environ: Mapping[str, str], prefix: str
) -> dict[str, str]:
    """Return options by their names without a prefix; those of the environment come last."""
    # Names are not case-sensitive to the store either.
    told = {key.lower(): value for key, value in environ.items()}
    found = {key: value for key, value in told.items() if key.startswith(prefix)}
    found |= {key.lower(): str(value) for key, value in options.items()}
    return {key.removeprefix(prefix): value for key, value in found.items()}


def _s3(options: Mapping[str, str]) -> dict[str, str]:
    found = {setting: options[name] for name, setting in _S3.items() if name in options}
    if "allow_http" in options:
        is_plain = is_yes(options["allow_http"])
        found["fs.s3a.connection.ssl.enabled"] = "false" if is_plain else "true"
    if "virtual_hosted_style_request" in options:
        is_virtual = is_yes(options["virtual_hosted_style_request"])
        found["fs.s3a.path.style.access"] = "false" if is_virtual else "true"
    if "fs.s3a.endpoint" in found:
        # Servers other than Amazon's seldom have a host name for each bucket.
        found.setdefault("fs.s3a.path.style.access", "true")
    return found


def _gs(options: Mapping[str, str]) -> dict[str, str]:
    if "service_account_key" in options:
        raise InputError(
            "Spark's connector for gs:// takes the key of a service account from a file only. "
            "Store it in one, and set google_service_account to its path instead of "
            "google_service_account_key."
        )
    file = next((options[name] for name in _KEY_FILES if name in options), None)
    if file is not None:
        return {
            "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
            "fs.gs.auth.service.account.json.keyfile": file,
        }
    if is_yes(options.get("skip_signature", "")):
        return {"fs.gs.auth.type": "UNAUTHENTICATED"}
    # What Google's own libraries find: GOOGLE_APPLICATION_CREDENTIALS, the user's, the machine's.
    return {"fs.gs.auth.type": "APPLICATION_DEFAULT"}


def _azure(options: Mapping[str, str], host: str) -> dict[str, str]:
    def option(names: tuple[str, ...]) -> str | None:
        return next((options[name] for name in names if name in options), None)

    tenant = option(_TENANTS)
    if tenant and "client_id" in options and "client_secret" in options:
        authority = options.get("authority_host", _AUTHORITY).rstrip("/")
        endpoint = f"{authority}/{tenant}/oauth2/token"
        return {
            f"fs.azure.account.auth.type.{host}": "OAuth",
            f"fs.azure.account.oauth.provider.type.{host}": _OAUTH,
            f"fs.azure.account.oauth2.client.id.{host}": options["client_id"],
            f"fs.azure.account.oauth2.client.secret.{host}": options["client_secret"],
            f"fs.azure.account.oauth2.client.endpoint.{host}": endpoint,
        }
    signature, key = option(_SIGNATURES), option(_ACCOUNT_KEYS)
    if signature:
        return {
            f"fs.azure.account.auth.type.{host}": "SAS",
            f"fs.azure.sas.fixed.token.{host}": signature,
        }
    return {f"fs.azure.account.key.{host}": key} if key else {}


_UNSEEN: Final = ("FAILED_READ_FILE", "PATH_NOT_FOUND")

SHARE: Final = (
    "Every machine of the cluster must see the repository's folder under this name: put the "
    "repository on a file system that all of them mount, or in an object store (s3://, gs://, "
    "az://), or run Spark on this machine only (spark.master: local[*])."
)
"""The next step where one doesn't."""


def check_shared(
    spark: Any,
    blobs: Blobs,
    root: str,
    *,
    where: str,
    tasks: int,
    translated: Callable[[], AbstractContextManager[None]],
) -> None:
    """Check that the executors of a cluster see a repository in a local folder; one job reads it.

    There should be more tasks than cores. An executor that starts later has no task here; the
    rows of each write are counted anyway.

    Args:
        root: The repository as Spark names it.
        where: Where Spark runs, for the error.
        tasks: How many tasks read the repository's header.
        translated: Returns a block in which Spark's exceptions become ours.

    Raises:
        InputError: A task didn't find the file, or found another.
        StatementError: The job failed for another reason.
    """
    path, text = exact_files(root, "", [HEADER]), blobs.get(HEADER).decode()
    try:
        with translated():
            # Spark's own tasks read the file: Python may be missing on the workers.
            reader = spark.read.option("wholetext", True).option("ignoreMissingFiles", False)
            rows = reader.text([path] * tasks).collect()
    except StatementError as error:
        if not (error.condition or "").startswith(_UNSEEN):
            raise
        reason = "an executor doesn't find its header"
    else:
        if [row.value for row in rows] == [text] * tasks:
            return
        reason = "an executor finds another repository"
    raise InputError(
        f"The repository is the folder {root} of this machine, and Spark runs {where}, "
        f"where {reason}. Nothing was computed. {SHARE}"
    )


def is_folder(uri: str) -> bool:
    """Return whether a repository is in a folder of this machine."""
    scheme, colon, _ = uri.partition("://")
    return not colon or scheme == "file"
