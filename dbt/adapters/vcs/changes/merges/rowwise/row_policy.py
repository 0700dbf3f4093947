"""Policy: what a merge does when both sides changed a row, and which rows it covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Field
from dbt.adapters.vcs.core.plan.schema_merge import Side
from dbt.adapters.vcs.table.files.block_reader import Positions, shown_type
from dbt.adapters.vcs.table.python_values import arrow_array
from dbt.adapters.vcs.table.types import arrow_type

Keys: TypeAlias = Sequence[tuple[Any, ...]] | pa.Table


class Seen(NamedTuple):
    """The row of ours at the time of a decision: its values by column, None for no row."""

    row: Mapping[str, Any] | None


class Decided(NamedTuple):
    """A decision about one conflict.

    Attributes:
        key: The values of the primary key, in its order; without one, of all columns.
        choice: The side whose row is kept; `delete` for no row; `custom` for `row`.
        row: With `custom` the other columns of that row, by name.
        seen: The row of ours at that time; if ours has another row now, the decision is void.
            None if that doesn't matter.
    """

    key: tuple[Any, ...]
    choice: Choice
    row: Mapping[str, Any] | None = None
    seen: Seen | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """The only rows whose changes are wanted; all rows without keys.

    Attributes:
        keys: Their keys, in the order of the primary key; without one, all columns. Many are a
            table with a column for each, by place.
    """

    keys: Keys | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPolicy:
    """How to merge.

    Attributes:
        decisions: Decisions about single conflicts. The last one for a key counts; those for rows
            not in conflict are ignored.
        only: The rows whose changes are wanted; None for all.
        prefer: The side that is right where both changed the definition differently; None for the
            one that the mode keeps, if any.
    """

    mode: Mode = Mode.FAIL
    decisions: Sequence[Decided] = ()
    only: Pick | None = None
    prefer: Side | None = None

    def check(self, key: Sequence[Field]) -> None:
        """Refuse decisions that can't be made for a table with this key.

        Raises:
            InputError: Without a key, rows are to be deleted or given by hand.
        """
        if not key and any(item.choice is Choice.DELETE for item in self.decisions):
            raise InputError(
                "Without a primary key a conflict is about how often a row is there: decide for "
                "ours, theirs or base. Delete rows with a statement, or give the table a key."
            )
        if not key and any(item.choice is Choice.CUSTOM for item in self.decisions):
            raise InputError(
                "Without a primary key no row is told from its like, so no values can be chosen "
                "for one: decide for ours, theirs or base, or give the table a key."
            )

    @property
    def given(self) -> int:
        """Number of keys whose row was given by hand."""
        # Without a key the values of all columns count, and lists can't be hashed.
        last = {repr(item.key): item.choice for item in self.decisions}
        return sum(choice is Choice.CUSTOM for choice in last.values())

    def rows(self, indexes: Positions, key: Sequence[Field], fields: Sequence[Field]) -> pa.Table:
        """Return the rows given by decisions, columns by field id.

        Args:
            indexes: The decisions; each gives a row.
            key: The key's columns.
            fields: All columns.

        Raises:
            InputError: They give columns other than those the table has now.
        """
        some = [self.decisions[index] for index in indexes]
        rows = []
        for item in some:
            known = {field.id: value for field, value in zip(key, item.key, strict=True)}
            given = dict(item.row or {})
            others = [field for field in fields if field.id not in known]
            if {field.name for field in others} != given.keys():
                now = ", ".join(field.name for field in others)
                raise InputError(
                    f"Values were chosen for {', '.join(given)}, and by now the columns are "
                    f"{now}. Give this merge up, merge again, and choose."
                )
            rows.append({**known, **{field.id: given[field.name] for field in others}})
        columns = [arrow_array([row[f.id] for row in rows], shown_type(f)) for f in fields]
        return pa.table(columns, names=[field.id for field in fields])


def key_table(keys: Keys, fields: Sequence[Field]) -> pa.Table:
    """Return keys as columns by field id.

    Raises:
        InputError: A key has the wrong number of values, or a value of the wrong type.
        UnsupportedError: Arrow has no such type.
    """
    # Decision 25: picked keys may be many, and stay arrays.
    if isinstance(keys, pa.Table):
        return _typed_keys(keys, fields)
    for key in keys:
        if len(key) != len(fields):
            names = ", ".join(field.name for field in fields)
            raise InputError(f"A key needs a value for each of ({names}); found {key!r}.")
    columns = []
    for place, item in enumerate(fields):
        type_ = arrow_type(item.type)
        try:
            columns.append(arrow_array([key[place] for key in keys], type_))
        # For some values Arrow raises Python's own errors.
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"The values of column '{item.name}' in a key must be {item.type}: {error}."
            ) from error
    return pa.table(columns, names=[item.id for item in fields])


def _typed_keys(keys: pa.Table, fields: Sequence[Field]) -> pa.Table:
    schema = pa.schema([pa.field(item.id, arrow_type(item.type)) for item in fields])
    try:
        return keys.rename_columns(schema.names).cast(schema)
    except (pa.ArrowException, ValueError) as error:
        names = ", ".join(f"{item.name} ({item.type})" for item in fields)
        raise InputError(f"The values of a key must be those of ({names}): {error}.") from error
