"""Typed ids, and the clock and id source that callers hand to the core."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable
from datetime import datetime, timezone
from functools import lru_cache
from typing import Final, NewType

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

MIN_PREFIX: Final = 4
"""Digits of a commit id that are enough to try it."""

OBJECT_ID: Final = re.compile(r"[0-9a-f]{64}")
"""The id of an object: its SHA-256."""

ID_PREFIX: Final = re.compile(rf"[0-9a-f]{{{MIN_PREFIX},64}}")
"""An id, or enough of its first digits to try it."""


def micros_of(moment: datetime) -> Micros:
    """Return an instant in microseconds; a naive datetime is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    # Not `timestamp()`: a float loses microseconds in distant years.
    delta = moment - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return Micros((delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds)


def datetime_of(micros: Micros) -> datetime:
    """Return the UTC datetime of an instant in microseconds."""
    # As above, no float. `rest` is positive before 1970, too.
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
    # Decision 2: Spark takes `w=<id>` for a partition, and would read digits as a number.
    return WriteId("x" + uuid.uuid4().hex)


def short_sha(sha: str) -> str:
    """Return twelve digits of a git commit, and `-dirty` where it ends so."""
    digits, dash, mark = sha.partition("-")
    return f"{digits[:12]}{dash}{mark}"


def node_name(id: str) -> str:
    """Return the name in the unique id of dbt's node: `orders.v2` for `model.shop.orders.v2`."""
    parts = id.split(".", 2)
    name = parts[-1]
    # The id of a generic test ends with a digest of its arguments.
    return name.rpartition(".")[0] or name if parts[0] == "test" else name


_FIRST_NUMBER: Final = 1_000
# Iceberg keeps the numbers from 2,147,483,447 on (`Integer.MAX_VALUE - 200`) for itself, and its
# partition fields begin at 1,000; both ends have room left.
_END_NUMBER: Final = 2_147_483_447 - 1_000


@lru_cache(maxsize=65_536)
def field_number(*path: str) -> int:
    """Return the number of a field.

    It is a hash: no counter has to be kept, so a column has one number on every branch, whoever
    added it first.

    Args:
        path: The id of a column; then, for a field inside it, what leads there: `element`, `key`,
            `value` or the name of a struct's field.

    Returns:
        A number from 1,000 that leaves out those that Iceberg keeps for itself. Two fields of
        one table have the same number in about one of two billion cases: whoever needs them
        distinct has to check.
    """
    digest = hashlib.sha256("\0".join(path).encode()).digest()
    return _FIRST_NUMBER + int.from_bytes(digest[:8], "big") % (_END_NUMBER - _FIRST_NUMBER)
