"""The base of every stored value: frozen, keyword-only, defaults left out when encoded."""

from __future__ import annotations

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A frozen value with a canonical encoding.

    Fields at their default are left out of the encoding, so a field that a later version adds
    changes the id of no value that does not use it.
    """
