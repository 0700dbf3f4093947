"""Policy: what a merge does where both sides changed one thing in different ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName, Snapshot

PROPERTY: Final = "vcs.on_conflict"
"""Table property: what a merge does where both sides changed a row, as the config of that name."""


class Mode(str, Enum):
    """What becomes of a true conflict (MatrixOne paper, section 4.3; `cell` goes beyond it).

    `fail`: nothing is merged, the conflicts are kept to be resolved. `skip`: ours stays.
    `accept`: theirs is taken. `cell`: column by column, and `fail` for a column that both changed
    differently and for a row that one side deleted; `cell_skip` and `cell_accept`: the same, and
    `skip` or `accept` for those.
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
        """True if rows in conflict are merged column by column first."""
        return self in (Mode.CELL, Mode.CELL_SKIP, Mode.CELL_ACCEPT)

    @classmethod
    def of(cls, text: str, where: str) -> Mode:
        """Return the mode of a word; `where` says where it was given.

        Raises:
            InputError: It is none.
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
        override: For every relation, whatever else says; None unless asked for by hand.
        relations: For single relations.
        default: For relations that neither the above nor a property of theirs names.
    """

    override: Mode | None = None
    relations: Mapping[RelationName, Mode] = field(default_factory=dict)
    default: Mode = Mode.FAIL

    def mode_of(self, name: RelationName, theirs: Snapshot | None = None) -> Mode:
        """Return the mode for a relation; `theirs` is the table that is merged, if it is one.

        Raises:
            InputError: The table's property holds no mode.
        """
        if self.override is not None:
            return self.override
        if name in self.relations:
            return self.relations[name]
        said = theirs.properties.get(PROPERTY) if theirs is not None else None
        return self.default if said is None else Mode.of(said, f"{PROPERTY} of {name}")
