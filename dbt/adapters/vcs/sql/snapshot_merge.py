"""Merging one table into another: `snapshot merge` and `snapshot pick`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timezone, tzinfo
from typing import Any, Final, Literal, NoReturn, TypeAlias, get_args

import pyarrow as pa

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import Clash
from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import Keys, Pick
from dbt.adapters.vcs.changes.merges.table_merge import (
    Merged,
    TableMerge,
    base_of,
    key_of,
    merge_tables,
)
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Field, RelationName, Schema, Snapshot, TableEntry
from dbt.adapters.vcs.sql.syntax.clauses import (
    Clauses,
    read_clauses,
    read_snapshot_name,
    read_table_at,
    read_where,
)
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.names import At, TableAt, Target
from dbt.adapters.vcs.sql.syntax.parser import ChangingStatement, query_of_body, reads
from dbt.adapters.vcs.sql.syntax.scan import QUERY_WORDS
from dbt.adapters.vcs.sql.time_travel import settled_text
from dbt.adapters.vcs.table.exact_values import key_value
from dbt.adapters.vcs.table.python_values import python_rows, python_value
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.table.types import arrow_type
from dbt.adapters.vcs.workspace.points import find_point, zone_named
from dbt.adapters.vcs.workspace.statement_scope import ArrowRows, Outcome, Scope, handles

ConflictMode: TypeAlias = Literal["fail", "skip", "accept", "cell", "cell_skip", "cell_accept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotMerge(ChangingStatement):
    """`snapshot merge table t from s ...`: merges the changes of another table.

    Attributes:
        base: The common ancestor; None to look it up.
        mode: How to treat rows that both changed; None if not given.
        dry_run: True to report what would be done, and do nothing.
    """

    target: Target
    source: TableAt
    base: TableAt | None = None
    mode: ConflictMode | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPick(SnapshotMerge):
    """`snapshot pick table t from s ... where ... | keys ...`: the changes of some rows only.

    The rows are selected in at most one way; `between` without a selection means all changed
    rows.

    Attributes:
        source: Where the changes come from; with `between snapshot a and b` the version b of
            it.
        base: The common ancestor, or the version a with `between`; None to look it up.
        where: SQL text of a condition on the rows, or None.
        keys: SQL texts of key values, in the order of the primary key, all of the same length;
            or empty.
        query: SQL text of a query for the rows' keys, or None.
    """

    where: str | None = None
    keys: tuple[tuple[str, ...], ...] = ()
    query: str | None = None


@reads("snapshot")
def _read_snapshot(cursor: TokenCursor) -> NoReturn:
    """Refuse what follows `snapshot`; longer beginnings have readers of their own."""
    cursor.fail("`diff`, `merge` or `pick`")


@reads("snapshot merge")
def _read_merge(cursor: TokenCursor) -> SnapshotMerge:
    target, source = _read_sides(cursor)
    return SnapshotMerge(target=target, source=source, **read_clauses(cursor, _MERGE))


@reads("snapshot pick")
def _read_pick(cursor: TokenCursor) -> SnapshotPick:
    target, source = _read_sides(cursor)
    values = read_clauses(cursor, _PICK)
    between = values.pop("between", None)
    selections = [name for name in ("where", "keys") if name in values]
    if len(selections) > 1 or not (selections or between):
        raise InputError(
            "Expected either `where <condition>` or `keys (...), (...)` in `snapshot pick`, found "
            f"{'both' if selections else 'neither'}. Choose one way to select the rows."
        )
    if between is not None:
        if source.at is not None or "base" in values:
            raise InputError(
                "`between snapshot a and b` says which versions of the source are compared; leave "
                f"{'its version' if source.at is not None else '`based on`'} out."
            )
        before, after = between
        values["base"], source = TableAt(source.name, before), TableAt(source.name, after)
    if isinstance(values.get("keys"), str):
        values["query"] = values.pop("keys")
    return SnapshotPick(target=target, source=source, **values)


def _read_sides(cursor: TokenCursor) -> tuple[Target, TableAt]:
    cursor.expect("table")
    target = cursor.target()
    cursor.expect("from")
    return target, read_table_at(cursor)


def _base(cursor: TokenCursor) -> TableAt | None:
    return read_table_at(cursor) if cursor.take("based", "on") else None


def _mode(cursor: TokenCursor) -> str | None:
    if not cursor.take("when", "conflict"):
        return None
    return cursor.take_any(*get_args(ConflictMode)) or cursor.fail(
        "fail, skip, accept, cell, cell_skip or cell_accept"
    )


def _dry_run(cursor: TokenCursor) -> bool | None:
    return cursor.take("dry", "run") or None


def _between(cursor: TokenCursor) -> tuple[At, At] | None:
    if not cursor.at("between"):
        return None
    cursor.expect("between", "snapshot")
    before = read_snapshot_name(cursor)
    cursor.expect("and")
    return At(kind="version", value=before), At(kind="version", value=read_snapshot_name(cursor))


def _keys(cursor: TokenCursor) -> tuple[tuple[str, ...], ...] | str | None:
    if not cursor.take("keys"):
        return None
    # In a key, `map` and `reduce` are functions.
    if cursor.token.word == "(" and cursor.ahead().word in QUERY_WORDS - {"map", "reduce"}:
        start = cursor.token.end
        cursor.skip_group()
        if cursor.token.word == ",":
            raise InputError(
                "Expected one query or a list of keys after `keys`, found several queries. Write "
                "one query: keys (select ... union all select ...), or values: keys (1), (2)."
            )
        return cursor.text[start : cursor.last.start].strip()
    keys = cursor.bare_items(lambda: cursor.items(lambda: cursor.sql_until(lambda: False)))
    if len({len(key) for key in keys}) > 1:
        raise InputError(
            "Expected one value for each column of the primary key in every key of `keys`, found "
            "keys of different lengths. Write: keys (1, 'a'), (2, 'b')."
        )
    return keys


_MERGE: Final[Clauses] = {"base": _base, "mode": _mode, "dry_run": _dry_run}


_PICK: Final[Clauses] = {**_MERGE, "where": read_where, "keys": _keys, "between": _between}


_SHOWN = 5


# The characters of a row that an error shows: a value may have megabytes.
_LONGEST = 500


@handles(SnapshotMerge)
def snapshot_merge(scope: Scope, statement: SnapshotMerge) -> Outcome:
    """Merge the changes of another version of a table, or of a clone of it.

    The result is one row: `relation`, `mode`, `how` (up_to_date | fast_forward | graft |
    rewrite), `added`, `removed`, `modified`, `conflicts` (MatrixOne paper, section 4.3).

    Raises:
        NotFoundError: There is no such table or version.
        ConflictError: Both changed the same rows in different ways, and the mode is `fail`; or
            they declare different columns. Nothing was changed.
    """
    work = _work(scope, statement)
    return _answer(scope, work, merge_tables(scope.overlay.repository, work, scope.engine))


@handles(SnapshotPick)
def snapshot_pick(scope: Scope, statement: SnapshotPick) -> Outcome:
    """Merge the changes of chosen rows only; the result is that of `snapshot_merge`.

    If the source changed none of these rows, `how` is `nothing_picked`, a warning says so, and
    nothing is changed.

    Raises:
        NotFoundError: There is no such table or version.
        InputError: The keys don't fit the table's key, or its types don't hold a value.
        ConflictError: As for `snapshot_merge`.
    """
    work = _work(scope, statement)
    picked = picked_rows(scope, work, statement)
    # `made_by` last, since what the condition read is known only now. A pick takes a part of the
    # changes and joins nothing: a later merge must still find the rest.
    work = replace(work, only=picked, joins=False, operation="pick", origin=scope.made_by())
    found = merge_tables(scope.overlay.repository, work, scope.engine)
    if not isinstance(found, Clash) and found[1].how == "nothing_picked":
        source = scope.name(statement.source.name)
        scope.warnings.append(
            f"Nothing picked: {source} changed no such row since it forked from {work.name}, "
            f"which was not changed. See what was changed: snapshot diff {work.name} and {source}"
        )
        return _row(work, "nothing_picked", 0, 0, 0, 0)
    return _answer(scope, work, found)


def _work(scope: Scope, statement: SnapshotMerge) -> TableMerge:
    name = scope.name(statement.target.name)
    ours = scope.overlay.require_version(name)
    theirs = _version(scope, statement.source)
    override = Mode(statement.mode) if statement.mode else None
    policy = Policy(override=override)
    return TableMerge(
        name=name,
        ours=ours,
        theirs=theirs,
        mode=policy.mode_of(name, scope.overlay.snapshot(theirs)),
        based_on=_version(scope, statement.base) if statement.base else None,
        dry_run=statement.dry_run,
        origin=scope.made_by(),
    )


def _version(scope: Scope, table: TableAt) -> SnapshotId:
    name = scope.name(table.name)
    point = find_point(scope.overlay, name, table.at, scope.zone)
    read = point.input()
    if read is None or read.snapshot is None:
        raise NotFoundError(f"There is no table {name} to merge from. Check its name and version.")
    scope.note(read)
    return SnapshotId(read.snapshot)


def _answer(scope: Scope, work: TableMerge, found: tuple[SnapshotId, Merged] | Clash) -> Outcome:
    if isinstance(found, Clash):
        # Definitions that don't agree are an error in a dry run, too: no rows were counted.
        if not (work.dry_run and found.rows is not None):
            raise _error(work.name, found)
        return _row(work, "rewrite", 0, 0, 0, found.count)
    version, done = found
    if not work.dry_run and version != work.ours:
        scope.overlay.put(work.name, TableEntry(snapshot=version))
    return _row(work, done.how, done.added, done.removed, done.modified, done.conflicts)


def _row(
    work: TableMerge, how: str, added: int, removed: int, modified: int, conflicts: int
) -> Outcome:
    answer = {
        "relation": [str(work.name)],
        "mode": [str(work.mode)],
        "how": [how],
        "added": [added],
        "removed": [removed],
        "modified": [modified],
        "conflicts": [conflicts],
    }
    return Outcome(rows=ArrowRows(pa.table(answer)))


def _error(name: RelationName, clash: Clash) -> ConflictError:
    if clash.rows is None and clash.message.endswith("."):
        # What a definition forbids is told with the way out.
        return ConflictError(f"{name} can't be merged: {clash.message}")
    if clash.rows is None:
        return ConflictError(
            f"{name} can't be merged: {clash.message}. Nothing was changed. Make the definitions "
            "agree on one side (alter table), then merge again."
        )
    rows = python_rows(clash.rows.slice(0, _SHOWN))
    shown = "; ".join(_brief(str(row)) for row in rows)
    more = f" and {clash.count - len(rows)} more" if clash.count > len(rows) else ""
    return ConflictError(
        f"{name}: {clash.count} {clash.message}: {shown}{more}. Nothing was changed. Choose a "
        "side (when conflict skip | accept | cell), pick rows (snapshot pick), or merge "
        "the branches to resolve them one by one (dbt-vcs merge)."
    )


def _brief(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


# The values that one query computes: each is a column of its own.
_AT_A_TIME: Final = 200


def picked_rows(scope: Scope, work: TableMerge, statement: SnapshotPick) -> Pick:
    """Return the rows that a statement picks.

    With `where` these are the changed rows that meet the condition before or after the change.
    Everything that the condition, the keys or the query read is made readable and recorded as
    input.

    Raises:
        InputError: The keys don't fit the table's key, or a value doesn't fit its type.
    """
    if statement.where is not None:
        return Pick(keys=_by_condition(scope, work, statement))
    if statement.query is not None:
        return Pick(keys=_by_query(scope, work, statement.query))
    if statement.keys:
        return Pick(keys=_by_keys(scope, work, statement.keys))
    return Pick()


def _by_keys(scope: Scope, work: TableMerge, keys: Sequence[Sequence[str]]) -> Keys:
    columns = _telling(scope, work)
    _check_count(work, columns, len(keys[0]))
    texts = [value for key in keys for value in key]
    values: list[pa.Scalar] = []
    # The engine computes them: a key can be any expression, and its literals mean what they mean
    # in a query.
    for first in range(0, len(texts), _AT_A_TIME):
        some = enumerate(texts[first : first + _AT_A_TIME])
        # The line break keeps a comment at the end of a value from hiding the parenthesis.
        query = "select " + ", ".join(f"({text}\n) as k{number}" for number, text in some)
        values += (column[0] for column in _rows(scope, query).columns)
    by_column = [values[place :: len(columns)] for place in range(len(columns))]
    found = [_exact(scope, work, *pair) for pair in zip(columns, by_column, strict=True)]
    return list(zip(*found, strict=True))


def _by_query(scope: Scope, work: TableMerge, query: str) -> Keys:
    columns = _telling(scope, work)
    rows = _rows(scope, query)
    _check_count(work, columns, rows.num_columns)
    # Decision 25: picked keys stay arrays where they need no conversion to the column's type.
    if all(map(_is_exact, columns, rows.columns)):
        return rows
    found = [_exact(scope, work, *pair) for pair in zip(columns, rows.columns, strict=True)]
    return list(zip(*found, strict=True))


def _by_condition(scope: Scope, work: TableMerge, statement: SnapshotPick) -> Keys:
    """Return the keys of changed rows that meet a condition."""
    repository = scope.overlay.repository
    base = base_of(repository, work)
    theirs: Snapshot = scope.overlay.snapshot(work.theirs)
    difference = Difference(
        repository=repository,
        before=scope.overlay.snapshot(base) if base else None,
        after=theirs,
        shape="changes",
    )
    called = {field.id: field.name for field in theirs.schema.fields}
    names = ", ".join(quoted(called[column.id]) for column in _telling(scope, work))
    relation = difference.relation(scope.session)
    alias = quoted(statement.source.name.identifier)
    condition = query_of_body(settled_text(scope, query_of_body(statement.where or "")))
    text = f"select distinct {names} from {relation} as {alias} {where_clause(condition.text)}"
    with scope.reading(condition):
        return scope.session.query(text).arrow()


def _telling(scope: Scope, work: TableMerge) -> tuple[Field, ...]:
    """Return the columns that tell the rows of the target apart: a pick keeps its definition.

    Raises:
        InputError: The source lacks one.
    """
    columns = key_of(scope.overlay.snapshot(work.ours))
    theirs: Schema = scope.overlay.snapshot(work.theirs).schema
    # Where the source dropped one, the merge says so.
    known = [column for column in columns if column.id not in theirs.retired]
    lacking = [column.name for column in known if theirs.by_id(column.id) is None]
    if lacking:
        raise InputError(
            f"{', '.join(lacking)} tells the rows of {work.name} apart, and the version to pick "
            "from has no such column. Merge all of its changes with `snapshot merge`, or give "
            f"{work.name} a primary key of columns that both have."
        )
    return tuple(known)


def _rows(scope: Scope, text: str) -> pa.Table:
    query = query_of_body(settled_text(scope, query_of_body(text)))
    with scope.reading(query):
        return scope.session.query(query.text).arrow()


def _is_exact(column: Field, values: pa.ChunkedArray) -> bool:
    """Return whether values can be compared with a column's as they are: whole numbers."""
    type_ = arrow_type(column.type)
    return bool(pa.types.is_integer(type_) and values.type == type_ and not values.null_count)


def _exact(
    scope: Scope, work: TableMerge, column: Field, values: Sequence[pa.Scalar] | pa.ChunkedArray
) -> list[Any]:
    is_key = column.id in scope.overlay.snapshot(work.ours).primary_key
    zone = _zone(scope, column)
    found = []
    for value in values:
        if is_key and not value.is_valid:
            raise InputError(
                f"The column {column.name} is in the primary key of {work.name} and is never "
                "NULL. Leave this key out."
            )
        value = key_value(work.name, column.name, column.type, value, zone)
        found.append(python_value(value))
    return found


def _zone(scope: Scope, column: Field) -> tzinfo:
    """Return the session's time zone if the column needs it."""
    if not pa.types.is_temporal(arrow_type(column.type)):
        # Other columns don't ask the session for its setting: that may start an engine.
        return timezone.utc
    return zone_named(scope.zone())


def _check_count(work: TableMerge, columns: Sequence[Field], count: int) -> None:
    if count != len(columns):
        names = ", ".join(column.name for column in columns)
        raise InputError(
            f"A key of {work.name} needs a value for each of ({names}). Give all of them."
        )
