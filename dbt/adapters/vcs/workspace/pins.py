"""Pins: table versions that a text names, in place of what the branch shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.tableversions import TableVersion, find_version, find_version_at
from dbt.adapters.vcs.engines.port import Queries
from dbt.adapters.vcs.sql.syntax.excerpts import excerpt
from dbt.adapters.vcs.sql.syntax.lexer import tokenize
from dbt.adapters.vcs.sql.syntax.names import At
from dbt.adapters.vcs.sql.syntax.parser import parse
from dbt.adapters.vcs.sql.syntax.statement import Query, query_of
from dbt.adapters.vcs.workspace.moments import moment_of
from dbt.adapters.vcs.workspace.overlay import Overlay

S = TypeVar("S")

_ZONE = "spark.sql.session.timeZone"


def pinned(
    overlay: Overlay, engine: Callable[[], Queries], relation: RelationName, at: At
) -> TableVersion:
    """Return the version of a table that a text asks for.

    A time without an offset is in the session's time zone, as in Spark. The engine is needed
    only for that.

    Raises:
        NotFoundError: There is no such version; the message names similar ones.
        InputError: The text matches several versions, or is not a valid time.
    """
    if at.kind == "version":
        return find_version(overlay.repository, relation, at.value)
    now = overlay.repository.clock()
    return find_version_at(
        overlay.repository,
        relation,
        moment_of(at.value, now, lambda: engine().setting(_ZONE) or "UTC"),
        branch=overlay.branch,
        head=overlay.base,
    )


@lru_cache(maxsize=1_024)
def query_of_view(text: str) -> Query:
    """Parse the query of a view."""
    return reparsed(Query, text)


@lru_cache(maxsize=1_024)
def query_of_body(text: str) -> Query:
    """Parse the body of a SQL function, a query or an expression."""
    return query_of(text, tokenize(text)[:-1])


def reparsed(kind: type[S], text: str) -> S:
    """Parse a statement again after an edit of its text.

    Raises:
        InputError: The text is no longer a statement of the given kind.
    """
    statement = parse(text)
    if not isinstance(statement, kind):
        raise InputError(
            f"The versions that this statement names could not be put into it: "
            f"{excerpt(text, 200)}. Read the version in a subquery: (select * from t "
            "version as of '...') as t."
        )
    return statement
