"""Known answers: what one condition came to on versions that were looked at before."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from dbt.adapters.vcs.variables import cache_folder

_MOST: Final = 10_000
"""Answers that are kept for one condition; the oldest are dropped."""


class KnownAnswers:
    """Answers by the digest of the versions read, kept in the cache folder of this user.

    They are only a cache. What can't be read counts as empty, and what can't be written is
    forgotten. Two processes that write at once may lose answers of one of them.
    """

    def __init__(self, file: Path | None) -> None:
        """Take the file; None to remember in this process only."""
        self._file = file
        self._answers: dict[str, bool] = {} if file is None else _read(file)

    @classmethod
    def of(cls, *parts: str) -> KnownAnswers:
        """Return the answers to one condition, named by everything that an answer depends on."""
        folder = cache_folder(os.environ)
        if folder is None:
            return cls(None)
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return cls(folder / "bisect" / f"{digest}.json")

    def get(self, versions: str) -> bool | None:
        """Return whether versions were good; None if nobody has looked."""
        return self._answers.get(versions)

    def put(self, versions: str, is_good: bool) -> None:
        """Remember an answer."""
        self._answers[versions] = is_good
        if self._file is not None:
            # A full or read-only disk makes the next bisection slower, and this one not wrong.
            with suppress(OSError):
                _write(self._file, dict(list(self._answers.items())[-_MOST:]))


def _read(file: Path) -> dict[str, bool]:
    with suppress(OSError, ValueError):
        found = json.loads(file.read_text(encoding="utf-8"))
        pairs: Iterable[tuple[object, object]] = found.items() if isinstance(found, dict) else ()
        return {str(key): value for key, value in pairs if isinstance(value, bool)}
    return {}


def _write(file: Path, answers: dict[str, bool]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    number, part = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(number, "w", encoding="utf-8") as stream:
            json.dump(answers, stream)
        os.replace(part, file)
    except BaseException:
        os.unlink(part)
        raise
