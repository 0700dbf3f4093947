"""Settings of a table: the properties that control how it is written, rebuilt and merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model.snapshot import ENFORCED, IDENTIFIERS
from dbt.adapters.vcs.merges.conflicts.policy import PROPERTY, Mode
from dbt.adapters.vcs.writes.rebuild import REBUILD
from dbt.adapters.vcs.writes.stage_write import MODES, WRITE_MODE

AUTO_OPTIMIZE: Final = "vcs.auto_optimize"
"""Table property: whether runs compact the table when necessary, whatever the profile says."""

_TRUTHS: Final = ("true", "false")
_KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    WRITE_MODE: MODES,
    ENFORCED: _TRUTHS,
    IDENTIFIERS: _TRUTHS,
    REBUILD: ("full", "delta"),
    PROPERTY: tuple(mode.value for mode in Mode),
    AUTO_OPTIMIZE: _TRUTHS,
}


def settled(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties with the values of settings in lower case.

    Raises:
        InputError: A value is not allowed. Later it would be ignored, or fail far from the
            cause.
    """
    given = dict(properties)
    for key, values in _KNOWN.items():
        if key in given:
            given[key] = given[key].strip().lower()
            if given[key] not in values:
                raise InputError(
                    f"The table property {key} is {properties[key]!r}; expected one of "
                    f"{', '.join(values)}."
                )
    return given
