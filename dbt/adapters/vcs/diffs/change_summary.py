"""What changed of one relation, in numbers."""

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
        rows_added: Rows that come, as a diff has them.
        rows_removed: Rows that go.
        rows_modified: Rows of one primary key, other values; 0 for a table without a key.
        is_exact: False where there is too much to read for a summary; the numbers are then those
            of the files that came and went, and so the most that it can be.
    """

    name: str
    kind: str
    how: str
    rows_added: int = 0
    rows_removed: int = 0
    rows_modified: int = 0
    is_exact: bool = True

    def __str__(self) -> str:
        rows = f"  {rows_text([self])}" if self.kind == "table" else ""
        return f"  {self.how:<8} {self.kind:<6} {self.name}{rows}"


def rows_text(changes: Iterable[ChangeSummary]) -> str:
    """Return `+added -removed ~modified` of all changes, `at most` before what isn't exact."""
    changes = tuple(changes)
    added, removed, modified = (
        sum(getattr(change, f"rows_{what}") for change in changes)
        for what in ("added", "removed", "modified")
    )
    most = "" if all(change.is_exact for change in changes) else "at most "
    # Of the files alone nobody knows which rows are the same row with other values.
    is_unknown = most and not any(change.is_exact for change in changes)
    return f"{most}+{added} -{removed}{'' if is_unknown else f' ~{modified}'}"
