"""`insert`: rows added to a table, or that replace others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.column_clauses import PartitionSpec
from dbt.adapters.vcs.statements.syntax.diff_call import DiffReference
from dbt.adapters.vcs.statements.syntax.literals import quote_name
from dbt.adapters.vcs.statements.syntax.names import Reference, Target
from dbt.adapters.vcs.statements.syntax.query import Edit, PlaceT, Query, Slice, edited, renames


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(Statement):
    """`insert into|overwrite t ...`.

    Attributes:
        target: The table.
        query: The rows to write, as a query of its own; `values` is one. It is not runnable if
            its values hold `default`.
        reads: What the query reads, with offsets into `text`.
        diffs: Diffs of versions that the query reads, with offsets into `text`.
        text: The whole statement; nothing follows its last token.
        columns: The column list; empty if there is none.
        by_name: True with `by name`.
        overwrite: True with `overwrite`.
        partition: The `partition (...)` clause.
        if_not_exists: True with that clause: write only if the partition doesn't exist.
        replace_where: SQL text of the condition of `replace where`, or None.
        verb: Place of the word `into` or `overwrite`.
        condition: Place of `if not exists` or `replace where ...`.
        column_list: Place of the column list, parentheses included.
    """

    changes = True
    writes_rows = True

    target: Target
    query: Query
    reads: tuple[Reference, ...]
    diffs: tuple[DiffReference, ...] = ()
    text: str
    columns: tuple[str, ...] = ()
    by_name: bool = False
    overwrite: bool = False
    partition: tuple[PartitionSpec, ...] = ()
    if_not_exists: bool = False
    replace_where: str | None = None
    verb: Slice
    condition: Slice
    column_list: Slice

    def staged(
        self,
        stage: str,
        columns: Sequence[str] | None = None,
        replacements: Mapping[PlaceT, str] | None = None,
    ) -> str:
        """Return the statement as a plain `insert into` another table.

        Run against an empty table with the target's columns and partition columns, it inserts
        what the statement would add to the target.

        Args:
            stage: The other table, as SQL.
            columns: Names for a column list, which replaces the statement's own.
            replacements: Other relations, as SQL, for some of `reads` and `diffs`.

        Raises:
            InputError: `columns` is given and the statement matches columns by name.
        """
        edits = renames(replacements or {}, self.text)
        edits.append(Edit(*self.verb, "into"))
        edits.append(Edit(self.target.start, self.target.end, stage))
        if self.condition.start < self.condition.end:
            edits.append(Edit(*self.condition, ""))
        if columns is not None:
            if self.by_name:
                raise InputError(
                    "An insert `by name` takes no column list. Leave one of them out."
                )
            space = " " if self.column_list.start == self.column_list.end else ""
            names = ", ".join(map(quote_name, columns))
            edits.append(Edit(*self.column_list, f"{space}({names})"))
        return edited(self.text, edits)
