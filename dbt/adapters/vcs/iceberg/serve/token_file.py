"""Token files: who may use the server, without the tokens themselves."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.iceberg.serve.bearer import ROLES, Bearer, Grant, Role
from dbt.adapters.vcs.yaml_text import load_yaml

_KEYS: Final = frozenset({"name", "sha256", "role", "branches"})
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_HOW: Final = "printf %s TOKEN | sha256sum"


@dataclass(frozen=True, slots=True)
class TokenList:
    """The tokens of a server: each bearer by the SHA-256 of the token."""

    bearers: tuple[tuple[str, Bearer], ...]

    def find(self, token: str) -> Bearer | None:
        """Return who has a token; None if nobody has.

        All tokens are compared, each in a time that doesn't depend on where it differs.
        """
        given = hashlib.sha256(token.encode()).hexdigest()
        found = None
        for digest, bearer in self.bearers:
            if hmac.compare_digest(digest, given):
                found = bearer
        return found


def read_tokens(path: Path) -> TokenList:
    """Return the tokens that a file lists.

    Raises:
        InputError: It can't be read, or is none; the message repeats no value of it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"Can't read the tokens in {path}: {reason}.") from error
    found = load_yaml(text, str(path))
    items = found.get("tokens") if isinstance(found, Mapping) else None
    if not isinstance(items, list) or not items or set(found) != {"tokens"}:
        raise InputError(f"{path} lists no tokens. Write `tokens:` with a list below it.")
    bearers: dict[str, Bearer] = {}
    for number, item in enumerate(items, 1):
        place = f"token {number} in {path}"
        digest, name, grant = _token(item, place)
        held = bearers.get(digest)
        if held is not None and held.name != name:
            raise InputError(f"The {place} has the sha256 of another name. Give each its own.")
        grants = () if held is None else held.grants
        bearers[digest] = Bearer(name, (*grants, grant))
    return TokenList(tuple(bearers.items()))


def _token(item: Any, place: str) -> tuple[str, str, Grant]:
    if not isinstance(item, Mapping) or not set(item) <= _KEYS:
        raise InputError(f"The {place} must have name, sha256, role and, if wanted, branches.")
    name, digest, role = item.get("name"), item.get("sha256"), item.get("role")
    if not isinstance(name, str) or not re.fullmatch(r"[\w.@-]{1,64}", name):
        raise InputError(
            f"The {place} needs a name of letters, digits and . _ @ -, for the access log."
        )
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest.lower()):
        raise InputError(f"The {place} needs the sha256 of the token, 64 digits: {_HOW}")
    if role not in ROLES:
        raise InputError(f"The role of the {place} must be one of {', '.join(ROLES)}.")
    branches = item.get("branches", ["*"])
    if not isinstance(branches, list) or not branches or not all(map(_is_pattern, branches)):
        raise InputError(f"The branches of the {place} must be a list of names or patterns.")
    return digest.lower(), name, Grant(cast(Role, role), tuple(branches))


def _is_pattern(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
