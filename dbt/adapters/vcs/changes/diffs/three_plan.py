"""Plans of three-way differences: the result's columns, from those of three versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field, Snapshot
from dbt.adapters.vcs.core.model.snapshot import widens
from dbt.adapters.vcs.table.compare.comparison import VersionComparison

_SIDES: Final = ("our", "their")


class ThreeWayColumn(NamedTuple):
    """A column of the result, and its name in each side's difference; None if it has none."""

    field: Field
    ours: str | None
    theirs: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How the differences of both sides from the base are combined.

    Attributes:
        columns: The columns that are compared and shown.
        key: Those that identify a row; none for tables without a key.
    """

    columns: tuple[ThreeWayColumn, ...]
    key: tuple[ThreeWayColumn, ...]

    @classmethod
    def of(
        cls, base: Snapshot, ours: Snapshot, theirs: Snapshot, wanted: Sequence[str] = ()
    ) -> Plan:
        """Plan the comparison of both sides with the base, by the given columns or by all.

        Raises:
            InputError: There is no such column, or a name clashes with one of the result's own.
            UnsupportedError: A column has types that can't be compared.
        """
        shown = [
            {field.id: field for field in VersionComparison.of(base, side).fields}
            for side in (ours, theirs)
        ]
        first, second = shown
        gone = {*ours.schema.retired, *theirs.schema.retired}
        keys = {version.primary_key for version in (base, ours, theirs)}
        key = keys.pop() if len(keys) == 1 else ()
        columns = [
            ThreeWayColumn(
                _typed(id, base, shown),
                first[id].name if id in first else None,
                second[id].name if id in second else None,
            )
            for id in {**first, **second}
            if id not in gone
        ]
        chosen = _chosen(columns, wanted, key)
        plan = cls(
            columns=chosen,
            key=tuple(column for id in key for column in chosen if column.field.id == id),
        )
        _check_names(plan.names)
        return plan

    @property
    def names(self) -> list[str]:
        """The columns of the result, as in `three_way.ThreeWay`."""
        own = [column.field.name for column in self.columns]
        kinds = [f"{side}_diff_type" for side in _SIDES]
        if not self.key:
            return [*kinds, *(f"{side}_diff_count" for side in _SIDES), *own]
        versions = [f"{version}_{name}" for name in own for version in ("base", *_SIDES)]
        return [*(column.field.name for column in self.key), *kinds, *versions]


def _typed(id: str, base: Snapshot, shown: Sequence[Mapping[str, Field]]) -> Field:
    """Return a column at the wider type of both differences, under its newest name."""
    ours, theirs = (side.get(id) for side in shown)
    if ours is None or theirs is None:
        found = ours or theirs
        assert found is not None
        return found
    old = base.schema.by_id(id)
    name = theirs.name if old is not None and ours.name == old.name else ours.name
    for narrow, wide in ((ours, theirs), (theirs, ours)):
        if widens(narrow.type, wide.type):
            return msgspec.structs.replace(wide, name=name)
    raise UnsupportedError(
        f"The column '{name}' is {ours.type} on one side and {theirs.type} on the other: "
        "there is no type that holds the values of both. Leave the column out."
    )


def _chosen(
    columns: Sequence[ThreeWayColumn], wanted: Sequence[str], key: Sequence[str]
) -> tuple[ThreeWayColumn, ...]:
    if not wanted:
        return tuple(columns)
    ids = {column.field.name.lower(): column.field.id for column in columns}
    for name in wanted:
        if name.lower() not in ids:
            names = ", ".join(column.field.name for column in columns)
            raise InputError(
                f"There is no column '{name}' to compare; the columns are: {names}. One that a "
                "side dropped is left out."
            )
    kept = {ids[name.lower()] for name in wanted} | set(key)
    return tuple(column for column in columns if column.field.id in kept)


def _check_names(names: Sequence[str]) -> None:
    lower = [name.lower() for name in names]
    twice = next((name for name in lower if lower.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"The shape three_way has a column {twice} of its own, and so has the table. Ask for "
            "other columns, or compare each side with the base: as wide."
        )
