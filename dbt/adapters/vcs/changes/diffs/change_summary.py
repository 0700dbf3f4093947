"""Change summary: how much of one relation changed, in numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSummary:
    """One relation or schema that differs.

    Attributes:
        name: `schema.identifier`, or the schema's name.
        kind: `schema`, `table`, `view` or `function`.
        how: `added`, `removed` or `changed`.
        rows_added: Rows added, as in a diff.
        rows_removed: Rows removed.
        rows_modified: Rows whose values changed under the same primary key; 0 without a key.
        is_exact: False if there is too much to read for a summary; the numbers are then taken from
            the files added and removed, and are upper bounds.
        is_damaged: True if a version is damaged, so that its rows can't be counted.
        is_redefined: True if columns, key, comment, properties or layout of a table changed.
    """

    name: str
    kind: str
    how: str
    rows_added: int = 0
    rows_removed: int = 0
    rows_modified: int = 0
    is_exact: bool = True
    is_damaged: bool = False
    is_redefined: bool = False

    @property
    def is_only_stored(self) -> bool:
        """True if only files or versions differ: a diff shows nothing."""
        counts = (self.rows_added, self.rows_removed, self.rows_modified)
        is_same = self.kind == "table" and self.how == "changed" and not any(counts)
        return is_same and self.is_exact and not self.is_redefined

    def __str__(self) -> str:
        rows = f"  {rows_text([self])}" if self.kind == "table" else ""
        if self.is_redefined:
            rows += "  (definition)"
        elif self.is_only_stored:
            rows = "  (same rows)"
        return f"  {self.how:<8} {self.kind:<6} {self.name}{rows}"


def differing(changes: Iterable[ChangeSummary]) -> tuple[ChangeSummary, ...]:
    """Return the changes of which a diff shows something."""
    return tuple(change for change in changes if not change.is_only_stored)


def rows_text(changes: Iterable[ChangeSummary]) -> str:
    """Return `+added -removed ~modified` of all changes, `at most` before what isn't exact.

    Damaged tables are named as not counted.
    """
    changes = tuple(changes)
    damaged = sum(change.is_damaged for change in changes)
    if damaged:
        changes = tuple(change for change in changes if not change.is_damaged)
        return (f"{rows_text(changes)}, " if changes else "") + (
            f"rows of {damaged} damaged version{'' if damaged == 1 else 's'} not counted"
        )
    added, removed, modified = (
        sum(getattr(change, f"rows_{what}") for change in changes)
        for what in ("added", "removed", "modified")
    )
    most = "" if all(change.is_exact for change in changes) else "at most "
    # Files alone don't show which rows were modified rather than removed and added.
    is_unknown = most and not any(change.is_exact for change in changes)
    return f"{most}+{added} -{removed}{'' if is_unknown else f' ~{modified}'}"
