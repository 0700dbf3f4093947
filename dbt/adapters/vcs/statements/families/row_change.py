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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dbt.adapters.vcs.statements.families.merge_sql import MergeQuery
from dbt.adapters.vcs.statements.families.staging_sql import (
    Assignment,
    MergeClause,
    MergeSource,
    Sources,
    TargetColumn,
    staged_delete,
    staged_update,
)
from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.conjuncts import (
    Comparison,
    KeyPair,
    comparisons_of,
    key_pairs_of,
)
from dbt.adapters.vcs.statements.syntax.diff_call import DiffReference
from dbt.adapters.vcs.statements.syntax.names import Reference, Target
from dbt.adapters.vcs.statements.syntax.query import PlaceT, Slice


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
