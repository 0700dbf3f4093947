"""Choice: how somebody resolves a conflict."""

from __future__ import annotations

from enum import Enum

from dbt.adapters.vcs.core.errors import InputError


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
