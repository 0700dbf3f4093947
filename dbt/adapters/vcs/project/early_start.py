"""An early start: the engine starts while dbt parses, if the build is likely to need it."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from dbt.adapters.vcs.project.invocation import Invocation
from dbt.adapters.vcs.project.reuse_modes import mode_said

_LOG: Final = logging.getLogger(__name__)
_FILE: Final = "vcs_last_build.json"
_FOLDERS: Final = (
    "model_paths",
    "seed_paths",
    "snapshot_paths",
    "macro_paths",
    "test_paths",
    "function_paths",
)

# Builds in a row of the same files that computed something: incremental models have another
# statement the second time, so the first two say nothing of the next one.
_STEADY: Final = 3

# Bytes up to which a file counts by its contents, else by size and time.
_WHOLE: Final = 2**20

_SETTINGS: Final = (
    "dbt_project.yml",
    "packages.yml",
    "dependencies.yml",
    "package-lock.yml",
)


class EarlyStart:
    """Starts an engine in the background, and remembers whether it was needed.

    | the last build of this project                     | the engine starts early |
    |----------------------------------------------------|-------------------------|
    | isn't known, and the repository has no relations   | yes                     |
    | isn't known otherwise                              | no                      |
    | was of other files                                 | yes                     |
    | was of the same files                              | no                      |
    | was of the same files, and so the two before it,   | yes                     |
    | and all of them needed the engine                  |                         |
    | whichever, but all is to be computed               | yes                     |

    So where nothing is to be done, nothing starts. It never fails: whoever needs the engine starts
    it or waits for it, and gets the error.
    """

    def __init__(
        self,
        config: Any,
        invocation: Invocation,
        prepare: Callable[[], None],
        is_new: Callable[[], bool],
    ) -> None:
        """Take dbt's config and the command.

        Args:
            prepare: Starts the engine.
            is_new: Returns whether the repository has no relations, so that all is to be computed.
        """
        self._root = invocation.project_root
        self._place = self._root / str(getattr(config, "target_path", "target")) / _FILE
        self._folders = [
            folder for name in _FOLDERS for folder in getattr(config, name, None) or ()
        ]
        self._variables = getattr(config, "cli_vars", None)
        self._invocation = invocation
        self._prepare = prepare
        self._is_new = is_new
        self._before: LastBuild | None = None
        self._files = ""
        self._looked = threading.Event()
        # A daemon, so that nobody has to wait for Spark after Ctrl-C or an error of the project:
        # its process ends with this one.
        threading.Thread(target=self._work, name="vcs-early-start", daemon=True).start()

    def end(self, *, computed: bool) -> None:
        """Remember whether the build needed the engine; nothing is waited for but files."""
        self._looked.wait()
        before, files = self._before, self._files
        in_a_row = before.computed if before is not None and before.files == files else 0
        try:
            LastBuild(files=files, computed=in_a_row + 1 if computed else 0).save(self._place)
        except OSError as error:
            _LOG.debug("The next build can't know of this one: %s", error)

    def _work(self) -> None:
        try:
            self._look()
            if self._is_likely():
                self._prepare()
        except Exception as error:
            # Whoever needs the engine tries again, and tells it.
            _LOG.debug("Spark did not start early: %s", error)

    def _look(self) -> None:
        try:
            self._before = LastBuild.load(self._place)
            self._files = digest_of_files(self._root, self._folders, self._variables)
        finally:
            # After an error as well: `end` waits for this.
            self._looked.set()

    def _is_likely(self) -> bool:
        invocation, before = self._invocation, self._before
        if invocation.refreshes or mode_said(invocation.reuse) in ("never", "verify"):
            return True
        return self._is_new() if before is None else before.needs_engine(self._files)


def starts_early(invocation: Invocation, method: str) -> bool:
    """Return whether an engine may start before it is needed: here, and for nodes' statements."""
    # Seeds are loaded through Arrow.
    return method == "session" and invocation.is_building and invocation.command != "seed"


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
            # With lengths, or the end of a name could be the beginning of a content.
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _files(root: Path, folders: Sequence[str]) -> Iterator[Path]:
    yield from (root / name for name in _SETTINGS)
    for folder in sorted({root / folder for folder in folders}):
        for place, below, names in os.walk(folder):
            # In place: `os.walk` goes on in this order, and the digest depends on it.
            below.sort()
            yield from (Path(place) / name for name in sorted(names))


def _content(path: Path) -> bytes:
    facts = path.stat()
    if facts.st_size > _WHOLE:
        return f"{facts.st_size} bytes at {facts.st_mtime_ns}".encode()
    return path.read_bytes()
