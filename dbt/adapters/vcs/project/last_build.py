"""The last build: what the project was, and whether it needed the engine."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

_STEADY: Final = 3
"""Builds in a row of the same files that computed something: incremental models have another
statement the second time, so the first two say nothing of the next one."""

_WHOLE: Final = 2**20
"""Bytes up to which a file counts by its contents, else by size and time."""

_SETTINGS: Final = (
    "dbt_project.yml",
    "packages.yml",
    "dependencies.yml",
    "package-lock.yml",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastBuild:
    """What is known of the last build of a project, whichever its target.

    Attributes:
        files: Digest of the project's files.
        computed: How many builds of these files in a row needed the engine.
    """

    files: str
    computed: int

    def needs_engine(self, files: str) -> bool:
        """Return whether a build of these files is likely to need the engine."""
        return self.files != files or self.computed >= _STEADY

    @classmethod
    def load(cls, place: Path) -> LastBuild | None:
        """Return what was saved; None if nothing was, or it can't be read."""
        try:
            found = json.loads(place.read_text(encoding="utf-8"))
            return cls(files=str(found["files"]), computed=int(found["computed"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, place: Path) -> None:
        """Write it.

        Raises:
            OSError: The folder can't be written.
        """
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(asdict(self)), encoding="utf-8")


def following(before: LastBuild | None, files: str, *, computed: bool) -> LastBuild:
    """Return what is known after a build of these files."""
    in_a_row = before.computed if before is not None and before.files == files else 0
    return LastBuild(files=files, computed=in_a_row + 1 if computed else 0)


def digest_of_files(root: Path, folders: Sequence[str], variables: Any) -> str:
    """Return a digest of a project's files and of the variables of the command line.

    A file that can't be read counts as absent: dbt reports it.
    """
    digest = hashlib.sha256(json.dumps(variables, sort_keys=True, default=str).encode())
    for path in _files(root, folders):
        try:
            told = _content(path)
        except OSError:
            continue
        for part in (os.path.relpath(path, root).encode(), told):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _files(root: Path, folders: Sequence[str]) -> Iterator[Path]:
    yield from (root / name for name in _SETTINGS)
    for folder in sorted({root / folder for folder in folders}):
        for place, below, names in os.walk(folder):
            below.sort()
            yield from (Path(place) / name for name in sorted(names))


def _content(path: Path) -> bytes:
    facts = path.stat()
    if facts.st_size > _WHOLE:
        return f"{facts.st_size} bytes at {facts.st_mtime_ns}".encode()
    return path.read_bytes()
