"""The base of all statements."""

from __future__ import annotations

from typing import ClassVar


class Statement:
    """One parsed statement; each module in `families` has a family of them.

    Attributes:
        changes: True if it may change the branch.
        writes_rows: True if it computes rows and writes them, which may take long.
    """

    __slots__ = ()

    changes: ClassVar[bool] = False
    writes_rows: ClassVar[bool] = False
