"""Text about tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from dbt.adapters.vcs.layout.styled import Grid, Span, age, line, short

if TYPE_CHECKING:
    from dbt.adapters.vcs.core.ids import CommitId
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.refs.tag import TagSummary


def tags_text(tags: Sequence[TagSummary], now: datetime) -> Iterator[Block]:
    """Yield a list of tags; `!` marks a protected one."""
    if not tags:
        yield line("There are no tags.")
        return
    yield Grid(
        heads=("", "TAG", "COMMIT", "AGE", "WHAT"),
        rows=tuple(
            (
                Span("!" if tag.is_protected else ""),
                Span(tag.name, "name"),
                short(tag.commit),
                Span(age(tag.tagged_at, now), "faint"),
                Span(tag.note or tag.summary),
            )
            for tag in tags
        ),
        whole=frozenset({"TAG", "COMMIT"}),
        first=("", "TAG", "COMMIT"),
    )


def tag_created_text(tag: TagSummary) -> Iterator[Block]:
    """Yield the line for a tag that was created."""
    yield line("Created tag ", Span(tag.name, "name"), " at ", short(tag.commit), ".")


def tag_deleted_text(name: str, commit: CommitId | None) -> Iterator[Block]:
    """Yield the line for a tag that was deleted."""
    where = f", which was at {commit[:12]}" if commit else ""
    yield line("Deleted tag ", Span(name, "name"), f"{where}.")


def tag_renamed_text(old: str, tag: TagSummary) -> Iterator[Block]:
    """Yield the line for a renamed tag."""
    new = Span(tag.name, "name")
    yield line("Renamed tag ", Span(old, "name"), " to ", new, ", at ", short(tag.commit), ".")


def tag_protected_text(tag: TagSummary) -> Iterator[Block]:
    """Yield the line that says whether a tag can be deleted now."""
    can = "can't" if tag.is_protected else "can"
    end = "." if tag.is_protected else " again."
    yield line("The tag ", Span(tag.name, "name"), f" {can} be deleted or renamed{end}")
