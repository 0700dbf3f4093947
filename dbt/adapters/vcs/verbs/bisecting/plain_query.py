"""Plain queries on one table, which this process answers from its files, without Spark."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import pyarrow as pa

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Block, RelationName, TableEntry
from dbt.adapters.vcs.rows.limits import LIMITS
from dbt.adapters.vcs.statements.syntax.lexer import Token, tokenize
from dbt.adapters.vcs.statements.syntax.query import Query
from dbt.adapters.vcs.statements.syntax.relations import is_name
from dbt.adapters.vcs.verbs.bisecting.condition import Kind as ConditionKind
from dbt.adapters.vcs.verbs.bisecting.versions_read import VersionsRead

_COUNT: Final = re.compile(r"count \( [*1] \) ([<>=! ]+) ([0-9]{1,18})( as)?( \w+)?", re.ASCII)
_COMPARED: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "=": operator.eq,
    "==": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class ScannedTable(Protocol):
    """A version of a table whose rows this process can read."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns.

        Raises:
            InputError: A column has a type that Arrow lacks.
        """

    @property
    def blocks(self) -> Iterable[Block]:
        """The files in which rows may pass its filter."""

    def scan(
        self, columns: Sequence[str] | None = None, filter: str | None = None
    ) -> ScannedTable:
        """Return it with fewer columns and rows.

        Raises:
            InputError: It can't be read so without an engine.
        """

    def count(self) -> int:
        """Return the number of rows."""

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows; no batch is empty."""


OpenTable = Callable[[RelationName, CommitId], ScannedTable]
"""Opens a table as a commit shows it."""


class PlainQuery(NamedTuple):
    """`select <columns> from t [where c]`, or `select count(*) = 0 from t [where c]`.

    Attributes:
        columns: The columns; empty for all.
        where: The condition, as written; None for none.
        compared: The operator and the number that the count is compared with; None for rows.
    """

    columns: tuple[str, ...]
    where: str | None
    compared: tuple[str, int] | None


def plain_query(query: Query) -> PlainQuery | None:
    """Return a query as a plain one; None if it is more than that."""
    if len(query.reads) != 1 or query.files or query.diffs or query.reads[0].at is not None:
        return None
    before, after = _around(query)
    if before[0].word != "select" or before[-1].word != "from":
        return None
    if after and after[0].word != "where":
        return None
    where = query.text[after[0].end : after[-1].end] if after else None
    compared = _compared(before[1:-1])
    columns = () if compared is not None else _columns(before[1:-1])
    return None if columns is None else PlainQuery(columns, where, compared)


def _around(query: Query) -> tuple[list[Token], list[Token]]:
    """Return the tokens before and after the one relation of a query."""
    (read,) = query.reads
    tokens = tokenize(query.text)[:-1]
    return (
        [token for token in tokens if token.end <= read.start],
        [token for token in tokens if token.start >= read.end],
    )


def plain_answer(
    plain: PlainQuery, kind: ConditionKind, read: VersionsRead, commit: CommitId, open_: OpenTable
) -> bool | None:
    """Return whether a commit is good; None if an engine has to tell.

    Raises:
        DamagedError: A file of the table is damaged.
        NotFoundError: A file of the table is gone.
    """
    if len(read.entries) != 1 or not isinstance(read.entries[0][1], TableEntry):
        return None
    ((name, _),) = read.entries
    table = _scanned(plain, kind, open_(name, commit))
    if table is None:
        return None
    if plain.compared is None:
        return next(table.to_batches(), None) is None
    sign, number = plain.compared
    return _COMPARED[sign](table.count(), number)


def _scanned(plain: PlainQuery, kind: ConditionKind, table: ScannedTable) -> ScannedTable | None:
    """Return what a query reads; None if this process can't read it, or not in a short time."""
    if plain.compared is not None and kind == "failures":
        return None
    try:
        found = table.scan(list(plain.columns) or None, plain.where)
        types = [] if plain.compared is not None else found.schema.types
    except InputError:
        return None
    if kind != "failures" and types == [pa.bool_()]:
        return None
    if plain.compared is not None and plain.where is None:
        return found
    return found if sum(block.rows for block in found.blocks) <= LIMITS.rows else None


def _compared(tokens: Sequence[Token]) -> tuple[str, int] | None:
    """Return the comparison of `count(*) <> 0 [as name]`, None if tokens are anything else."""
    found = _COUNT.fullmatch(" ".join(token.word for token in tokens))
    sign = found[1].replace(" ", "") if found is not None else ""
    return (sign, int(found[2])) if found is not None and sign in _COMPARED else None


def _columns(tokens: Sequence[Token]) -> tuple[str, ...] | None:
    if [token.word for token in tokens] == ["*"]:
        return ()
    names, commas = tokens[::2], tokens[1::2]
    if len(tokens) % 2 == 0 or any(token.word != "," for token in commas):
        return None
    return tuple(token.text for token in names) if all(map(is_name, names)) else None
