"""Typed ids, and the clock and id source that callers hand to the core."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime, timezone
from typing import NewType

CommitId = NewType("CommitId", str)
TreeId = NewType("TreeId", str)
SnapshotId = NewType("SnapshotId", str)
SegmentId = NewType("SegmentId", str)
ViewId = NewType("ViewId", str)
FunctionId = NewType("FunctionId", str)

TableId = NewType("TableId", str)
"""Identity of a table's lineage, and the name of its folder under ``data/``."""

WriteId = NewType("WriteId", str)
"""Identity of one write: every block file of it lies under ``w=<write id>/``."""

Micros = NewType("Micros", int)
"""Microseconds since 1970-01-01 00:00 UTC."""

Clock = Callable[[], Micros]


def micros_of(moment: datetime) -> Micros:
    """Return an instant in microseconds; a naive datetime is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    delta = moment - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return Micros((delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds)


def datetime_of(micros: Micros) -> datetime:
    """Return the UTC datetime of an instant in microseconds."""
    seconds, rest = divmod(micros, 1_000_000)
    return datetime.fromtimestamp(seconds, tz=timezone.utc).replace(microsecond=rest)


def system_clock() -> Micros:
    """Return the current instant."""
    return micros_of(datetime.now(tz=timezone.utc))


def new_table_id() -> TableId:
    """Return an id that no other table has."""
    return TableId(uuid.uuid4().hex)


def new_write_id() -> WriteId:
    """Return an id that no other write has; never parsed as a number by a reader."""
    return WriteId("x" + uuid.uuid4().hex)


def short_sha(sha: str) -> str:
    """Return twelve digits of a git commit, and `-dirty` where it ends so."""
    digits, dash, mark = sha.partition("-")
    return f"{digits[:12]}{dash}{mark}"
