"""Text about named snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from dbt.adapters.vcs.layout.styled import Grid, Span, age, line

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.refs.named_snapshots import SnapshotSummary


def snapshots_text(found: Sequence[SnapshotSummary], now: datetime) -> Iterator[Block]:
    """Yield a list of named snapshots; `!` marks a protected one."""
    if not found:
        yield line("There are no named snapshots.")
        return
    yield Grid(
        heads=("", "TABLE", "SNAPSHOT", "VERSION", "ROWS", "AGE", "WHAT"),
        rows=tuple(
            (
                Span("!" if item.is_protected else ""),
                Span(item.relation),
                Span(item.name, "name"),
                Span(item.snapshot[:12], "commit"),
                Span(f"{item.rows:,}"),
                Span(age(item.made_at, now), "faint"),
                Span(item.note),
            )
            for item in found
        ),
        right=frozenset({"ROWS"}),
        whole=frozenset({"TABLE", "SNAPSHOT", "VERSION"}),
        first=("", "TABLE", "SNAPSHOT"),
    )


def snapshot_created_text(item: SnapshotSummary) -> Iterator[Block]:
    """Yield the line for a snapshot that was created."""
    yield line(
        "Created snapshot ",
        Span(item.name, "name"),
        f" of {item.relation} at version ",
        Span(item.snapshot[:12], "commit"),
        ".",
    )


def snapshot_deleted_text(item: SnapshotSummary) -> Iterator[Block]:
    """Yield the line for a snapshot that was deleted."""
    yield line(
        "Deleted snapshot ",
        Span(item.name, "name"),
        f" of {item.relation}, which was version ",
        Span(item.snapshot[:12], "commit"),
        ".",
    )


def snapshot_protected_text(item: SnapshotSummary) -> Iterator[Block]:
    """Yield the line that says whether a snapshot can be deleted now."""
    can = "can't be deleted." if item.is_protected else "can be deleted again."
    yield line("The snapshot ", Span(item.name, "name"), f" of {item.relation} {can}")
