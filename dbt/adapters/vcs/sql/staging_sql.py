"""Queries that compute which rows a statement changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, NamedTuple

from dbt.adapters.vcs.changes.writes.stage import ACTION, CLAUSE, MATCHED, clause_name
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.sql.syntax.literals import quote_name
from dbt.adapters.vcs.sql.syntax.names import CATALOG, Target
from dbt.adapters.vcs.sql.syntax.statement import (
    Edit,
    PlaceT,
    Slice,
    edited,
    longer_names,
    renames,
    replaced_names,
    shortened,
)


class TargetColumn(NamedTuple):
    """A column of the target table.

    Attributes:
        name: Its name.
        default_sql: SQL text of its default, or None.
    """

    name: str
    default_sql: str | None = None


class Assignment(NamedTuple):
    """The new value of a column: the place of an expression, or None for the default."""

    column: str
    value: Slice | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSource:
    """The source of a merge.

    Attributes:
        place: Place of a relation's name with its version, or of a query in parentheses.
        parts: The relation's name; empty for a query.
        alias: Its alias, or None.
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
        when: The rows that it applies to.
        action: The action on these rows.
        condition: Place of an additional condition, or None.
        star: True with `update set *` and `insert *`.
        assignments: The values to set or insert, without `star`.
    """

    when: Literal["matched", "not matched", "not matched by source"]
    action: Literal["update", "delete", "insert"]
    condition: Slice | None = None
    star: bool = False
    assignments: tuple[Assignment, ...] = ()


class Sources:
    """Pieces of a statement's text, adapted for another query.

    A column may be qualified by schema and name of a relation without an alias. Since another
    relation replaces it, only its name is kept there.
    """

    def __init__(
        self,
        text: str,
        target: Target,
        alias: str | None,
        replacements: Mapping[PlaceT, str],
        source: MergeSource | None = None,
    ) -> None:
        self.text = text
        self.target_name = alias or target.name.identifier
        names = replaced_names(replacements)
        if source is not None and source.alias is None and source.parts:
            names.update(longer_names(source.parts))
        if alias is None and target.name.schema is not None:
            names.update(longer_names((CATALOG, target.name.schema, target.name.identifier)))
        self._edits = [*renames(replacements), *shortened(text, names)]

    def piece(self, place: Slice) -> str:
        """Return one piece."""
        inside = (
            Edit(edit.start - place.start, edit.end - place.start, edit.text)
            for edit in self._edits
            if place.start <= edit.start and edit.end <= place.end
        )
        return edited(self.text[place.start : place.end], inside)

    def prefix(self, with_: Slice | None) -> str:
        """Return the common table expressions, followed by a line break if there are any."""
        return "" if with_ is None else f"{self.piece(with_)}\n"


def staged_update(
    sources: Sources,
    with_: Slice | None,
    assignments: Sequence[Assignment],
    where: Slice | None,
    located: str,
    columns: Sequence[TargetColumn],
) -> str:
    """Return the query of an `update`."""
    table = quote_name(sources.target_name)
    values = values_by_place(assignments, columns)
    # `if` makes Spark reject functions that turn one row into several, such as explode.
    new = [
        f"if(true, {value_sql(sources, values[place], column)}, null)"
        if place in values
        else f"{table}.{quote_name(column.name)}"
        for place, column in enumerate(columns)
    ]
    return _staged(sources, with_, "update", new, where, located, columns)


def staged_delete(
    sources: Sources,
    with_: Slice | None,
    where: Slice | None,
    located: str,
    columns: Sequence[TargetColumn],
) -> str:
    """Return the query of a `delete`."""
    table = quote_name(sources.target_name)
    new = [f"if(false, {table}.{quote_name(column.name)}, null)" for column in columns]
    return _staged(sources, with_, "delete", new, where, located, columns)


def _staged(
    sources: Sources,
    with_: Slice | None,
    action: str,
    new: Sequence[str],
    where: Slice | None,
    located: str,
    columns: Sequence[TargetColumn],
) -> str:
    table = quote_name(sources.target_name)
    items = [f"'{action}' as {ACTION}", f"{table}.{FILE_COLUMN} as {FILE_COLUMN}"]
    items.append(f"{table}.{POSITION_COLUMN} as {POSITION_COLUMN}")
    items += (f"{table}.{quote_name(c.name)} as __old_{n}" for n, c in enumerate(columns))
    items += (f"{value} as __new_{n}" for n, value in enumerate(new))
    condition = "" if where is None else f"\n{where_clause(sources.piece(where))}"
    listed = ",\n  ".join(items)
    return f"{sources.prefix(with_)}select {listed}\nfrom {located} as {table}{condition}"


def values_by_place(
    assignments: Sequence[Assignment], columns: Sequence[TargetColumn]
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


def value_sql(sources: Sources, value: Slice | None, column: TargetColumn) -> str:
    """Return the SQL text of an assigned value, in parentheses if needed."""
    if value is None:
        return column.default_sql or "null"
    return sources.piece(value)


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

    sources: Sources
    with_: Slice | None
    source: MergeSource
    on: Slice
    clauses: Sequence[MergeClause]
    located: str
    columns: Sequence[TargetColumn]
    source_columns: Sequence[str]
    _mark: str = field(init=False)

    def __post_init__(self) -> None:
        taken = "\n".join(
            (self.sources.text, *(c.name for c in self.columns), *self.source_columns)
        ).lower()
        mark = "__vcs_merge"
        while mark in taken:
            mark += "_"
        object.__setattr__(self, "_mark", mark)

    def source_query(self) -> str:
        """Return the query of the source's rows."""
        place = self.sources.piece(self.source.place)
        return f"{self.sources.prefix(self.with_)}select * from {place}"

    def sql(self, *, keep_matched: bool) -> str:
        """Return the query; `keep_matched` keeps matched rows that no clause applies to."""
        rows = self._joined()
        kinds = ["matched"]
        for kind, level in (
            ("not matched", self._only_source),
            ("not matched by source", self._only_target),
        ):
            if any(clause.when == kind for clause in self.clauses):
                rows = level(rows)
                kinds.append(kind)
        numbers = ", ".join(f"{self._change(kind)}.clause" for kind in kinds)
        rows = f"select *, coalesce({numbers}) as {self._named('clause')}\nfrom (\n{rows}\n)"
        applies = f"{self._named('clause')} is not null"
        if keep_matched:
            applies += f" or {self._is_match()}"
        listed = ",\n  ".join(self._result())
        prefix = self.sources.prefix(self.with_)
        return f"{prefix}select {listed}\nfrom (\n{rows}\n)\nwhere {applies}"

    def _named(self, what: str) -> str:
        return f"{self._mark}_{what}"

    def _change(self, kind: str) -> str:
        return self._named(kind.replace(" ", "_"))

    def _old(self, place: int) -> str:
        return self._named(f"old_{place}")

    def _is_match(self) -> str:
        return f"({self._named('pos')} is not null and {self._named('source')} is not null)"

    def _handed_on(self) -> list[str]:
        """Return the names of the columns that every level has, except the changes."""
        own = [self._named("file"), self._named("pos"), self._named("source")]
        return own + [self._old(place) for place in range(len(self.columns))]

    def _source_name(self) -> str:
        name = self.source.shown_name
        if name is None:
            return self._named("using")
        if name.lower() == self.sources.target_name.lower():
            raise UnsupportedError(
                f"The merge's target and source are both called '{name}' in its conditions. Give "
                "each an alias of its own: merge into a as target using b as source on ..."
            )
        return quote_name(name)

    def _joined(self) -> str:
        """Return the join with the changes of matched rows; it provides both tables' names."""
        target, source = quote_name(self.sources.target_name), self._source_name()
        kinds = {clause.when for clause in self.clauses}
        both = f"{target}.{POSITION_COLUMN} is not null"
        both += f" and {source}.{self._named('source')} is not null"
        items = [
            f"{target}.{FILE_COLUMN} as {self._named('file')}",
            f"{target}.{POSITION_COLUMN} as {self._named('pos')}",
            *(f"{target}.{quote_name(c.name)} as {self._old(n)}" for n, c in self._numbered()),
            f"{source}.*" if "not matched" in kinds else f"{source}.{self._named('source')}",
            self._changes("matched", both),
        ]
        join = _JOINS[frozenset(kinds - {"matched"})]
        return (
            f"select {_lines(items)}\nfrom {self.located} as {target}\n"
            f"{join} join {self._marked_source()}\non {self._piece(self.on)}"
        )

    def _marked_source(self) -> str:
        """Return the source's rows with a marker column that is null without a match."""
        rows = f"select *, true as {self._named('source')} from "
        rows += self.sources.piece(self.source.place)
        return f"({rows}) as {self._source_name()}"

    def _only_source(self, rows: str) -> str:
        """Return the rows with the changes of those only in the source."""
        missing = f"{self._named('pos')} is null"
        items = [
            *self._handed_on(),
            self._change("matched"),
            self._changes("not matched", missing),
        ]
        return f"select {_lines(items)}\nfrom (\n{rows}\n) as {self._source_name()}"

    def _only_target(self, rows: str) -> str:
        """Return the rows with the changes of those only in the target."""
        missing = f"{self._named('source')} is null"
        named = [f"{self._old(n)} as {quote_name(c.name)}" for n, c in self._numbered()]
        rows = f"select *,\n  {_lines(named)}\nfrom (\n{rows}\n)"
        kinds = {clause.when for clause in self.clauses}
        items = [
            *self._handed_on(),
            self._change("matched"),
            *([self._change("not matched")] if "not matched" in kinds else []),
            self._changes("not matched by source", missing),
        ]
        target = quote_name(self.sources.target_name)
        return f"select {_lines(items)}\nfrom (\n{rows}\n) as {target}"

    def _numbered(self) -> list[tuple[int, TargetColumn]]:
        return list(enumerate(self.columns))

    def _changes(self, kind: str, guard: str) -> str:
        """Return the column of one kind of clause.

        It is a struct of the number of the clause that applies and, in a field for each
        clause, its values, so that values of different clauses keep their types.
        """
        own = [(n, clause) for n, clause in enumerate(self.clauses) if clause.when == kind]
        column = self._change(kind)
        branches: list[str] = []
        for number, clause in own:
            fields = [f"'clause', {number}"]
            for other, told in own:
                if told.action != "delete":
                    values = self._struct(told) if other == number else "null"
                    fields.append(f"'values_{other}', {values}")
            condition = "true" if clause.condition is None else self._piece(clause.condition)
            branches.append(f"when {condition} then named_struct({', '.join(fields)})")
        if not branches:
            return f"cast(null as struct<clause: int>) as {column}"
        return f"case when {guard} then case\n    {' '.join(branches)} end end as {column}"

    def _piece(self, place: Slice) -> str:
        return f"({self.sources.piece(place)})"

    def _given(self, clause: MergeClause) -> dict[int, str]:
        """Return the SQL of a clause's values by the index of the column."""
        if clause.star:
            return self._by_name(clause)
        values = {
            place: value_sql(self.sources, value, self.columns[place])
            for place, value in values_by_place(clause.assignments, self.columns).items()
        }
        if clause.action == "insert":
            for place, column in self._numbered():
                if column.default_sql is not None:
                    values.setdefault(place, column.default_sql)
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
        return {n: f"{source}.{quote_name(names[c.name.lower()])}" for n, c in self._numbered()}

    def _struct(self, clause: MergeClause) -> str:
        fields = (f"'v{place}', {value}" for place, value in sorted(self._given(clause).items()))
        return f"named_struct({', '.join(fields)})"

    def _result(self) -> list[str]:
        """Return the columns of the result."""
        number = self._named("clause")
        actions = " ".join(f"when {n} then '{c.action}'" for n, c in enumerate(self.clauses))
        return [
            f"case {number} {actions} end as {ACTION}",
            f"{self._named('file')} as {FILE_COLUMN}",
            f"{self._named('pos')} as {POSITION_COLUMN}",
            *(f"{self._old(place)} as __old_{place}" for place, _ in self._numbered()),
            *(f"{self._new(place)} as __new_{place}" for place, _ in self._numbered()),
            f"{self._is_match()} as {MATCHED}",
            f"{number} as {CLAUSE}",
        ]

    @cached_property
    def givers(self) -> list[dict[int, bool]]:
        """For each column, the clauses that give it a value (true) or keep its value (false)."""
        clauses = [(n, c, self._given(c)) for n, c in enumerate(self.clauses)]
        return [
            {
                n: place in given
                for n, c, given in clauses
                if place in given or c.action == "update"
            }
            for place, _ in self._numbered()
        ]

    def _new(self, place: int) -> str:
        """Return the new value of a column, or those of several clauses as a struct."""
        values = {
            number: f"{self._change(self.clauses[number].when)}.values_{number}.v{place}"
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
