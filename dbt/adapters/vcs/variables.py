"""Environment variables that dbt-vcs reads, besides those of Spark, Java and the object stores."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

REPOSITORY: Final = "DBT_VCS_REPOSITORY"
"""The repository for the `dbt-vcs` command, unless `--repository` is given."""

AUTHOR: Final = "DBT_VCS_AUTHOR"
"""Author of commits and branch moves, in dbt and the command. Default: the user's name."""

PAGER: Final = "DBT_VCS_PAGER"
"""Pager for long output on a terminal; empty for none. Default: `PAGER`, else `less -FRX`."""

EVENT: Final = "DBT_VCS_EVENT"
"""Set for the commands of hooks: the event, such as `publish`. Where it is set, no hook is called,
so that hooks don't call each other without end."""

PROJECT_DIR: Final = "DBT_PROJECT_DIR"
"""As in dbt: the project's folder, unless `--project-dir` is given."""

PROFILES_DIR: Final = "DBT_PROFILES_DIR"
"""As in dbt: the folder of `profiles.yml`, unless `--profiles-dir` is given."""

PROFILE: Final = "DBT_PROFILE"
"""As in dbt: the profile, unless `--profile` is given. Default: the one the project names."""

TARGET: Final = "DBT_TARGET"
"""As in dbt: the target, unless `--target` is given. Default: the one the profile names."""

TARGET_PATH: Final = "DBT_TARGET_PATH"
"""As in dbt: the folder that dbt writes to. Default: the one the project names, else `target`."""

RUN: Final = "DBT_VCS_RUN"
"""The shared run that dbt commands join, and that `dbt-vcs run publish` and `discard` end."""

CACHE: Final = "XDG_CACHE_HOME"
"""Folder of caches: what `dbt-vcs prepare` made is in `dbt-vcs/classes`. Default: `~/.cache`."""


def joined_run() -> str:
    """Return the id of the shared run to join: `DBT_VCS_RUN`, or an empty text."""
    return os.environ.get(RUN, "").strip()


def user_name() -> str:
    """Return the name of this process's user; `unknown` in a container that gives it none."""
    try:
        return getpass.getuser()
    # KeyError before Python 3.13, OSError since; ImportError where there are no such names.
    except (ImportError, KeyError, OSError):
        return "unknown"


def author() -> str:
    """Return the author of commits: `DBT_VCS_AUTHOR`, else the user's name."""
    return os.environ.get(AUTHOR) or user_name()


def cache_folder(env: Mapping[str, str]) -> Path | None:
    """Return the folder for what can be made again; None if the user has no home."""
    given = env.get(CACHE)
    # XDG's specification: a relative path is invalid, and is ignored.
    if given and Path(given).is_absolute():
        return Path(given) / "dbt-vcs"
    with suppress(RuntimeError):
        return Path.home() / ".cache" / "dbt-vcs"
    return None
