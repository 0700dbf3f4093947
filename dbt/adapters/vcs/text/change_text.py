"""Text about changes, as a run writes it to dbt's log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.layout.styled import Span, entry

if TYPE_CHECKING:
    from dbt.adapters.vcs.diffs.change_summary import ChangeSummary
    from dbt.adapters.vcs.layout.styled import Block, Style

_STYLES: Final[dict[str, Style]] = {"added": "good", "removed": "bad", "changed": "warn"}


def changes_text(changes: Sequence[ChangeSummary]) -> Iterator[Block]:
    """Yield one line per change, as a run writes it to dbt's log."""
    for change in changes:
        how = f"  {change.how:<8}"
        yield entry(Span(how, _STYLES[change.how]), str(change).removeprefix(how))
