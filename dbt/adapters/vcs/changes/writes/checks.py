"""Checks of rows: check constraints, NOT NULL, and all that a merged definition enforces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.changes.writes.keys import broken_key, is_dbts_key, shown
from dbt.adapters.vcs.changes.writes.row_filters import filter_of, named_by
from dbt.adapters.vcs.core.errors import EngineError, InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field, RelationName, Schema, Snapshot
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.snapshot import fitted
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.port import Queries, Readers, VersionReader, told_rows
from dbt.adapters.vcs.sql.syntax.clauses import CHECK, ColumnDef
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.sql.syntax.lexer import Kind, tokenize
from dbt.adapters.vcs.table.files.block_reader import Files, is_readable
from dbt.adapters.vcs.table.files.footers import check_not_null
from dbt.adapters.vcs.table.key_check import SHOWN
from dbt.adapters.vcs.table.python_values import python_values
from dbt.adapters.vcs.table.quoting import placeless, quoted, sql_type
from dbt.adapters.vcs.workspace.table_version import Version

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
        repository: The repository.
        name: What errors call the table.
        version: The new version, not yet stored.
        before: The version that it follows; None if every row is new.
        sessions: Provides the engine's session.

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
            rows = _false_rows(repository, version, blocks, expression, fields, most=SHOWN)
        except UnsupportedError as error:
            raise UnsupportedError(
                f"Rows of {name} have to be checked against the check constraint {constraint} "
                f"({expression}), which needs Spark. Nothing was changed; run this where Spark "
                f"can be started. {error}"
            ) from error
        if rows:
            return _refusal(name, constraint, expression, [_row(fields, row) for row in rows])
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


def is_checked_when_merged(
    ours: Snapshot, theirs: Snapshot, version: Snapshot, *, verbatim: bool
) -> bool:
    """Return whether rows of a merge may have to be looked at; see `check_merged`."""
    merged = _MergedRows(ours, theirs, version, verbatim)
    return bool(merged.checks() or merged.required() or merged.lacks_key_check)


def check_merged(
    repository: Repository,
    name: RelationName,
    version: Snapshot,
    ours: Snapshot,
    theirs: Snapshot,
    *,
    verbatim: bool,
    sessions: Readers | None,
) -> Snapshot:
    """Check that the rows of a merge satisfy all that its definition enforces.

    That is the primary key, NOT NULL and the check constraints; that text fits its length follows
    from the types. Each side's rows satisfy what the side itself declares. So, for each of these:

    | declared by | rows to check                                                 |
    |-------------|---------------------------------------------------------------|
    | both        | none if each row is from a side, else those that neither has; |
    |             | none for a key, which tells rows apart when they are merged   |
    | ours        | those that ours lacks                                         |
    | theirs      | those that theirs lacks                                       |
    | neither     | all: a side declares the key, the other one that it is checked|

    Args:
        repository: The repository with the versions.
        name: What errors call the table.
        version: The result, its files written, not yet stored.
        ours: The version that is changed.
        theirs: The version whose changes are wanted.
        verbatim: True if every row of the result is a row of ours or of theirs.
        sessions: Provides the engine's session, used only if there are rows to check.

    Returns:
        The result; without the key if that is dbt's `unique_key`, and rows violate it.

    Raises:
        InputError: Rows violate the definition, or a constraint names a column that the other side
            removed. The message names them, and the side that declares it.
        UnsupportedError: There are rows to check that only an engine can check, and there is none.
    """
    merged = _MergedRows(ours, theirs, version, verbatim)
    sides = merged.sides
    for constraint, expression in checks_of(version.properties).items():
        for side in sides.values():
            if checks_of(side.properties).get(constraint) == expression:
                # A condition is text with the names of its side, and the merge may have renamed
                # the column.
                _check_columns(name, version.schema, side.schema, constraint, expression)
    for field, declaring in merged.required():
        known = [sides[side] for side in declaring]
        nulls = _null_rows(repository, version, known, field)
        if nulls:
            raise InputError(
                f"{_declared_by(declaring)} declares {field.name} NOT NULL in {name}, and it is "
                f"NULL in {nulls}. Nothing was changed; give these rows a value, or drop the "
                f"constraint: alter table {name} alter column {quoted(field.name)} drop not null."
            )
    for declaring, group in merged.checks().items():
        known_sides = {side: sides[side] for side in declaring}
        try:
            refuse_broken(repository, name, version, known_sides, group, sessions)
        except InputError as error:
            raise InputError(
                f"{_declared_by(declaring)} declares what rows break: {error}"
            ) from error
    if not merged.lacks_key_check:
        return version
    # Rows of the side that enforces the key are distinct already. Without such a side all rows are
    # checked.
    before = sides[merged.enforcing[0]] if merged.enforcing else None
    broken = broken_key(repository, name, version, before, sessions)
    if broken and is_dbts_key(version):
        # dbt lets rows violate its unique_key: then the table has no key.
        return msgspec.structs.replace(version, primary_key=())
    if broken:
        raise InputError(
            f"{_declared_by(merged.enforcing)} declares a primary key that rows break: {broken} "
            "Nothing was changed; correct the rows on the other side, or turn the check off: "
            f"alter table {name} set tblproperties ('vcs.enforce_primary_key' = 'false'), or a "
            "model's config enforce_primary_key: false."
        )
    return version


@dataclass(frozen=True, slots=True)
class _MergedRows:
    """What a merge's definition enforces, by the sides that declare it."""

    ours: Snapshot
    theirs: Snapshot
    version: Snapshot
    verbatim: bool

    @property
    def sides(self) -> Mapping[str, Snapshot]:
        return {"ours": self.ours, "theirs": self.theirs}

    def checks(self) -> dict[tuple[str, ...], dict[str, str]]:
        """Return the constraints to check, by the sides that declare them."""
        found: dict[tuple[str, ...], dict[str, str]] = {}
        for name, expression in checks_of(self.version.properties).items():
            sides = tuple(
                side
                for side, version in self.sides.items()
                if checks_of(version.properties).get(name) == expression
            )
            if not self._is_known(sides):
                found.setdefault(sides, {})[name] = expression
        return found

    def required(self) -> list[tuple[Field, tuple[str, ...]]]:
        """Return the NOT NULL columns to check, with the sides that declare them."""
        found = []
        for field in self.version.schema.fields:
            sides = tuple(
                side
                for side, version in self.sides.items()
                if (own := version.schema.by_id(field.id)) and not own.nullable
            )
            if not field.nullable and not self._is_known(sides):
                found.append((field, sides))
        return found

    @property
    def enforcing(self) -> tuple[str, ...]:
        """The sides that check the result's key."""
        key = self.version.primary_key
        return tuple(
            side
            for side, version in self.sides.items()
            if version.is_key_enforced and version.primary_key == key
        )

    @property
    def lacks_key_check(self) -> bool:
        """Whether rows may lack or repeat the result's key."""
        return self.version.is_key_enforced and len(self.enforcing) < len(self.sides)

    def _is_known(self, sides: tuple[str, ...]) -> bool:
        return self.verbatim and len(sides) == len(self.sides)


def _declared_by(sides: Sequence[str]) -> str:
    return sides[0].capitalize() if len(sides) == 1 else "The merged definition"


def _null_rows(
    repository: Repository, version: Snapshot, known: Iterable[Snapshot], field: Field
) -> str:
    """Return how many rows that none of the other versions has are NULL in a column, and which."""
    rows = Version.of(repository, version)
    blocks = new_blocks(rows, known)
    files = Files(repository.blobs)
    deleted = files.deletions(rows.tombstones, [block.path for block in blocks])
    telling = [f for f in (version.key or version.schema.fields) if is_readable(f)]
    total, named = 0, list[str]()
    for block in blocks:
        # A block that lacks the column has no statistics of it.
        stats, gone = block.stats.get(field.id), deleted.get(block.path)
        count = 0 if stats is not None and not stats.nulls else files.nulls(block, field, gone)
        total += count
        # The error names a few rows. The others are only counted.
        if count and len(named) < SHOWN and is_readable(field):
            for batch in files.batches(block, [*telling, field], gone):
                named += _rows_of_nulls(batch, telling)
    if not total:
        return ""
    listed = f", such as {', '.join(named[:SHOWN])}" if named else ""
    return f"{total} {'row' if total == 1 else 'rows'} of the other side{listed}"


def _rows_of_nulls(batch: pa.RecordBatch, telling: Sequence[Field]) -> list[str]:
    """Return a few rows that are NULL in the last column, as errors show them."""
    nulls = batch.filter(batch.column(batch.num_columns - 1).is_null()).slice(0, SHOWN)
    columns = [python_values(column) for column in nulls.columns]
    return [_row(telling, row) for row in zip(*columns, strict=True)]


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


def _check_columns(
    name: RelationName, result: Schema, side: Schema, constraint: str, expression: str
) -> None:
    for field in columns_named(expression, side):
        now = result.by_id(field.id)
        if now is None or now.name != field.name:
            became = "dropped" if now is None else f"renamed to {now.name}"
            raise InputError(
                f"{name} can't be merged: one side declares the check constraint {constraint} "
                f"({expression}), and the other side has {became} its column {field.name}. "
                "Nothing was changed. Drop the constraint, or undo the other change, then merge "
                "again."
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
        (column,) = session.columns_of(f"select {condition} as c {rows} {where_clause(condition)}")
        same = session.is_repeatable(f"select {condition} as c {rows}")
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
        rows = [_row(fields, row) for row in found if row[number] is False]
        if rows:
            return _refusal(name, constraint, expression, rows)
    return ""


def _refusal(name: RelationName, constraint: str, expression: str, rows: Sequence[str]) -> str:
    return (
        f"The check constraint {constraint} ({expression}) of {name} is false for "
        f"{', '.join(rows)}. Nothing was changed; correct the rows, or drop the constraint: "
        f"alter table {name} drop constraint {quoted(constraint)}."
    )


def _row(fields: Sequence[Field], row: Sequence[Any]) -> str:
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
    *,
    most: int,
) -> list[tuple[Any, ...]]:
    """Return rows for which a condition is false; NULL is not false.

    Args:
        repository: The repository.
        version: The version that has the blocks, and deletions in them.
        blocks: Where to look.
        condition: In SQL.
        fields: The columns to return, those of the condition among them.
        most: Return no more rows than that.

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
            broken = rows.filter(~holds).slice(0, most - len(found))
            found += zip(*(python_values(column) for column in broken.columns), strict=True)
            if len(found) >= most:
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


# Types of which a text is one value, whatever the session's time zone and the reader.
_KEPT: Final = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    *("string", "char", "varchar", "date", "timestamp_ntz"),
)


def check_default(sessions: Readers, column: str, default: str, type_: str) -> None:
    """Refuse a default that Spark would refuse in one of its own tables.

    It must be an expression that uses no row, reads no table, and has a type that can be stored as
    the column's. Otherwise no row could be inserted at all, not even with a value.

    Args:
        sessions: Provides the engine's session.
        column: What errors call the column.
        default: An expression in SQL.
        type_: The column's type.

    Raises:
        InputError: It is not such an expression.
    """
    try:
        sessions().check_default(default, type_)
    except EngineError as error:
        raise InputError(
            f"The default of the column {column} is not an expression of type {type_} without "
            f"columns: {default}. Spark says: {error}"
        ) from error


def initial_value(sessions: Readers, column: ColumnDef) -> str | None:
    """Return the present value of a column's default, as stored in `Field.initial`; None for NULL.

    Raises:
        UnsupportedError: Values of the column's type have no stable text.
    """
    type_ = type_of(column.type)
    if type_.kind not in _KEPT or type_.collation:
        raise UnsupportedError(
            f"The column {column.name} can't have a default from the start: existing rows can't "
            f"get a value of type {column.type} without being rewritten. Add it without "
            "a default, fill it (update ... set), then alter the column: set default ..."
        )
    text = f"select cast(cast({column.default} as {sql_type(column.type)}) as string)"
    found = sessions().query(text).fetch()[0][0]
    return None if found is None else fitted(str(found), column.type)
