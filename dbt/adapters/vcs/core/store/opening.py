"""Locations: from the URI of a repository to its blobs, its header, and what lies inside it."""

from __future__ import annotations

import os
import posixpath
import re
import uuid
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from dbt.adapters.vcs.core.codec import UNREADABLE, decode_record, encode_record
from dbt.adapters.vcs.core.errors import DamagedError, FormatError, InputError, NotFoundError
from dbt.adapters.vcs.core.failures import plain, shown_location, shown_option
from dbt.adapters.vcs.core.model.tree import Value
from dbt.adapters.vcs.core.store.blobs import Blobs, MemoryBlobs
from dbt.adapters.vcs.core.store.local import LocalBlobs

CLOUD_SCHEMES: Final = frozenset({"s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl"})
SCHEME_OPTION: Final = "spark_scheme"
"""The one option of a store that only the engine reads: the scheme that Spark has for S3."""

# obstore takes these apart from the configuration of a store.
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
# For deletions: a request that is repeated for a minute would arrive long after the last look.
_NO_RETRIES: Final[Any] = {"max_retries": 0, "retry_timeout": timedelta(seconds=0)}

# Well within the half of a lease's term that is left for requests on their way (`lease.SAFE`).
_DELETED_WITHIN: Final = "10s"
# Schemes in which the bucket stands before the `@`.
_CONTAINER_AT_ACCOUNT: Final = frozenset({"abfs", "abfss"})

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
    # RuntimeError is what `expanduser` raises without a home, and `resolve` for a loop of links.
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
    # What stands as an option's name may be a secret in the wrong place.
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
        # A second client, which doesn't repeat what it sends: see `_NO_RETRIES`.
        settings["client_options"] = {**client, "timeout": _DELETED_WITHIN}
        deleting = from_url(uri, **{**settings, "retry_config": _NO_RETRIES})
    except (BaseError, ValueError) as error:
        raise InputError(
            f"The repository {shown} can't be opened: {plain(error, hidden)}. "
            "Check the location and `storage_options`."
        ) from None
    # What was opened is no secret: a container stands there, and Spark needs it.
    return CloudBlobs(store, f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/"), deleting)


def is_yes(value: str) -> bool:
    """Return whether a setting's text means true, as stores and Spark read it."""
    return value.strip().lower() in _YES


def _flag(name: str, value: str) -> bool:
    text = str(value).strip().lower()
    if text not in _YES | _NO:
        # The value may be a secret in the wrong place, so it is not repeated.
        raise InputError(f"The storage option {name} has another value; expected true or false.")
    return is_yes(text)


def _split(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError:
        raise InputError(
            f"The repository {shown_location(uri)} is no valid URI. Check the part after ://."
        ) from None


def _is_name(option: str) -> bool:
    return shown_option(option) == option


# Schemes of one store, by the one that stands for all.
_SAME: Final = {
    "s3a": "s3",
    "s3n": "s3",
    "azure": "az",
    "abfs": "az",
    "abfss": "az",
    "wasb": "az",
    "wasbs": "az",
    "adl": "az",
}

# Folders of a repository that may be links to another disk.
_PARTS: Final = ("", "refs", "objects", "data")


class _Place(NamedTuple):
    """A location in an object store; the account is empty if it is not known."""

    scheme: str
    account: str
    bucket: str
    path: str


def reaches(location: str, uri: str) -> bool:
    """Return whether a location is in the repository at `uri`, or a folder that holds it.

    Both may be paths or URIs; relative paths start from the working directory. On a local disk
    links are followed, and `..` is taken as the system and as Hadoop take it.
    """
    here, there = _store_scheme(location), _store_scheme(uri)
    if not here and not there:
        roots = [Path(path, part) for path in _local(uri) for part in _PARTS]
        return any(_meet(Path(path), root) for path in _local(location) for root in roots)
    if not here or not there:
        return False
    mine, theirs = _place(location), _place(uri)
    # An account that is not known may be the same one, so it parts nothing.
    accounts = {place.account for place in (mine, theirs)} - {""}
    if mine[0] != theirs[0] or mine.bucket != theirs.bucket or len(accounts) > 1:
        return False
    return _covers(mine.path, theirs.path) or _covers(theirs.path, mine.path)


def _store_scheme(text: str) -> str:
    head, separator, _ = text.partition(":")
    # One letter before the colon is a Windows drive.
    scheme = head.lower() if separator and len(head) > 1 and "/" not in head else ""
    return "" if scheme == "file" else _SAME.get(scheme, scheme)


def _local(text: str) -> set[str]:
    """Return the paths that a text could mean on this machine."""
    if text[:5].lower() == "file:":
        rest = text[5:]
        text = "/" + rest.lstrip("/") if not rest.startswith("//") else urlsplit(text).path
    spelled = {text, unquote(text), os.path.expanduser(text)}
    whole = {os.path.abspath(path) for path in spelled if path and "\0" not in path}
    # Hadoop drops `..` from the text; the system follows links before it goes up.
    return whole | {os.path.join(os.getcwd(), path) for path in spelled if "\0" not in path}


def _meet(path: Path, root: Path) -> bool:
    """Return whether one of two paths is the other one, or in it."""
    mine, theirs = path.resolve(), root.resolve()
    return _is_in(mine, theirs) or _is_in(theirs, mine)


def _is_in(path: Path, folder: Path) -> bool:
    return any(_is_same(each, folder) for each in (path, *path.parents))


def _is_same(one: Path, other: Path) -> bool:
    if one == other:
        return True
    try:
        # Bind mounts, and disks that ignore case.
        return one.samefile(other)
    except OSError:
        return False


def _place(uri: str) -> _Place:
    parts = urlsplit(uri)
    container, at, host = parts.netloc.rpartition("@")
    is_azure = _store_scheme(uri) == "az" and bool(at)
    path = posixpath.normpath("/" + unquote(parts.path).strip("/")).strip("/")
    return _Place(
        scheme=_store_scheme(uri),
        account=host.partition(".")[0] if is_azure else "",
        bucket=container if is_azure else host,
        path=path,
    )


def _covers(folder: str, path: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")


HEADER_PATH: Final = "vcs.json"

FORMAT_VERSION: Final = 3
"""Version of the format that this code writes, and the highest that it reads."""

CONDEMNED: Final = 2
"""The version from which on every writer reads which names are being deleted."""

IN_PIECES: Final = 3
"""The version from which on every reader knows trees in pieces."""

PACKS: Final = 3
"""The version from which on every purge deletes the packs of refs."""

ADDED: Final = {
    2: (
        "Before gc deletes anything it writes down the names (condemned/), and writers store what "
        "they need of it under a second name. Older versions would not find it.",
        "A purge announces itself, and whoever wants to land waits. Older versions would not "
        "wait.",
    ),
    3: (
        "A schema of more than 1,000 tables and views is a tree of pieces, so a change costs the "
        "same however many there are. It is written so by the next change in it. Older versions "
        "could not read it.",
        "gc packs branches and tags (packed/), so listing them takes few requests. A purge of an "
        "older version would leave texts there.",
    ),
}
"""What each version added that older readers or writers would do harm without."""

# What a header may ask for. No version asks for anything yet, but decision 41: a reader that
# didn't refuse unknown features from the start would make the list worthless.
_FEATURES: Final[frozenset[str]] = frozenset()

# What a creation may leave behind that died before it wrote the header.
_OURS: Final = frozenset(
    {
        HEADER_PATH,
        "condemned",
        "creating",
        "damaged",
        "data",
        "leases",
        "objects",
        "packed",
        "refs",
        "results",
        "rewritten",
        "turns",
    }
)


class Header(Value, frozen=True, kw_only=True):
    """What a repository records about itself.

    Attributes:
        format: Version of the format that everything in the repository follows.
        id: Random, to distinguish successive repositories at one location.
        default_branch: The branch that others start from by default; can't be deleted.
        features: What a reader or writer must know beside the format's version.
    """

    format: int
    id: str
    default_branch: str
    features: tuple[str, ...] = ()


class _Version(msgspec.Struct):
    format: int
    features: tuple[str, ...] = ()


def new_header(default_branch: str) -> Header:
    """Return the header of a new repository in the format that this code writes."""
    return Header(format=FORMAT_VERSION, id=uuid.uuid4().hex, default_branch=default_branch)


def check_vacant(blobs: Blobs) -> None:
    """Check that a location is free to become a repository.

    Remains of a failed attempt, files of another process that is creating one now, and hidden
    files don't count.

    Raises:
        InputError: Something else is there.
    """
    others = [name for name in blobs.top() if name not in _OURS and not name.startswith(".")]
    if others:
        raise InputError(
            f"{blobs.uri} is not a repository and can't be made one: other things lie there "
            f"({', '.join(others[:3])}). Name another location, or an empty folder."
        )


def write_header(blobs: Blobs, header: Header) -> None:
    """Make a location a repository; nothing happens to one that already is one.

    A local folder also gets a `.gitignore`, since rows are not code.
    """
    # Not only inside a work tree: `git init` in the project may come after its first build.
    if isinstance(blobs, LocalBlobs):
        blobs.create(".gitignore", b"*\n")
    blobs.create(HEADER_PATH, encode_record(header))


def read_header(blobs: Blobs) -> Header:
    """Return the header of the repository at a location.

    Raises:
        NotFoundError: The location is not a repository.
        FormatError: Its format is none that this version of dbt-vcs knows.
        DamagedError: The file is damaged.
    """
    try:
        data = blobs.get(HEADER_PATH)
    except NotFoundError as error:
        raise NotFoundError(
            f"{blobs.uri} is not a repository: there is no {HEADER_PATH} in it. Check the "
            "location; a first run of dbt with `repository` set to it makes one."
        ) from error
    # Check the version first: a newer one may give the other keys another meaning.
    _check_known(_version(data, blobs.uri), blobs.uri)
    return decode_record(Header, data, f"{HEADER_PATH} of {blobs.uri}")


def upgrade_header(blobs: Blobs, header: Header) -> None:
    """Give a repository the newest format.

    All else of a repository stays as it is: an older format has nothing that a newer one lacks.

    Raises:
        StorageError: The store failed; the repository has the old format or the new one.
    """
    new = msgspec.structs.replace(header, format=FORMAT_VERSION)
    if new != header:
        blobs.replace_all({HEADER_PATH: encode_record(new)})


def _check_known(found: _Version, uri: str) -> None:
    if found.format > FORMAT_VERSION:
        raise FormatError(
            f"The repository {uri} has format version {found.format}; this dbt-vcs reads up to "
            f"version {FORMAT_VERSION}. Upgrade it: pip install --upgrade dbt-vcs"
        )
    # Decision 41: 0 and negative numbers are damage, not an old format.
    if found.format < 1:
        raise FormatError(
            f"The repository {uri} has format version {found.format}; expected 1 to "
            f"{FORMAT_VERSION}. No version of dbt-vcs wrote that: restore the file "
            f"{HEADER_PATH} from a backup of the repository."
        )
    unknown = sorted(set(found.features) - _FEATURES)
    if unknown:
        raise FormatError(
            f"The repository {uri} needs {', '.join(unknown)}, which this dbt-vcs does not know. "
            "Upgrade it: pip install --upgrade dbt-vcs"
        )


def _version(data: bytes, uri: str) -> _Version:
    try:
        return msgspec.json.decode(data, type=_Version)
    except UNREADABLE as error:
        raise DamagedError(
            f"The file {HEADER_PATH} of {uri} does not tell a format version: {error}. "
            "Restore it from a backup of the repository."
        ) from error
