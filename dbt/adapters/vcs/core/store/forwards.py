"""Forwards: from objects that a purge replaced to those that took their place.

A purge changes the ids of commits, and earlier moves of logs go on naming the old ones. Files in
`rewritten/` tell the new ids, and hold nothing but ids. They are written before any ref moves, so
whoever completes a purge that died uses the same ids. A forward counts once the old object is
gone, so those of a purge that was undone change nothing.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Collection
from typing import Final

import msgspec

from dbt.adapters.vcs.core.codec import decode_record, encode_record, pack, unpack
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Forwarding, RefMove
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.objects import has_object

FOLDER: Final = "rewritten"
"""Where the files are."""

_ID: Final = re.compile(r"[0-9a-f]{64}")


class Forwards:
    """All forwards of a repository, as far as they were loaded; safe to share between threads."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._lock = threading.Lock()
        self._read: set[str] = set()
        self._next: dict[str, str] = {}
        self._kinds: dict[str, set[str]] = {}

    def load(self) -> None:
        """Read the files that are new.

        Raises:
            DamagedError: One of them doesn't parse.
        """
        for info in list(self._blobs.walk(FOLDER)):
            if info.path not in self._read:
                data = unpack(self._blobs.get(info.path), info.path)
                self._add(info.path, decode_record(Forwarding, data, info.path))

    def put(self, rewritten: Forwarding) -> str:
        """Store forwards, and return their file; the new objects must be stored already."""
        path = f"{FOLDER}/{uuid.uuid4().hex}"
        self._blobs.create(path, pack(encode_record(rewritten)))
        self._add(path, rewritten)
        return path

    def of(self, id: str) -> str:
        """Return what took an object's place at last; itself if nothing did."""
        while id in self._next:
            id = self._next[id]
        return id

    def latest(self, id: str) -> str:
        """Return what took an object's place at last, as far as the store tells now."""
        self.load()
        return self.of(id)

    def old(self, kind: str) -> Collection[str]:
        """Return the ids of one kind that were replaced: `commit`, `tree`, ..., `move`."""
        return frozenset(self._kinds.get(kind, ()))

    def applied(self, move: RefMove) -> RefMove:
        """Return a move with the new ids of what it names and what is gone."""
        if not self._next:
            return move
        commit = None if move.commit is None else CommitId(self._now(move.commit))
        state = {
            key: _ID.sub(lambda found: self._now(found[0]), value)
            for key, value in move.state.items()
        }
        return msgspec.structs.replace(move, commit=commit, state=state)

    def _now(self, id: str) -> str:
        if id not in self._next:
            return id
        is_there = any(has_object(self._blobs, kind, id) for kind in ("commit", "snapshot"))
        return id if is_there else self.of(id)

    def _add(self, path: str, rewritten: Forwarding) -> None:
        kinds = {
            "commit": rewritten.commits,
            "tree": rewritten.trees,
            "snapshot": rewritten.snapshots,
            "segment": rewritten.segments,
            "move": rewritten.moves,
        }
        with self._lock:
            self._read.add(path)
            for kind, ids in kinds.items():
                self._next.update(ids)
                self._kinds.setdefault(kind, set()).update(ids)
