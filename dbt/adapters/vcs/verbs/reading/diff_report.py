"""What a diff found: relations, their columns, and rows of one table."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.vcs.diffs.change_summary import ChangeSummary
from dbt.adapters.vcs.verbs.row_set import RowSet


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDiff:
    """One attribute of one column that differs.

    Attributes:
        kind: `added`, `dropped`, `renamed`, `retyped`, `nullable`, `default`, `comment`, `moved`.
        column: The column's name after, or before if it was dropped.
        before: The old value of the attribute; None if there was none.
        after: The new value.
    """

    kind: str
    column: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationDiff(ChangeSummary):
    """How one relation differs, read as far as this process can.

    Attributes:
        name: `schema.identifier`; two of them, `a -> b`, where two tables are compared.
        kind: `table`, `view` or `function`.
        how: `added`, `removed`, `changed`, or `equal`.
        columns: How its columns differ.
        settings: Other properties of the table that differ: `primary_key`, `comment`, ...
    """

    columns: tuple[ColumnDiff, ...] = ()
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffReport:
    """The result of a diff.

    Attributes:
        before: The old side, as a person would write it.
        after: The new side.
        is_equal: True if nothing differs.
        schemas: Schemas that were added, removed or changed.
        relations: Relations that differ, by name; always includes a requested relation.
        heads: Names of the columns of `rows`.
        key: The table's key columns; none without a key.
        rows: The rows that differ, up to the limit; none unless one table is compared. They are
            computed as they are read.
        row_count: The total number of rows that differ.
    """

    before: str
    after: str
    is_equal: bool
    schemas: tuple[ChangeSummary, ...] = ()
    relations: tuple[RelationDiff, ...] = ()
    heads: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    rows: RowSet = field(default_factory=RowSet.none)
    row_count: int = 0
