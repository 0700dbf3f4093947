"""On stale: what publishing does if tables no longer follow from what the target shows."""

from __future__ import annotations

from enum import Enum
from typing import Any

from dbt.adapters.vcs.core.errors import InputError


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
