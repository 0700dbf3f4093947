"""The site of `dbt-vcs ui`: who may ask, how a page is made, and what an error looks like.

Loopback keeps other machines out, and no more than that: every web page that a browser here has
open can send requests, and so can other users of the machine. So each request needs the token, and
the server's own name as its host.

| what asks                            | what turns it away                                   |
|--------------------------------------|------------------------------------------------------|
| another user of this machine         | the token                                            |
| a page of another site               | the cookie, which is not sent along, and the policy  |
| a page whose name leads here         | the host (DNS rebinding)                             |
| a page of another port of this host  | the origin, which a browser names in each POST       |
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlencode

from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dbt.adapters.vcs.commands.layout import age, size
from dbt.adapters.vcs.commands.options import with_options
from dbt.adapters.vcs.commands.review_page import page_asset, page_environment
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.core.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    ProtectedError,
    RetryError,
    VcsError,
)
from dbt.adapters.vcs.core.ids import datetime_of
from dbt.adapters.vcs.core.repository import Repository

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_FORM: Final = 1 << 20
"""Bytes of what a page may send."""

_FURTHEST: Final = 1_000_000
"""The furthest that a page goes into a list."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load and run: the server's own files, and nothing that is in the page."""

_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`, with which browsers hide the origin of a POST as well.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_ASSETS: Final = {
    "review.css": "text/css",
    "review.js": "text/javascript",
    "ui/ui.css": "text/css",
    "ui/htmx-4.0.1.min.js": "text/javascript",
}
"""Files beside the templates that pages load, each below /static/."""

_READING: Final = frozenset({"GET", "HEAD"})
_TOKEN: Final = "token"

# The first that fits; the others are faults of the server.
_STATUSES: Final[tuple[tuple[type[VcsError], int], ...]] = (
    (NotFoundError, 404),
    (ProtectedError, 409),
    (InputError, 400),
    (ConflictError, 409),
    (RetryError, 409),
)

Form: TypeAlias = QueryParams
"""What a page sent: texts by name, of which one may have several (`getlist`)."""


class UiSite:
    """What all pages of one server share.

    Attributes:
        repository: The repository, which threads share.
        cookie: Name of the cookie that keeps the token; browsers share cookies among ports.
        hosts: What a request may give as its host, in lower case.
        menu: Links at the top of each page: the text, and where it leads.
        measuring: Held by a page that may need much memory, so that only one at a time does.
    """

    def __init__(
        self, session: CommandSession, *, token: str, port: int, ticket: str = ""
    ) -> None:
        """Take the command's session; `token` is what each request needs.

        `ticket` gets it once, in its place in an address; empty if nothing does.
        """
        self.repository: Repository = session.repository
        self.cookie = f"dbt-vcs-ui-{port}"
        names = ("127.0.0.1", "localhost", "[::1]")
        # Browsers leave out the port that is HTTP's own.
        ports = (f":{port}", "") if port == 80 else (f":{port}",)
        self.hosts = frozenset(f"{name}{end}" for name in names for end in ports)
        self.menu: list[tuple[str, str]] = []
        self.measuring = threading.Lock()
        self._settings = session.settings
        self._token = token
        self._ticket = ticket

    def session(self) -> CommandSession:
        """Return a session for one request.

        It reads the profile and `vcs.yml` again, so that rules hold from the moment on that they
        are written, as for commands.
        """
        found = CommandSession(self._settings)
        found.repository = self.repository
        return found

    @contextmanager
    def writing(self) -> Iterator[CommandSession]:
        """Yield a session to change branches with, and do afterwards what commands do then."""
        session = self.session()
        with session.finishing():
            yield session

    def has(self, token: str) -> bool:
        """Return whether a token is the server's, in a time that says nothing of it."""
        return hmac.compare_digest(token.encode(), self._token.encode())

    def token_for(self, given: str) -> str | None:
        """Return the token for what an address gives: itself, or the ticket, once; else None."""
        is_ticket = bool(self._ticket) and hmac.compare_digest(
            given.encode(), self._ticket.encode()
        )
        if is_ticket:
            self._ticket = ""
        return self._token if is_ticket or self.has(given) else None

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """Return a page made of a template below `pages/ui`."""
        shared = {"shell": "ui/layout.html.j2", "menu": self.menu, "location": self.repository.uri}
        text = self._environment.get_template(f"ui/{template}").render(shared | values)
        return HTMLResponse(text.strip() + "\n", status)

    def failure(self, said: str, status: int) -> Response:
        """Return the page of an error: a sentence with its next step."""
        return self.page("failure.html.j2", status=status, said=with_options(said, self._settings))

    def refusal(self, said: str) -> Response:
        """Return the page for a stranger, which says nothing of the repository."""
        return self.page("failure.html.j2", status=403, said=said, menu=(), location="")

    @cached_property
    def _environment(self) -> Environment:
        found = page_environment().overlay()
        found.globals = {**found.globals, "url": url}
        found.filters = {
            **found.filters,
            "exact": exact,
            "age": lambda moment: age(moment, datetime_of(self.repository.clock())),
            "size": size,
            "quoted": quote,
            "typed": lambda text: with_options(text, self._settings),
        }
        return found


def url(path: str, **values: str | int | None) -> Markup:
    """Return an address with parameters, ready to be put into a page; None leaves one out."""
    given = {name: value for name, value in values.items() if value is not None}
    return escape(f"{path}?{urlencode(given)}" if given else path)


def exact(value: str) -> Markup:
    """Return a text escaped, and else as it is: for what a form sends back, not for reading."""
    return escape(value)


Post: TypeAlias = Callable[[Request, Form], Response]


def posting(answer: Post) -> Any:
    """Return an endpoint that reads the form of a POST, and answers in a thread."""

    async def endpoint(request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MAX_FORM:
                raise HTTPException(413, f"A page sends at most {MAX_FORM:,} bytes.")
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        return await run_in_threadpool(answer, request, QueryParams(pairs))

    return endpoint


def ui_app(site: UiSite, routes: list[Route]) -> ASGIApp:
    """Return the application of a site with its pages."""

    def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _ASSETS:
            raise HTTPException(404)
        return Response(page_asset(name), media_type=_ASSETS[name])

    def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, VcsError)
        status = next((code for kind, code in _STATUSES if isinstance(error, kind)), 500)
        return site.failure(str(error), status)

    def unrouted(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        told = {
            404: "There is no such page. Begin at the branches.",
            405: "This address can't be asked like that. Begin at the branches.",
        }
        return site.failure(told.get(error.status_code, error.detail), error.status_code)

    def broken(_: Request, error: Exception) -> Response:
        # The server's log has the traceback.
        return site.failure(
            f"This page failed: {type(error).__name__}. That is a fault of dbt-vcs, which the "
            "terminal that it runs in tells more of. Reload the page, or go back.",
            500,
        )

    inner = Starlette(
        routes=[Route("/static/{name:path}", asset), *routes],
        exception_handlers={VcsError: refused, HTTPException: unrouted, Exception: broken},
    )
    return _Gate(inner, site)


class _Gate:
    """Turns away what the site must not answer, and gives each answer its headers."""

    def __init__(self, app: ASGIApp, site: UiSite) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        app = self._refusal(scope) or self._app
        await app(scope, receive, answer)

    def _refusal(self, scope: Scope) -> Response | None:
        headers, site = Headers(scope=scope), self._site
        host = headers.get("host", "").lower()
        if host not in site.hosts:
            return site.refusal(
                "This server answers as 127.0.0.1 or localhost with its port, and was asked as "
                f"{host!r}. Open the address that it printed when it started."
            )
        origin = headers.get("origin")
        if scope["method"] not in _READING and origin not in (None, f"http://{host}"):
            return site.refusal(
                "Another page asked for a change. Nothing was changed; only pages of this server "
                "may ask."
            )
        if scope["path"].startswith("/static/"):
            return None
        given = QueryParams(scope["query_string"].decode("latin-1"))
        if _TOKEN in given and scope["method"] in _READING:
            token = site.token_for(given[_TOKEN])
            if token is not None:
                return self._welcome(scope, given, token)
        elif site.has(cookie_parser(headers.get("cookie", "")).get(site.cookie, "")):
            return None
        return site.refusal(
            "This server needs the token that it printed when it started. Open the whole address "
            "that it printed. One that was started again has another token."
        )

    def _welcome(self, scope: Scope, given: QueryParams, token: str) -> Response:
        """Keep the token in a cookie and out of the address, which the history keeps."""
        others = [(name, value) for name, value in given.multi_items() if name != _TOKEN]
        # One slash: an address that begins with two would lead to another host.
        path = "/" + scope["path"].lstrip("/\\")
        found = RedirectResponse(f"{path}?{urlencode(others)}" if others else path, 303)
        found.set_cookie(self._site.cookie, token, httponly=True, samesite="lax", path="/")
        return found


def asked(request: Request, name: str) -> str:
    """Return a parameter of a page's address.

    Raises:
        InputError: It is missing.
    """
    found = request.query_params.get(name)
    if not found:
        raise InputError(
            f"The address of this page lacks {name}. Follow a link from the branches instead."
        )
    return found


def paging(skip: int, count: int, *, has_more: bool) -> dict[str, Any]:
    """Return where the pages before and after one of a list begin; None where there is none."""
    return {
        "earlier": max(skip - count, 0) if skip else None,
        "later": skip + count if has_more else None,
    }


def asked_number(given: Mapping[str, str], name: str, most: int = _FURTHEST) -> int:
    """Return a whole number of an address, from 0 to `most`; 0 if it is missing.

    Raises:
        InputError: It is none.
    """
    text = given.get(name) or "0"
    if not text.isascii() or not text.isdigit() or len(text) > 12 or int(text) > most:
        raise InputError(f"Expected {name} from 0 to {most:,}, found {text[:40]!r}.")
    return int(text)
