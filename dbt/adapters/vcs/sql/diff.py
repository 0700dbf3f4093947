"""Diffs in SQL: `snapshot diff ...`, and `snapshot_diff(...)` in a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args

import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.diffs.matched_columns import column_changes
from dbt.adapters.vcs.changes.diffs.three_way import ThreeWay
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Input
from dbt.adapters.vcs.engines.port import VersionReader
from dbt.adapters.vcs.engines.row_sessions import is_for_spark
from dbt.adapters.vcs.sql.syntax.clauses import (
    Clauses,
    read_clauses,
    read_names,
    read_table_at,
    read_where,
)
from dbt.adapters.vcs.sql.syntax.conditions import check_condition, where_clause
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.diff_call import DiffOutput, DiffReference, DiffShape
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token, decode, tokenize
from dbt.adapters.vcs.sql.syntax.names import TableAt
from dbt.adapters.vcs.sql.syntax.parser import Statement, reads
from dbt.adapters.vcs.table.limits import LIMITS
from dbt.adapters.vcs.workspace.increments import check_reader
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.points import (
    TableText,
    find_points,
    without_merge_base,
    zone_of,
)
from dbt.adapters.vcs.workspace.statement_scope import (
    ArrowRows,
    Outcome,
    Scope,
    are_plain,
    handles,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDiff(Statement):
    """`snapshot diff a{...} and b{...} ...`: the changes from one version to another.

    Attributes:
        columns: The columns to compare; empty for all.
        where: SQL text of a condition on the rows of the shape, or None.
        output: The rows, or what to report about them instead.
        limit: The maximum number of rows; None for all.
    """

    before: TableAt
    after: TableAt
    columns: tuple[str, ...] = ()
    where: str | None = None
    shape: DiffShape = "signed"
    output: DiffOutput = "rows"
    limit: int | None = None


@reads("snapshot diff")
def _read_diff(cursor: TokenCursor) -> SnapshotDiff:
    before = read_table_at(cursor)
    cursor.expect("and")
    after = read_table_at(cursor)
    return SnapshotDiff(before=before, after=after, **read_clauses(cursor, _CLAUSES))


def _columns(cursor: TokenCursor) -> tuple[str, ...] | None:
    return read_names(cursor) if cursor.take("columns") else None


def _shape(cursor: TokenCursor) -> str | None:
    if not cursor.take("as"):
        return None
    return cursor.take_any(*get_args(DiffShape)) or cursor.fail(
        "wide, signed, changes or three_way"
    )


def _output(cursor: TokenCursor) -> str | None:
    if not cursor.take("output"):
        return None
    return cursor.take_any(*get_args(DiffOutput)) or cursor.fail("rows, count, summary or schema")


def _row_limit(cursor: TokenCursor) -> int | None:
    if not cursor.take("limit"):
        return None
    if not cursor.token.word.isdigit():
        cursor.fail("a whole number of rows")
    cursor.index += 1
    return int(cursor.last.text)


_CLAUSES: Final[Clauses] = {
    "columns": _columns,
    "where": read_where,
    "shape": _shape,
    "output": _output,
    "limit": _row_limit,
}


_ALONE: Final = "__vcs_diff"


@handles(SnapshotDiff)
def snapshot_diff(scope: Scope, statement: SnapshotDiff) -> Outcome:
    """Compare two versions of tables.

    The result is the rows in the shape asked for; or `count`, their number; or `added`,
    `removed` and `modified`, numbers of changes; or `kind`, `column`, `before`, `after` of
    each schema difference.

    Raises:
        NotFoundError: There is no such version; the message names similar ones.
        InputError: One version is a view, or there is no such column.
        UnsupportedError: A column has types that can't be compared.
    """
    difference = _difference(
        scope, statement.before, statement.after, statement.columns, statement.shape
    )
    match statement.output:
        case "schema":
            names = ("kind", "column", "before", "after")
            changes = (
                column_changes(difference.ours, difference.theirs)
                if isinstance(difference, ThreeWay)
                else column_changes(difference.before, difference.after)
            )
            columns = {name: [getattr(item, name) for item in changes] for name in names}
            # Without a difference there are no values to tell types from.
            table = pa.table(columns, pa.schema([(name, pa.string()) for name in names]))
            return Outcome(rows=ArrowRows(table))
        case "summary":
            return _summary(scope, difference, statement)
        case "count":
            return _count(scope, difference, statement)
    return _rows(scope, difference, statement)


def _rows(scope: Scope, difference: Difference | ThreeWay, statement: SnapshotDiff) -> Outcome:
    # No engine is started for rows that are here and that all readers interpret alike.
    rows = _compared(scope, difference, statement.limit if statement.where is None else None)
    if statement.where is None and isinstance(rows, pa.Table) and are_plain(rows):
        return Outcome(rows=ArrowRows(rows.slice(0, statement.limit)))
    relation = difference.mounted(scope.session, rows, name=_ALONE)
    text = filtered(relation, statement.where)
    return Outcome(rows=scope.session.query(f"select * from {text}{_limit(statement)}"))


def _compared(
    scope: Scope, difference: Difference | ThreeWay, limit: int | None
) -> pa.Table | str:
    """Return the rows if they can be compared without the engine, else a query for it.

    With a limit, at least so many of the rows are returned.
    """
    if difference.is_small():
        return difference.table()
    computed = difference.computed()
    if limit is not None and limit <= LIMITS.rows and not is_for_spark(computed.fields):
        return pa.concat_tables([computed.schema.empty_table(), *computed.parts(limit)])
    return difference.by_engine(scope.session)


def _summary(scope: Scope, difference: Difference | ThreeWay, statement: SnapshotDiff) -> Outcome:
    if isinstance(difference, ThreeWay):
        raise InputError(
            "`output summary` counts what differs between two versions; three_way compares both "
            "with a third. Leave one of them out, or write `output count`."
        )
    if statement.where is not None and statement.shape != "wide":
        raise InputError(
            "`output summary` counts changes, and `where` selects rows of a shape; only `wide` "
            "has one row per changed row. Write `as wide`, and a condition on diff_type, "
            "from_<column> and to_<column>."
        )

    if statement.where is None and statement.limit is None:
        counts = difference.counts(scope.engine)
        return Outcome(
            rows=ArrowRows(pa.table({name: [count] for name, count in counts._asdict().items()}))
        )
    wide = replace(difference, shape="wide")
    relation = wide.relation(scope.session, name=_ALONE)
    kinds = ("added", "removed", "modified")
    counted = ", ".join(f"count_if(diff_type = '{kind}') {kind}" for kind in kinds)
    return _count_outcome(scope, relation, statement, counted)


def _count(scope: Scope, difference: Difference | ThreeWay, statement: SnapshotDiff) -> Outcome:
    computed, is_small = difference.computed(), difference.is_small()
    # A condition is in Spark's SQL.
    if statement.where is not None or (not is_small and is_for_spark(computed.fields)):
        relation = difference.relation(scope.session, name=_ALONE)
        return _count_outcome(scope, relation, statement, "count(*) as `count`")
    count = int(difference.table().num_rows) if is_small else computed.count
    count = count if statement.limit is None else min(count, statement.limit)
    return Outcome(rows=ArrowRows(pa.table({"count": [count]})))


def _count_outcome(scope: Scope, relation: str, statement: SnapshotDiff, counted: str) -> Outcome:
    text = filtered(relation, statement.where)
    if statement.limit is not None:
        text = f"(select * from {text}{_limit(statement)})"
    return Outcome(rows=scope.session.query(f"select {counted} from {text}"))


def diff_relations(
    scope: Scope, diffs: Iterable[DiffReference], *, keep: bool
) -> dict[DiffReference, str]:
    """Make the diffs of a text readable; return the relations that replace them.

    Both versions of each are recorded as inputs. `keep` leaves the relations readable for
    later statements of the session.

    Raises:
        NotFoundError: There is no such version; the message names similar ones.
        InputError: One version is a view, there is no such column, or the table that a diff is for
            has consumed another version.
        UnsupportedError: A column has types that can't be compared.
    """
    found: dict[DiffReference, str] = {}
    for number, item in enumerate(diffs):
        # Decision 32: the rows are right only if the table accounts for the first version.
        check_reader(scope.overlay, item, scope.zone)
        difference = _difference(scope, item.before, item.after, item.columns, item.shape)
        names = named_columns(scope.text, item.where or "")
        if names is not None and isinstance(difference, Difference):
            # The shape `wide` has each column twice, under these prefixes.
            prefixes = ("", "from_", "to_")
            shown = frozenset(name.removeprefix(prefix) for name in names for prefix in prefixes)
            difference = replace(difference, shown=shown)
        # A name of this kind is replaced by the next statement that reads a difference. What is
        # kept needs one that stays.
        name = None if keep else f"__vcs_diff_{number}"
        found[item] = filtered(difference.relation(scope.session, name=name), item.where)
    return found


def _difference(
    scope: Scope,
    before: TableAt | None,
    after: TableAt,
    columns: tuple[str, ...],
    shape: DiffShape,
) -> Difference | ThreeWay:
    for side in (before, after):
        if side is not None and scope.is_temporary(side.name):
            raise InputError(
                f"{side.name} is a temporary view, which has no versions. Compare the tables that "
                "it reads."
            )
    old, new = (side and TableText(scope.name(side.name), side.at) for side in (before, after))
    # Only the first version may be missing, which the line above hides from the type checker.
    assert new is not None
    difference, inputs = find_difference(scope.overlay, old, new, columns, shape, scope.zone)
    for read in inputs:
        scope.note(read)
    return difference


def _limit(statement: SnapshotDiff) -> str:
    return "" if statement.limit is None else f" limit {statement.limit}"


_ALL_OF: Final = frozenset(
    {"natural", "pivot", "unpivot", "transform", "identifier", "execute", "map", "reduce"}
)
"""Words that may read columns which the text doesn't name."""


_BEFORE_A_TARGET: Final = frozenset({"create", "replace", "external", "into", "overwrite"})
"""Words before `table` where no query follows it."""


_BEFORE_A_STAR: Final = frozenset({"select", "distinct", "all", ",", ".", "("})


_REGEX: Final = re.compile(r"[^\w $#@/:-]")


def named_columns(*texts: str) -> frozenset[str] | None:
    """Return the words of texts in lower case; None if they may read columns without naming them.

    A column that isn't among the words can be left out of a relation without changing what the
    texts mean. `count(*)` names none; any other star, and what isn't a plain `select`, all.
    """
    found: set[str] = set()
    queries = 0
    for text in texts:
        tokens = tokenize(text)
        words = [token.word for token in tokens]
        queries += words.count("select")
        for index, token in enumerate(tokens):
            if token.word in _ALL_OF or _is_all(words, index) or _is_pattern(token):
                return None
            if token.kind is Kind.STRING:
                # With ANSI's quotes, this is a name.
                found.add(decode(token.text).lower())
            else:
                found.add(token.text.lower())
    return frozenset(found) if queries else None


def _is_all(words: Sequence[str], index: int) -> bool:
    """Return whether a word reads all columns: a star, `table t`, a pipe after a relation."""
    if words[index] == "|":
        return words[index + 1] == ">"
    if words[index] == "table":
        return words[index - 1] not in _BEFORE_A_TARGET
    if words[index] != "*" or words[index - 1] not in _BEFORE_A_STAR:
        return False
    return words[index - 2 : index + 2] != ["count", "(", "*", ")"]


def _is_pattern(token: Token) -> bool:
    """Return whether a name in backquotes could be a pattern of names, which Spark may allow."""
    return token.kind is Kind.QUOTED and _REGEX.search(token.text) is not None


def find_difference(
    overlay: Overlay,
    before: TableText | None,
    after: TableText,
    columns: tuple[str, ...],
    shape: DiffShape,
    zone: Callable[[], str],
) -> tuple[Difference | ThreeWay, tuple[Input, ...]]:
    """Return the difference of two versions, seen from a branch, and the versions as inputs.

    None is a table without rows. A three-way difference finds the base itself: there
    `s.t@main...` means main's version.

    Raises:
        NotFoundError: There is no such table or version; the message names near matches.
        InputError: One is a view; or, in a three-way difference, one doesn't exist or there is no
            common base.
    """
    if shape == "three_way" and before is not None:
        before, after = without_merge_base(before), without_merge_base(after)
    points = old, new = find_points(overlay, before, after, zone)
    inputs = tuple(read for point in points if (read := point.input()))
    if shape == "three_way":
        return ThreeWay.of(overlay.repository, old.id, new.id, columns), inputs
    difference = Difference(
        repository=overlay.repository,
        before=old.snapshot(overlay),
        after=new.snapshot(overlay),
        columns=columns,
        shape=shape,
    )
    return difference, inputs


def diff_in_view(
    overlay: Overlay, session: VersionReader, item: DiffReference
) -> tuple[str, tuple[Input, ...]]:
    """Return the relation for a difference in a view's text, and the versions it compares.

    All sessions read a view, so nothing it reads may belong to a single session.

    Raises:
        InputError: A table is named without its schema, or as for any difference.
    """
    check_in_view(item)
    old, new = (
        side and TableText(side.name.relation(""), side.at) for side in (item.before, item.after)
    )
    assert new is not None
    difference, inputs = find_difference(
        overlay, old, new, item.columns, item.shape, lambda: zone_of(session)
    )
    return filtered(f"({difference.by_engine(session)})", item.where), inputs


def check_in_view(item: DiffReference) -> None:
    """Check that a difference in a view means the same in every schema and is for no table.

    Raises:
        InputError: A table is named without its schema, or the difference is for a table.
    """
    if item.reader is not None:
        raise InputError(
            f"Expected snapshot_diff(...) without a reader in a view, found reader => "
            f"'{item.reader}'. A view is not built, so it consumes nothing: leave it out."
        )
    for side in (item.before, item.after):
        name = None if side is None else side.name
        if name is not None and name.schema is None:
            raise InputError(
                f"Expected snapshot_diff('schema.table...', ...) in a view, found '{name}' "
                "without a schema. Write it: a view may be read from any schema."
            )


def filtered(relation: str, where: str | None) -> str:
    """Return SQL for the rows of a relation that meet a condition; all rows without one.

    Raises:
        InputError: The condition is not a valid condition.
    """
    if where is None:
        return relation
    # A text from a literal could close the parenthesis that it is put into.
    check_condition(where, "The condition of a difference")
    return f"(select * from {relation} {where_clause(where)})"
