"""Policy: what a merge does when both sides changed the same thing differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeAlias

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName, Snapshot
from dbt.adapters.vcs.core.plan.schema_merge import Side

PROPERTY: Final = "vcs.on_conflict"
"""Table property: what a merge does if both sides changed a row, like the config `on_conflict`."""


class Mode(str, Enum):
    """What to do about a true conflict (MatrixOne paper, section 4.3; `cell` goes beyond it).

    `fail`: merge nothing, keep the conflicts to be resolved. `skip`: keep ours. `accept`: take
    theirs. `cell`: merge column by column, and `fail` for a column that both sides changed
    differently and for a row that one side deleted. `cell_skip` and `cell_accept`: the same, with
    `skip` or `accept` in those cases.
    """

    FAIL = "fail"
    SKIP = "skip"
    ACCEPT = "accept"
    CELL = "cell"
    CELL_SKIP = "cell_skip"
    CELL_ACCEPT = "cell_accept"

    def __str__(self) -> str:
        return self.value

    @property
    def is_by_cell(self) -> bool:
        """Whether rows in conflict are first merged column by column."""
        return self in (Mode.CELL, Mode.CELL_SKIP, Mode.CELL_ACCEPT)

    @property
    def side(self) -> Side | None:
        """The side that counts where both differ; None if somebody has to choose."""
        if self in (Mode.FAIL, Mode.CELL):
            return None
        return "ours" if self in (Mode.SKIP, Mode.CELL_SKIP) else "theirs"

    @classmethod
    def of(cls, text: str, where: str) -> Mode:
        """Parse a mode; `where` names the place it was given, for the error.

        Raises:
            InputError: The word is not a mode.
        """
        try:
            return cls(str(text).lower())
        except ValueError:
            known = ", ".join(mode.value for mode in cls)
            raise InputError(f"Found {text!r} for {where}; expected one of {known}.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The modes of one merge.

    Attributes:
        override: Wins for every relation; None unless somebody asked for a mode.
        default: For relations with no mode above and none in their properties.
    """

    override: Mode | None = None
    relations: Mapping[RelationName, Mode] = field(default_factory=dict)
    default: Mode = Mode.FAIL

    def mode_of(self, name: RelationName, theirs: Snapshot | None = None) -> Mode:
        """Return the mode for a relation; `theirs` is the incoming table, if it is a table.

        Raises:
            InputError: The table's property is not a mode.
        """
        # The most specific setting wins: the command, `relations` in `vcs.yml`, the model's
        # config, `on_conflict` in `vcs.yml`.
        if self.override is not None:
            return self.override
        if name in self.relations:
            return self.relations[name]
        said = theirs.properties.get(PROPERTY) if theirs is not None else None
        return self.default if said is None else Mode.of(said, f"{PROPERTY} of {name}")


class OnStale(str, Enum):
    """What a run does whose read set is not what its target shows any more.

    | value  | what is published                                   | else                 |
    |--------|-----------------------------------------------------|----------------------|
    | `warn` | the run as it is; log and commit name the tables    |                      |
    | `fail` | nothing                                             | the run is kept      |
    | `heal` | the run, with these tables computed again, in order | what `fail` does     |
    """

    WARN = "warn"
    FAIL = "fail"
    HEAL = "heal"

    def __str__(self) -> str:
        return self.value

    @classmethod
    def of(cls, value: Any, where: str) -> OnStale:
        """Return the setting that a value names.

        Raises:
            InputError: There is none; the message says `where` it was found.
        """
        try:
            return cls(value)
        except ValueError:
            raise InputError(
                f"Found {value!r} for {where}; expected one of: {', '.join(map(str, cls))}."
            ) from None


class Choice(str, Enum):
    """How a conflict is resolved.

    Keep ours, take theirs, restore the base, delete the row, or set values by hand.
    """

    OURS = "ours"
    THEIRS = "theirs"
    BASE = "base"
    DELETE = "delete"
    CUSTOM = "custom"

    def __str__(self) -> str:
        return self.value

    @classmethod
    def of(cls, text: str) -> Choice:
        """Parse a choice other than `custom`, for which values are given instead.

        Raises:
            InputError: The word is not a choice.
        """
        known = [item.value for item in cls if item is not cls.CUSTOM]
        if text.lower() in known:
            return cls(text.lower())
        raise InputError(
            f"Found {text!r} as a resolution; expected one of {', '.join(known)}. Values of a row "
            "are chosen with --key column=value --set column=value, in SQL with update ... set "
            "result_<column> = <value>."
        )


class Order(str, Enum):
    """Which of ours and theirs counts: the larger value, of times the later, or the smaller."""

    LARGER = "larger"
    SMALLER = "smaller"

    def __str__(self) -> str:
        return self.value


Cell: TypeAlias = Choice | Order
"""Where the value of a cell comes from: ours, theirs, base, or the larger or smaller one."""


_SIDES: Final = (Choice.OURS, Choice.THEIRS, Choice.BASE)


def cell_of(text: str) -> Cell:
    """Parse where the value of a cell comes from.

    Raises:
        InputError: The word names neither a side nor an order.
    """
    known: dict[str, Cell] = {item.value: item for item in (*_SIDES, *Order)}
    found = known.get(text.lower())
    if found is None:
        raise InputError(
            f"Found {text!r} for a cell; expected one of {', '.join(known)}. A value of your own "
            "is given with --set COLUMN=VALUE."
        )
    return found
