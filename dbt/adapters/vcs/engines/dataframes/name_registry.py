"""Names in a session: what those of a branch mean, a user's own, and texts with them replaced.

The catalog of a server, or of a session that somebody else made, is its owners'. So nothing of a
branch is in it: a session makes temporary views of what a statement names, under names made from
the contents.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Final

from dbt.adapters.vcs.core.model import Function, RelationName
from dbt.adapters.vcs.engines.port import TableMount, TemporaryDefinition
from dbt.adapters.vcs.sql.syntax.lexer import Edit, Token, edited, tokenize
from dbt.adapters.vcs.sql.syntax.mentions import calls_of
from dbt.adapters.vcs.sql.syntax.names import CATALOG, Name, Reference
from dbt.adapters.vcs.sql.syntax.parser import longer_names, renames, shortened
from dbt.adapters.vcs.table.quoting import quoted, quoted_relation

PREFIX: Final = "__vcs_"
"""Prefix of all names that a session makes."""

_MISSING: Final = f"{PREFIX}none_"
# What a session's names look like in a message: `v` for versions, `q` queries, `f` files, `x` and
# `p` functions.
_MADE: Final = re.compile(rf"(?:`{CATALOG}`\.)?(`?)({PREFIX}[vqfxp]_\w+)\1")


@dataclass(frozen=True, slots=True)
class MountedView:
    """A query under a name; `columns` overrides its names and comments."""

    text: str
    columns: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class MountedFiles:
    """Files that are not versioned, listed anew in each edition."""

    location: str
    format: str
    options: tuple[tuple[str, str], ...]
    edition: int


@dataclass(frozen=True, slots=True)
class MountedFunction:
    """A function; `id` identifies its version and those of everything that it needs."""

    id: str
    function: Function


Mounted = TableMount | MountedView | MountedFiles


@dataclass(slots=True)
class NameRegistry:
    """The names that all sessions of an engine share. Safe to use from several threads.

    Attributes:
        relations: The relations of the branch, and files, by name.
        versions: Versions mounted under names of their own, by the end of that name.
        tag: The end of all names that sessions make; engines that share a session differ in it.
    """

    relations: dict[RelationName, Mounted] = field(default_factory=dict)
    functions: dict[RelationName, MountedFunction] = field(default_factory=dict)
    versions: dict[str, TableMount] = field(default_factory=dict)
    tag: str = ""
    _labels: dict[str, RelationName] = field(default_factory=dict)
    _editions: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def own(self, end: str) -> str:
        """Return the name that a session makes for something."""
        return f"{PREFIX}{end}{self.tag}"

    def edition(self) -> int:
        """Return a number that no other listing of files has."""
        with self._lock:
            self._editions += 1
            return self._editions

    def label(self, made: str, name: RelationName) -> None:
        """Remember which name of the branch a session's own name stands for."""
        self._labels[made] = name

    def own_words(self, message: str) -> str:
        """Return a message with the branch's names in the place of sessions' own."""

        def own(found: re.Match[str]) -> str:
            name = self._labels.get(found[2])
            if name is None:
                return found[0]
            return quoted_relation(name) if found[1] else str(name)

        message = message.replace(f"`{CATALOG}`.`{_MISSING}", f"`{_MISSING}")
        return _MADE.sub(own, message).replace(_MISSING, "")


def missing(name: RelationName) -> str:
    """Return a name that nothing has, as SQL, for a relation that the branch lacks.

    The catalog's own relation of that name must not be read in its place.
    """
    return f"{quoted(_MISSING + name.schema)}.{quoted(name.identifier)}"


_INTERNAL: Final = PREFIX[:-1]


@dataclass(slots=True)
class Recorded:
    """A view or function made by SQL.

    Attributes:
        definition: Its text as its author wrote it.
        statement: Returns the statement that makes it, given its text as it is sent.
        sent: The text as it was sent last.
    """

    definition: TemporaryDefinition
    statement: Callable[[str], str]
    sent: str


class OwnTemporaries:
    """Knows the temporary names of one session.

    The server is asked for the names again after each statement that may have changed them. It
    doesn't tell what they were made of, so definitions are kept here.
    """

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._lock = threading.RLock()
        self._views: frozenset[str] | None = None
        self._functions: frozenset[str] | None = None
        self.mounted: set[str] = set()
        self.recorded_views: dict[str, Recorded] = {}
        self.recorded_functions: dict[str, Recorded] = {}

    def forget(self) -> None:
        """Ask the server again, since anything may have been made or dropped."""
        with self._lock:
            self._views = self._functions = None

    def temporary_views(self) -> frozenset[str]:
        """Return the names of views, lower case, without those that serve statements."""
        with self._lock:
            if self._views is None:
                rows = self._spark.sql("show views").collect()
                names = {row.viewName.lower() for row in rows if row.isTemporary}
                self._views = frozenset(name for name in names if not name.startswith(_INTERNAL))
                self._drop_others(self.recorded_views, self._views)
            return self._views

    def temporary_functions(self) -> frozenset[str]:
        """Return the names of functions, lower case."""
        with self._lock:
            if self._functions is None:
                # In backticks, as `user` is a word of its own to Spark.
                rows = self._spark.sql("show `user` functions").collect()
                names = {row[0].lower() for row in rows}
                self._functions = frozenset(
                    name for name in names if "." not in name and not name.startswith(_INTERNAL)
                )
                self._drop_others(self.recorded_functions, self._functions)
            return self._functions

    def temporary_view(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a view; None if there is none or it was not made by SQL."""
        found = self.recorded_views.get(name) if name in self.temporary_views() else None
        return None if found is None else found.definition

    def temporary_function(self, name: str) -> TemporaryDefinition | None:
        """Return the definition of a function; None if there is none."""
        is_known = name in self.temporary_functions()
        found = self.recorded_functions.get(name) if is_known else None
        return None if found is None else found.definition

    @staticmethod
    def _drop_others(recorded: dict[str, Recorded], names: frozenset[str]) -> None:
        for name in recorded.keys() - names:
            # Dropped, or replaced by something that was not made by SQL.
            del recorded[name]


Lookup = Callable[[Name], "str | None"]
"""Returns the name to send in the place of one in a text, as SQL; None to leave it."""

_SETS = frozenset({"select", "union", "intersect", "except", "minus", "setminus"})


def rewritten(text: str, reads: Iterable[Reference], relation: Lookup, function: Lookup) -> str:
    """Return a text with the names of relations and functions replaced.

    A relation without an alias keeps its name as one, so that `name.column`, `name.*` and
    `schema.name.column` stay valid.

    Args:
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
    # Two relations of one name need aliases that differ, or `orders.id` would be ambiguous.
    twins = _twins(text, list(new))
    alike = {read: name for read, name in new.items() if _key(read) in twins and not read.aliased}
    if not alike:
        return renames(new, text)
    # Two relations of one name in one `from`: their columns are told apart by their schemas.
    edits = renames({read: name for read, name in new.items() if read not in alike}, text)
    names: dict[tuple[str, ...], str] = {}
    for read, name in alike.items():
        alias = f"{read.name.schema}.{read.name.identifier}"
        edits += renames({replace(read, name=Name(schema=None, identifier=alias)): name}, text)
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
