"""Statements that change single rows: `update`, `delete from` and `merge into`.

Each can be *staged*: written as a query that says what to do to which physical row. Its
columns:

- `__vcs_action`: 'update', 'delete' or 'insert';
- `__vcs_file` (string), `__vcs_pos` (bigint): the row; NULL for an insert;
- `__old_0`, `__old_1`...: the old row, in the order of the table's columns; NULL for an
  insert;
- `__new_0`, `__new_1`...: the new row; NULL for a delete. They have the types of the
  statement's expressions: the caller casts them to the table's types.

`merge` adds `__vcs_matched` (boolean): true if the target's row matched a row of the source, and
`__vcs_clause` (int): the place of the clause that applies. Its new values are only those that the
clause gives: NULL where it gives none. A column to which several clauses give values has them in
a struct, named by `clause_name`, since each must be cast to the column's type by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypedDict

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.staging_sql import (
    Assignment,
    MergeClause,
    MergeQuery,
    MergeSource,
    Sources,
    TargetColumn,
    staged_delete,
    staged_update,
)
from dbt.adapters.vcs.sql.syntax.conjuncts import (
    Comparison,
    KeyPair,
    comparisons_of,
    key_pairs_of,
)
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.expressions import read_expression
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Token
from dbt.adapters.vcs.sql.syntax.names import Reference, Target, qualifiers_of
from dbt.adapters.vcs.sql.syntax.parser import reads
from dbt.adapters.vcs.sql.syntax.relations import is_name
from dbt.adapters.vcs.sql.syntax.scan import scan
from dbt.adapters.vcs.sql.syntax.statement import PlaceT, Slice, Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """What all statements that change single rows have in common.

    Attributes:
        target: The table.
        alias: Its alias, which hides its own name, or None.
        text: The whole statement; nothing follows its last token.
        reads: What it reads besides the target, with offsets into `text`.
        diffs: Diffs of versions that it reads, with offsets into `text`.
        with_: Place of the preceding common table expressions, or None.
    """

    target: Target
    alias: str | None
    text: str
    reads: tuple[Reference, ...]
    diffs: tuple[DiffReference, ...]
    with_: Slice | None

    def sources(
        self, replacements: Mapping[PlaceT, str] | None, source: MergeSource | None = None
    ) -> Sources:
        """Return the sources of its pieces, with some relations replaced."""
        return Sources(self.text, self.target, self.alias, replacements or {}, source)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(ConditionalChange, Statement):
    """`update t set ... [where ...]`.

    Attributes:
        assignments: The assignments; each column occurs once.
    """

    changes = True
    writes_rows = True

    assignments: tuple[Assignment, ...]

    def staged(
        self,
        located: str,
        columns: Sequence[TargetColumn],
        source_columns: Sequence[str] = (),
        replacements: Mapping[PlaceT, str] | None = None,
    ) -> str:
        """Return the query of the changed rows, each once, with the old and new values.

        Args:
            located: The target's rows as SQL: its columns, and `__vcs_file` and `__vcs_pos`.
            columns: The target's columns, in order.
            source_columns: Not used: only a merge has a source.
            replacements: Other relations, as SQL, for some of `reads` and `diffs`.

        Raises:
            InputError: The target has no such column.
        """
        sources = self.sources(replacements)
        return staged_update(sources, self.with_, self.assignments, self.where, located, columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(ConditionalChange, Statement):
    """`delete from t [where ...]`."""

    changes = True
    writes_rows = True

    def staged(
        self,
        located: str,
        columns: Sequence[TargetColumn],
        source_columns: Sequence[str] = (),
        replacements: Mapping[PlaceT, str] | None = None,
    ) -> str:
        """Return the query of the deleted rows, each once; arguments as for `Update.staged`."""
        sources = self.sources(replacements)
        return staged_delete(sources, self.with_, self.where, located, columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(RowChange, Statement):
    """`merge into t using s on ... when ...`.

    Attributes:
        source: The other rows.
        on: Place of the match condition.
        clauses: At least one: those for matched rows, for rows only in the source, and for
            rows only in the target, in this order. In each group the first that applies wins.
    """

    changes = True
    writes_rows = True

    source: MergeSource
    on: Slice
    clauses: tuple[MergeClause, ...]

    @property
    def needs_cardinality_check(self) -> bool:
        """True if it is an error for several rows of the source to match one row of the target.

        That is the case whatever the conditions of the clauses, unless matched rows are only
        deleted.
        """
        matched = [clause for clause in self.clauses if clause.when == "matched"]
        if len(matched) == 1 and matched[0].action == "delete" and matched[0].condition is None:
            return False
        return bool(matched)

    @property
    def needs_source_columns(self) -> bool:
        """True if `staged` needs the source's columns, because a clause has `*`."""
        return any(clause.star for clause in self.clauses)

    def actions(self) -> frozenset[Literal["update", "delete", "insert"]]:
        """Return the actions of its clauses."""
        return frozenset(clause.action for clause in self.clauses)

    def source_query(self, replacements: Mapping[PlaceT, str] | None = None) -> str:
        """Return a query of only the source's rows, as SQL."""
        return self._query("", (), (), replacements).source_query()

    def staged(
        self,
        located: str,
        columns: Sequence[TargetColumn],
        source_columns: Sequence[str] = (),
        replacements: Mapping[PlaceT, str] | None = None,
    ) -> str:
        """Return the query of the actions to carry out.

        Rows to which no clause applies are left out. With `needs_cardinality_check`, matched
        rows are kept, with NULL as the action, so that counting by row finds multiple matches.
        Otherwise a row to delete occurs once for each match.

        Args:
            located: The target's rows as SQL: its columns, and `__vcs_file` and `__vcs_pos`.
            columns: The target's columns, in order.
            source_columns: The source's columns.
            replacements: Other relations, as SQL, for some of `reads` and `diffs`.

        Raises:
            InputError: The target has no such column, or the source lacks one that `*` needs.
        """
        return self._query(located, columns, source_columns, replacements).sql(
            keep_matched=self.needs_cardinality_check
        )

    def givers(
        self, columns: Sequence[TargetColumn], source_columns: Sequence[str] = ()
    ) -> list[dict[int, bool]]:
        """Return the places of the clauses that give each column a value, or keep its value.

        The result has a dict for each column of the target: the place of a clause, and true if
        the clause gives the column a value, false if the column keeps its own. Arguments and
        errors are those of `staged`.
        """
        return self._query("", columns, source_columns, None).givers

    def conjuncts(self) -> tuple[KeyPair, ...]:
        """Return equalities that every match meets; uncertain ones are left out."""
        sources = self.sources(None, self.source)
        return key_pairs_of(
            sources.piece(self.on), self.target.name, self.alias, self.source.shown_name
        )

    def _query(
        self,
        located: str,
        columns: Sequence[TargetColumn],
        source_columns: Sequence[str],
        replacements: Mapping[PlaceT, str] | None,
    ) -> MergeQuery:
        return MergeQuery(
            sources=self.sources(replacements, self.source),
            with_=self.with_,
            source=self.source,
            on=self.on,
            clauses=self.clauses,
            located=located,
            columns=columns,
            source_columns=source_columns,
        )


When = Literal["matched", "not matched", "not matched by source"]
_WHENS: Final[tuple[When, ...]] = ("matched", "not matched", "not matched by source")
_SCHEMA_EVOLUTION: Final = (
    "`merge with schema evolution` is not supported. Add the columns first with "
    "`alter table ... add columns`, or set on_schema_change in the model."
)


@reads("update", "delete", "merge")
def read_row_change(cursor: TokenCursor) -> Update | Delete | Merge:
    """Read what follows `update`, `delete` or `merge`; `with ...` may stand before it.

    Raises:
        InputError: A column is set twice, or a clause is in the wrong place.
        UnsupportedError: A merge changes the table's schema, or a field of a column is set.
    """
    prefix = cursor.tokens[: cursor.index - 1]
    if cursor.last.word == "update":
        return _update(cursor, prefix)
    if cursor.last.word == "delete":
        return _delete(cursor, prefix)
    return _merge(cursor, prefix)


class _Target(NamedTuple):
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


def _read_target(cursor: TokenCursor, *ends: str) -> _Target:
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
    return _Target(target, _read_alias(cursor, *ends))


def _read_alias(cursor: TokenCursor, *ends: str) -> str | None:
    if cursor.take("as"):
        return cursor.identifier("an alias")
    if is_name(cursor.token) and cursor.token.word not in ends:
        return cursor.identifier("an alias")
    return None


def _update(cursor: TokenCursor, prefix: Sequence[Token]) -> Update:
    changed = _read_target(cursor, "set")
    first = cursor.index
    cursor.expect("set")
    assignments = _assignments(cursor, changed, lambda: cursor.at("where"))
    where = _where(cursor)
    said = _said(cursor, changed, prefix, cursor.tokens[first:-1])
    return Update(**said, assignments=assignments, where=where)


def _delete(cursor: TokenCursor, prefix: Sequence[Token]) -> Delete:
    cursor.expect("from")
    changed = _read_target(cursor, "where")
    first = cursor.index
    where = _where(cursor)
    return Delete(**_said(cursor, changed, prefix, cursor.tokens[first:-1]), where=where)


def _merge(cursor: TokenCursor, prefix: Sequence[Token]) -> Merge:
    if cursor.at("with", "schema", "evolution"):
        raise UnsupportedError(_SCHEMA_EVOLUTION)
    cursor.expect("into")
    changed = _read_target(cursor, "using")
    cursor.expect("using")
    # The source is written like a relation of a `from` clause.
    from_ = Token(Kind.WORD, "from", "from", cursor.last.start, cursor.last.end)
    first = cursor.index
    source = _source(cursor)
    cursor.expect("on")
    on = read_expression(cursor, lambda: _at_when(cursor))
    said = _said(cursor, changed, prefix, [from_, *cursor.tokens[first:-1]])
    return Merge(**said, source=source, on=on, clauses=_clauses(cursor, changed))


class _Said(TypedDict):
    """The fields of `RowChange`."""

    target: Target
    alias: str | None
    text: str
    reads: tuple[Reference, ...]
    diffs: tuple[DiffReference, ...]
    with_: Slice | None


def _said(
    cursor: TokenCursor, changed: _Target, prefix: Sequence[Token], read: Sequence[Token]
) -> _Said:
    """Return what every kind of statement says; `read` are the tokens that may read relations."""
    found = scan([*prefix, *read])
    with_ = Slice(prefix[0].start, prefix[-1].end) if prefix else None
    return _Said(
        target=changed.target,
        alias=changed.alias,
        text=cursor.text,
        reads=found.reads,
        diffs=found.diffs,
        with_=with_,
    )


def _source(cursor: TokenCursor) -> MergeSource:
    start = cursor.token.start
    parts: Sequence[str] = ()
    if cursor.token.word == "(":
        cursor.skip_group()
    else:
        parts = cursor.relation_parts()
        if cursor.at("with", "("):
            cursor.index += 1
            cursor.skip_group()
    place = Slice(start, cursor.last.end)
    return MergeSource(place=place, parts=tuple(parts), alias=_read_alias(cursor, "on"))


def _clauses(cursor: TokenCursor, changed: _Target) -> tuple[MergeClause, ...]:
    clauses: list[MergeClause] = []
    while cursor.take("when"):
        when = _when(cursor)
        before = clauses[-1] if clauses else None
        if before is not None and _WHENS.index(when) < _WHENS.index(before.when):
            raise InputError(
                f"Expected the clauses of a merge in the order {', '.join(_WHENS)}; found `when "
                f"{when}` after `when {before.when}`. Move it before that."
            )
        if before is not None and before.when == when and before.condition is None:
            raise InputError(
                f"Expected no other clause `when {when}` after one without a condition, which "
                "applies to all rows. Give that one a condition, or move it to the end."
            )
        clauses.append(_clause(cursor, changed, when))
    if not clauses:
        cursor.fail("`when matched` or `when not matched`")
    cursor.end()
    return tuple(clauses)


def _when(cursor: TokenCursor) -> When:
    if cursor.take("matched"):
        return "matched"
    if not cursor.take("!", "matched"):
        cursor.expect("not", "matched")
    if cursor.take("by", "source"):
        return "not matched by source"
    cursor.take("by", "target")
    return "not matched"


def _clause(cursor: TokenCursor, changed: _Target, when: When) -> MergeClause:
    condition = None
    if cursor.take("and"):
        condition = read_expression(cursor, lambda: cursor.at("then"))
    cursor.expect("then")
    if when == "not matched":
        cursor.expect("insert")
        return _insert(cursor, changed, condition)
    if cursor.take("delete"):
        return MergeClause(when=when, action="delete", condition=condition)
    if not cursor.take("update", "set"):
        cursor.fail("`update set` or `delete`")
    if when == "matched" and cursor.symbol("*"):
        return MergeClause(when=when, action="update", condition=condition, star=True)
    assignments = _assignments(cursor, changed, lambda: _at_when(cursor))
    return MergeClause(when=when, action="update", condition=condition, assignments=assignments)


def _insert(cursor: TokenCursor, changed: _Target, condition: Slice | None) -> MergeClause:
    if cursor.symbol("*"):
        return MergeClause(when="not matched", action="insert", condition=condition, star=True)
    columns = cursor.items(lambda: changed.column(cursor))
    cursor.expect("values")
    values = cursor.items(lambda: _value(cursor, lambda: False))
    if len(columns) != len(values):
        raise InputError(
            f"Expected one value for each column, found {len(columns)} columns and {len(values)} "
            "values in the merge's `insert`. Correct one of the lists."
        )
    _check_once(columns)
    return MergeClause(
        when="not matched",
        action="insert",
        condition=condition,
        assignments=tuple(map(Assignment, columns, values)),
    )


def _assignments(
    cursor: TokenCursor, changed: _Target, stop: Callable[[], bool]
) -> tuple[Assignment, ...]:
    assignments = cursor.bare_items(lambda: _assignment(cursor, changed, stop))
    _check_once(assignment.column for assignment in assignments)
    return assignments


def _assignment(cursor: TokenCursor, changed: _Target, stop: Callable[[], bool]) -> Assignment:
    column = changed.column(cursor)
    cursor.expect_symbol("=")
    cursor.symbol("=")
    return Assignment(column, _value(cursor, stop))


def _check_once(columns: Iterable[str]) -> None:
    seen: Collection[str] = set()
    for column in columns:
        if column.lower() in seen:
            raise InputError(
                f"Expected one value for the column '{column}', found two. Remove one of them."
            )
        seen = {*seen, column.lower()}


def _value(cursor: TokenCursor, stop: Callable[[], bool]) -> Slice | None:
    """Read an expression, or `default`, which is None."""
    place = read_expression(cursor, stop)
    return None if cursor.text[place.start : place.end].lower() == "default" else place


def _where(cursor: TokenCursor) -> Slice | None:
    where = None
    if cursor.take("where"):
        where = read_expression(cursor, lambda: False)
    cursor.end()
    return where


def _at_when(cursor: TokenCursor) -> bool:
    return any(cursor.at("when", *words, "matched") for words in ((), ("not",), ("!",)))
