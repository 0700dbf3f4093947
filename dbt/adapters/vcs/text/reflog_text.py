"""Text about the reflog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from dbt.adapters.vcs.layout.styled import Span, age, entry, short

if TYPE_CHECKING:
    from dbt.adapters.vcs.layout.styled import Block
    from dbt.adapters.vcs.verbs.reading.reflog import ReflogEntry

_NO_COMMIT: Final = Span("-" * 12, "faint")


def reflog_text(entries: Iterable[ReflogEntry], now: datetime) -> Iterator[Block]:
    """Yield one line per move."""
    for item in entries:
        note = f": {item.note}" if item.note else ""
        yield entry(
            short(item.commit) if item.commit else _NO_COMMIT,
            " ",
            Span(item.ref, "name"),
            f": {item.action}",
            note,
            Span(f"  {item.author}{_place(item)}, {age(item.at, now)}", "faint"),
            gives=4,
        )


def _place(item: ReflogEntry) -> str:
    """Return the process that made a move; empty in logs of earlier versions."""
    return f" on {item.host} (pid {item.pid}, dbt-vcs {item.version})" if item.version else ""
