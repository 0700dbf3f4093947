"""The server's application: the catalog's API with what stands around it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.serve.catalog_api import CatalogApi
from dbt.adapters.vcs.iceberg.serve.documents import Documents
from dbt.adapters.vcs.iceberg.serve.gate import LOOPBACK, Gate, check_method
from dbt.adapters.vcs.iceberg.serve.observed import CONTENT_TYPE, ROUTE, Figures, Observed
from dbt.adapters.vcs.iceberg.serve.rest_answers import failure
from dbt.adapters.vcs.iceberg.serve.token_file import TokenList
from dbt.adapters.vcs.iceberg.serve.writing.write_api import MAX_BODY


def rest_app(
    repository: Repository,
    documents: Documents,
    *,
    tokens: TokenList | None = None,
    hosts: Collection[str] = LOOPBACK,
    max_body: int = MAX_BODY,
    log: Callable[[str], None] = lambda _: None,
    stranger: Callable[[str], None] | None = None,
) -> ASGIApp:
    """Return the application of a server.

    Args:
        repository: The repository, which threads share.
        documents: Its tables and views as Iceberg's documents.
        tokens: Who may use it; None for anybody on this machine.
        hosts: Names under which it answers without tokens.
        max_body: Bytes of the body of a request that changes something.
        log: Takes the access log's lines.
        stranger: Takes those about somebody without a token; None for `log`.
    """
    figures = Figures(documents)

    def health(request: Request) -> Response:
        request.scope[ROUTE] = "/health"
        return PlainTextResponse("ok\n")

    def metrics(request: Request) -> Response:
        request.scope[ROUTE] = "/metrics"
        return Response(figures.text(), headers={"Content-Type": CONTENT_TYPE})

    async def unrouted(request: Request, error: Exception) -> Response:
        return failure(check_method(request.scope))

    routes = [
        Route("/health", health, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
        *CatalogApi(repository, documents, max_body=max_body).routes(),
    ]
    inner = Starlette(routes=routes, exception_handlers={HTTPException: unrouted})
    # A path with a slash too many is wrong, too, and is no reason to redirect.
    inner.router.redirect_slashes = False
    return Observed(_escaped(Gate(inner, tokens, hosts)), figures, log, stranger or log)


def _escaped(app: ASGIApp) -> ASGIApp:
    """Return an application that is given paths as they were sent.

    A slash in a name is escaped, and would part the name once that is undone.
    """

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path")
        if raw is not None:
            scope["path"] = raw.partition(b"?")[0].decode("latin-1")
        await app(scope, receive, send)

    return run
