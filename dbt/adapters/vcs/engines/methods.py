"""Methods: where a profile lets rows be computed, and why not elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines.server_address import REMOTE

METHODS: Final = ("session", "connect")
"""`session` is Spark in this process, `connect` a server's."""

_SQL_ONLY: Final = ("thrift", "http", "odbc")
"""The other methods of dbt-spark; docs/decisions/0028-no-engine-of-sql-only.md says why not."""


def method_of(settings: Mapping[str, str] | None) -> str:
    """Return the method for settings without one."""
    return "connect" if REMOTE in (settings or {}) else "session"


def check_method(method: str, settings: Mapping[str, str] | None = None) -> None:
    """Check that a profile's method is known, and that it goes with the engine's settings.

    Raises:
        InputError: It isn't, or it doesn't.
    """
    if method in _SQL_ONLY:
        raise InputError(
            f"method: {method} is not supported by type: vcs: with SQL only, nothing shows "
            "whether all rows of a write were stored. Run Spark Connect on the same cluster "
            "(start-connect-server.sh), and set method: connect with host: sc://<host>:15002; or "
            "method: session with spark.master in spark_config. See docs/clusters.md."
        )
    if method not in METHODS:
        near = get_close_matches(method, METHODS, n=1)
        raise InputError(
            f"method: {method} is unknown to type: vcs; "
            + (f"did you mean {near[0]}?" if near else f"expected {' or '.join(METHODS)}.")
        )
    if method == "session" and REMOTE in (settings or {}):
        raise InputError(
            f"A Spark Connect server ({REMOTE}, host) needs method: connect; the profile has "
            f"method: {method}."
        )
