"""Copies: repositories that workers make while others write, and that are damaged and mended."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from dbt.adapters.vcs.commands.copy import copy_repository
from dbt.adapters.vcs.commands.fsck import DataCheck, check_repository
from dbt.adapters.vcs.commands.repair import fetch
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.ids import Clock
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs, MemoryBlobs

EVERYTHING: Final = DataCheck()
"""All files of rows are read."""

_DAMAGES: Final = 3
_TRIES: Final = 3


@dataclass(frozen=True)
class Copies:
    """Where a worker's copy is.

    Attributes:
        blobs: Its store, behind whatever trouble there is.
        plain: The same without trouble.
        troubled: Puts another store behind the same trouble.
        clock: The clock of the machine that copies.
    """

    blobs: Blobs
    plain: Blobs
    troubled: Callable[[Blobs], Blobs]
    clock: Clock

    def bring_up_to_date(self, source: Blobs) -> int:
        """Copy what the copy lacks, and return the number of files."""
        return copy_repository(source, self.blobs, clock=self.clock).files

    def opened(self) -> Repository | None:
        """Return the copy without trouble; None if there is none yet."""
        if not self.plain.exists("vcs.json"):
            return None
        return Repository.open(self.plain, clock=self.clock)

    def mend(self, source: Repository, plain: Repository, dice: random.Random) -> list[str]:
        """Damage another copy, and fetch what is damaged; return what is wrong afterwards.

        Args:
            source: The repository, behind whatever trouble there is.
            plain: The same without trouble.
            dice: Chooses what is damaged.
        """
        blobs = named(MemoryBlobs(), "mended")
        copy_repository(plain.blobs, blobs, clock=self.clock)
        damaged = damage(blobs, dice)
        for _ in range(_TRIES):
            copy = Repository.open(self.troubled(blobs), clock=self.clock)
            # What fails half way is done by the next one.
            with suppress(VcsError):
                fetch(copy, source, author="chaos")
                break
        report = fetch(Repository.open(blobs, clock=self.clock), plain, author="chaos")
        mended = Repository.open(blobs, clock=self.clock)
        left = check_repository(mended, data=EVERYTHING).problems
        if left and not report.damages:
            return [f"silent: {damaged} were damaged, and after the repair {left[0]}"]
        # What was collected meanwhile can't be had, and the repair said so.
        return [
            f"damaged: {path} of a copy, and after the repair {text}"
            for path in damaged
            for text in left
            if path.rpartition("/")[2] in text and plain.blobs.exists(path)
        ]


def damage(blobs: Blobs, dice: random.Random) -> list[str]:
    """Delete files of a repository or change a byte of them; return their paths."""
    files = [
        info.path for folder in ("refs/heads", "objects", "data") for info in blobs.walk(folder)
    ]
    found = sorted(dice.sample(sorted(files), min(_DAMAGES, len(files))))
    for path in found:
        data = blobs.get(path)
        blobs.delete(path)
        if dice.random() < 0.5:
            blobs.create(path, flipped(data, dice))
    return found


def named(blobs: MemoryBlobs, name: str) -> MemoryBlobs:
    """Give a store in memory another location than others have."""
    blobs.uri = f"memory://{name}"
    return blobs


def flipped(data: bytes, dice: random.Random) -> bytes:
    """Return bytes of which one is another."""
    place = dice.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << dice.randrange(8))]) + data[place + 1 :]
