"""Pins: the versions of tables that a text names, instead of what the branch shows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.history.revision import parse_moment
from dbt.adapters.vcs.core.ids import Micros, micros_of
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.tableversions import TableVersion, find_version, find_version_at
from dbt.adapters.vcs.engines.port import Session
from dbt.adapters.vcs.statements.parser import parse
from dbt.adapters.vcs.statements.syntax.excerpts import excerpt
from dbt.adapters.vcs.statements.syntax.lexer import tokenize
from dbt.adapters.vcs.statements.syntax.names import At
from dbt.adapters.vcs.statements.syntax.query import Query, query_of
from dbt.adapters.vcs.worktree.overlay import Overlay

S = TypeVar("S")

_ZONE = "spark.sql.session.timeZone"


def pinned(
    overlay: Overlay, engine: Callable[[], Session], relation: RelationName, at: At
) -> TableVersion:
    """Return the version of a table that a text asks for.

    A time without an offset is meant in the session's time zone, as in Spark; only for that an
    engine is needed.

    Raises:
        NotFoundError: There is none; the message names near matches.
        InputError: The text means several, or is no time.
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


def moment_of(text: str, now: Micros, zone: Callable[[], str]) -> Micros:
    """Return the instant of a date or time, or of `<n> <unit>s ago`, in a time zone.

    Raises:
        InputError: It is none of these, or the zone is needed and not known.
    """
    try:
        local = datetime.fromisoformat(text.strip())
    except ValueError:
        local = None
    if local is not None and local.tzinfo is None:
        return micros_of(local.replace(tzinfo=zone_named(zone())))
    moment = parse_moment(text, now)
    if moment is None:
        raise InputError(
            f"{text!r} is no time. Write for example '2026-11-20', '2026-11-20 12:00:00', "
            "'2026-11-20 12:00:00+01:00' or '2 hours ago'."
        )
    return moment


def zone_named(zone: str) -> ZoneInfo:
    """Return the time zone of a session.

    Raises:
        InputError: It is not known here.
    """
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InputError(
            f"A time without an offset is meant in the session's time zone, and {zone!r} is none "
            "that is known here. Write the offset behind the time: '2026-11-20 12:00:00+00:00'."
        ) from error


@lru_cache(maxsize=1_024)
def query_of_view(text: str) -> Query:
    """Return the query that a view's text is."""
    return reparsed(Query, text)


@lru_cache(maxsize=1_024)
def query_of_body(text: str) -> Query:
    """Return what the text of a SQL function reads, whether it is a query or an expression."""
    return query_of(text, tokenize(text)[:-1])


def reparsed(kind: type[S], text: str) -> S:
    """Return the statement of a text that was edited; it is of the kind that it was before.

    Raises:
        InputError: It is not any more.
    """
    statement = parse(text)
    if not isinstance(statement, kind):
        raise InputError(
            f"The versions that this statement names could not be put into it: "
            f"{excerpt(text, 200)}. Read the version in a subquery: (select * from t "
            "version as of '...') as t."
        )
    return statement
