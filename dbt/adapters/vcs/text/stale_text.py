"""Text about stale tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dbt.adapters.vcs.layout.styled import Span, entry, line

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.reading.stale import StaleTable


def stale_text(stale: Sequence[StaleTable], revision: str) -> Iterator[Block]:
    """Yield stale tables, each with what made it so."""
    if not stale:
        yield line(f"Every table on {revision} was made from what {revision} shows.")
    for item in stale:
        node = Span(f"  {item.node}", "faint") if item.node else ""
        yield entry(Span(item.relation, "name"), node)
        for moved in item.moved:
            now = "is gone" if moved.shown is None else f"is {moved.shown[:12]} now"
            yield line(f"  was made from {moved.relation} {moved.read[:12]}, which {now}")
        for relation in item.through:
            yield line(f"  was made from {relation}, which is stale")
