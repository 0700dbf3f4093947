"""Merging the rows of a query into a table: `merge into`.

Its staged query, as `row_change` describes it, also has `__vcs_matched` (boolean): true if the
target's row matched a row of the source, and `__vcs_clause` (int): the place of the clause that
applies. Its new values are only those that the clause gives: NULL where it gives none. A column
to which several clauses give values has them in a struct, named by `clause_name`, since each must
be cast to the column's type by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, Literal, TypeAlias, get_args

from dbt.adapters.vcs.changes.writes import pruning
from dbt.adapters.vcs.changes.writes.stage import ACTION, CLAUSE, MATCHED, RowTarget, clause_name
from dbt.adapters.vcs.changes.writes.stage_write import rewritten
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field
from dbt.adapters.vcs.core.model.data_type import INTEGERS, type_of
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.engines.port import told_rows
from dbt.adapters.vcs.sql.row_change import (
    Assignment,
    Pieces,
    RowChange,
    TargetName,
    change_fields,
    check_once,
    put_changed,
    read_alias,
    read_assignments,
    read_target,
    read_value,
    reading,
    row_target,
    stage_of,
    value_sql,
    values_by_place,
)
from dbt.adapters.vcs.sql.syntax.conditions import KeyPair, key_pairs_of
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor, read_expression
from dbt.adapters.vcs.sql.syntax.lexer import Kind, Slice, Token, quote_name
from dbt.adapters.vcs.sql.syntax.parser import ChangingStatement, reads
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope, handles

When: TypeAlias = Literal["matched", "not matched", "not matched by source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSource:
    """The source of a merge.

    Attributes:
        place: Place of a relation's name with its version, or of a query in parentheses.
        parts: The relation's name; empty for a query.
    """

    place: Slice
    parts: tuple[str, ...]
    alias: str | None

    @property
    def shown_name(self) -> str | None:
        """The name that may qualify its columns; None for a query without an alias."""
        return self.alias or (self.parts[-1] if self.parts else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClause:
    """One `when ... then ...`.

    Attributes:
        condition: Place of an additional condition, or None.
        star: True with `update set *` and `insert *`.
        assignments: The values to set or insert, without `star`.
    """

    when: When
    action: Literal["update", "delete", "insert"]
    condition: Slice | None = None
    star: bool = False
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(RowChange, ChangingStatement):
    """`merge into t using s on ... when ...`.

    Attributes:
        on: Place of the match condition.
        clauses: At least one: those for matched rows, for rows only in the source, and for
            rows only in the target, in this order. In each group the first that applies wins.
    """

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
        # Spark's own rule: to delete a row twice is to delete it once.
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

    def source_query(self) -> str:
        """Return a query of only the source's rows, as SQL."""
        pieces = self.pieces()
        return f"{pieces.prefix()}select * from {pieces.piece(self.source.place)}"

    def staged(
        self, located: str, columns: Sequence[Field], source_columns: Sequence[str] = ()
    ) -> str:
        """Return the query of the actions to carry out.

        Rows to which no clause applies are left out. With `needs_cardinality_check`, matched
        rows are kept, with NULL as the action, so that counting by row finds multiple matches.
        Otherwise a row to delete occurs once for each match.

        Args:
            located: The target's rows as SQL: its columns, and `__vcs_file` and `__vcs_pos`.
            columns: The target's columns, in order.

        Raises:
            InputError: The target has no such column, or the source lacks one that `*` needs.
        """
        return self._query(located, columns, source_columns).sql(
            keep_matched=self.needs_cardinality_check
        )

    def givers(
        self, columns: Sequence[Field], source_columns: Sequence[str] = ()
    ) -> list[dict[int, bool]]:
        """Return the places of the clauses that give each column a value, or keep its value.

        The result has a dict for each column of the target: the place of a clause, and true if
        the clause gives the column a value, false if the column keeps its own. Arguments and
        errors are those of `staged`.
        """
        return self._query("", columns, source_columns).givers

    def conjuncts(self) -> tuple[KeyPair, ...]:
        """Return equalities that every match meets; uncertain ones are left out."""
        on = self.pieces().piece(self.on)
        return key_pairs_of(on, self.target.name, self.alias, self.source.shown_name)

    def pieces(self) -> Pieces:
        """Return the pieces of its text."""
        # Without an alias, conditions may qualify the source's columns by its schema, too. It is
        # replaced by a query that has only the name.
        return Pieces(self, self.source.parts if self.source.alias is None else ())

    def _query(
        self, located: str, columns: Sequence[Field], source_columns: Sequence[str]
    ) -> MergeQuery:
        return MergeQuery(
            statement=self, located=located, columns=columns, source_columns=source_columns
        )


# A `merge` as one query over one join.
#
# Each kind of clause sees its own names: for matched rows those of both tables, for rows only in
# the source those of the source, for rows only in the target those of the target. So the query
# is built in levels, from the join outwards. Each level provides the names that its clauses may
# use, and adds one column with the number of the clause that applies and its values. Everything
# else that a level passes on has names that don't occur in the statement.
_JOINS: Final = {
    frozenset[str](): "inner",
    frozenset({"not matched"}): "right outer",
    frozenset({"not matched by source"}): "left outer",
    frozenset({"not matched", "not matched by source"}): "full outer",
}


@dataclass(frozen=True, kw_only=True)
class MergeQuery:
    """The parts of the query; `Merge.staged` documents its result."""

    statement: Merge
    located: str
    columns: Sequence[Field]
    source_columns: Sequence[str]

    @cached_property
    def _mark(self) -> str:
        # The levels add columns beside the user's, so what they add must have a name that occurs
        # nowhere, in any case.
        taken = "\n".join(
            (self.statement.text, *(c.name for c in self.columns), *self.source_columns)
        ).lower()
        mark = "__vcs_merge"
        while mark in taken:
            mark += "_"
        return mark

    @cached_property
    def _pieces(self) -> Pieces:
        return self.statement.pieces()

    @property
    def _target_name(self) -> str:
        return self.statement.alias or self.statement.target.name.identifier

    def sql(self, *, keep_matched: bool) -> str:
        """Return the query; `keep_matched` keeps matched rows that no clause applies to."""
        rows = self._join_sql()
        kinds = ["matched"]
        for kind, level in (
            ("not matched", self._only_source),
            ("not matched by source", self._only_target),
        ):
            if any(clause.when == kind for clause in self.statement.clauses):
                rows = level(rows)
                kinds.append(kind)
        # A row is of one kind, so at most one of these is not NULL.
        numbers = ", ".join(f"{self._change(kind)}.clause" for kind in kinds)
        rows = (
            f"select *, coalesce({numbers}) as {self._private_name('clause')}\nfrom (\n{rows}\n)"
        )
        applies = f"{self._private_name('clause')} is not null"
        if keep_matched:
            applies += f" or {self._is_match()}"
        listed = ",\n  ".join(self._result())
        prefix = self._pieces.prefix()
        return f"{prefix}select {listed}\nfrom (\n{rows}\n)\nwhere {applies}"

    def _private_name(self, what: str) -> str:
        return f"{self._mark}_{what}"

    def _change(self, kind: str) -> str:
        return self._private_name(kind.replace(" ", "_"))

    def _old(self, place: int) -> str:
        return self._private_name(f"old_{place}")

    def _is_match(self) -> str:
        position, source = self._private_name("pos"), self._private_name("source")
        return f"({position} is not null and {source} is not null)"

    def _handed_on(self) -> list[str]:
        """Return the names of the columns that every level has, except the changes."""
        own = [self._private_name("file"), self._private_name("pos"), self._private_name("source")]
        return own + [self._old(place) for place in range(len(self.columns))]

    def _source_name(self) -> str:
        name = self.statement.source.shown_name
        if name is None:
            return self._private_name("using")
        if name.lower() == self._target_name.lower():
            raise UnsupportedError(
                f"The merge's target and source are both called '{name}' in its conditions. Give "
                "each an alias of its own: merge into a as target using b as source on ..."
            )
        return quote_name(name)

    def _join_sql(self) -> str:
        """Return the join with the changes of matched rows; it provides both tables' names."""
        target, source = quote_name(self._target_name), self._source_name()
        kinds = {clause.when for clause in self.statement.clauses}
        # Outer joins keep rows without a match. A position and the marker are never NULL in a row
        # of theirs, unlike the user's columns.
        both = f"{target}.{POSITION_COLUMN} is not null"
        both += f" and {source}.{self._private_name('source')} is not null"
        items = [
            f"{target}.{FILE_COLUMN} as {self._private_name('file')}",
            f"{target}.{POSITION_COLUMN} as {self._private_name('pos')}",
            *(f"{target}.{quote_name(c.name)} as {self._old(n)}" for n, c in self._places()),
            # Only `not matched` clauses name the source's columns on a later level. Without them
            # they end here: they could have the names of the target's, which come back.
            f"{source}.*"
            if "not matched" in kinds
            else f"{source}.{self._private_name('source')}",
            self._changes("matched", both),
        ]
        join = _JOINS[frozenset(kinds - {"matched"})]
        return (
            f"select {_lines(items)}\nfrom {self.located} as {target}\n"
            f"{join} join {self._marked_source()}\non {self._piece(self.statement.on)}"
        )

    def _marked_source(self) -> str:
        """Return the source's rows with a marker column that is null without a match."""
        # The user's own columns may all be NULL in a row, so the marker is a column of its own.
        rows = f"select *, true as {self._private_name('source')} from "
        rows += self._pieces.piece(self.statement.source.place)
        return f"({rows}) as {self._source_name()}"

    def _only_source(self, rows: str) -> str:
        missing = f"{self._private_name('pos')} is null"
        items = [
            *self._handed_on(),
            self._change("matched"),
            self._changes("not matched", missing),
        ]
        return f"select {_lines(items)}\nfrom (\n{rows}\n) as {self._source_name()}"

    def _only_target(self, rows: str) -> str:
        missing = f"{self._private_name('source')} is null"
        # The target's names come back in a level of their own, so that its alias can qualify them.
        named = [f"{self._old(n)} as {quote_name(c.name)}" for n, c in self._places()]
        rows = f"select *,\n  {_lines(named)}\nfrom (\n{rows}\n)"
        kinds = {clause.when for clause in self.statement.clauses}
        items = [
            *self._handed_on(),
            self._change("matched"),
            *([self._change("not matched")] if "not matched" in kinds else []),
            self._changes("not matched by source", missing),
        ]
        target = quote_name(self._target_name)
        return f"select {_lines(items)}\nfrom (\n{rows}\n) as {target}"

    def _places(self) -> list[tuple[int, Field]]:
        return list(enumerate(self.columns))

    def _changes(self, kind: str, guard: str) -> str:
        """Return the column of one kind of clause.

        It is a struct of the number of the clause that applies and, in a field for each
        clause, its values, so that values of different clauses keep their types.
        """
        own = [
            (n, clause) for n, clause in enumerate(self.statement.clauses) if clause.when == kind
        ]
        column = self._change(kind)
        branches: list[str] = []
        for number, clause in own:
            fields = [f"'clause', {number}"]
            for other, sibling in own:
                # The branches of a `case` need one type, so each has a field for every clause.
                if sibling.action != "delete":
                    values = self._struct(sibling) if other == number else "null"
                    fields.append(f"'values_{other}', {values}")
            condition = "true" if clause.condition is None else self._piece(clause.condition)
            branches.append(f"when {condition} then named_struct({', '.join(fields)})")
        # Later levels name this column whether or not the merge has such clauses.
        if not branches:
            return f"cast(null as struct<clause: int>) as {column}"
        return f"case when {guard} then case\n    {' '.join(branches)} end end as {column}"

    def _piece(self, place: Slice) -> str:
        return f"({self._pieces.piece(place)})"

    def _given(self, clause: MergeClause) -> dict[int, str]:
        if clause.star:
            return self._by_name(clause)
        values = {
            place: value_sql(self._pieces, value, self.columns[place])
            for place, value in values_by_place(clause.assignments, self.columns).items()
        }
        if clause.action == "insert":
            for place, column in self._places():
                # An omitted column without a default needs no value here: `_new` gives it NULL.
                if column.default is not None:
                    values.setdefault(place, column.default)
        return values

    def _by_name(self, clause: MergeClause) -> dict[int, str]:
        names = {name.lower(): name for name in self.source_columns}
        missing = [c.name for c in self.columns if c.name.lower() not in names]
        if missing:
            verb = "insert" if clause.action == "insert" else "update set"
            raise InputError(
                f"`{verb} *` needs every column of the table in the merge's source, which lacks "
                f"{', '.join(missing)}; it has {', '.join(self.source_columns) or 'none'}. Add "
                "them to the source, or list the columns."
            )
        source = self._source_name()
        return {n: f"{source}.{quote_name(names[c.name.lower()])}" for n, c in self._places()}

    def _struct(self, clause: MergeClause) -> str:
        fields = (f"'v{place}', {value}" for place, value in sorted(self._given(clause).items()))
        return f"named_struct({', '.join(fields)})"

    def _result(self) -> list[str]:
        number = self._private_name("clause")
        actions = " ".join(
            f"when {n} then '{c.action}'" for n, c in enumerate(self.statement.clauses)
        )
        return [
            f"case {number} {actions} end as {ACTION}",
            f"{self._private_name('file')} as {FILE_COLUMN}",
            f"{self._private_name('pos')} as {POSITION_COLUMN}",
            *(f"{self._old(place)} as __old_{place}" for place, _ in self._places()),
            *(f"{self._new(place)} as __new_{place}" for place, _ in self._places()),
            f"{self._is_match()} as {MATCHED}",
            f"{number} as {CLAUSE}",
        ]

    @cached_property
    def givers(self) -> list[dict[int, bool]]:
        """For each column, the clauses that give it a value (true) or keep its value (false)."""
        clauses = [(n, c, self._given(c)) for n, c in enumerate(self.statement.clauses)]
        return [
            {
                n: place in given
                for n, c, given in clauses
                # An update keeps what it doesn't set. An insert leaves NULL there, and a delete
                # has no new row.
                if place in given or c.action == "update"
            }
            for place, _ in self._places()
        ]

    def _new(self, place: int) -> str:
        """Return the new value of a column, or those of several clauses as a struct."""
        values = {
            number: f"{self._change(self.statement.clauses[number].when)}.values_{number}.v{place}"
            for number, gives in self.givers[place].items()
            if gives
        }
        if len(values) < 2:
            # A bare NULL has no type, which the strict policy of storing doesn't take.
            return values.popitem()[1] if values else f"if(false, {self._old(place)}, null)"
        # One `case` over them would cast them to a common type, which may be another than the
        # column's and hold less than both.
        fields = ", ".join(f"'{clause_name(n)}', {value}" for n, value in values.items())
        return f"named_struct({fields})"


def _lines(items: Sequence[str]) -> str:
    return ",\n  ".join(items)


_WHENS: Final[tuple[When, ...]] = get_args(When)


@reads("merge")
def _read_merge(cursor: TokenCursor) -> Merge:
    verb = cursor.index - 1
    if cursor.at("with", "schema", "evolution"):
        raise UnsupportedError(
            "`merge with schema evolution` is not supported. Add the columns first with "
            "`alter table ... add columns`, or set on_schema_change in the model."
        )
    cursor.expect("into")
    changed = read_target(cursor, "using")
    cursor.expect("using")
    # The source is written like a relation of a `from` clause.
    from_ = Token(Kind.WORD, "from", "from", cursor.last.start, cursor.last.end)
    first = cursor.index
    source = _source(cursor)
    cursor.expect("on")
    on = read_expression(cursor, lambda: _at_when(cursor))
    fields = change_fields(cursor, changed, verb, [from_, *cursor.tokens[first:-1]])
    return Merge(**fields, source=source, on=on, clauses=_clauses(cursor, changed))


def _source(cursor: TokenCursor) -> MergeSource:
    start = cursor.token.start
    parts: Sequence[str] = ()
    if cursor.token.word == "(":
        cursor.skip_group()
    else:
        parts = cursor.relation_parts()
        # Options, `t with (...)`. The cursor leaves them, since it doesn't know where parentheses
        # close.
        if cursor.at("with", "("):
            cursor.index += 1
            cursor.skip_group()
    place = Slice(start, cursor.last.end)
    return MergeSource(place=place, parts=tuple(parts), alias=read_alias(cursor, "on"))


def _clauses(cursor: TokenCursor, changed: TargetName) -> tuple[MergeClause, ...]:
    clauses: list[MergeClause] = []
    while cursor.take("when"):
        when = _when(cursor)
        before = clauses[-1] if clauses else None
        # Spark has both rules for its own merges, and never sees this statement.
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
    # Spark's grammar has `!` beside `not` here.
    if not cursor.take("!", "matched"):
        cursor.expect("not", "matched")
    if cursor.take("by", "source"):
        return "not matched by source"
    cursor.take("by", "target")
    return "not matched"


def _clause(cursor: TokenCursor, changed: TargetName, when: When) -> MergeClause:
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
    # `*` takes the values from the source, which `not matched by source` lacks.
    if when == "matched" and cursor.take("*"):
        return MergeClause(when=when, action="update", condition=condition, star=True)
    assignments = read_assignments(cursor, changed, lambda: _at_when(cursor))
    return MergeClause(when=when, action="update", condition=condition, assignments=assignments)


def _insert(cursor: TokenCursor, changed: TargetName, condition: Slice | None) -> MergeClause:
    if cursor.take("*"):
        return MergeClause(when="not matched", action="insert", condition=condition, star=True)
    columns = cursor.items(lambda: changed.column(cursor))
    cursor.expect("values")
    values = cursor.items(lambda: read_value(cursor, lambda: False))
    if len(columns) != len(values):
        raise InputError(
            f"Expected one value for each column, found {len(columns)} columns and {len(values)} "
            "values in the merge's `insert`. Correct one of the lists."
        )
    check_once(columns)
    return MergeClause(
        when="not matched",
        action="insert",
        condition=condition,
        assignments=tuple(map(Assignment, columns, values)),
    )


def _at_when(cursor: TokenCursor) -> bool:
    # `when` may also be a column, or belong to a `case`: the words behind it decide.
    return any(cursor.at("when", *words, "matched") for words in ((), ("not",), ("!",)))


PROBE_ABOVE: Final = 64 * 1024 * 1024
"""A merge into more bytes than this first computes the range of the source's keys."""


@handles(Merge)
def merge(scope: Scope, statement: Merge) -> Outcome:
    """Update, delete and insert rows depending on their matches in a source.

    Raises:
        NotFoundError: There is no such table.
        InputError: It is a view, a row would be changed by several rows of the source, or a
            column that can't be NULL gets a NULL.
        EngineError: A value doesn't fit its column.
    """
    target = row_target(scope, statement.target)
    source_columns: list[str] = []
    # To ask for columns is an analysis by the engine.
    if statement.needs_source_columns:
        with reading(scope, statement):
            source = scope.session.analysed(statement.source_query())
        scope.is_repeatable = source.is_repeatable
        source_columns = [column.name for column in source.columns]
    blocks = _blocks_to_search(scope, target, statement)
    key = _shown_key(target, statement) if statement.needs_cardinality_check else None
    columns = target.snapshot.schema.fields
    query = statement.staged(target.located(scope.session, blocks), columns, source_columns)
    givers = statement.givers(columns, source_columns)
    every = range(len(columns))
    with stage_of(scope, target, statement, query, every, givers) as stage:
        # Decision 29: a merge has updated and inserted rows in one file, so it names no replaced
        # rows. A delete may match a row several times.
        result = rewritten(scope, target, stage, key=key, updates_only=(), occurs_once=False)
        if scope.is_repeatable is None and stage.is_repeatable is not None:
            scope.is_repeatable = partial(
                _is_source_repeatable, scope, statement, stage.is_repeatable
            )
    # Only rows that come or get other values can make a key repeat.
    keeps_keys = statement.actions() == {"delete"}
    return put_changed(scope, target, result, "merge", keeps_keys=keeps_keys)


def _is_source_repeatable(scope: Scope, statement: Merge, whole: Callable[[], bool]) -> bool:
    """Return whether a merge's source gives the same rows each time.

    `whole` says so of the query that was written, which has the source in it.
    """
    if whole():
        return True
    # What varies may be another part of that query.
    with reading(scope, statement):
        return scope.session.analysed(statement.source_query()).is_repeatable()


def _blocks_to_search(scope: Scope, target: RowTarget, statement: Merge) -> Sequence[Block]:
    """Return the blocks in which a row may match one of the source."""
    # Rows that match nothing may be anywhere.
    if any(clause.when == "not matched by source" for clause in statement.clauses):
        return target.blocks
    # Reading a small table whole takes less time than computing the source twice.
    if sum(block.bytes for block in target.blocks) <= PROBE_ABOVE:
        return target.blocks
    schema = target.snapshot.schema
    pairs = [
        (field, pair.source_sql)
        for pair in statement.conjuncts()
        if (field := schema.find(pair.column)) and pruning.is_ordered(field.type)
    ]
    alias = statement.source.shown_name
    # With pairs there is an alias: the second check is for its type.
    if not pairs or alias is None:
        return target.blocks
    asked = ", ".join(f"min({sql}), max({sql})" for _, sql in pairs)
    source = statement.source_query()
    query = f"select {asked} from (\n{source}\n) as {quoted(alias)}"
    with reading(scope, statement):
        if scope.is_repeatable is None:
            scope.is_repeatable = scope.session.analysed(source).is_repeatable
        if not scope.is_repeatable():
            # Rows that only the second read returns would find no match and be inserted.
            return target.blocks
        rows = scope.session.query(query)
    blocks: Sequence[Block] = target.blocks
    # A source without keys has NULL for both bounds, which reaches no block.
    values = told_rows(rows)[0]
    for place, (field, _) in enumerate(pairs):
        low, high = 2 * place, 2 * place + 1
        # With a cast, the order of the column's values may not be that of the comparison.
        if _compares_as_itself(rows.columns[low].type, field):
            blocks = pruning.within(blocks, field, values[low], values[high])
    return blocks


def _compares_as_itself(type_: str, field: Field) -> bool:
    """Return whether Spark compares a column with a value of a type without casting the column."""
    types = type_of(type_), type_of(field.type)
    if all(item.kind in INTEGERS for item in types):
        return True
    if any(item.is_text for item in types):
        # Bounds are in the order of bytes, and a collation or the padding of `char` compares
        # otherwise.
        return all(item.is_plain_text for item in types)
    return types[0].kind == types[1].kind


def _shown_key(target: RowTarget, statement: Merge) -> list[int]:
    """Return the indexes of columns that identify a row: the match's, the key, or all."""
    schema = target.snapshot.schema
    ids = [field.id for field in schema.fields]
    matched = [schema.find(pair.column) for pair in statement.conjuncts()]
    places = [ids.index(field.id) for field in matched if field is not None]
    places = places or [ids.index(id) for id in target.snapshot.primary_key if id in ids]
    return places or list(range(len(ids)))
