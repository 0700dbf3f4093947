"""Consumption: which versions of its inputs a table accounts for, looked up and merged.

A model that is built from changes is a pair: rows, and the versions of its inputs from which a
full build would compute these rows. Both are in one snapshot, so whatever shows an old version of
the table shows what that version had consumed. In a merge of base b, ours o and theirs t:

| case             | what the merged rows account for                          |
|------------------|-----------------------------------------------------------|
| o = t, or t = b  | o                                                         |
| o = b            | t                                                         |
| else             | nothing that has a name: the rows must be those of a side |
"""

from __future__ import annotations

from contextlib import suppress
from typing import TypeAlias

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.graph import is_ancestor
from dbt.adapters.vcs.core.ids import SnapshotId, TableId
from dbt.adapters.vcs.core.model import Consumed, Consumption, RelationName
from dbt.adapters.vcs.core.store.objects import ObjectStore

Consumptions: TypeAlias = tuple[Consumption | None, Consumption | None, Consumption | None]
"""What base, ours and theirs have consumed."""


def last_read(
    objects: ObjectStore,
    consumption: Consumption | None,
    reader: RelationName,
    relation: RelationName,
    table: TableId,
) -> Consumed | None:
    """Return what a table has consumed of an input; None if it has no record of it.

    If the table was built under another name (it is a clone, or was renamed), its inputs may have
    other names, too. Then an input with the same lineage counts if there is only one.

    Args:
        objects: The repository's objects.
        consumption: What the table has consumed.
        reader: The table's name now.
        relation: The input's name now.
        table: The input's lineage.
    """
    if consumption is None:
        return None
    for item in consumption.inputs:
        if item.relation == str(relation):
            return item
    if consumption.reader == str(reader):
        return None
    alike = [item for item in consumption.inputs if _lineage(objects, item) == table]
    return alike[0] if len(alike) == 1 else None


def merged_consumption(sides: Consumptions) -> Consumption | None:
    """Return what a row-wise merge accounts for; that of ours if it has no name."""
    base, ours, theirs = sides
    return theirs if ours == base else ours


def has_name(sides: Consumptions) -> bool:
    """Return whether there is a name for what a row-wise merge of a table's sides accounts for.

    A side without a record that the base lacks, too, may have computed the same rows in another
    way, so its rows don't add up with those of a side that has one.
    """
    base, ours, theirs = sides
    return ours == theirs or (base is not None and base in (ours, theirs))


def adds_up(sides: Consumptions) -> bool:
    """Return whether rows that both sides added to a table, seen as a bag, are to be kept.

    They are not if both built it from the same changes, each for itself.
    """
    base, ours, theirs = sides
    return has_name(sides) and (ours != theirs or ours == base)


def is_at_or_before(
    objects: ObjectStore, first: Consumption | None, second: Consumption | None
) -> bool:
    """Return whether all that one table has consumed is in the history of what another has."""
    if first is None or second is None:
        return first is None
    later = {item.relation: item for item in second.inputs}
    return all(
        item.relation in later and _is_reached(objects, item, later[item.relation])
        for item in first.inputs
    )


def _is_reached(objects: ObjectStore, first: Consumed, second: Consumed) -> bool:
    if first.snapshot is None or first.snapshot == second.snapshot:
        return True
    if second.snapshot is None:
        return False
    with suppress(DamagedError):
        return is_ancestor(
            SnapshotId(first.snapshot),
            SnapshotId(second.snapshot),
            lambda id: objects.snapshot(id).parents,
            lambda id: objects.snapshot(id).created_at,
        )
    return False


def _lineage(objects: ObjectStore, item: Consumed) -> TableId | None:
    if item.snapshot is None:
        return None
    with suppress(DamagedError):
        return objects.snapshot(SnapshotId(item.snapshot)).table
    return None
