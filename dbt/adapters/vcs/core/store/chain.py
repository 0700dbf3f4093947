"""Chain: each move of a ref is sealed with its own digest and that of the move before.

So a move that was edited, taken away or put in between is noticed by whoever reads it or the next
one. Where a purge redacted the free text of a move, its old digest leads to the new one. Logs that
earlier versions began have moves without digests, up to the first one that has one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Final

import msgspec

from dbt.adapters.vcs.core.codec import decode_record, encode_record
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.model import RefMove

_SEAL: Final = re.compile(rb'"digest":"([0-9a-f]{64})",')


def sealed(move: RefMove, before: bytes | None) -> RefMove:
    """Return a move with its digests; `before` is the file of the move before it."""
    previous = "" if before is None else digest_of(before)
    return _digested(msgspec.structs.replace(move, previous=previous))


def redacted(move: RefMove, change: Callable[[str], str]) -> RefMove:
    """Return a move with other free text, which follows the same move; itself if it has none."""
    state = {key: change(value) for key, value in move.state.items()}
    new = msgspec.structs.replace(move, note=change(move.note), state=state)
    if new == move:
        return move
    return _digested(new) if move.digest else new


def digest_of(data: bytes) -> str:
    """Return the digest by which the next move knows the file of a move."""
    return hashlib.sha256(data).hexdigest()


def _digested(move: RefMove) -> RefMove:
    bare = msgspec.structs.replace(move, digest="")
    return msgspec.structs.replace(bare, digest=digest_of(encode_record(bare)))


def opened(data: bytes, path: str) -> RefMove:
    """Return the move that a file holds.

    Raises:
        DamagedError: It doesn't parse, or its bytes are not those that were written.
    """
    move = decode_record(RefMove, data, path)
    if move.digest:
        # Of the bytes, not of the value: a later version's keys count, too.
        bare, count = _SEAL.subn(b"", data)
        if count != 1 or digest_of(bare) != move.digest:
            raise DamagedError(
                f"The file {path} was changed after it was written: its digest is another one. "
                "Restore it from a backup of the repository."
            )
    return move


def check_follows(
    move: RefMove, path: str, before: bytes, before_path: str, now: Callable[[str], str]
) -> None:
    """Check that a move was written after the move in another file, which is a whole one.

    Args:
        move: The move.
        path: Its file.
        before: The bytes of the other file.
        before_path: That file.
        now: Returns the digest of the file that took the place of the one with a digest.

    Raises:
        DamagedError: It wasn't: one of the two was replaced.
    """
    earlier = opened(before, before_path)
    is_first_sealed = not earlier.digest
    if not move.digest and is_first_sealed:
        return
    if not is_same_file(move.previous, digest_of(before), now):
        raise DamagedError(
            f"The file {path} doesn't follow {before_path}: it was written after another one. One "
            "of them was replaced. Restore both from a backup of the repository."
        )


def is_same_file(one: str, other: str, now: Callable[[str], str]) -> bool:
    """Return whether two digests are those of a move's file, before it was redacted or after."""
    return one == other or now(one) == now(other)
