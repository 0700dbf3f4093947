"""An early start: the engine starts while dbt parses, if the build is likely to need it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from dbt.adapters.vcs.project.building.reuse_modes import mode_said
from dbt.adapters.vcs.project.invocation import Invocation
from dbt.adapters.vcs.project.last_build import LastBuild, digest_of_files, following

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


class EarlyStart:
    """Starts an engine in the background, and remembers whether it was needed.

    | the last build of this project                     | the engine starts early |
    |----------------------------------------------------|-------------------------|
    | isn't known                                        | no                      |
    | was of other files                                 | yes                     |
    | was of the same files                              | no                      |
    | was of the same files, and so the two before it,   | yes                     |
    | and all of them needed the engine                  |                         |
    | whichever, but all is to be computed               | yes                     |

    So where nothing is to be done, nothing starts. It never fails: whoever needs the engine starts
    it or waits for it, and gets the error.
    """

    def __init__(self, config: Any, invocation: Invocation, prepare: Callable[[], None]) -> None:
        """Take dbt's config, the command, and what starts the engine."""
        self._root = invocation.project_root
        self._place = self._root / str(getattr(config, "target_path", "target")) / _FILE
        self._folders = [
            folder for name in _FOLDERS for folder in getattr(config, name, None) or ()
        ]
        self._variables = getattr(config, "cli_vars", None)
        self._invocation = invocation
        self._prepare = prepare
        self._before: LastBuild | None = None
        self._files = ""
        self._looked = threading.Event()
        self._begin()

    def end(self, *, computed: bool) -> None:
        """Remember whether the build needed the engine; nothing is waited for but files."""
        self._looked.wait()
        try:
            following(self._before, self._files, computed=computed).save(self._place)
        except OSError as error:
            _LOG.debug("The next build can't know of this one: %s", error)

    def _begin(self) -> None:
        # A daemon, so that nobody has to wait for Spark after Ctrl-C or an error of the project:
        # its process ends with this one.
        threading.Thread(target=self._work, name="vcs-early-start", daemon=True).start()

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
            self._looked.set()

    def _is_likely(self) -> bool:
        invocation, before = self._invocation, self._before
        if invocation.refreshes or mode_said(invocation.reuse) in ("never", "verify"):
            return True
        return before is not None and before.needs_engine(self._files)


def starts_early(invocation: Invocation, method: str) -> bool:
    """Return whether an engine may start before it is needed: here, and for nodes' statements."""
    return method == "session" and invocation.is_building and invocation.command != "seed"
