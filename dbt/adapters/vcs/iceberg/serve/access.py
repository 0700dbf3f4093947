"""Who may use the server: tokens, what they let their bearers do, and the gate."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.resolver import parse_revision
from dbt.adapters.vcs.iceberg.serve.rest_protocol import UNSUPPORTED, RestError, failure, forbidden
from dbt.adapters.vcs.yaml_text import load_yaml

Role: TypeAlias = Literal["reader", "writer"]

ROLES: Final[tuple[Role, ...]] = ("reader", "writer")

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Grant:
    """A role on the branches whose names match one of the patterns (`*`, `?`, `[...]`)."""

    role: Role
    branches: tuple[str, ...] = ("*",)

    @property
    def is_whole(self) -> bool:
        """True if the role is held on every branch."""
        return "*" in self.branches

    def fits(self, branch: str) -> bool:
        """Return whether the role is held on a branch."""
        return any(fnmatchcase(branch, pattern) for pattern in self.branches)


@dataclass(frozen=True, slots=True)
class Bearer:
    """Whoever sent a request.

    Attributes:
        name: The token's name; a dash where no tokens are used.
        grants: What the token allows, together.
    """

    name: str
    grants: tuple[Grant, ...]

    @property
    def is_whole(self) -> bool:
        """True if the token allows to read all branches, and so tags and commits."""
        return any(grant.is_whole for grant in self.grants)

    @property
    def is_writer(self) -> bool:
        """True if the token allows to write to some branch."""
        return any(grant.role == "writer" for grant in self.grants)

    def reads(self, branch: str) -> bool:
        """Return whether the token allows to read a branch."""
        return any(grant.fits(branch) for grant in self.grants)

    def writes(self, branch: str) -> bool:
        """Return whether the token allows to write to a branch."""
        return any(grant.role == "writer" and grant.fits(branch) for grant in self.grants)

    def check_reads(self, repository: Repository, revision: str) -> None:
        """Check that the token allows to read a revision.

        A token for some branches reads these and their history: `main`, `main~3`, `main@{1}`. A
        commit, a tag or a named snapshot says nothing of a branch, and takes a token for all.

        Raises:
            RestError: It does not.
        """
        if self.is_whole:
            return
        branch = _branch_in(repository, revision)
        if branch is None or not self.reads(branch):
            allowed = ", ".join(sorted({name for item in self.grants for name in item.branches}))
            raise forbidden(
                f"The token {self.name!r} reads the branches {allowed} and their history, and "
                f"{revision!r} is not among them.",
            )


ANYBODY: Final = Bearer("-", (Grant("writer"),))
"""Whoever asks where no tokens are used."""


def _branch_in(repository: Repository, revision: str) -> str | None:
    """Return the branch that a revision starts from; None if it starts elsewhere."""
    whole = revision.removeprefix("refs/").removeprefix("heads/")
    is_said = whole != revision
    if repository.find_branch(whole) is None:
        try:
            parsed = parse_revision(revision, repository.clock())
        except InputError:
            return None
        is_said = is_said or parsed.selector is not None
        whole = parsed.name.removeprefix("refs/").removeprefix("heads/")
        if repository.find_branch(whole) is None:
            return None
    # What a revision means if its name is a commit's or a tag's, too.
    is_hidden = _SHA256.fullmatch(whole) or repository.find_tag(whole) is not None
    return None if is_hidden and not is_said else whole


def bearer_of(request: Request) -> Bearer:
    """Return who sent a request."""
    found = request.scope["bearer"]
    assert isinstance(found, Bearer)
    return found


_KEYS: Final = frozenset({"name", "sha256", "role", "branches"})
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
        # No early end: the time must not say which token came close.
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
        # A token may have several roles, each on branches of its own.
        held = bearers.get(digest)
        # The name is the author of commits, so a token has one.
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
    if not isinstance(digest, str) or not _SHA256.fullmatch(digest.lower()):
        raise InputError(f"The {place} needs the sha256 of the token, 64 digits: {_HOW}")
    if role not in ROLES:
        raise InputError(f"The role of the {place} must be one of {', '.join(ROLES)}.")
    branches = item.get("branches", ["*"])
    if not isinstance(branches, list) or not branches or not all(map(_is_pattern, branches)):
        raise InputError(f"The branches of the {place} must be a list of names or patterns.")
    return digest.lower(), name, Grant(cast(Role, role), tuple(branches))


def _is_pattern(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

# A probe has no token, and a client without one learns how to give it.
_OPEN: Final = frozenset({"/health", "/v1/oauth/tokens"})
_READING: Final = frozenset({"GET", "HEAD"})


class Gate:
    """Finds out who sent a request, and turns away whom it doesn't know.

    Without tokens only the names of this machine are answered, so that a web page that a browser
    here has open can't read the catalog under a name of its own. Nor can a page change anything:
    a browser says where a request that may change something comes from.
    """

    def __init__(
        self, app: ASGIApp, tokens: TokenList | None, hosts: Collection[str] = LOOPBACK
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its bearer, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            scope["bearer"] = self._bearer(scope)
        except RestError as error:
            await failure(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _bearer(self, scope: Scope) -> Bearer:
        headers = Headers(scope=scope)
        # A page of another site can point its own name at this machine (DNS rebinding).
        if self._tokens is None:
            self._check_host(headers.get("host", ""))
            if scope["method"] not in _READING and "origin" in headers:
                raise forbidden(
                    "A web page asks for a change, and without tokens only programs of this "
                    "machine may. Start the server with --tokens to let pages in.",
                )
            return ANYBODY
        if scope["path"] in _OPEN:
            return Bearer("-", ())
        kind, _, token = headers.get("authorization", "").partition(" ")
        # RFC 9110: the name of a scheme ignores case.
        if kind.lower() != "bearer" or not token.strip():
            raise RestError(
                401,
                "NotAuthorizedException",
                "This catalog needs a token. Give the client one as its property `token`; it is "
                "sent as the header `Authorization: Bearer <token>`.",
            )
        found = self._tokens.find(token.strip())
        if found is None:
            raise RestError(
                401,
                "NotAuthorizedException",
                "The token is none of this catalog's. Ask whoever runs the server for one.",
            )
        return found

    def _check_host(self, given: str) -> None:
        is_ipv6 = given.startswith("[")
        name = given[1:].partition("]")[0] if is_ipv6 else given.partition(":")[0]
        if name.lower() not in self._hosts:
            raise forbidden(
                f"This catalog answers on this machine alone, and was asked as {given!r}. To "
                "serve others, start it with --tokens and the address to listen on as --host.",
            )


def check_method(scope: Scope) -> RestError:
    """Return the error for a request that no route takes."""
    method, path = scope["method"], scope["path"]
    if method in _READING:
        return RestError(
            404, "NotFoundException", f"There is nothing at {path}. GET /v1/config lists what is."
        )
    bearer = scope["bearer"]
    if not bearer.is_writer:
        return forbidden(
            f"The token {bearer.name!r} has the role reader, and {method} {path} would write.",
        )
    return RestError(
        406,
        UNSUPPORTED,
        f"{method} {path}: this catalog does no such thing. GET /v1/config lists what it does.",
    )
