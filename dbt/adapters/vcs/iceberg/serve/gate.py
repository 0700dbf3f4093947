"""The gate: who may come in, before anything is looked up."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from dbt.adapters.vcs.iceberg.serve.bearer import ANYBODY, Bearer
from dbt.adapters.vcs.iceberg.serve.rest_answers import failure
from dbt.adapters.vcs.iceberg.serve.rest_error import UNSUPPORTED, RestError
from dbt.adapters.vcs.iceberg.serve.token_file import TokenList

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
        if self._tokens is None:
            self._check_host(headers.get("host", ""))
            if scope["method"] not in _READING and "origin" in headers:
                raise RestError(
                    403,
                    "ForbiddenException",
                    "A web page asks for a change, and without tokens only programs of this "
                    "machine may. Start the server with --tokens to let pages in.",
                )
            return ANYBODY
        if scope["path"] in _OPEN:
            return Bearer("-", ())
        kind, _, token = headers.get("authorization", "").partition(" ")
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
            raise RestError(
                403,
                "ForbiddenException",
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
        return RestError(
            403,
            "ForbiddenException",
            f"The token {bearer.name!r} has the role reader, and {method} {path} would write.",
        )
    return RestError(
        406,
        UNSUPPORTED,
        f"{method} {path}: this catalog does no such thing. GET /v1/config lists what it does.",
    )
