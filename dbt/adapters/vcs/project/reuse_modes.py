"""Reuse modes: whether a node may take results, by its config, dbt's flags and a variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.origins.results import Results
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.credentials import VcsCredentials
from dbt.adapters.vcs.engines.methods import named_server
from dbt.adapters.vcs.reuse.cache_key import KeyContext
from dbt.adapters.vcs.reuse.engine_context import EngineContext
from dbt.adapters.vcs.reuse.reuser import Reuse, ReuseMode

VARIABLE: Final = "vcs_reuse"
"""dbt's variable that decides for all nodes: `verify`, `always`, `true` or `false`."""

_MODES: Final[dict[str, ReuseMode]] = {
    "true": "auto",
    "auto": "auto",
    "always": "always",
    "false": "never",
    "never": "never",
    "verify": "verify",
}


class ReuseModes:
    """What nodes may take.

    | said                             | what a node does                          |
    |----------------------------------|-------------------------------------------|
    | nothing, or `reuse: true`        | takes results of repeatable statements    |
    | `reuse: always`                  | takes any                                 |
    | `reuse: false`, `--full-refresh` | computes                                  |
    | `--vars '{vcs_reuse: verify}'`   | computes and compares                     |

    What the variable says counts for all nodes; `reuse: false` of a node counts more.
    """

    def __init__(
        self,
        repository: Repository,
        node_of: Callable[[str], Any],
        *,
        said: Any,
        refreshes: bool,
    ) -> None:
        """Take the repository, dbt's nodes by id, the variable, and dbt's flag.

        Raises:
            InputError: The variable has no such value.
        """
        self._results = Results(repository.blobs)
        # Looked at once for all nodes: a purge while they run is rare, and costs their results.
        purges = repository.maintenance.steps
        before = purges()
        self._is_purged = lambda: purges() != before
        self._node_of = node_of
        self._said = mode_said(said)
        self._told = str(said).strip().lower()
        self._refreshes = refreshes

    def reuse(self, name: str, branch: str) -> Reuse:
        """Return what the node of a connection may take, or what runs outside of nodes.

        Raises:
            InputError: The node's config has no such value.
        """
        node = self._node_of(name)
        kind = str(getattr(node, "resource_type", "")) if node is not None else ""
        # dbt's own statements for a snapshot read the clock. Only the query that they wrap is
        # searched.
        own_text = getattr(node, "compiled_code", None) if kind == "snapshot" else None
        mode, refusal = self._mode(node, name)
        return Reuse(
            self._results,
            is_purged=self._is_purged,
            mode=mode,
            own_text=own_text,
            branch=branch,
            refusal=refusal,
            is_declared=self._own_mode(node, name) in ("auto", "always"),
        )

    def _mode(self, node: Any, name: str) -> tuple[ReuseMode, str | None]:
        """Return a node's mode, and what says so if it takes nothing."""
        config: Any = getattr(node, "config", None)
        own = self._own_mode(node, name)
        if own == "never":
            return "never", f"it has the config reuse: {str(config.get('reuse')).lower()}"
        if self._refreshes:
            return "never", "dbt was run with --full-refresh"
        if getattr(config, "full_refresh", None):
            return "never", "it has the config full_refresh: true"
        if self._said in ("never", "verify"):
            return self._said, f"dbt was run with the variable {VARIABLE}: {self._told}"
        return self._said or own or "auto", None

    def _own_mode(self, node: Any, name: str) -> ReuseMode | None:
        config = getattr(node, "config", None)
        asked = config.get("reuse") if config is not None else None
        return None if asked is None else mode_of(asked, f"reuse of {name}")


def is_declared_repeatable(parsed_model: Mapping[str, Any]) -> bool:
    """Return whether a Python model's config says that it may be run again, with equal rows."""
    asked = (parsed_model.get("config") or {}).get("reuse")
    if asked is None:
        return False
    return mode_of(asked, f"reuse of {parsed_model['name']}") in ("auto", "always")


def mode_said(said: Any) -> ReuseMode | None:
    """Return the mode that the variable asks for; None if it isn't set.

    Raises:
        InputError: There is no such mode.
    """
    return None if said is None else mode_of(said, f"The variable {VARIABLE}")


def mode_of(value: Any, what: str) -> ReuseMode:
    """Return the mode that a person means.

    Raises:
        InputError: There is no such mode.
    """
    found = _MODES.get(str(value).strip().lower())
    if found is None:
        raise InputError(
            f"{what} is {value!r}; expected true, false, always or verify. Correct it."
        )
    return found


def credentials_context(credentials: VcsCredentials) -> KeyContext:
    """Return what results depend on besides a branch, as a profile says it."""
    host, port = credentials.host, credentials.port
    # Two servers of one host may have other settings.
    named = f"{host}:{port}" if host and port is not None else host
    server = named or named_server(credentials.engine_settings)
    is_there = credentials.method == "connect"
    return KeyContext(
        engine=EngineContext.of(credentials.spark_config, server if is_there else ""),
        storage_options=credentials.storage_options,
    )
