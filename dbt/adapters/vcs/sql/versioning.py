"""Snapshots, merges, differences and restored tables: values and readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.syntax.clauses import (
    read_if_exists,
    read_if_not_exists,
    read_names,
)
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.diff_call import DiffShape
from dbt.adapters.vcs.sql.syntax.excerpts import excerpt
from dbt.adapters.vcs.sql.syntax.expressions import read_expression
from dbt.adapters.vcs.sql.syntax.lexer import Kind
from dbt.adapters.vcs.sql.syntax.names import At, TableAt, Target
from dbt.adapters.vcs.sql.syntax.parser import reads
from dbt.adapters.vcs.sql.syntax.relations import is_name
from dbt.adapters.vcs.sql.syntax.scan import QUERY_WORDS
from dbt.adapters.vcs.sql.syntax.statement import Statement

ConflictMode: TypeAlias = Literal["fail", "skip", "accept", "cell", "cell_skip", "cell_accept"]
DiffOutput: TypeAlias = Literal["rows", "count", "summary", "schema"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSnapshot(Statement):
    """`create snapshot [if not exists] s for table t [as of ...]`: a name for a version.

    Attributes:
        name: The snapshot's name.
        table: The table and the version to name; None for the branch's own.
        if_not_exists: True with that clause.
    """

    changes = True

    name: str
    table: TableAt
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSnapshot(Statement):
    """`drop snapshot [if exists] s for table t`."""

    changes = True

    name: str
    target: Target
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSnapshots(Statement):
    """`show snapshots [for table t | in s]`; at most one of the two is given."""

    target: Target | None = None
    schema: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDiff(Statement):
    """`snapshot diff a{...} and b{...} ...`: the changes from one version to another.

    Attributes:
        before: The first version.
        after: The second version.
        columns: The columns to compare; empty for all.
        where: SQL text of a condition on the rows of the shape, or None.
        shape: How rows represent changes.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotMerge(Statement):
    """`snapshot merge table t from s ...`: merges the changes of another table.

    Attributes:
        target: The table.
        source: Where the changes come from.
        base: The common ancestor; None to look it up.
        mode: How to treat rows that both changed; None if not given.
        dry_run: True to report what would be done, and do nothing.
    """

    changes = True

    target: Target
    source: TableAt
    base: TableAt | None = None
    mode: ConflictMode | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPick(Statement):
    """`snapshot pick table t from s ... where ... | keys ...`: the changes of some rows only.

    The rows are selected in at most one way; `between` without a selection means all changed
    rows.

    Attributes:
        target: The table.
        source: Where the changes come from; with `between snapshot a and b` the version b of
            it.
        base: The common ancestor, or the version a with `between`; None to look it up.
        where: SQL text of a condition on the rows, or None.
        keys: SQL texts of key values, in the order of the primary key, all of the same length;
            or empty.
        query: SQL text of a query for the rows' keys, or None.
        mode: How to treat rows that both changed; None if not given.
        dry_run: True to report what would be done, and do nothing.
    """

    changes = True

    target: Target
    source: TableAt
    base: TableAt | None = None
    where: str | None = None
    keys: tuple[tuple[str, ...], ...] = ()
    query: str | None = None
    mode: ConflictMode | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTable(Statement):
    """`restore table t from snapshot s{...}`, or `restore table t to version as of ...`.

    Attributes:
        target: The table.
        source: The version to restore, which is always given. With `to`, it is a version of
            the table itself.
    """

    changes = True

    target: Target
    source: TableAt


@dataclass(frozen=True, slots=True, kw_only=True)
class UndropTable(Statement):
    """`undrop table t`."""

    changes = True

    target: Target


_SCHEMA_WORDS: Final = ("schema", "database", "namespace")
Clauses = dict[str, Callable[[TokenCursor], Any]]


def read_create_snapshot(cursor: TokenCursor) -> CreateSnapshot:
    """Read what follows `create snapshot`."""
    if_not_exists = read_if_not_exists(cursor)
    name = _snapshot_name(cursor)
    _expect_table(cursor)
    table = _table_at(cursor)
    if table.at is None and cursor.take("as", "of"):
        cursor.take_any("version", "snapshot")
        kind: Literal["version", "timestamp"] = (
            "timestamp" if cursor.take("timestamp") else "version"
        )
        table = TableAt(table.name, At(kind=kind, value=cursor.string()))
    cursor.end()
    return CreateSnapshot(name=name, table=table, if_not_exists=if_not_exists)


def read_drop_snapshot(cursor: TokenCursor) -> DropSnapshot:
    """Read what follows `drop snapshot`."""
    if_exists = read_if_exists(cursor)
    name = _snapshot_name(cursor)
    _expect_table(cursor)
    target = cursor.target()
    cursor.end()
    return DropSnapshot(name=name, target=target, if_exists=if_exists)


def read_show_snapshots(cursor: TokenCursor) -> ShowSnapshots:
    """Read what follows `show snapshots`."""
    if not cursor.take_any("for", "in", "from", "on"):
        return ShowSnapshots()
    if cursor.at("table") and is_name(cursor.ahead()):
        cursor.index += 1
        return ShowSnapshots(target=cursor.target())
    if cursor.token.word in _SCHEMA_WORDS and is_name(cursor.ahead()):
        cursor.index += 1
    elif cursor.last.word in ("for", "on"):
        cursor.fail("`table` and a table")
    return ShowSnapshots(schema=cursor.schema())


@reads("snapshot")
def read_snapshot(cursor: TokenCursor) -> SnapshotDiff | SnapshotMerge | SnapshotPick:
    """Read what follows `snapshot`.

    Raises:
        InputError: It isn't `diff`, `merge` or `pick`, or a clause is missing or repeated.
    """
    if cursor.take("diff"):
        before = _table_at(cursor)
        cursor.expect("and")
        after = _table_at(cursor)
        return SnapshotDiff(before=before, after=after, **_clauses(cursor, _DIFF))
    picks = cursor.take("pick")
    if not picks and not cursor.take("merge"):
        cursor.fail("`diff`, `merge` or `pick`")
    cursor.expect("table")
    target = cursor.target()
    cursor.expect("from")
    source = _table_at(cursor)
    if not picks:
        return SnapshotMerge(target=target, source=source, **_clauses(cursor, _MERGE))
    return _pick(cursor, target, source)


def _pick(cursor: TokenCursor, target: Target, source: TableAt) -> SnapshotPick:
    """Read the clauses of `snapshot pick`."""
    told = _clauses(cursor, {**_MERGE, "where": _where, "keys": _keys, "between": _between})
    between = told.pop("between", None)
    said = [name for name in ("where", "keys") if name in told]
    if len(said) > 1 or not (said or between):
        raise InputError(
            "Expected either `where <condition>` or `keys (...), (...)` in `snapshot pick`, found "
            f"{'both' if said else 'neither'}. Choose one way to select the rows."
        )
    if between is not None:
        if source.at is not None or "base" in told:
            raise InputError(
                "`between snapshot a and b` says which versions of the source are compared; leave "
                f"{'its version' if source.at is not None else '`based on`'} out."
            )
        before, after = between
        told["base"], source = TableAt(source.name, before), TableAt(source.name, after)
    if isinstance(told.get("keys"), str):
        told["query"] = told.pop("keys")
    return SnapshotPick(target=target, source=source, **told)


def _clauses(cursor: TokenCursor, readers: Clauses) -> dict[str, Any]:
    """Read clauses in any order, each at most once, to the statement's end."""
    told: dict[str, Any] = {}
    while not cursor.done:
        start = cursor.token
        values = ((name, reader(cursor)) for name, reader in readers.items())
        # The value of a clause may be 0.
        name, value = next((item for item in values if cursor.token is not start), ("", None))
        if not name:
            cursor.fail("a clause of the statement or its end")
        if name in told:
            raise InputError(
                f"Expected one clause `{start.text} ...`, found two in the statement "
                f"`{excerpt(cursor.text, 60)}`. Remove one of them."
            )
        told[name] = value
    return told


def _snapshot_name(cursor: TokenCursor) -> str:
    if cursor.token.kind is Kind.STRING:
        return cursor.string()
    return cursor.identifier("a snapshot's name")


def _expect_table(cursor: TokenCursor) -> None:
    if not (cursor.take("for", "table") or cursor.take("on", "table")):
        cursor.fail("`for table` and the snapshot's table")


def _table_at(cursor: TokenCursor) -> TableAt:
    target, at = cursor.versioned_target()
    return TableAt(target.name, at)


def _sql(cursor: TokenCursor, stop: Callable[[], bool]) -> str:
    place = read_expression(cursor, stop)
    return cursor.text[place.start : place.end]


def _columns(cursor: TokenCursor) -> tuple[str, ...] | None:
    return read_names(cursor) if cursor.take("columns") else None


def _where(cursor: TokenCursor) -> str | None:
    return _sql(cursor, lambda: _at_clause(cursor)) if cursor.take("where") else None


def _at_clause(cursor: TokenCursor) -> bool:
    """Return whether another clause begins here, which ends a condition."""
    word, following = cursor.token.word, cursor.ahead()
    if word == "between":
        return _at_between(cursor)
    if word in ("columns", "keys"):
        return following.word == "("
    if word == "limit":
        return following.kind is Kind.WORD
    return following.word in _BEHIND.get(word, ())


def _shape(cursor: TokenCursor) -> DiffShape | None:
    if cursor.take("as"):
        for shape in get_args(DiffShape):
            if cursor.take(shape):
                return shape  # type: ignore[no-any-return]
        cursor.fail("wide, signed, changes or three_way")
    return None


def _output(cursor: TokenCursor) -> str | None:
    if not cursor.take("output"):
        return None
    return cursor.take_any("rows", "count", "summary", "schema") or cursor.fail(
        "rows, count, summary or schema"
    )


def _limit(cursor: TokenCursor) -> int | None:
    if not cursor.take("limit"):
        return None
    if not cursor.token.word.isdigit():
        cursor.fail("a whole number of rows")
    cursor.index += 1
    return int(cursor.last.text)


def _base(cursor: TokenCursor) -> TableAt | None:
    return _table_at(cursor) if cursor.take("based", "on") else None


def _mode(cursor: TokenCursor) -> ConflictMode | None:
    if cursor.take("when", "conflict"):
        for mode in get_args(ConflictMode):
            if cursor.take(mode):
                return mode  # type: ignore[no-any-return]
        cursor.fail("fail, skip, accept, cell, cell_skip or cell_accept")
    return None


def _dry_run(cursor: TokenCursor) -> bool | None:
    return cursor.take("dry", "run") or None


def _between(cursor: TokenCursor) -> tuple[At, At] | None:
    if not cursor.at("between"):
        return None
    cursor.expect("between", "snapshot")
    before = _snapshot_name(cursor)
    cursor.expect("and")
    return At(kind="version", value=before), At(kind="version", value=_snapshot_name(cursor))


def _at_between(cursor: TokenCursor) -> bool:
    """Return whether `between snapshot a and b` begins here, unlike `x between snapshot and 2`."""
    return cursor.at("between", "snapshot") and cursor.ahead(2).word != "and"


def _keys(cursor: TokenCursor) -> tuple[tuple[str, ...], ...] | str | None:
    """Read the keys, or the query for them."""
    if not cursor.take("keys"):
        return None
    if cursor.token.word == "(" and cursor.ahead().word in QUERY_WORDS - {"map", "reduce"}:
        start = cursor.token.end
        cursor.skip_group()
        if cursor.token.word == ",":
            raise InputError(
                "Expected one query or a list of keys after `keys`, found several queries. Write "
                "one "
                "query: keys (select ... union all select ...), or values: keys (1), (2)."
            )
        return cursor.text[start : cursor.last.start].strip()
    keys = cursor.bare_items(lambda: cursor.items(lambda: cursor.sql_until(lambda: False)))
    if len({len(key) for key in keys}) > 1:
        raise InputError(
            "Expected one value for each column of the primary key in every key of `keys`, found "
            "keys of different lengths. Write: keys (1, 'a'), (2, 'b')."
        )
    return keys


_DIFF: Final[Clauses] = {
    "columns": _columns,
    "where": _where,
    "shape": _shape,
    "output": _output,
    "limit": _limit,
}
_MERGE: Final[Clauses] = {"base": _base, "mode": _mode, "dry_run": _dry_run}
_BEHIND: Final = {
    "as": get_args(DiffShape),
    "output": ("rows", "count", "summary", "schema"),
    "based": ("on",),
    "when": ("conflict",),
    "dry": ("run",),
}


@reads("restore")
def _read_restore(cursor: TokenCursor) -> RestoreTable:
    """Read what follows `restore`.

    Raises:
        InputError: No version is named.
    """
    cursor.expect("table")
    target = cursor.target()
    if cursor.take("to"):
        if cursor.token.word not in ("version", "timestamp"):
            cursor.fail("`version as of` or `timestamp as of`")
        source = TableAt(target.name, cursor.version())
    else:
        if not cursor.take("from", "snapshot"):
            cursor.fail("`from snapshot`, `to version as of` or `to timestamp as of`")
        named, at = cursor.versioned_target()
        source = TableAt(named.name, at)
        if source.at is None:
            cursor.fail("{snapshot = '...'} or {timestamp = '...'} after the table")
    cursor.end()
    return RestoreTable(target=target, source=source)


@reads("undrop")
def _read_undrop(cursor: TokenCursor) -> UndropTable:
    """Read what follows `undrop`."""
    cursor.expect("table")
    target = cursor.target()
    cursor.end()
    return UndropTable(target=target)
