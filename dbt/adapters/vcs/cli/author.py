"""The author: the person recorded as the author of a change."""

from __future__ import annotations

import getpass
import os

from dbt.adapters.vcs import variables


def find_author() -> str:
    """Return DBT_VCS_AUTHOR or else the user name, as for dbt runs."""
    return os.environ.get(variables.AUTHOR) or _user()


def _user() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "unknown"
