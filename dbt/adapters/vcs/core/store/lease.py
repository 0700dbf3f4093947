"""Lease: the sign that a collection or a purge is at work, and its right to delete.

It keeps two of them from doing the same work, and others from copying or restoring meanwhile.
What keeps a collection from deleting what is needed are its lists: see `objects`.

A lease is an empty file, so it can be written on a full disk. It counts while the store says that
it was renewed less than a minute ago. All times are the store's, as it stamps files: the clocks
of machines may differ by hours.
"""

from __future__ import annotations

import threading
import time
import uuid
from typing import Final

from dbt.adapters.vcs.core.errors import RetryError, StorageError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.store.blobs import Blobs

FOLDER: Final = "leases"
"""Where leases are."""

TERM: Final = Micros(60 * 1_000_000)
"""How long a collection counts as at work after its last sign of life, by the store's time."""

RENEWED_EVERY: Final = 15.0
"""Seconds between two renewals."""

SAFE: Final = 30.0
"""Seconds after a renewal in which its holder may delete.

The other half of the term is for a request that is on its way.
"""

_FORGOTTEN: Final = Micros(10 * TERM)


def is_running(blobs: Blobs, now: Micros) -> bool:
    """Return whether a collection is at work at a time of the store."""
    return any(info.modified_at > now - TERM for info in blobs.walk(FOLDER))


def seems_running(blobs: Blobs, clock: Micros) -> bool:
    """Return whether a collection is at work as far as a machine's clock tells: a first look.

    A clock that is slow would see a lease that was left behind as fresh for hours.
    """
    return any(abs(info.modified_at - clock) < TERM for info in blobs.walk(FOLDER))


class Lease:
    """The lease of one collection: renewed by a thread until it ends or is lost.

    Attributes:
        now: The store's time at the last renewal.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._path = f"{FOLDER}/{uuid.uuid4().hex}"
        self._renewing = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._safe_until = 0.0
        self._is_lost = False
        self._problem: StorageError | None = None
        self.now = Micros(0)

    def begin(self) -> None:
        """Announce that a collection is at work, then look whether another one is.

        Raises:
            RetryError: Another one is. If two begin at the same time, both may be refused.
            StorageError: The store failed, or its listing lacks what was just written.
        """
        self._renew()
        try:
            self._check_alone()
        # Else others would be refused for a minute by a collection that never began.
        except BaseException:
            self._blobs.delete(self._path)
            raise
        self._thread.start()

    def check(self) -> None:
        """Check that the lease is held, and renew it if it soon isn't; costs nothing otherwise.

        Raises:
            RetryError: It wasn't renewed in time, so others may have taken the collection for
                dead.
            StorageError: The store failed.
        """
        if not self._is_lost and time.monotonic() > self._safe_until:
            self._renew()
        if self._is_lost:
            raise RetryError(
                f"The garbage collection or purge of {self._blobs.uri} stood still for longer "
                "than a minute and has lost its lease: others may have taken it for dead. What "
                "it deleted was garbage. Run it again."
            ) from self._problem

    def end(self) -> None:
        """Stop renewing, and let others start."""
        self._stopped.set()
        # Before the file is deleted: a renewal that is under way would write it again.
        if self._thread.is_alive():
            self._thread.join()
        self._blobs.delete(self._path)

    def _check_alone(self) -> None:
        leases = list(self._blobs.walk(FOLDER))
        if self._path not in {info.path for info in leases}:
            raise StorageError(
                f"The listing of {FOLDER} in {self._blobs.uri} lacks a file that was just "
                "written: a collection can't trust this store's listings. Nothing was deleted. "
                "Try again, or check the store."
            )
        for info in leases:
            if info.path == self._path:
                continue
            if info.modified_at > self.now - TERM:
                raise RetryError(
                    f"A garbage collection or a purge is running in {self._blobs.uri}. Wait for "
                    "it to end; one that was killed counts as running for a minute."
                )
            if info.modified_at < self.now - _FORGOTTEN:
                self._blobs.delete(info.path)

    def _keep(self) -> None:
        while not self._stopped.wait(RENEWED_EVERY):
            try:
                self._renew()
            except StorageError as error:
                # If it lasts, `check` renews itself, and raises.
                self._problem = error

    def _renew(self) -> None:
        with self._renewing:
            # Before the request: the store may stamp the file at any moment after it.
            asked = time.monotonic()
            self._blobs.create_all({self._path: b""})
            at = self._blobs.modified_at(self._path)
            # A gap of a term by the store's time: somebody may have seen the lease as expired.
            if at is None or (self.now and at - self.now >= TERM):
                self._is_lost = True
            else:
                self.now = at
                self._safe_until = asked + SAFE
