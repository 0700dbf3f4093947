"""The catalog's API: Iceberg's REST protocol over a repository, writes as commits on branches."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Final, cast

from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
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
    UNSUPPORTED,
    VIEW,
    VIEWS,
    EntryType,
    Namespace,
    RestError,
    answer,
    asked_name,
    asked_namespace,
    bad_request,
    failure,
    forbidden,
    namespace_of,
    paged,
    prefix_of,
    rest_error,
    revision_of,
)
from dbt.adapters.vcs.iceberg.serve.writing.branch_writer import (
    BranchWriter,
    change_properties,
    create_namespace,
    drop_namespace,
    drop_relation,
    relation_name,
    rename_relation,
    schema_name,
    writer_of,
)
from dbt.adapters.vcs.iceberg.serve.writing.commit_request import (
    Record,
    is_texts,
    read_body,
    read_commit,
    read_identifier,
    removals_of,
    texts_of,
)
from dbt.adapters.vcs.iceberg.serve.writing.table_commits import TableCommits
from dbt.adapters.vcs.iceberg.serve.writing.table_definitions import new_table
from dbt.adapters.vcs.iceberg.serve.writing.view_commits import ViewCommits

MAX_BODY: Final = 8 * 2**20
"""Bytes of a request's body: a thousand columns take some 100 KB."""


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

_NO_EXCHANGE: Final = (
    "This server hands out no tokens. Give the client its token itself, as the property `token` "
    "(in Spark `spark.sql.catalog.<name>.token`), in place of `credential`."
)

# Writes whose bodies are held at once. Others wait, and reads go on meanwhile.
_AT_WORK: Final = 8

Handler = Callable[["CatalogApi", Request], Response]
WriteHandler = Callable[["CatalogApi", Request, Record], Response]


class CatalogApi:
    """Answers the requests of Iceberg's clients, each in a thread of its own."""

    def __init__(
        self, repository: Repository, documents: Documents, *, max_body: int = MAX_BODY
    ) -> None:
        self.repository = repository
        self.documents = documents
        self.max_body = max_body
        self.at_work = CapacityLimiter(_AT_WORK)
        self.commits = TableCommits(repository, documents)
        self.views = ViewCommits(repository, documents)

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
            found += [self._write(*route, start) for route in ROUTES]
            # Clients may ask for it, and it is not offered.
            found.append(self._write("POST", f"{NAMESPACE}/register", refuse_register, start))
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
        # A coroutine, so that a body that arrives slowly holds no thread.
        async def run(request: Request) -> Response:
            request.scope[ROUTE] = start + path
            try:
                return await answer_write(self, handler, request)
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

    def writer(self, request: Request, namespace: Namespace) -> tuple[BranchWriter, Namespace]:
        """Return the writer of the branch that a request is about, and the namespace there.

        Raises:
            RestError: It is no branch, or the bearer may not write to it.
        """
        prefix = request.path_params.get("prefix")
        if prefix is None:
            if len(namespace) < 2:
                raise bad_request(
                    "Without a warehouse the first level of a namespace is a branch, and "
                    "branches are made with `dbt-vcs branch create`. Name a schema below one."
                )
            revision, namespace = namespace[0], namespace[1:]
        else:
            revision = revision_of(prefix)
        # Iceberg's Java client names itself in the first, and its HTTP library in the second.
        client = request.headers.get("x-client-version") or request.headers.get("user-agent")
        bearer = bearer_of(request)
        version = self.documents.maker.format_version
        writer = writer_of(self.repository, revision, bearer, client, version)
        return writer, namespace


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


def list_relations(api: CatalogApi, request: Request, type_: EntryType) -> Response:
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
    # Answered from the tree, because the document would have to be made.
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
    # A proxy that packs answers makes their tags weak.
    if any(tag.strip().removeprefix("W/") in ("*", body.tag) for tag in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(body.data, media_type=JSON, headers=headers)


def take_metrics(api: CatalogApi, request: Request) -> Response:
    """Accept a client's report about a scan, which is of no use here."""
    lookup(api.view(request), asked_namespace(request), asked_name(request, "table"), TableEntry)
    return Response(status_code=204)


_LOCAL: Final = "file://"
# How a client calls itself that makes the folder of rows, and none for manifests alone.
_CLIENT: Final = "duckdb/"


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


async def answer_write(api: CatalogApi, handler: WriteHandler, request: Request) -> Response:
    """Answer a request that changes a branch.

    Its body is read only if the bearer may write there, and only so much of it.

    Raises:
        RestError: The bearer may not write, or the body is too large, or doesn't arrive.
    """
    _check_writes(request)
    # Bodies are in memory while a write runs, so there may be only so many.
    async with api.at_work:
        data = await _body_of(request, api.max_body)
        body = read_body(data) if data else {}
        return await run_in_threadpool(handler, api, request, body)


def _check_writes(request: Request) -> None:
    """Check what of a role is known before a body is."""
    bearer, prefix = bearer_of(request), request.path_params.get("prefix")
    revision = None if prefix is None else revision_of(prefix)
    # Without a prefix the body names the branch, and `writer_of` checks the role there.
    if not (bearer.is_writer if revision is None else bearer.writes(revision)):
        where = "any branch" if revision is None else f"the branch {revision!r}"
        raise forbidden(
            f"The token {bearer.name!r} has no role writer on {where}; a role reader doesn't "
            "change anything. Ask whoever runs the server for the role writer there."
        )


async def _body_of(request: Request, most: int) -> bytes:
    too_large = RestError(
        413,
        "BadRequestException",
        f"The request's body has more than {most:,} bytes. Nothing was changed. Commit fewer "
        "tables or columns at once; rows are no part of a request.",
    )
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > most:
        raise too_large
    # A body may tell no length, or a wrong one, so what arrives is counted as well.
    found = bytearray()
    try:
        async for part in request.stream():
            found += part
            if len(found) > most:
                raise too_large
    except ClientDisconnect:
        raise RestError(
            408, "BadRequestException", "The request's body didn't arrive. Send it again."
        ) from None
    return bytes(found)


def make_namespace(api: CatalogApi, request: Request, body: Record) -> Response:
    """Create a schema."""
    namespace = body.get("namespace")
    if not is_texts(namespace):
        raise bad_request("Expected a list of names as namespace.")
    properties = texts_of(body, "properties")
    writer, below = api.writer(request, tuple(namespace or ()))
    create_namespace(writer, schema_name(below), properties)
    return answer({"namespace": namespace, "properties": properties})


def remove_namespace(api: CatalogApi, request: Request, body: Record) -> Response:
    """Drop an empty schema."""
    writer, below = api.writer(request, asked_namespace(request))
    drop_namespace(writer, schema_name(below))
    return Response(status_code=204)


def alter_namespace(api: CatalogApi, request: Request, body: Record) -> Response:
    """Set and remove properties of a schema."""
    writer, below = api.writer(request, asked_namespace(request))
    updates, removals = texts_of(body, "updates"), removals_of(body)
    return answer(change_properties(writer, schema_name(below), updates, removals))


def create_table(api: CatalogApi, request: Request, body: Record) -> Response:
    """Create a table, or hand out what a client needs to create one by a commit."""
    writer, below = api.writer(request, asked_namespace(request))
    name = body.get("name")
    if not isinstance(name, str):
        raise bad_request("Expected a name of the table.")
    if body.get("location"):
        raise bad_request(
            "The catalog chooses the location of a table, below the repository. Leave it out."
        )
    new = new_table(relation_name(below, name), body)
    if body.get("stage-create"):
        return answer(api.commits.stage(writer, new))
    return Response(api.commits.create(writer, new).data, media_type=JSON)


def commit_table(api: CatalogApi, request: Request, body: Record) -> Response:
    """Put changes of one table on the branch, and answer with the table as it is then."""
    writer, below = api.writer(request, asked_namespace(request))
    name = asked_name(request, "table")
    head = api.commits.commit(writer, [read_commit(body, below, name)])
    made = api.commits.loaded(writer, head, relation_name(below, name))
    return Response(made.data, media_type=JSON)


def commit_transaction(api: CatalogApi, request: Request, body: Record) -> Response:
    """Put changes of several tables on a branch as one commit."""
    changes = body.get("table-changes")
    if not isinstance(changes, list) or not changes:
        raise bad_request("Expected a list of changes as table-changes.")
    writers: dict[str, BranchWriter] = {}
    requests = []
    for item in changes:
        found = item if isinstance(item, dict) else {}
        namespace, name = read_identifier(found.get("identifier"), "identifier")
        writer, below = api.writer(request, namespace)
        writers[writer.branch] = writer
        requests.append(read_commit(found, below, name))
    # A commit lands by the swap of one ref, and two branches are two.
    if len(writers) > 1:
        raise bad_request(
            f"A transaction changes one branch, and this one names {', '.join(sorted(writers))}."
        )
    api.commits.commit(next(iter(writers.values())), requests)
    return Response(status_code=204)


def create_view(api: CatalogApi, request: Request, body: Record) -> Response:
    """Create a view."""
    writer, below = api.writer(request, asked_namespace(request))
    name = body.get("name")
    if not isinstance(name, str):
        raise bad_request("Expected a name of the view.")
    made = api.views.create(writer, relation_name(below, name), body)
    return Response(made.data, media_type=JSON)


def commit_view(api: CatalogApi, request: Request, body: Record) -> Response:
    """Change a view."""
    writer, below = api.writer(request, asked_namespace(request))
    name = asked_name(request, "view")
    # A view's requirements are optional in the protocol, a table's are not.
    wanted = read_commit({"requirements": [], **body}, below, name)
    made = api.views.commit(writer, relation_name(below, name), wanted)
    return Response(made.data, media_type=JSON)


def drop(api: CatalogApi, request: Request, body: Record, type_: EntryType) -> Response:
    """Drop a table or a view; files stay for other versions, until `dbt-vcs gc` collects them."""
    writer, below = api.writer(request, asked_namespace(request))
    name = asked_name(request, type_.noun)
    drop_relation(writer, relation_name(below, name), type_)
    return Response(status_code=204)


def rename(api: CatalogApi, request: Request, body: Record, type_: EntryType) -> Response:
    """Rename a table or a view."""
    source, name = read_identifier(body.get("source"), "source")
    destination, new = read_identifier(body.get("destination"), "destination")
    writer, below = api.writer(request, source)
    other, target = api.writer(request, destination)
    if other.branch != writer.branch:
        raise bad_request(
            f"A table can't be renamed from {writer.branch!r} to another branch. Merge or clone "
            "it there."
        )
    rename_relation(writer, relation_name(below, name), relation_name(target, new), type_)
    return Response(status_code=204)


def refuse_register(api: CatalogApi, request: Request, body: Record) -> Response:
    """Refuse to register a table that lies elsewhere."""
    raise RestError(
        406,
        UNSUPPORTED,
        "Tables whose files lie elsewhere can't be registered: a repository keeps its own files. "
        "Create the table and append the rows, or write it with dbt.",
    )


ROUTES: Final[tuple[tuple[str, str, WriteHandler], ...]] = (
    ("POST", NAMESPACES, make_namespace),
    ("DELETE", NAMESPACE, remove_namespace),
    ("POST", f"{NAMESPACE}/properties", alter_namespace),
    ("POST", TABLES, create_table),
    ("POST", TABLE, commit_table),
    ("DELETE", TABLE, partial(drop, type_=TableEntry)),
    ("POST", "/tables/rename", partial(rename, type_=TableEntry)),
    ("POST", "/transactions/commit", commit_transaction),
    ("POST", VIEWS, create_view),
    ("POST", VIEW, commit_view),
    ("DELETE", VIEW, partial(drop, type_=ViewEntry)),
    ("POST", "/views/rename", partial(rename, type_=ViewEntry)),
)
"""What changes a branch: method, path, and who answers."""

ENDPOINTS: Final = (
    *(f"GET /v1/{{prefix}}{path}" for path in (NAMESPACES, NAMESPACE, TABLES, TABLE)),
    *(f"GET /v1/{{prefix}}{path}" for path in (VIEWS, VIEW)),
    *(f"HEAD /v1/{{prefix}}{path}" for path in (NAMESPACE, TABLE, VIEW)),
    f"POST /v1/{{prefix}}{_METRICS}",
    *(f"{method} /v1/{{prefix}}{path}" for method, path, _ in ROUTES),
)
"""What the server offers, as clients read it."""
