"""Row changes as queries, assembled from pieces of the user's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.statements.syntax.conditions import where_clause
from dbt.adapters.vcs.statements.syntax.literals import quote_name
from dbt.adapters.vcs.statements.syntax.names import CATALOG, Target
from dbt.adapters.vcs.statements.syntax.query import (
    Edit,
    PlaceT,
    Slice,
    edited,
    longer_names,
    renames,
    replaced_names,
    shortened,
)

FILE: Final = "__vcs_file"
POSITION: Final = "__vcs_pos"
ACTION: Final = "__vcs_action"
MATCHED: Final = "__vcs_matched"
CLAUSE: Final = "__vcs_clause"


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
    items = [f"'{action}' as {ACTION}", f"{table}.{FILE} as {FILE}"]
    items.append(f"{table}.{POSITION} as {POSITION}")
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


def clause_name(number: int) -> str:
    """Return the name of the field with the value that a clause of a merge gives a column."""
    return f"clause_{number + 1}"


def value_sql(sources: Sources, value: Slice | None, column: TargetColumn) -> str:
    """Return the SQL text of an assigned value, in parentheses if needed."""
    if value is None:
        return column.default_sql or "null"
    return sources.piece(value)
