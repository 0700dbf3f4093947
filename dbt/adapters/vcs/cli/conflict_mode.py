"""The option of merges that says what to do about conflicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from dbt.adapters.vcs.merges.conflicts.policy import Mode

F = TypeVar("F", bound=Callable[..., Any])


def on_conflict_option(command: F) -> F:
    """Add the option --on-conflict to a command."""
    return click.option(
        "--on-conflict",
        type=click.Choice([mode.value for mode in Mode]),
        help="What to do if both sides changed a row differently.  [default: vcs.yml, else the "
        "table's own setting, else fail]",
    )(command)
