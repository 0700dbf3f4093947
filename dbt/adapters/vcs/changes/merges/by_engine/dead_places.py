"""Dead places: the rows that some states delete from blocks, as a query for an engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dbt.adapters.vcs.changes.diffs.diff_query import image_relations
from dbt.adapters.vcs.core.model import Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.delta import Deletion
from dbt.adapters.vcs.core.plan.states import State
from dbt.adapters.vcs.engines.port import VersionMounts
from dbt.adapters.vcs.sql.syntax.conditions import where_clause

_PLACE = f"{FILE_COLUMN}, {POSITION_COLUMN}"


def dead_places(
    session: VersionMounts,
    states: Sequence[State],
    blocks: Iterable[str],
    stones: Mapping[str, Tombstone],
) -> str | None:
    """Return a query for `__vcs_file`, `__vcs_pos` and `gone`; None if nothing is deleted.

    `gone` has the bit `1 << n` if the state n deletes the row. A place occurs once.

    Args:
        session: The session that reads it.
        states: The states.
        blocks: The blocks that matter.
        stones: Entries of tombstones, as far as they are known.
    """
    parts = " union all ".join(_parts(session, states, set(blocks), stones))
    return (
        f"select {_PLACE}, bit_or(state) gone from ({parts}) group by {_PLACE}" if parts else None
    )


def _parts(
    session: VersionMounts,
    states: Sequence[State],
    blocks: set[str],
    stones: Mapping[str, Tombstone],
) -> Iterator[str]:
    """Yield queries for the places, with the states that deleted them; one may occur twice."""
    found: dict[Deletion, int] = {}
    for number, state in enumerate(states):
        for (image, block), rows in state.deletions_from(blocks).items():
            item = Deletion(image, block, rows)
            found[item] = found.get(item, 0) | 1 << number
    for mask in sorted(set(found.values())):
        images = [
            item._replace(stone=stones.get(item.path))
            for item, having in found.items()
            if having == mask
        ]
        for relation, wanted in image_relations(session, images, ()):
            yield f"select {_PLACE}, {mask} state from {relation} {where_clause(wanted)}"
