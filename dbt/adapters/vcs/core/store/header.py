"""The header: the file `vcs.json`, which makes a location a repository."""

from __future__ import annotations

import uuid
from typing import Final

import msgspec

from dbt.adapters.vcs.core.codec import UNREADABLE, decode_record, encode_record
from dbt.adapters.vcs.core.errors import DamagedError, FormatError, InputError, NotFoundError
from dbt.adapters.vcs.core.model.tree import Value
from dbt.adapters.vcs.core.store.blobs import Blobs

PATH: Final = "vcs.json"

FORMAT_VERSION: Final = 2
"""Version of the format that this code writes, and the highest that it reads."""

ADDED: Final = {
    2: (
        "Before gc deletes anything it writes down the names (condemned/), and writers store what "
        "they need of it under a second name. Older versions would not find it.",
        "A purge announces itself, and whoever wants to land waits. Older versions would not "
        "wait.",
    ),
}
"""What each version added that older readers or writers would do harm without."""

_FEATURES: Final[frozenset[str]] = frozenset()
"""What this code knows of what a header may ask for; no version has asked for anything."""

_OURS: Final = frozenset(
    {
        PATH,
        "condemned",
        "creating",
        "damaged",
        "data",
        "leases",
        "objects",
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


def write_header(blobs: Blobs, header: Header) -> bool:
    """Make a location a repository; return False if it already is one."""
    return blobs.create(PATH, encode_record(header))


def read_header(blobs: Blobs) -> Header:
    """Return the header of the repository at a location.

    Raises:
        NotFoundError: The location is not a repository.
        FormatError: Its format is none that this version of dbt-vcs knows.
        DamagedError: The file is damaged.
    """
    try:
        data = blobs.get(PATH)
    except NotFoundError as error:
        raise NotFoundError(
            f"{blobs.uri} is not a repository: there is no {PATH} in it. Check the location; a "
            "first run of dbt with `repository` set to it makes one."
        ) from error
    # Check the version first: a newer one may give the other keys another meaning.
    _check_known(_version(data, blobs.uri), blobs.uri)
    return decode_record(Header, data, f"{PATH} of {blobs.uri}")


def upgrade_header(blobs: Blobs, header: Header) -> Header:
    """Give a repository the newest format, and return its header.

    All else of a repository stays as it is: an older format has nothing that a newer one lacks.

    Raises:
        StorageError: The store failed; the repository has the old format or the new one.
    """
    new = msgspec.structs.replace(header, format=FORMAT_VERSION)
    if new != header:
        blobs.replace_all({PATH: encode_record(new)})
    return new


def _check_known(found: _Version, uri: str) -> None:
    if found.format > FORMAT_VERSION:
        raise FormatError(
            f"The repository {uri} has format version {found.format}; this dbt-vcs reads up to "
            f"version {FORMAT_VERSION}. Upgrade it: pip install --upgrade dbt-vcs"
        )
    if found.format < 1:
        raise FormatError(
            f"The repository {uri} has format version {found.format}; expected 1 to "
            f"{FORMAT_VERSION}. No version of dbt-vcs wrote that: restore the file {PATH} from a "
            "backup of the repository."
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
            f"The file {PATH} of {uri} does not tell a format version: {error}. "
            "Restore it from a backup of the repository."
        ) from error
