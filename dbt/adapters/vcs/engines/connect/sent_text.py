"""Statements as they are sent: a branch's names replaced, by position, by a session's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from dbt.adapters.vcs.sql.syntax.calls import calls_of
from dbt.adapters.vcs.sql.syntax.lexer import Token, tokenize
from dbt.adapters.vcs.sql.syntax.names import CATALOG, Name, Reference
from dbt.adapters.vcs.sql.syntax.query import (
    Edit,
    edited,
    longer_names,
    renames,
    shortened,
)

Lookup = Callable[[Name], "str | None"]
"""Returns the name to send in the place of one in a text, as SQL; None to leave it."""

_SETS = frozenset({"select", "union", "intersect", "except", "minus", "setminus"})


def rewritten(text: str, reads: Iterable[Reference], relation: Lookup, function: Lookup) -> str:
    """Return a text with the names of relations and functions replaced.

    A relation without an alias keeps its name as one, so that `name.column`, `name.*` and
    `schema.name.column` stay valid.

    Args:
        text: The text.
        reads: The places of relations in it.
        relation: Looks up a relation.
        function: Looks up a function.
    """
    found = {read: relation(read.name) for read in reads}
    new = {read: name for read, name in found.items() if name is not None}
    edits = _renames(text, new)
    for call in calls_of(text):
        name = function(call.name)
        if name is not None:
            edits.append(Edit(call.start, call.end, name))
    return edited(text, edits)


def _renames(text: str, new: dict[Reference, str]) -> list[Edit]:
    twins = _twins(text, list(new))
    alike = {read: name for read, name in new.items() if _key(read) in twins and not read.aliased}
    if not alike:
        return renames(new, text)
    # Two relations of one name in one `from`: their columns are told apart by their schemas.
    edits = renames({read: name for read, name in new.items() if read not in alike}, text)
    names: dict[tuple[str, ...], str] = {}
    for read, name in alike.items():
        alias = f"{read.name.schema}.{read.name.identifier}"
        edits += renames({replace(read, name=Name(schema=None, identifier=alias)): name})
        parts = (CATALOG, read.name.schema or "", read.name.identifier)
        names |= dict.fromkeys(longer_names(parts), alias)
    return [*edits, *shortened(text, names)]


def _twins(text: str, reads: Sequence[Reference]) -> set[str]:
    """Return the names, in lower case, that two relations of one `from` clause share."""
    plain = sorted((read for read in reads if not read.aliased), key=lambda read: read.start)
    pairs = [
        (one, other)
        for one, other in combinations(plain, 2)
        if _key(one) == _key(other) and _schema(one) != _schema(other)
    ]
    tokens = tokenize(text) if pairs else []
    return {_key(one) for one, two in pairs if _is_one_clause(tokens, one.end, two.start)}


def _is_one_clause(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Return whether nothing between two places begins another query at their level."""
    depth = 0
    for token in tokens:
        if start <= token.start < end:
            depth += {"(": 1, ")": -1}.get(token.word, 0)
            if depth < 0 or (depth == 0 and token.word in _SETS):
                return False
    return depth == 0


def _key(read: Reference) -> str:
    return read.name.identifier.lower()


def _schema(read: Reference) -> str:
    return (read.name.schema or "").lower()
