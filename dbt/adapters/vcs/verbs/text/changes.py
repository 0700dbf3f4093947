"""Changes in words, as a run tells them in dbt's log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dbt.adapters.vcs.verbs.changes import ChangeSummary
from dbt.adapters.vcs.verbs.layout import Block, Span, Style, line

_STYLES: Final[dict[str, Style]] = {"added": "good", "removed": "bad", "changed": "warn"}


def changes_text(changes: Sequence[ChangeSummary]) -> Iterator[Block]:
    """Tell what changed, a line each, as a run tells it in dbt's log."""
    for change in changes:
        rows = ""
        if change.kind == "table":
            rows = f"  +{change.rows_added} -{change.rows_removed}"
        how = Span(f"  {change.how:<8}", _STYLES[change.how])
        yield line(how, f" {change.kind:<6} {change.name}", rows)
