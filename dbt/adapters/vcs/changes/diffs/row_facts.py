"""Facts about the rows that differ between two versions of a table, as plain values.

Each value of a row is a text that a reader can be shown: as Spark casts it to a string, bytes in
hexadecimal, cut where it is long. None is NULL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.model import RelationName

QUANTILES: Final = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""The shares of rows below the quantiles of a column: minimum, 10 %, ..., maximum."""

MAX_TEXT: Final = 300
"""Characters of a value that are shown; a longer one is cut, and its length added."""

MASK: Final = "•••"
"""Stands for a value that the project keeps out of reviews."""

ColumnKind: TypeAlias = Literal["number", "time", "boolean", "text", "other"]
"""What a column holds: a number, a date or timestamp, a boolean, a text, or something else."""

RowChangeKind: TypeAlias = Literal["added", "removed", "modified", "rekeyed"]
"""How a row changed; `rekeyed`: only its key changed, so it was removed and added."""

Cells: TypeAlias = tuple[str | None, ...]
"""The values of one row as texts, one per column; None is NULL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFigures:
    """What some rows have in one column.

    Attributes:
        nulls: How many rows are NULL; None if not computed.
        sum: Sum of a column of numbers, exact for integers and decimals, as a text; None for other
            columns, without any value, and if not computed.
        quantiles: Values at `QUANTILES`, as numbers to draw: of a column of dates or timestamps
            the seconds since 1970-01-01 UTC. Empty for other columns, without any value, and if
            not computed.
        quantile_texts: The same values as exact texts.
    """

    rows: int
    nulls: int | None = None
    sum: str | None = None
    quantiles: tuple[float, ...] = ()
    quantile_texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """How one column differs.

    Attributes:
        type: Spark's type, as a text.
        cells_changed: Modified rows whose value in it changed.
        change_before: Of the rows that were removed or modified, as they were; None if hidden.
        change_after: Of the rows that were added or modified, as they are; None if hidden.
            `change_after.nulls - change_before.nulls` is by how much NULLs of the table grew, and
            the sums relate likewise.
        before: Of the whole table before; None if not computed at all.
        after: Of the whole table after; None if not computed at all.
        note: Why something of `before` and `after` was not computed, a sentence; empty if all was.
    """

    name: str
    type: str
    kind: ColumnKind
    is_key: bool
    cells_changed: int
    change_before: ColumnFigures | None = None
    change_after: ColumnFigures | None = None
    before: ColumnFigures | None = None
    after: ColumnFigures | None = None
    note: str = ""
    masked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedGroup:
    """Changed rows that have one value in a column.

    A row counts with its value after the change, a removed one with its value before.

    Attributes:
        value: The value, as a text; None is NULL.
        share: These rows as a share of all that changed, 0 to 1.
    """

    column: str
    value: str | None
    added: int
    removed: int
    modified: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRow:
    """One row that changed.

    Attributes:
        before: Its values before; None if it was added.
        after: Its values after; None if it was removed.
        changed: Places of the columns whose values differ, from 0; empty if it was added or
            removed.
    """

    how: RowChangeKind
    before: Cells | None
    after: Cells | None
    changed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """What is known of the rows that differ.

    Attributes:
        columns: Facts about each shown column, in the table's order; those of hidden columns are
            left out.
        heads: Names of the columns of `sample` and `rows`: the key first, then the others in the
            table's order.
        key: How many of these are the key.
        groups: The values that account for most of the change, largest share first, at most 10.
        sample: Rows, the most surprising first.
        rows: All rows that changed, by key, as far as they fit the limit of bytes.
        rekeyed: Rows of which only the key changed. They count as added and removed, too.
    """

    columns: tuple[ColumnFacts, ...] = ()
    heads: tuple[str, ...] = ()
    key: int = 0
    groups: tuple[MovedGroup, ...] = ()
    sample: tuple[ChangedRow, ...] = ()
    rows: tuple[ChangedRow, ...] = ()
    is_complete: bool = True
    rekeyed: int = 0


class Secrets(NamedTuple):
    """Columns that stay out of what people are shown, by lower-case name.

    Attributes:
        hidden: Left out.
        masked: Shown without their values.
    """

    hidden: Collection[str] = ()
    masked: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPatterns:
    """Columns that stay out of reviews, as patterns `schema.table.column` (`*`, `?`, `[...]`).

    Attributes:
        hide: These are left out.
        mask: These are shown without their values.
    """

    hide: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()

    def of(
        self,
        names: Iterable[RelationName],
        columns: Iterable[str],
        renamed: Iterable[tuple[str, str]] = (),
    ) -> Secrets:
        """Return which columns of a relation stay out, by lower-case name.

        Args:
            renamed: Pairs of names of one column. What fits one of them holds for both: a branch
                that renames a column must not show its values.
        """
        relations, lower = tuple(names), {column.lower() for column in columns}
        pairs = [{name.lower() for name in pair} for pair in renamed]

        def fits(patterns: Sequence[str]) -> frozenset[str]:
            found = {
                column
                for column in lower.union(*pairs)
                for name in relations
                if any(fnmatchcase(f"{name}.{column}", item.lower()) for item in patterns)
            }
            return frozenset(found.union(*(pair for pair in pairs if pair & found)))

        hidden = fits(self.hide)
        return Secrets(hidden, fits(self.mask) - hidden)
