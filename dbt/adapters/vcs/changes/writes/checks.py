"""Checks of the rows that are written: NOT NULL, check constraints, primary keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from dbt.adapters.vcs.changes.writes.row_filters import filter_of, named_by
from dbt.adapters.vcs.core.errors import EngineError, InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field, RelationName, Schema, Snapshot
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.plan.states import can_meet, hull
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.port import Queries, Readers, VersionReader, told_rows
from dbt.adapters.vcs.sql.syntax.clauses import CHECK
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.sql.syntax.lexer import Kind, tokenize
from dbt.adapters.vcs.table.equality import canonical
from dbt.adapters.vcs.table.files.block_reader import Files, is_readable
from dbt.adapters.vcs.table.files.footers import check_not_null
from dbt.adapters.vcs.table.key_check import SHOWN, Clashes, find_clashes
from dbt.adapters.vcs.table.python_values import python_values, shown
from dbt.adapters.vcs.table.quoting import placeless, quoted, sql_type
from dbt.adapters.vcs.workspace.table_version import Version

PRIMARY_KEY: Final = "primary_key"
"""Table property: the columns of the primary key, separated by commas."""

UNIQUE_KEY: Final = "vcs.unique_key"
"""Table property: columns of a model's `unique_key`; the key as long as its values are unique."""

_MOST_NEW: Final = 5_000_000
_MOST_OLD: Final = 20_000_000
_MOST_PAIRS: Final = 1_000_000

Checks = Mapping[str, str]
"""SQL conditions by the constraint's name."""

_NAMES: Final = (Kind.WORD, Kind.QUOTED)


def checks_of(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the check constraints stored in a table's properties."""
    return {
        key.removeprefix(CHECK): value
        for key, value in properties.items()
        if key.startswith(CHECK) and key != CHECK
    }


def columns_named(expression: str, schema: Schema) -> tuple[Field, ...]:
    """Return the columns that a condition may name, treating every word as a possible name."""
    words = {token.text.lower() for token in tokenize(expression) if token.kind in _NAMES}
    return tuple(field for field in schema.fields if field.name.lower() in words)


def check_rows(
    repository: Repository,
    name: RelationName,
    version: Snapshot,
    before: Snapshot | None,
    sessions: Readers,
) -> None:
    """Check that no row of a version violates its check constraints, and that these are valid.

    As with primary keys, `versions.changed` calls this for every new version. The engine reads
    only the new files, or all files for a constraint that `before` lacks.

    Args:
        name: What errors call the table.
        version: The new version, not yet stored.
        before: The version that it follows; None if every row is new.

    Raises:
        InputError: A condition is false for some rows, of which up to five are shown; or it is not
            valid in a constraint.
    """
    checks = checks_of(version.properties)
    known = checks_of(before.properties) if before else {}
    added = {key: value for key, value in checks.items() if known.get(key) != value}
    for constraint, expression in added.items():
        _check_expression(sessions(), name, version.schema, constraint, expression)
    kept = {key: value for key, value in checks.items() if key not in added}
    # Nobody has checked the old rows against a constraint that is new.
    refuse_broken(repository, name, version, {}, added, sessions)
    if before is not None:
        refuse_broken(repository, name, version, {"before": before}, kept, sessions)


def refuse_broken(
    repository: Repository,
    name: RelationName,
    version: Snapshot,
    sides: Mapping[str, Snapshot],
    checks: Checks,
    sessions: Readers | None,
) -> None:
    """Refuse rows for which a condition is false; NULL is not false.

    Only files are read that none of the other versions has, whose rows are known to be good.
    Without an engine, comparisons of columns with constants are computed in this process.

    Raises:
        InputError: There are such rows.
        UnsupportedError: There are rows to check that only an engine can check, and there is none.
    """
    if not checks:
        return
    rows = Version.of(repository, version)
    blocks = new_blocks(rows, sides.values())
    if not blocks:
        return
    session = _session_of(sessions)
    if session is None:
        found = _broken_here(repository, rows, blocks, name, checks)
    else:
        mounted = session.mount_version(rows.mount(blocks))
        found = _broken(session, mounted, version, name, checks)
    if found:
        raise InputError(found)


def _session_of(sessions: Readers | None) -> VersionReader | None:
    """Return the engine's session; None if there is no engine, as in a server."""
    try:
        return sessions() if sessions is not None else None
    except UnsupportedError:
        return None


def _broken_here(
    repository: Repository,
    version: Version,
    blocks: Sequence[Block],
    name: RelationName,
    checks: Checks,
) -> str:
    """Do what `_broken` does, in this process."""
    fields = _told_by(version.snapshot, checks)
    for constraint, expression in checks.items():
        try:
            rows = _false_rows(repository, version, blocks, expression, fields)
        except UnsupportedError as error:
            raise UnsupportedError(
                f"Rows of {name} have to be checked against the check constraint {constraint} "
                f"({expression}), which needs Spark. Nothing was changed; run this where Spark "
                f"can be started. {error}"
            ) from error
        if rows:
            return _refusal(name, constraint, expression, [row_text(fields, row) for row in rows])
    return ""


def _told_by(version: Snapshot, checks: Checks) -> tuple[Field, ...]:
    """Return the columns that errors show: those that the checks name, and the key's."""
    named = {f.id for text in checks.values() for f in columns_named(text, version.schema)}
    # The key lets a reader find the row.
    named |= set(version.primary_key)
    return tuple(field for field in version.schema.fields if field.id in named)


def new_blocks(version: Version, others: Iterable[Snapshot]) -> tuple[Block, ...]:
    """Return the blocks with rows that none of the other versions has, by the manifests."""
    fresh: set[str] | None = None
    for other in others:
        change = delta(other, version.snapshot, version.read)
        # The block of a restored row is in both versions, but the row is not in the other one.
        paths = {block.path for block in change.added} | {item.block for item in change.restored}
        fresh = paths if fresh is None else fresh & paths
    return tuple(block for block in version.blocks if fresh is None or block.path in fresh)


def check_unnamed(name: RelationName, version: Snapshot, column: str, change: str) -> None:
    """Refuse to drop or rename a column that a constraint names.

    Raises:
        InputError: A constraint names the column.
    """
    for constraint, expression in checks_of(version.properties).items():
        if version.schema.find(column) in columns_named(expression, version.schema):
            raise InputError(
                f"The column {column} of {name} can't be {change}: the check constraint "
                f"{constraint} ({expression}) names it. Drop the constraint first: alter table "
                f"{name} drop constraint {quoted(constraint)}."
            )


def _check_expression(
    session: Queries, name: RelationName, schema: Schema, constraint: str, expression: str
) -> None:
    """Reject a condition that is not deterministic or looks beyond one row."""
    where = f"The check constraint {constraint} ({expression}) of {name}"
    depth = 0
    for token in tokenize(expression):
        # One that closes more than it opens would end the brackets that are put around it.
        depth += {"(": 1, ")": -1}.get(token.word, 0)
        if token.word == "select" or depth < 0 or token.word == ";":
            raise InputError(f"{where} is not one condition on a single row. Write it without it.")
    # One row of NULLs is enough for the engine to analyse the condition. No file is read.
    nulls = ", ".join(
        f"cast(null as {sql_type(f.type)}) as {quoted(f.name)}" for f in schema.fields
    )
    rows = f"from (select {nulls})"
    condition = _bracketed(expression)
    try:
        query = session.analysed(f"select {condition} as c {rows} {where_clause(condition)}")
        (column,) = query.columns
        same = session.analysed(f"select {condition} as c {rows}").is_repeatable()
    except EngineError as error:
        raise InputError(
            f"{where} is not a condition on a row of the table: {placeless(error)}"
        ) from error
    # `void` is Spark's type of a bare NULL, which is a valid condition.
    if column.type not in ("boolean", "void"):
        raise InputError(f"{where} is not a condition: it is {column.type}, not boolean.")
    if not same:
        raise InputError(
            f"{where} does not always give the same value for a row. Don't use random numbers "
            "and the like."
        )


def _broken(
    session: Queries, relation: str, version: Snapshot, name: RelationName, checks: Checks
) -> str:
    """Return the violations among the rows of a relation; empty if there are none."""
    fields = _told_by(version, checks)
    conditions = [_bracketed(expression) for expression in checks.values()]
    columns = ", ".join([*(quoted(field.name) for field in fields), *conditions])
    broken = " or ".join(f"not {condition}" for condition in conditions)
    text = f"select {columns} from {relation} {where_clause(broken)} limit {SHOWN}"
    try:
        found = told_rows(session.query(text))
    except EngineError as error:
        raise EngineError(
            f"The check constraints of {name} ({', '.join(checks)}) can't be computed for the "
            f"rows to be written: {placeless(error)}"
        ) from error
    for number, (constraint, expression) in enumerate(checks.items(), start=len(fields)):
        # `is False`, since a condition that is NULL holds, as in SQL's standard.
        rows = [row_text(fields, row) for row in found if row[number] is False]
        if rows:
            return _refusal(name, constraint, expression, rows)
    return ""


def _refusal(name: RelationName, constraint: str, expression: str, rows: Sequence[str]) -> str:
    return (
        f"The check constraint {constraint} ({expression}) of {name} is false for "
        f"{', '.join(rows)}. Nothing was changed; correct the rows, or drop the constraint: "
        f"alter table {name} drop constraint {quoted(constraint)}."
    )


def row_text(fields: Sequence[Field], row: Sequence[Any]) -> str:
    """Return the values of some columns as errors show them."""
    values = (f"{f.name}: {shown(value)}" for f, value in zip(fields, row, strict=False))
    return f"({', '.join(values)})"


def _bracketed(expression: str) -> str:
    # The line break keeps a comment at the condition's end from swallowing the bracket.
    return f"({expression}\n)"


def _false_rows(
    repository: Repository,
    version: Version,
    blocks: Iterable[Block],
    condition: str,
    fields: tuple[Field, ...],
) -> list[tuple[Any, ...]]:
    """Return the first rows for which a condition is false; NULL is not false.

    Args:
        version: The version that has the blocks, and deletions in them.
        fields: The columns to return, those of the condition among them.

    Raises:
        UnsupportedError: Only SQL computes the condition.
    """
    schema = version.snapshot.schema
    try:
        holds = filter_of(condition, schema)
        named = named_by(holds, schema.fields)
    except InputError as error:
        raise UnsupportedError(str(error)) from error
    for field in named:
        if type_of(field.type).kind == "timestamp":
            raise UnsupportedError(
                f"{field.name} is a timestamp, which SQL compares by the session's time zone."
            )
    files = Files(repository.blobs)
    found: list[tuple[Any, ...]] = []
    for block in blocks:
        deleted = files.deletions(version.tombstones, [block.path]).get(block.path)
        for batch in files.batches(block, fields, deleted):
            rows = pa.Table.from_batches([batch]).rename_columns([f.name for f in fields])
            # The negation of NULL is NULL, which a filter leaves out: NULL violates nothing.
            broken = rows.filter(~holds).slice(0, SHOWN - len(found))
            found += zip(*(python_values(column) for column in broken.columns), strict=True)
            if len(found) >= SHOWN:
                return found
    return found


def refuse_null(blobs: Blobs, blocks: Sequence[Block], schema: Schema) -> None:
    """Refuse NULL in NOT NULL columns; nested columns are read, since footers don't count them.

    Raises:
        InputError: There are NULLs.
    """
    files = Files(blobs)
    for field in check_not_null(blocks, schema):
        count = sum(files.nulls(block, field) for block in blocks)
        if count:
            raise InputError(
                f"NULL in the column {field.name} ({count} rows), which is declared NOT NULL. "
                "Nothing was changed; filter the rows out, or drop the constraint."
            )


def check_keys(
    repository: Repository,
    name: RelationName,
    version: Snapshot,
    before: Snapshot | None,
    sessions: Readers,
    warnings: list[str],
) -> tuple[str, ...]:
    """Check that no new row of a version lacks a primary key or repeats one.

    `versions.changed` calls this for every new version of a table, so its callers (insert, update,
    merge, ...) need not. New rows are those of blocks that `before` lacks and of blocks from which
    a deletion is undone; the output of a compaction is not new. Rows deleted by the version's
    tombstones don't count. The cost depends on the new rows and on the old blocks whose key ranges
    overlap theirs. Only key columns are read, in process; beyond some million rows, or if Arrow
    lacks a type, the engine does it.

    Args:
        name: What errors call the table.
        version: The new version, not yet stored.
        before: The version that it follows; None to check every row, as when the key is new.
        warnings: Gets a warning if the key is given up.

    Returns:
        The version's primary key: empty, with a warning, if it was dbt's `unique_key` and the rows
        violate it, which dbt allows.

    Raises:
        InputError: Keys are NULL or not unique; up to five are named.
    """
    if not version.is_key_enforced:
        return version.primary_key
    error = broken_key(repository, name, version, before, sessions)
    if not error:
        return version.primary_key
    if is_dbts_key(version):
        warnings.append(
            f"{error} So the config unique_key is not the primary key of {name}: diffs "
            "and merges compare whole rows."
        )
        return ()
    raise InputError(
        f"{error} Nothing was changed; correct the rows, or turn the check off: "
        "enforce_primary_key: false."
    )


def is_dbts_key(version: Snapshot) -> bool:
    """Return whether the primary key is dbt's `unique_key`, which rows may violate."""
    return PRIMARY_KEY not in version.properties and UNIQUE_KEY in version.properties


def broken_key(
    repository: Repository,
    name: RelationName,
    version: Snapshot,
    before: Snapshot | None,
    sessions: Readers | None,
) -> str:
    """Return which rows of a version, new since another, lack or repeat a key; empty for none.

    Raises:
        UnsupportedError: There are too many rows for this process, or Arrow lacks the type of a
            key column, and there is no engine.
    """
    check = _KeyCheck(repository, version, before)
    if not check.new:
        return ""
    if sessions is None or check.is_small:
        clashes = check.in_process()
    else:
        clashes = check.by_engine(sessions())
    return _key_error(name, version.key, clashes) if any(clashes) else ""


def may_clash(repository: Repository, version: Snapshot, before: Snapshot) -> bool:
    """Return, without an engine, whether a version's new rows may lack or repeat a primary key.

    Also true if there are too many rows to check.
    """
    if not version.is_key_enforced:
        return False
    check = _KeyCheck(repository, version, before)
    return bool(check.new) and (not check.is_small or any(check.in_process()))


class _KeyCheck:
    """One check, with the blocks of a version that it covers."""

    def __init__(self, repository: Repository, version: Snapshot, before: Snapshot | None) -> None:
        self._repository = repository
        self._version = Version.of(repository, version)
        change = delta(before, version, self._version.read)
        # A row whose deletion is undone may meet another one that has got its key since.
        fresh = {block.path for block in change.added} | {item.block for item in change.restored}
        # All segments are read for the list of blocks, so not without need.
        blocks = self._version.blocks if fresh else ()
        self.new = [block for block in blocks if block.path in fresh]
        others = [block for block in blocks if block.path not in fresh]
        self._fields = version.key
        self._old = _near(self.new, others, self._fields)

    @property
    def is_small(self) -> bool:
        """Whether this process compares the keys: they are few, and of types that Arrow has."""
        return self._are_few and all(map(is_readable, self._fields))

    @property
    def _are_few(self) -> bool:
        return _row_count(self.new) <= _MOST_NEW and _row_count(self._old) <= _MOST_OLD

    def in_process(self) -> Clashes:
        if not self._are_few:
            new_rows, old_rows = _row_count(self.new), _row_count(self._old)
            raise UnsupportedError(
                f"The keys of at most {_MOST_NEW:,} new rows are compared with those of "
                f"{_MOST_OLD:,} old ones without Spark; these are {new_rows:,} and {old_rows:,}. "
                "Use a connection that has Spark."
            )
        files = Files(self._repository.blobs)
        paths = [block.path for block in (*self.new, *self._old)]
        deleted = files.deletions(self._version.tombstones, paths)
        return find_clashes(files, self._fields, self.new, self._old, deleted)

    def by_engine(self, session: VersionReader) -> Clashes:
        fields, old = self._fields, self._old

        def mounted(blocks: Sequence[Block]) -> str:
            return session.mount_physical(self._version.mount(blocks, fields=fields))

        keys = ", ".join(quoted(field.id) for field in fields)
        values = ", ".join(
            # Decision 18: keys are equal byte by byte, whatever their collation.
            f"{canonical(quoted(field.id), field.type)} as {quoted(field.id)}"
            for field in fields
        )
        new = f"select {values}, 1 as __vcs_new from {mounted(self.new)}"
        is_null = " or ".join(f"{quoted(field.id)} is null" for field in fields)
        # Manifests count NULLs, so most checks need no query for them.
        if any(_may_be_null(block, field) for block in self.new for field in fields):
            found = _fetch(session, f"select distinct {keys} from ({new}) {where_clause(is_null)}")
            if found:
                return Clashes(null=found)
        both = new
        if old:
            both += f" union all select {values}, 0 from {mounted(old)}"
        counted = f"from ({both}) group by {keys} having count(*) > 1 and sum(__vcs_new) "
        repeated = _fetch(session, f"select {keys} {counted} > 1")
        return (
            Clashes(repeated=repeated)
            if repeated
            else Clashes(present=_fetch(session, f"select {keys} {counted} = 1") if old else ())
        )


def _fetch(session: VersionReader, query: str) -> tuple[tuple[Any, ...], ...]:
    return tuple(told_rows(session.query(f"{query} limit {SHOWN}")))


def _row_count(blocks: Sequence[Block]) -> int:
    return sum(block.rows for block in blocks)


def _may_be_null(block: Block, field: Field) -> bool:
    stats = block.stats.get(field.id)
    return stats is None or stats.nulls != 0


def _near(new: Sequence[Block], old: Sequence[Block], fields: Sequence[Field]) -> list[Block]:
    """Return the old blocks whose key ranges overlap those of a new one."""
    ranges = [block.stats for block in new]
    if len(new) * len(old) > _MOST_PAIRS:
        # Each pair costs a comparison of bounds; of very many, the new blocks count as one range.
        ranges = [dict(hull(ranges, fields))]
    return [
        block for block in old if any(can_meet(block.stats, other, fields) for other in ranges)
    ]


def _key_error(name: RelationName, fields: Sequence[Field], clashes: Clashes) -> str:
    key = ", ".join(field.name for field in fields)
    if clashes.null:
        return f"NULL in the primary key ({key}) of {name}: {_listed_keys(clashes.null)}."
    if clashes.repeated:
        return (
            f"Several of the rows written to {name} have the same primary key ({key}): "
            f"{_listed_keys(clashes.repeated)}."
        )
    return (
        f"Rows written to {name} have a primary key ({key}) that other rows already have: "
        f"{_listed_keys(clashes.present)}."
    )


def _listed_keys(keys: Sequence[tuple[Any, ...]]) -> str:
    texts = []
    for key in keys:
        values = [shown(value) for value in key]
        texts.append(values[0] if len(values) == 1 else f"({', '.join(values)})")
    return ", ".join(texts)
