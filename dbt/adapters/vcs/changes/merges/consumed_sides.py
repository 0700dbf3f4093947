"""Which side of a merge gives the rows of a table that is built from changes.

Rows that both sides derived can't be added up: two sums that each gained 10 for another order are
equal, and a merge would keep one of them. A side as a whole is right, since it says which versions
of its inputs it accounts for. The next build reads what changed from these to what the merged
branch shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from dbt.adapters.vcs.changes.merges.table_merge import is_rebuilt
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.origins.consumption import (
    Consumptions,
    adds_up,
    has_name,
    is_at_or_before,
)
from dbt.adapters.vcs.core.store.objects import ObjectStore

Side: TypeAlias = Literal["ours", "theirs"]


def whole_side(
    objects: ObjectStore, bases: Sequence[SnapshotId], ours: SnapshotId, theirs: SnapshotId
) -> Side | None:
    """Return the side whose rows to take as a whole; None to merge the rows of both.

    Rows are merged unless both sides built the table from changes of other versions. Otherwise it
    is the side that was rebuilt since the base, or else theirs if it has consumed all that ours
    has, or else ours.

    Args:
        objects: The repository's objects.
        bases: The versions to compare both with, the newest first; none if they have nothing in
            common, several after criss-cross merges.
        ours: The version that is changed.
        theirs: The version whose changes are wanted.
    """
    our, their = objects.snapshot(ours), objects.snapshot(theirs)
    if our.consumption is None and their.consumption is None:
        return None
    given = {objects.snapshot(id).consumption for id in bases} or {None}
    sides: Consumptions = next(iter(given)), our.consumption, their.consumption
    nearest = bases[0] if bases else None
    rebuilt = is_rebuilt(objects, ours, nearest), is_rebuilt(objects, theirs, nearest)
    is_by_row = has_name(sides) if our.primary_key else adds_up(sides) and not all(rebuilt)
    if is_by_row and len(given) == 1:
        return None
    return _further(objects, sides, rebuilt)


def _further(objects: ObjectStore, sides: Consumptions, rebuilt: tuple[bool, bool]) -> Side:
    _, ours, theirs = sides
    if ours == theirs or theirs is None:
        return "ours"
    if ours is None:
        return "theirs"
    if rebuilt[0] != rebuilt[1]:
        return "ours" if rebuilt[0] else "theirs"
    return "theirs" if is_at_or_before(objects, ours, theirs) else "ours"
