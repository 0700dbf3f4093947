"""The catalog's API for writing: Iceberg's REST protocol, as commits on branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from anyio import CapacityLimiter
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from dbt.adapters.vcs.core.model import TableEntry, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.serve.access import bearer_of
from dbt.adapters.vcs.iceberg.serve.documents import Documents
from dbt.adapters.vcs.iceberg.serve.rest_protocol import (
    JSON,
    NAMESPACE,
    NAMESPACES,
    TABLE,
    TABLES,
    UNSUPPORTED,
    VIEW,
    VIEWS,
    Namespace,
    RestError,
    answer,
    asked_name,
    asked_namespace,
    bad_request,
    forbidden,
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

_AT_WORK: Final = 8
"""Writes whose bodies are held at once. Others wait, and reads go on meanwhile."""

WriteHandler = Callable[["WriteApi", Request, Record], Response]


class WriteApi:
    """Answers the requests of Iceberg's clients that change a branch."""

    def __init__(
        self, repository: Repository, documents: Documents, *, max_body: int = MAX_BODY
    ) -> None:
        self.repository = repository
        self.max_body = max_body
        self.at_work = CapacityLimiter(_AT_WORK)
        self.format_version = documents.maker.format_version
        self.commits = TableCommits(repository, documents)
        self.views = ViewCommits(repository, documents)

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
        client = request.headers.get("x-client-version") or request.headers.get("user-agent")
        bearer = bearer_of(request)
        writer = writer_of(self.repository, revision, bearer, client, self.format_version)
        return writer, namespace


async def answer_write(api: WriteApi, handler: WriteHandler, request: Request) -> Response:
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


def make_namespace(api: WriteApi, request: Request, body: Record) -> Response:
    """Create a schema."""
    namespace = body.get("namespace")
    if not is_texts(namespace):
        raise bad_request("Expected a list of names as namespace.")
    properties = texts_of(body, "properties")
    writer, below = api.writer(request, tuple(namespace or ()))
    create_namespace(writer, schema_name(below), properties)
    return answer({"namespace": namespace, "properties": properties})


def remove_namespace(api: WriteApi, request: Request, body: Record) -> Response:
    """Drop an empty schema."""
    writer, below = api.writer(request, asked_namespace(request))
    drop_namespace(writer, schema_name(below))
    return Response(status_code=204)


def alter_namespace(api: WriteApi, request: Request, body: Record) -> Response:
    """Set and remove properties of a schema."""
    writer, below = api.writer(request, asked_namespace(request))
    updates, removals = texts_of(body, "updates"), removals_of(body)
    return answer(change_properties(writer, schema_name(below), updates, removals))


def create_table(api: WriteApi, request: Request, body: Record) -> Response:
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


def commit_table(api: WriteApi, request: Request, body: Record) -> Response:
    """Put changes of one table on the branch, and answer with the table as it is then."""
    writer, below = api.writer(request, asked_namespace(request))
    name = asked_name(request, "table")
    head = api.commits.commit(writer, [read_commit(body, below, name)])
    made = api.commits.loaded(writer, head, relation_name(below, name))
    return Response(made.data, media_type=JSON)


def commit_transaction(api: WriteApi, request: Request, body: Record) -> Response:
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
    if len(writers) > 1:
        raise bad_request(
            f"A transaction changes one branch, and this one names {', '.join(sorted(writers))}."
        )
    api.commits.commit(next(iter(writers.values())), requests)
    return Response(status_code=204)


def create_view(api: WriteApi, request: Request, body: Record) -> Response:
    """Create a view."""
    writer, below = api.writer(request, asked_namespace(request))
    name = body.get("name")
    if not isinstance(name, str):
        raise bad_request("Expected a name of the view.")
    made = api.views.create(writer, relation_name(below, name), body)
    return Response(made.data, media_type=JSON)


def commit_view(api: WriteApi, request: Request, body: Record) -> Response:
    """Change a view."""
    writer, below = api.writer(request, asked_namespace(request))
    name = asked_name(request, "view")
    # A view's requirements are optional in the protocol, a table's are not.
    wanted = read_commit({"requirements": [], **body}, below, name)
    made = api.views.commit(writer, relation_name(below, name), wanted)
    return Response(made.data, media_type=JSON)


def drop_table(api: WriteApi, request: Request, body: Record) -> Response:
    """Drop a table; its files stay for other versions, until `dbt-vcs gc` finds them unused."""
    writer, below = api.writer(request, asked_namespace(request))
    drop_relation(writer, relation_name(below, asked_name(request, "table")), TableEntry)
    return Response(status_code=204)


def drop_view(api: WriteApi, request: Request, body: Record) -> Response:
    """Drop a view."""
    writer, below = api.writer(request, asked_namespace(request))
    drop_relation(writer, relation_name(below, asked_name(request, "view")), ViewEntry)
    return Response(status_code=204)


def rename_table(api: WriteApi, request: Request, body: Record) -> Response:
    """Rename a table."""
    return _rename(api, request, body, TableEntry)


def rename_view(api: WriteApi, request: Request, body: Record) -> Response:
    """Rename a view."""
    return _rename(api, request, body, ViewEntry)


def _rename(
    api: WriteApi, request: Request, body: Record, type_: type[TableEntry] | type[ViewEntry]
) -> Response:
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


def refuse_register(api: WriteApi, request: Request, body: Record) -> Response:
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
    ("DELETE", TABLE, drop_table),
    ("POST", "/tables/rename", rename_table),
    ("POST", "/transactions/commit", commit_transaction),
    ("POST", VIEWS, create_view),
    ("POST", VIEW, commit_view),
    ("DELETE", VIEW, drop_view),
    ("POST", "/views/rename", rename_view),
)
"""What changes a branch: method, path, and who answers."""

REFUSED: Final[tuple[tuple[str, str, WriteHandler], ...]] = (
    ("POST", f"{NAMESPACE}/register", refuse_register),
)
"""What clients may ask for, and is not offered."""
