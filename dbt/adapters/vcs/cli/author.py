"""The author: whom a change is recorded for."""

from __future__ import annotations

import getpass
import os

from dbt.adapters.vcs import variables


def find_author() -> str:
    """Return DBT_VCS_AUTHOR, else the name of the user, as runs of dbt are recorded for too."""
    return os.environ.get(variables.AUTHOR) or _user()


def _user() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "unknown"
