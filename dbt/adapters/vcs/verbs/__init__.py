"""What a person does with a repository: plain functions that return frozen values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbt.adapters.vcs.verbs.operation import run_verb as run_verb

__all__ = ["run_verb"]


def __getattr__(name: str) -> Any:
    """Load `run_verb`, which needs every verb, when it is asked for."""
    if name != "run_verb":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dbt.adapters.vcs.verbs.operation import run_verb

    return run_verb
