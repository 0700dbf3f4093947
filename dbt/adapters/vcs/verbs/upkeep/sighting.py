"""Sighting: the refs that a collection sees, checked against all else that is known of them.

A ref's log is never deleted, so the names of refs only become more. A store whose listing lacks
one that another listing showed, or that an earlier collection wrote down, lists too little: what
the missing ref keeps would be deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dbt.adapters.vcs.core.collection import Listed, SeenRefs, listed_refs
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import PINS, names_in
from dbt.adapters.vcs.core.snapshotnames import ROOT
from dbt.adapters.vcs.core.store.branch_names import quote, unquote
from dbt.adapters.vcs.core.store.refs import Space

_SPACE: Final = "options"
_NAME: Final = "collected"
_SHOWN: Final = 3


def sight(repository: Repository, known: Listed, now: Micros) -> SeenRefs:
    """Return the refs at a time of the store, with those that were known before.

    Raises:
        DamagedError: The store's listings contradict each other, or what was known.
    """
    walked: dict[Space, set[str]] = {}
    written: dict[tuple[Space, str, int], Micros] = {}
    for info in repository.blobs.walk("refs"):
        _, *above, folder, number = info.path.split("/")
        space, name = "/".join(above), unquote(folder)
        walked.setdefault(space, set()).add(name)
        written[space, name, int(number)] = info.modified_at
    # After the other listing, so what was created meanwhile is in this one.
    listed = {space: set(names) for space, names in listed_refs(repository).items()}
    for earlier, who in ((known, "an earlier look showed"), (walked, "another listing shows")):
        for space, names in earlier.items():
            if not _keeps(space):
                continue
            missing = sorted(set(names) - listed.get(space, set()))
            # Pins are deleted when nobody can need them any more.
            if space != PINS and missing:
                raise DamagedError(_told(repository, space, missing, who))
            listed.setdefault(space, set()).update(names)
    default = repository.default_branch
    if default not in listed.get("heads", ()):
        raise DamagedError(_told(repository, "heads", [default], "the repository must have"))
    return SeenRefs(listed, written, now)


def recorded(repository: Repository) -> Listed:
    """Return the refs that the last collection wrote down; none if there was none."""
    last = repository.refs.read(_SPACE, _NAME)
    state: Mapping[str, str] = {} if last is None else last.move.state
    return {space: set(map(unquote, names.split())) for space, names in state.items()}


def record(repository: Repository, listed: Listed, *, author: str) -> None:
    """Write down the refs that keep something now, for the next collection.

    If another collection does so at the same time, one of the two records is enough.
    """
    refs = repository.refs
    there = {
        space: [ref.name for ref in refs.read_all(space, None, names) if ref.move.commit]
        for space, names in listed.items()
        if space != PINS
    }
    state = {space: " ".join(map(quote, names)) for space, names in there.items() if names}
    last = refs.read(_SPACE, _NAME)
    if last is None or last.move.state != state:
        names_in(repository, _SPACE).follow(
            last, _NAME, None, author=author, action="collect", state=state
        )


def _keeps(space: Space) -> bool:
    return space in ("heads", "tags", PINS) or space.startswith(f"{ROOT}/")


def _told(repository: Repository, space: Space, missing: list[str], who: str) -> str:
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    names = ", ".join(missing[:_SHOWN])
    return (
        f"The listing of refs/{space} in {repository.uri} lacks {names}{more}, which {who}: the "
        "store lists too little, or files were removed, and what is needed could be deleted. "
        "Nothing more was deleted. Check the store and run: dbt-vcs fsck"
    )
