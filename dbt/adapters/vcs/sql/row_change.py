"""Statements that change single rows: `update`, `delete from`; `merge into` builds on them.

Each can be *staged*: written as a query that says what to do to which physical row. Its
columns:

- `__vcs_action`: 'update', 'delete' or 'insert';
- `__vcs_file` (string), `__vcs_pos` (bigint): the row; NULL for an insert;
- `__old_0`, `__old_1`...: the old row, in the order of the table's columns; NULL for an
  insert;
- `__new_0`, `__new_1`...: the new row; NULL for a delete. They have the types of the
  statement's expressions: the caller casts them to the table's types.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

from dbt.adapters.vcs.changes.writes import pruning
from dbt.adapters.vcs.changes.writes.stage import (
    ACTION,
    CLAUSE,
    MATCHED,
    RowTarget,
    Stage,
    staged,
    target_of,
)
from dbt.adapters.vcs.changes.writes.stage_write import Rewritten, rewritten
from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.origins.results import RowCounts
from dbt.adapters.vcs.sql.syntax.conditions import Comparison, comparisons_of, where_clause
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor, read_expression
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.lexer import Edit, Slice, Token, edited, quote_name
from dbt.adapters.vcs.sql.syntax.names import CATALOG, Reference, Target, is_name, qualifiers_of
from dbt.adapters.vcs.sql.syntax.parser import ChangingStatement, longer_names, reads, shortened
from dbt.adapters.vcs.sql.syntax.scan import scan
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope, handles


class Assignment(NamedTuple):
    """The new value of a column: the place of an expression, or None for the default."""

    column: str
    value: Slice | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """What all statements that change single rows have in common.

    Attributes:
        alias: Its alias, which hides its own name, or None.
        text: The whole statement; nothing follows its last token.
        reads: What it reads besides the target, with offsets into `text`.
        diffs: Diffs of versions that it reads, with offsets into `text`.
        files: format.`path` of files that it reads directly, sorted.
        with_: Place of the preceding common table expressions, or None.
    """

    target: Target
    alias: str | None
    text: str
    reads: tuple[Reference, ...]
    diffs: tuple[DiffReference, ...]
    files: tuple[str, ...]
    with_: Slice | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalChange(RowChange):
    """The condition of `update` and `delete`.

    Attributes:
        where: Place of the condition; None for all rows.
    """

    where: Slice | None

    def conjuncts(self) -> tuple[Comparison, ...]:
        """Return comparisons of a column with constants that hold for every row that changes.

        Uncertain ones are left out, so not every row that meets them has to change.
        """
        return comparisons_of(self.text, self.where, self.target.name, self.alias)

    def _query(
        self, action: str, new: Sequence[str], located: str, columns: Sequence[Field]
    ) -> str:
        pieces, table = Pieces(self), quote_name(self.alias or self.target.name.identifier)
        items = [f"'{action}' as {ACTION}", f"{table}.{FILE_COLUMN} as {FILE_COLUMN}"]
        items.append(f"{table}.{POSITION_COLUMN} as {POSITION_COLUMN}")
        items += (f"{table}.{quote_name(c.name)} as __old_{n}" for n, c in enumerate(columns))
        items += (f"{value} as __new_{n}" for n, value in enumerate(new))
        condition = "" if self.where is None else f"\n{where_clause(pieces.piece(self.where))}"
        listed = ",\n  ".join(items)
        return f"{pieces.prefix()}select {listed}\nfrom {located} as {table}{condition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(ConditionalChange, ChangingStatement):
    """`update t set ... [where ...]`.

    Attributes:
        assignments: The assignments; each column occurs once.
    """

    writes_rows = True

    assignments: tuple[Assignment, ...]

    def staged(self, located: str, columns: Sequence[Field]) -> str:
        """Return the query of the changed rows, each once, with the old and new values.

        Args:
            located: The target's rows as SQL: its columns, and `__vcs_file` and `__vcs_pos`.
            columns: The target's columns, in order.

        Raises:
            InputError: The target has no such column.
        """
        pieces, table = Pieces(self), quote_name(self.alias or self.target.name.identifier)
        values = values_by_place(self.assignments, columns)
        # `if` makes Spark reject functions that turn one row into several, such as explode.
        new = [
            f"if(true, {value_sql(pieces, values[place], column)}, null)"
            if place in values
            else f"{table}.{quote_name(column.name)}"
            for place, column in enumerate(columns)
        ]
        return self._query("update", new, located, columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(ConditionalChange, ChangingStatement):
    """`delete from t [where ...]`."""

    writes_rows = True

    def staged(self, located: str, columns: Sequence[Field]) -> str:
        """Return the query of the deleted rows, each once; arguments as for `Update.staged`."""
        table = quote_name(self.alias or self.target.name.identifier)
        # A bare NULL has no type, which the strict policy of storing doesn't take.
        new = [f"if(false, {table}.{quote_name(column.name)}, null)" for column in columns]
        return self._query("delete", new, located, columns)


class Pieces:
    """Pieces of a statement's text, adapted for another query.

    A column may be qualified by schema and name of a relation without an alias. Since another
    relation replaces it, only its name is kept there.
    """

    def __init__(self, statement: RowChange, source: Sequence[str] = ()) -> None:
        """Take a statement, and the name of a merge's source that has no alias."""
        self._statement = statement
        name, text = statement.target.name, statement.text
        names = longer_names(source)
        if statement.alias is None and name.schema is not None:
            names.update(longer_names((CATALOG, name.schema, name.identifier)))
        self._edits = shortened(text, names)

    def piece(self, place: Slice) -> str:
        """Return one piece."""
        inside = (
            Edit(edit.start - place.start, edit.end - place.start, edit.text)
            for edit in self._edits
            if place.start <= edit.start and edit.end <= place.end
        )
        return edited(self._statement.text[place.start : place.end], inside)

    def prefix(self) -> str:
        """Return the common table expressions, followed by a line break if there are any."""
        with_ = self._statement.with_
        return "" if with_ is None else f"{self.piece(with_)}\n"


def values_by_place(
    assignments: Sequence[Assignment], columns: Sequence[Field]
) -> dict[int, Slice | None]:
    """Return the assigned values by the index of the column in the table.

    Raises:
        InputError: The table has no such column.
    """
    places = {column.name.lower(): place for place, column in enumerate(columns)}
    values: dict[int, Slice | None] = {}
    for column, value in assignments:
        if column.lower() not in places:
            names = ", ".join(c.name for c in columns)
            raise InputError(
                f"The table has no column '{column}', which the statement sets; it has {names}. "
                "Correct the name, or add the column first."
            )
        values[places[column.lower()]] = value
    return values


def value_sql(pieces: Pieces, value: Slice | None, column: Field) -> str:
    """Return the SQL text of an assigned value."""
    if value is None:
        return column.default or "null"
    return pieces.piece(value)


@reads("update")
def _read_update(cursor: TokenCursor) -> Update:
    """Read what follows `update`; `with ...` may stand before it.

    Raises:
        InputError: A column is set twice.
        UnsupportedError: A field of a column is set.
    """
    verb = cursor.index - 1
    changed = read_target(cursor, "set")
    first = cursor.index
    cursor.expect("set")
    assignments = read_assignments(cursor, changed, lambda: cursor.at("where"))
    where = _where(cursor)
    fields = change_fields(cursor, changed, verb, cursor.tokens[first:-1])
    return Update(**fields, assignments=assignments, where=where)


@handles(Update)
def update(scope: Scope, statement: Update) -> Outcome:
    """Set columns of the rows that meet a condition.

    Raises:
        NotFoundError: There is no such table.
        InputError: It is a view, or a column that can't be NULL gets a NULL.
        EngineError: A value doesn't fit its column.
    """
    target = row_target(scope, statement.target)
    blocks = pruning.matching(target.blocks, target.snapshot.schema, statement.conjuncts())
    keys = set(target.snapshot.primary_key)
    schema = target.snapshot.schema
    set_ = {found.id for item in statement.assignments if (found := schema.find(item.column))}
    result = carry_out(scope, target, statement, blocks, sets=set_)
    # Other columns can't make a key repeat, so the keys aren't checked again.
    return put_changed(scope, target, result, "update", keeps_keys=keys.isdisjoint(set_))


@reads("delete")
def _read_delete(cursor: TokenCursor) -> Delete:
    verb = cursor.index - 1
    cursor.expect("from")
    changed = read_target(cursor, "where")
    first = cursor.index
    where = _where(cursor)
    return Delete(**change_fields(cursor, changed, verb, cursor.tokens[first:-1]), where=where)


@handles(Delete)
def delete(scope: Scope, statement: Delete) -> Outcome:
    """Delete the rows that meet a condition; without one, delete all by manifests only.

    Raises:
        NotFoundError: There is no such table.
        InputError: It is a view.
    """
    target = row_target(scope, statement.target)
    if statement.where is None:
        # No row is read: the manifests know how many there are.
        rows = target.snapshot.rows
        result = Rewritten((), RowCounts(deleted=rows), bool(target.blocks))
    else:
        blocks = pruning.matching(target.blocks, target.snapshot.schema, statement.conjuncts())
        result = carry_out(scope, target, statement, blocks, sets=())
    return put_changed(scope, target, result, "delete", keeps_keys=True)


def carry_out(
    scope: Scope,
    target: RowTarget,
    statement: Update | Delete,
    blocks: Sequence[Block],
    *,
    sets: Collection[str],
) -> Rewritten:
    """Compute what a statement does to some blocks of a table, and write the result.

    Args:
        blocks: The blocks in which rows may change.
        sets: The columns that may get other values, by field id.
    """
    fields = target.snapshot.schema.fields
    changing = frozenset(n for n, field in enumerate(fields) if field.id in sets)
    query = statement.staged(target.located(scope.session, blocks), fields)
    with stage_of(scope, target, statement, query, changing) as stage:
        # No source can match a row twice, so nothing has to be counted by row.
        return rewritten(scope, target, stage, key=None, updates_only=sets, occurs_once=True)


def stage_of(
    scope: Scope,
    target: RowTarget,
    statement: RowChange,
    query: str,
    changing: Collection[int],
    givers: Sequence[Mapping[int, bool]] | None = None,
) -> AbstractContextManager[Stage]:
    """Return the stage of a statement's query, which is computed when the block is entered.

    Args:
        changing: Places of the columns that may get other values.
        givers: As for `staged`; only a merge has them.
    """
    # The stage expects this order.
    clause = [] if givers is None else [CLAUSE]
    matched = f"cast(null as boolean) {MATCHED}" if givers is None else MATCHED
    names = [*clause, ACTION, FILE_COLUMN, POSITION_COLUMN, matched]
    names += (f"__old_{n}" for n in range(len(target.snapshot.schema.fields)))
    names += (f"__new_{n}" for n in sorted(changing))
    return staged(
        scope,
        target.name,
        target.snapshot,
        f"select {', '.join(names)} from (\n{query}\n)",
        # Another connection may need another version under the same name, so names are held no
        # longer than the analysis takes.
        analysing=lambda: reading(scope, statement),
        changing=frozenset(changing),
        givers=givers,
    )


def reading(scope: Scope, statement: RowChange) -> AbstractContextManager[None]:
    """Make everything that a statement reads, except its target, readable within the block."""
    return scope.shown(scope.reads(statement.reads))


def row_target(scope: Scope, named: Target) -> RowTarget:
    """Return the table whose rows a statement changes.

    Raises:
        NotFoundError: There is no such table.
        InputError: It is a view.
        UnsupportedError: It is a temporary view, or files outside.
    """
    name = scope.name(named.name)
    if scope.is_temporary(named.name):
        raise UnsupportedError(
            f"{named.name} is a temporary view, whose rows can't be changed. Name a table."
        )
    # A relation of the branch comes before a source of the same name.
    if scope.overlay.entry(name) is None and name in scope.externals:
        raise UnsupportedError(
            f"{name} stands for files outside the repository, whose rows can't be changed. Copy "
            f"them into a table first: create table ... as select * from {name}."
        )
    return target_of(scope, name)


def put_changed(
    scope: Scope, target: RowTarget, result: Rewritten, operation: str, *, keeps_keys: bool
) -> Outcome:
    """Store what changing rows led to, as a version of its table."""
    # A statement that changes no row makes no version: history shows changes only.
    if result.is_changed:
        changed(
            scope,
            target.name,
            target.snapshot,
            operation=operation,
            keeps_keys=keeps_keys,
            segments=result.segments,
        )
    return Outcome(affected=sum(result.counts), counts=result.counts)


def _where(cursor: TokenCursor) -> Slice | None:
    where = None
    if cursor.take("where"):
        where = read_expression(cursor, lambda: False)
    cursor.end()
    return where


class TargetName(NamedTuple):
    """The target table and its alias."""

    target: Target
    alias: str | None

    def column(self, cursor: TokenCursor) -> str:
        """Read the name of one of its columns, qualified or not."""
        start = cursor.token
        parts = cursor.parts()
        *before, column = parts
        name = self.target.name
        known = tuple(part.lower() for part in before) in qualifiers_of(name, self.alias)
        if known or not before:
            return column
        written = cursor.text[start.start : cursor.last.end]
        raise UnsupportedError(
            f"Expected a column of {self.alias or name}, found '{written}'. Setting a field "
            "inside a column is not supported on versioned tables: set the whole column, with "
            "named_struct(...); a column's name may be qualified by "
            + (f"the alias {self.alias} alone." if self.alias else "the table's.")
        )


def read_target(cursor: TokenCursor, *ends: str) -> TargetName:
    """Read a table and its alias.

    Raises:
        InputError: A version is named, which can't be changed.
    """
    target, version = cursor.versioned_target()
    if version is not None:
        raise InputError(
            f"A version of {target.name} can't be changed, only read. Leave the version out, or "
            "restore it first: restore table ... to version as of ..., or create table ... clone "
            "..."
        )
    return TargetName(target, read_alias(cursor, *ends))


def read_alias(cursor: TokenCursor, *ends: str) -> str | None:
    """Read an alias, if there is one: with `as`, or a name that is none of `ends`."""
    if cursor.take("as"):
        return cursor.identifier("an alias")
    if is_name(cursor.token) and cursor.token.word not in ends:
        return cursor.identifier("an alias")
    return None


def read_assignments(
    cursor: TokenCursor, changed: TargetName, stop: Callable[[], bool]
) -> tuple[Assignment, ...]:
    """Read `a = 1, b = default`, up to where `stop` returns true."""
    assignments = cursor.bare_items(lambda: _assignment(cursor, changed, stop))
    check_once(assignment.column for assignment in assignments)
    return assignments


def _assignment(cursor: TokenCursor, changed: TargetName, stop: Callable[[], bool]) -> Assignment:
    column = changed.column(cursor)
    cursor.expect_symbol("=")
    # Spark takes `==` for `=`; to the lexer it is two symbols.
    cursor.take("=")
    return Assignment(column, read_value(cursor, stop))


def read_value(cursor: TokenCursor, stop: Callable[[], bool]) -> Slice | None:
    """Read an expression, or `default`, which is None."""
    place = read_expression(cursor, stop)
    # The text is compared as written: in backquotes, `default` is a column.
    return None if cursor.text[place.start : place.end].lower() == "default" else place


def check_once(columns: Iterable[str]) -> None:
    """Check that no column gets two values."""
    seen: set[str] = set()
    for column in columns:
        if column.lower() in seen:
            raise InputError(
                f"Expected one value for the column '{column}', found two. Remove one of them."
            )
        seen.add(column.lower())


def change_fields(
    cursor: TokenCursor, changed: TargetName, verb: int, read: Sequence[Token]
) -> dict[str, Any]:
    """Return the fields that every `RowChange` has.

    Args:
        verb: The index of `update`, `delete` or `merge`; common table expressions are before it.
        read: The tokens that may read relations, except those before the verb.
    """
    prefix = cursor.tokens[:verb]
    # One scan, so that the common table expressions hide relations of their names behind the verb.
    # The target is not among the tokens: it is replaced, not read.
    found = scan([*prefix, *read])
    with_ = Slice(prefix[0].start, prefix[-1].end) if prefix else None
    return {
        "target": changed.target,
        "alias": changed.alias,
        "text": cursor.text,
        "reads": found.reads,
        "diffs": found.diffs,
        "files": found.files,
        "with_": with_,
    }
