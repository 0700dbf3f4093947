"""Decisions: what was chosen by hand for the conflicts of one relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import ConflictTable
from dbt.adapters.vcs.changes.merges.rowwise.choice import Choice
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import Decided, Seen
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.table.exact_values import Given
from dbt.adapters.vcs.table.python_values import python_values


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoice:
    """A choice for conflicts of one relation: for those of a key, or for all of them.

    Attributes:
        choice: A side, or delete; None with values.
        key: Values of columns; empty for all conflicts.
        values: Values by hand for columns of the key's rows. `choice` is then the side that the
            other columns come from; None for the default of `given_row`.
        again: True to include conflicts that were resolved before.
    """

    choice: Choice | None
    key: Mapping[str, Given] = field(default_factory=dict)
    values: Mapping[str, Given] = field(default_factory=dict)
    again: bool = False


@dataclass(frozen=True, slots=True)
class Decisions:
    """Choices for one relation.

    Attributes:
        whole: The choice for the relation as a whole, or None.
        rows: The choices for single rows.
    """

    whole: Choice | None = None
    rows: tuple[Decided, ...] = ()

    @property
    def has_values(self) -> bool:
        """Whether values were given for any row."""
        return any(item.choice is Choice.CUSTOM for item in self.rows)


def decided_rows(table: ConflictTable) -> tuple[Decided, ...]:
    """Return what was chosen for the rows of a conflict table.

    Raises:
        ConflictError: Some rows have no choice yet.
    """
    if table.open:
        raise ConflictError(
            f"{table.open} of {len(table.rows)} conflicts of {table.name} are not resolved yet. "
            f"Choose for them: dbt-vcs resolve {table.name} --with ours|theirs|base|delete [--key "
            "column=value], or --key column=value --set column=value"
        )
    ours = {name: python_values(table.side(Choice.OURS, name)) for name in table.columns}

    def seen(row: int) -> Seen | None:
        if not table.key or row in table.repeated:
            return None
        is_there = table.has_row(Choice.OURS, row)
        return Seen({name: values[row] for name, values in ours.items()} if is_there else None)

    return tuple(
        Decided(key, choice, table.result(row) if choice is Choice.CUSTOM else None, seen(row))
        for row, (key, choice) in enumerate(zip(table.keys, table.resolutions, strict=True))
        if choice is not None
    )
