"""The base of every stored value, frozen and keyword-only, and the type of stored instants."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from dbt.adapters.vcs.core.ids import Micros

EARLIEST: Final = -62_135_596_800_000_000
LATEST: Final = 253_402_300_799_999_999

Moment = Annotated[Micros, msgspec.Meta(ge=EARLIEST, le=LATEST)]
"""A stored instant: one in the years 1 to 9999, as any other is damage."""


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A frozen value with a canonical encoding.

    Fields at their default are left out of the encoding, so a field that a later version adds
    changes the id of no value that does not use it.
    """
