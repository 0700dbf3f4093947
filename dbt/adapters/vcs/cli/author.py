"""The author: whom a change is recorded for."""

from __future__ import annotations

import getpass
import os
import subprocess


def find_author() -> str:
    """Return DBT_VCS_AUTHOR, else git's user.name, else the name of the user."""
    return os.environ.get("DBT_VCS_AUTHOR") or _git_name() or _user()


def _git_name() -> str:
    try:
        done = subprocess.run(
            ["git", "config", "user.name"],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, UnicodeDecodeError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "unknown"
