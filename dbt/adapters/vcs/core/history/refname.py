"""Names allowed for new branches, tags and snapshots: none that reads as a revision.

The rules are those of git-check-ref-format(1) with `--branch`, and three of our own, since a name
must never hide a revision: no hexadecimal text that could start a commit id, and neither of git's
two namespace prefixes that revisions accept.

The rules apply only to new names. Names from earlier versions can still be read, renamed and
deleted: `core.store.branch_names` has the rules for names that can be stored.
"""

from __future__ import annotations

import re
from typing import Final

from dbt.adapters.vcs.core.characters import quoted, unseen
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.history.revision import MIN_PREFIX

_SIGNS: Final = {" ": "a space", **{sign: f"the sign {sign}" for sign in "~^:?*[\\"}}
_COMMIT: Final = re.compile(rf"[0-9a-fA-F]{{{MIN_PREFIX},64}}")
_SPACES: Final = ("refs/", "heads/", "tags/")


def check_new_name(name: str, word: str) -> None:
    """Check a new name; `word` is what it names, such as `branch`.

    Raises:
        InputError: The name is not allowed; the message says which rule it breaks.
    """
    reason = _broken_rule(name)
    if reason is not None:
        raise InputError(
            f"The name {quoted(name)} can't be given to a {word}: {reason}. Names follow git's "
            "rules (git check-ref-format): letters, digits, and dots, dashes, underscores or "
            "slashes between them are always fine."
        )


def is_allowed(name: str) -> bool:
    """Return whether a name is allowed for something new."""
    return _broken_rule(name) is None


def _broken_rule(name: str) -> str | None:
    for rule in (_bad_sign, _bad_dots, _bad_slashes, _reads_as_revision):
        reason = rule(name)
        if reason is not None:
            return reason
    return None


def _bad_sign(name: str) -> str | None:
    if not name:
        return "it is empty"
    hidden = unseen(name)
    if hidden is not None:
        return f"it holds {hidden}, which nobody sees"
    found = next((_SIGNS[character] for character in name if character in _SIGNS), None)
    return None if found is None else f"it holds {found}"


def _bad_dots(name: str) -> str | None:
    if ".." in name:
        return "it holds two dots, which a..b has between its ends"
    if name.endswith("."):
        return "it ends in a dot"
    for part in name.split("/"):
        if part.startswith("."):
            return f"{part!r} begins with a dot"
        if part.endswith(".lock"):
            return f"{part!r} ends in .lock"
    return None


def _bad_slashes(name: str) -> str | None:
    if name.startswith("/") or name.endswith("/"):
        return "it begins or ends with a slash"
    return "it holds two slashes in a row" if "//" in name else None


def _reads_as_revision(name: str) -> str | None:
    if name.startswith("-"):
        return "it begins with a dash, as an option does"
    if name in ("@", "HEAD"):
        return f"{name} means the current commit in git"
    if "@{" in name:
        return "it holds @{, which begins a moment such as main@{1}"
    if _COMMIT.fullmatch(name):
        return (
            f"{MIN_PREFIX} hexadecimal digits or more read as the start of a commit id (put a "
            "letter or a dash between them, such as v2026 or 2026-11-20)"
        )
    space = next((space for space in _SPACES if name.startswith(space)), None)
    return None if space is None else f"{space} begins the full name of a branch or tag"
