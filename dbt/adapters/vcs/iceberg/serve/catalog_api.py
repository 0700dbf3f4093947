"""The catalog's API: Iceberg's REST protocol over a repository."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Final, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import TableEntry, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.client_manifests import client_folder
from dbt.adapters.vcs.iceberg.metadata_files import place_of
from dbt.adapters.vcs.iceberg.serve.access import (
    LOOPBACK,
    Gate,
    TokenList,
    bearer_of,
    check_method,
)
from dbt.adapters.vcs.iceberg.serve.catalog_view import CatalogView, FoundRelation, lookup, view_of
from dbt.adapters.vcs.iceberg.serve.documents import Body, Documents, History
from dbt.adapters.vcs.iceberg.serve.observed import CONTENT_TYPE, ROUTE, Figures, Observed
from dbt.adapters.vcs.iceberg.serve.rest_protocol import (
    JSON,
    NAMESPACE,
    NAMESPACES,
    NO_NAMESPACE,
    TABLE,
    TABLES,
    VIEW,
    VIEWS,
    RestError,
    answer,
    asked_name,
    asked_namespace,
    bad_request,
    failure,
    namespace_of,
    paged,
    prefix_of,
    rest_error,
    revision_of,
)
from dbt.adapters.vcs.iceberg.serve.writing.write_api import (
    MAX_BODY,
    REFUSED,
    ROUTES,
    WriteApi,
    WriteHandler,
    answer_write,
)


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
    return Observed(_with_raw_paths(Gate(inner, tokens, hosts)), figures, log, stranger or log)


def _with_raw_paths(app: ASGIApp) -> ASGIApp:
    """Return an application that is given paths as they were sent.

    A slash in a name is escaped, and would part the name once that is undone.
    """

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path")
        if raw is not None:
            scope["path"] = raw.partition(b"?")[0].decode("latin-1")
        await app(scope, receive, send)

    return run


_METRICS: Final = f"{TABLE}/metrics"

ENDPOINTS: Final = (
    *(f"GET /v1/{{prefix}}{path}" for path in (NAMESPACES, NAMESPACE, TABLES, TABLE)),
    *(f"GET /v1/{{prefix}}{path}" for path in (VIEWS, VIEW)),
    *(f"HEAD /v1/{{prefix}}{path}" for path in (NAMESPACE, TABLE, VIEW)),
    f"POST /v1/{{prefix}}{_METRICS}",
    *(f"{method} /v1/{{prefix}}{path}" for method, path, _ in ROUTES),
)
"""What the server offers, as clients read it."""

_NO_EXCHANGE: Final = (
    "This server hands out no tokens. Give the client its token itself, as the property `token` "
    "(in Spark `spark.sql.catalog.<name>.token`), in place of `credential`."
)

Handler = Callable[["CatalogApi", Request], Response]


class CatalogApi:
    """Answers the requests of Iceberg's clients, each in a thread of its own."""

    def __init__(
        self, repository: Repository, documents: Documents, *, max_body: int = MAX_BODY
    ) -> None:
        self.repository = repository
        self.documents = documents
        self.writes = WriteApi(repository, documents, max_body=max_body)

    def routes(self) -> list[BaseRoute]:
        """Return the routes, with a prefix for a revision and without one for all branches."""
        shared: tuple[tuple[str, str, Handler], ...] = (
            ("GET", NAMESPACES, list_namespaces),
            ("GET", NAMESPACE, load_namespace),
            ("GET", TABLES, partial(list_relations, type_=TableEntry)),
            ("GET", TABLE, load_table),
            ("POST", _METRICS, take_metrics),
            ("GET", VIEWS, partial(list_relations, type_=ViewEntry)),
            ("GET", VIEW, load_view),
        )
        found: list[BaseRoute] = [
            self._route("GET", "/v1/config", config),
            self._route("POST", "/v1/oauth/tokens", refuse_exchange),
        ]
        for start in ("/v1", "/v1/{prefix}"):
            found += [self._route(method, start + path, run) for method, path, run in shared]
            found += [self._write(*route, start) for route in (*ROUTES, *REFUSED)]
        return found

    def _route(self, method: str, path: str, handler: Handler) -> Route:
        # A plain function, so that Starlette runs it in a thread.
        def run(request: Request) -> Response:
            request.scope[ROUTE] = path
            try:
                return handler(self, request)
            except Exception as error:
                return failure(rest_error(error))

        return Route(path, run, methods=[method])

    def _write(self, method: str, path: str, handler: WriteHandler, start: str) -> Route:
        async def run(request: Request) -> Response:
            request.scope[ROUTE] = start + path
            try:
                return await answer_write(self.writes, handler, request)
            except Exception as error:
                return failure(rest_error(error))

        return Route(start + path, run, methods=[method])

    def view(self, request: Request) -> CatalogView:
        """Return what a request sees.

        Raises:
            RestError: Its prefix names nothing, or the bearer may not read it.
        """
        prefix = request.path_params.get("prefix")
        revision = None if prefix is None else revision_of(prefix)
        try:
            return view_of(self.repository, revision, bearer_of(request))
        except InputError as error:
            raise RestError(404, NO_NAMESPACE, str(error)) from None


def config(api: CatalogApi, request: Request) -> Response:
    """Answer what a client asks first: which prefix stands for its warehouse."""
    warehouse = request.query_params.get("warehouse")
    overrides = {}
    if warehouse:
        try:
            view_of(api.repository, warehouse, bearer_of(request))
        except InputError as error:
            raise RestError(404, "NoSuchWarehouseException", str(error)) from None
        overrides["prefix"] = prefix_of(warehouse)
    return answer({"defaults": {}, "overrides": overrides, "endpoints": ENDPOINTS})


def refuse_exchange(api: CatalogApi, request: Request) -> Response:
    """Refuse to exchange credentials for a token, in OAuth's words."""
    # PyIceberg and Java's client show the description to whoever configured them.
    body = {"error": "unsupported_grant_type", "error_description": _NO_EXCHANGE}
    return answer(body, status=400)


def list_namespaces(api: CatalogApi, request: Request) -> Response:
    """Answer with the namespaces below a parent."""
    parent = request.query_params.get("parent")
    below = api.view(request).namespaces(namespace_of(parent) if parent else ())
    shown, token = paged(request, below, lambda namespace: namespace[-1])
    return answer({"namespaces": shown, "next-page-token": token})


def load_namespace(api: CatalogApi, request: Request) -> Response:
    """Answer with a namespace's properties, or whether it exists."""
    namespace = asked_namespace(request)
    properties = api.view(request).properties(namespace)
    if request.method == "HEAD":
        return Response(status_code=204)
    return answer({"namespace": namespace, "properties": properties})


def list_relations(
    api: CatalogApi, request: Request, type_: type[TableEntry] | type[ViewEntry]
) -> Response:
    """Answer with the tables or the views of a namespace."""
    namespace = asked_namespace(request)
    found = api.view(request).relations(namespace)
    of_type = sorted(name for name, item in found.items() if isinstance(item.entry, type_))
    names, token = paged(request, of_type, str)
    shown = [{"namespace": namespace, "name": name} for name in names]
    return answer({"identifiers": shown, "next-page-token": token})


def load_table(api: CatalogApi, request: Request) -> Response:
    """Answer with a table's metadata, or whether it exists."""
    namespace, name = asked_namespace(request), asked_name(request, "table")
    history = request.query_params.get("snapshots", "all")
    if history not in ("all", "refs"):
        raise bad_request(f"snapshots={history!r}; expected all or refs.")
    found = lookup(api.view(request), namespace, name, TableEntry)
    if request.method == "HEAD":
        return Response(status_code=204)
    # DuckDB writes manifests into a folder that it expects to be there.
    _make_folder(api.repository, request, found)
    body = api.documents.body(
        found.commit,
        found.relation,
        found.entry,
        cast(History, history),
        branch=found.branch,
        tags=bearer_of(request).is_whole,
    )
    return _load_answer(request, body)


def load_view(api: CatalogApi, request: Request) -> Response:
    """Answer with a view's metadata, or whether it exists."""
    namespace, name = asked_namespace(request), asked_name(request, "view")
    found = lookup(api.view(request), namespace, name, ViewEntry)
    if request.method == "HEAD":
        return Response(status_code=204)
    return _load_answer(request, api.documents.body(found.commit, found.relation, found.entry))


def _load_answer(request: Request, body: Body) -> Response:
    """Return a body, or say that the client has it already."""
    headers = {"ETag": body.tag}
    known = request.headers.get("If-None-Match", "")
    if any(tag.strip().removeprefix("W/") in ("*", body.tag) for tag in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(body.data, media_type=JSON, headers=headers)


def take_metrics(api: CatalogApi, request: Request) -> Response:
    """Accept a client's report about a scan, which is of no use here."""
    lookup(api.view(request), asked_namespace(request), asked_name(request, "table"), TableEntry)
    return Response(status_code=204)


_LOCAL: Final = "file://"
_CLIENT: Final = "duckdb/"
"""How a client calls itself that makes the folder of rows, and none for manifests alone."""


def _make_folder(repository: Repository, request: Request, found: FoundRelation) -> None:
    """Make the folder of a table's clients for one that doesn't, if it may write."""
    place = place_of(repository)
    if (
        isinstance(found.entry, TableEntry)
        and found.branch is not None
        and place.root.startswith(_LOCAL)
        and request.headers.get("user-agent", "").startswith(_CLIENT)
    ):
        table = repository.objects.snapshot(found.entry.snapshot).table
        uri = place.uri(client_folder(table, found.branch))
        Path(uri.removeprefix(_LOCAL)).mkdir(parents=True, exist_ok=True)
