"""Repairs of files: what they take away is kept, and a log is made of the moves that are whole.

Every move keeps its number, since processes that read the log before know it by number. A stand-in
that says so takes the place of a lost move. It has the state of the last whole move before it, or
none if there is no such move. All moves behind it are sealed again, because each contains the
digest of the one before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from dbt.adapters.vcs.core.codec import encode_record
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError, RetryError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import RefMove
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.moves import Forwards, is_same_file, opened, sealed
from dbt.adapters.vcs.core.store.objects import Condemned, next_name, object_path

LOST: Final = "lost"
"""The action of a move that stands for a lost one."""

_NUMBER: Final = re.compile(r"\d{20}")
# A file so many numbers behind the others is no move of the log. As one, it would make a repair
# write a stand-in for each number between.
_FAR: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRepair:
    """What makes a log readable again.

    Attributes:
        lost: Numbers of the moves that can't be read.
        foreign: Paths of files that are no moves of this log.
        files: The new bytes of each file that changes.
        fetched: The files that a copy of the repository has.
        moves: The moves that are whole, by number.
    """

    moves: Mapping[int, RefMove]
    lost: tuple[int, ...] = ()
    foreign: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    fetched: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def is_needed(self) -> bool:
        """False if the log is whole."""
        return bool(self.lost or self.foreign or self.files or self.fetched)


def plan_log(
    blobs: Blobs, folder: str, name: str, *, author: str, copy: Blobs | None = None
) -> LogRepair | None:
    """Return what makes a log readable again; None if it has no whole move.

    Moves that are damaged or missing are taken from a copy of the repository, if it has them.
    """
    numbers, foreign = _numbers(blobs, folder)
    # The whole folder may be gone here.
    if not numbers and copy is not None:
        numbers, _ = _numbers(copy, folder)
    whole: dict[int, tuple[RefMove, bytes]] = {}
    fetched: dict[str, bytes] = {}
    for number in range(1, (numbers[-1] if numbers else 0) + 1):
        path = f"{folder}/{number:020d}"
        found = _whole(blobs, path, name) if number in numbers else None
        if found is None and copy is not None:
            found = _whole(copy, path, name)
            if found is not None:
                fetched[path] = found[1]
        if found is not None:
            whole[number] = found
    if not whole:
        return None
    files, lost = _sealed_again(folder, name, numbers[-1], whole, author, Forwards(blobs).latest)
    return LogRepair(
        moves={number: move for number, (move, _) in whole.items()},
        lost=tuple(lost),
        foreign=tuple(foreign),
        files=files,
        fetched=fetched,
    )


def apply_log(blobs: Blobs, repair: LogRepair, id: str) -> None:
    """Write what was planned; if the process dies on the way, the repair is planned again."""
    for path in repair.foreign:
        put_aside(blobs, path, id)
    new = {**repair.fetched, **repair.files}
    for path in sorted(new):
        put_aside(blobs, path, id)
        # Only if absent: somebody else may repair the log, too.
        if not blobs.create(path, new[path]) and blobs.get(path) != new[path]:
            raise RetryError(
                f"The file {path} was written by somebody else during the repair. Repair again, "
                "when nobody writes there."
            )


def _numbers(blobs: Blobs, folder: str) -> tuple[list[int], list[str]]:
    """Return the numbers of moves in a folder, and the files that are none."""
    numbers: list[int] = []
    foreign: list[str] = []
    for path in sorted(info.path for info in blobs.walk(folder)):
        text = path.removeprefix(f"{folder}/")
        last = numbers[-1] if numbers else 0
        if _NUMBER.fullmatch(text) and 0 < int(text) <= last + _FAR:
            numbers.append(int(text))
        else:
            foreign.append(path)
    return numbers, foreign


def _whole(blobs: Blobs, path: str, name: str) -> tuple[RefMove, bytes] | None:
    try:
        data = blobs.get(path)
        move = opened(data, path)
    except (DamagedError, NotFoundError):
        return None
    # A move of another ref can be whole, and be none of this log.
    return (move, data) if move.name == name else None


def _sealed_again(
    folder: str,
    name: str,
    last: int,
    whole: Mapping[int, tuple[RefMove, bytes]],
    author: str,
    now: Callable[[str], str],
) -> tuple[dict[str, bytes], list[int]]:
    """Return the files that change from the first lost or unchained move on, and what is lost."""
    files: dict[str, bytes] = {}
    lost: list[int] = []
    before: bytes | None = None
    is_sealed = False
    state: RefMove | None = None
    for number in range(1, last + 1):
        found = whole.get(number)
        if found is None:
            lost.append(number)
            move = _stand_in(name, state, author)
        else:
            move = state = found[0]
        new = sealed(move, before)
        if found is not None and _still_follows(move, new, is_sealed, now):
            before, is_sealed = found[1], bool(move.digest)
            continue
        before, is_sealed = encode_record(new), True
        files[f"{folder}/{number:020d}"] = before
    return files, lost


def _still_follows(
    move: RefMove, sealed_again: RefMove, is_sealed: bool, now: Callable[[str], str]
) -> bool:
    """Return whether a move may stay as it is behind a move that is sealed, or is not."""
    if not move.digest:
        return not is_sealed
    if is_same_file(move.previous, sealed_again.previous, now):
        return True
    return not (is_sealed or move.previous)


def _stand_in(name: str, before: RefMove | None, author: str) -> RefMove:
    # Before the first whole move nothing is known. A later commit would be a wrong answer to
    # whoever asks where the branch was.
    return RefMove(
        name=name,
        commit=before.commit if before else None,
        at=before.at if before else Micros(0),
        by=author,
        action=LOST,
        note="the move that was here could not be read; repaired",
        state=before.state if before else {},
    )


ASIDE: Final = "damaged"
"""The folder of files that repairs took away, each below the id of its repair."""


def put_aside(blobs: Blobs, path: str, repair: str) -> bool:
    """Take a file away and keep its bytes; return False if it is not there."""
    try:
        data = blobs.get(path)
    except NotFoundError:
        return False
    # First the copy: if the process dies here, nothing is lost and the repair is begun again.
    blobs.create(f"{ASIDE}/{repair}/{path}", data)
    blobs.delete(path)
    return True


def replace_file(blobs: Blobs, path: str, data: bytes, repair: str) -> None:
    """Give a file the bytes that its name or its digest asks for; the old ones are kept aside.

    It is not deleted first: a request to delete that arrives late would take the new bytes.
    """
    if not blobs.create(path, data):
        blobs.create(f"{ASIDE}/{repair}/{path}", blobs.get(path))
        blobs.replace_all({path: data})


def replace_object(blobs: Blobs, kind: str, id: str, data: bytes, repair: str) -> None:
    """Do what `replace_file` does for an object, under a name that no collection condemned."""
    condemned = Condemned(blobs)
    condemned.refresh()
    path = object_path(kind, id)
    free = condemned.free(path)
    while path != free and put_aside(blobs, path, repair):
        # Readers try the names in this order, so one that is damaged would hide the new one.
        path = next_name(blobs, kind, id, path) or free
    replace_file(blobs, free, data, repair)
