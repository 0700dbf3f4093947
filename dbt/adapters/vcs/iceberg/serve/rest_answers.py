"""Answers and what requests ask, as the protocol writes both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dbt.adapters.vcs.iceberg.serve.bearer import Bearer
from dbt.adapters.vcs.iceberg.serve.documents import Body
from dbt.adapters.vcs.iceberg.serve.request_names import Namespace, namespace_of, page
from dbt.adapters.vcs.iceberg.serve.rest_error import RestError

N = TypeVar("N")

_JSON: Final = "application/json"
_UNREAD: Final = frozenset({408, 413})
"""Answers after which more of a body could arrive, which nobody reads."""


def answer(value: Any, status: int = 200) -> Response:
    """Return an answer with a JSON value."""
    return Response(msgspec.json.encode(value), status, media_type=_JSON)


def failure(error: RestError) -> Response:
    """Return an error as an answer."""
    response = answer(error.body, error.status)
    if error.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if error.status in _UNREAD:
        response.headers["Connection"] = "close"
    return response


def listing(name: str, items: Sequence[Any], token: str | None) -> Response:
    """Return one page of a listing."""
    return answer({name: items, "next-page-token": token})


def loaded(request: Request, body: Body) -> Response:
    """Return a body, or say that the client has it already."""
    headers = {"ETag": body.tag}
    known = request.headers.get("If-None-Match", "")
    if any(tag.strip().removeprefix("W/") in ("*", body.tag) for tag in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(body.data, media_type=_JSON, headers=headers)


def paged(
    request: Request, items: Sequence[N], text: Callable[[N], str]
) -> tuple[Sequence[N], str | None]:
    """Return the items of the page that a request asks for, and the next page's token."""
    asked = request.query_params
    return page(items, asked.get("pageToken"), asked.get("pageSize"), text)


def asked_namespace(request: Request) -> Namespace:
    """Return the namespace in a request's path."""
    return namespace_of(request.path_params["namespace"])


def asked_name(request: Request, what: str) -> str:
    """Return the name of a table or view in a request's path."""
    return unquote(request.path_params[what])


def bearer_of(request: Request) -> Bearer:
    """Return who sent a request."""
    found = request.scope["bearer"]
    assert isinstance(found, Bearer)
    return found
