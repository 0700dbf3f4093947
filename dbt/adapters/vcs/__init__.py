"""dbt-vcs: version control for the tables that dbt builds on Spark."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Create `Plugin`, which dbt imports, on first access.

    So the core, the engines and the command line can be imported without dbt.
    """
    if name != "Plugin":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dbt.adapters.base import AdapterPlugin

    from dbt.adapters.vcs.credentials import VcsCredentials
    from dbt.adapters.vcs.impl import VcsAdapter
    from dbt.include.vcs import PACKAGE_PATH

    return AdapterPlugin(
        adapter=VcsAdapter,  # type: ignore[arg-type]
        credentials=VcsCredentials,
        include_path=PACKAGE_PATH,
        dependencies=["spark"],
        # Without the name the dispatched vcs__ macros would silently be ignored.
        project_name="dbt_vcs",
    )
