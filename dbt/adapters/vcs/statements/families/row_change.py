"""Statements that change single rows: `update`, `delete from` and `merge into`.

Each can be *staged*: written as a query that says what to do to which physical row, its columns

- `__vcs_action`: 'update', 'delete' or 'insert';
- `__vcs_file` (string), `__vcs_pos` (bigint): the row; NULL for an insert;
- `__old_0`, `__old_1`...: the row as it is, in the order of the table's columns; NULL for an
  insert;
- `__new_0`, `__new_1`...: the row as it shall be; NULL for a delete. They have the types of the
  statement's expressions: storing them as the table's types is for the caller.

`merge` adds `__vcs_matched` (boolean): true if the target's row matched a row of the source.
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
    """What all statements that change single rows say.

    Attributes:
        target: The table.
        alias: Its other name, which hides its own; None if it has none.
        text: The whole statement; behind its last token nothing follows.
        reads: What it reads besides the target, with offsets into `text`.
        diffs: Differences of versions that it reads, with offsets into `text`.
        with_: Place of the common table expressions before it, or None.
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
        """Return what its pieces read, others standing for some of it."""
        return Sources(self.text, self.target, self.alias, replacements or {}, source)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalChange(RowChange):
    """What `update` and `delete` say: which rows.

    Attributes:
        where: Place of the condition; None for all rows.
    """

    where: Slice | None

    def conjuncts(self) -> tuple[Comparison, ...]:
        """Return comparisons of a column with constants that hold for every row that changes.

        Those that are not sure to be such are left out, so the rows that change may be fewer.
        """
        return comparisons_of(self.text, self.where, self.target.name, self.alias)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(ConditionalChange, Statement):
    """`update t set ... [where ...]`.

    Attributes:
        assignments: What is set; each column once.
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
        """Return the query of the rows that change, each once, with the old and the new values.

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
        """Return the query of the rows that go, each once; arguments as for `Update.staged`."""
        sources = self.sources(replacements)
        return staged_delete(sources, self.with_, self.where, located, columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(RowChange, Statement):
    """`merge into t using s on ... when ...`.

    Attributes:
        source: Where the other rows come from.
        on: Place of the condition of a match.
        clauses: At least one: those of matched rows, of rows that only the source has, and of
            rows that only the target has, in this order; of each the first that applies counts.
    """

    changes = True
    writes_rows = True

    source: MergeSource
    on: Slice
    clauses: tuple[MergeClause, ...]

    @property
    def needs_cardinality_check(self) -> bool:
        """True if it is an error that several rows of the source match one row of the target.

        That is so whatever the conditions of the clauses say, unless matched rows are just
        deleted.
        """
        matched = [clause for clause in self.clauses if clause.when == "matched"]
        if len(matched) == 1 and matched[0].action == "delete" and matched[0].condition is None:
            return False
        return bool(matched)

    @property
    def needs_source_columns(self) -> bool:
        """True if `staged` has to know the source's columns: a clause says `*`."""
        return any(clause.star for clause in self.clauses)

    def actions(self) -> frozenset[Literal["update", "delete", "insert"]]:
        """Return what it may do."""
        return frozenset(clause.action for clause in self.clauses)

    def source_query(self, replacements: Mapping[PlaceT, str] | None = None) -> str:
        """Return a query of the source's rows alone, as SQL."""
        return self._query("", (), (), replacements).source_query()

    def staged(
        self,
        located: str,
        columns: Sequence[TargetColumn],
        source_columns: Sequence[str] = (),
        replacements: Mapping[PlaceT, str] | None = None,
    ) -> str:
        """Return the query of what is to be done.

        Rows that no clause applies to are left out; but if `needs_cardinality_check`, those that
        match are kept, with NULL for the action, so that a count by row tells of several
        matches. Without that need, a row that is to be deleted comes once for each match.

        Args:
            located: The target's rows as SQL: its columns, and `__vcs_file` and `__vcs_pos`.
            columns: The target's columns, in order. With their types, the values that several
                clauses give to one column are stored as that type, a value too large being an
                error of the query; without, they are brought to a common type.
            source_columns: The source's columns.
            replacements: Other relations, as SQL, for some of `reads` and `diffs`.

        Raises:
            InputError: The target has no such column, or the source lacks one that `*` needs.
        """
        return self._query(located, columns, source_columns, replacements).sql(
            keep_matched=self.needs_cardinality_check
        )

    def conjuncts(self) -> tuple[KeyPair, ...]:
        """Return equalities that every match fulfils; what is not sure to be one is left out."""
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
