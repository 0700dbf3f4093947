"""Chain: each move of a ref is sealed with its own digest and that of the move before.

So a move that was edited, taken away or put in between is noticed by whoever reads it or the next
one. Logs that earlier versions began have moves without digests, up to the first one that has one.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

import msgspec

from dbt.adapters.vcs.core.codec import decode_record, encode_record
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.model import RefMove

_SEAL: Final = re.compile(rb'"digest":"([0-9a-f]{64})",')


def sealed(move: RefMove, before: bytes | None) -> RefMove:
    """Return a move with its digests; `before` is the file of the move before it."""
    previous = "" if before is None else hashlib.sha256(before).hexdigest()
    bare = msgspec.structs.replace(move, previous=previous, digest="")
    digest = hashlib.sha256(encode_record(bare)).hexdigest()
    return msgspec.structs.replace(bare, digest=digest)


def opened(data: bytes, path: str) -> RefMove:
    """Return the move that a file holds.

    Raises:
        DamagedError: It doesn't parse, or its bytes are not those that were written.
    """
    move = decode_record(RefMove, data, path)
    if move.digest:
        # Of the bytes, not of the value: a later version's keys count, too.
        bare, count = _SEAL.subn(b"", data)
        if count != 1 or hashlib.sha256(bare).hexdigest() != move.digest:
            raise DamagedError(
                f"The file {path} was changed after it was written: its digest is another one. "
                "Restore it from a backup of the repository."
            )
    return move


def check_follows(move: RefMove, path: str, before: bytes, before_path: str) -> None:
    """Check that a move was written after the move in another file, which is a whole one.

    Raises:
        DamagedError: It wasn't: one of the two was replaced.
    """
    earlier = opened(before, before_path)
    is_first_sealed = not earlier.digest
    if not move.digest and is_first_sealed:
        return
    if move.previous != hashlib.sha256(before).hexdigest():
        raise DamagedError(
            f"The file {path} doesn't follow {before_path}: it was written after another one. One "
            "of them was replaced. Restore both from a backup of the repository."
        )
