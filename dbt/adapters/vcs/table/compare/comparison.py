"""Comparison: the columns by which the rows of two versions are compared and shown.

| column                               | compared                                | shown      |
|--------------------------------------|-----------------------------------------|------------|
| in both, by id                       | at the wider type                       | both sides |
| in one, the other doesn't have it yet| as NULL on the other side               | both sides |
| in one, the other dropped it         | no: the schema difference shows the drop| one side   |

A dropped column is left out because rows in files that both versions share would also differ by
it. The answer would then depend on which files were rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.graph import merge_bases
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Field, Schema, Snapshot
from dbt.adapters.vcs.core.model.snapshot import widens
from dbt.adapters.vcs.core.store.objects import ObjectStore


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionComparison:
    """How two versions are compared.

    Attributes:
        fields: The columns to show, with distinct names: those of after in order, then those that
            only before has.
        compared: The columns whose values are compared.
        key: The columns that pair two rows; none for a table without a key.
    """

    fields: tuple[Field, ...]
    compared: tuple[Field, ...]
    key: tuple[Field, ...]

    @classmethod
    def of(
        cls,
        before: Snapshot | None,
        after: Snapshot | None,
        columns: Sequence[str] | None = None,
    ) -> VersionComparison:
        """Return how to compare two versions, at least one of which is given.

        Args:
            before: The first version.
            after: The second one.
            columns: Names of the only columns to compare and show, besides the key.

        Raises:
            InputError: A column doesn't exist, or no version is given.
            UnsupportedError: A column has two types that can't be compared.
        """
        sides = [side for side in (before, after) if side is not None]
        if not sides:
            raise InputError("There is nothing to compare: give at least one version of a table.")
        # A missing side has the other's columns, so that every column is compared.
        old = before.schema if before else sides[0].schema
        new = after.schema if after else sides[0].schema
        fields = _fields(old, new)
        ids = _common_key(sides)
        if columns is not None:
            wanted = {_named(fields, name).id for name in columns}
            fields = tuple(field for field in fields if field.id in wanted | set(ids))
        typed = {field.id: _typed(field, old, new) for field in fields}
        return cls(
            fields=tuple(typed.values()),
            compared=tuple(f for f in typed.values() if _is_compared(f, old, new)),
            key=tuple(typed[id] for id in ids),
        )


def _fields(old: Schema, new: Schema) -> tuple[Field, ...]:
    taken: set[str] = set()
    fields: list[Field] = []
    left = (field for field in old.fields if new.by_id(field.id) is None)
    for field in (*new.fields, *left):
        # A dropped column's name may be another column's now.
        name = field.name
        while name.lower() in taken:
            name = f"{name}__before"
        taken.add(name.lower())
        fields.append(msgspec.structs.replace(field, name=name))
    return tuple(fields)


def _common_key(sides: Sequence[Snapshot]) -> tuple[str, ...]:
    """Return the ids of the key's columns; none where two versions have different keys."""
    keys = {side.primary_key for side in sides}
    return keys.pop() if len(keys) == 1 else ()


def _is_compared(field: Field, old: Schema, new: Schema) -> bool:
    """Return whether a column is compared: any is, unless one side dropped it."""
    is_common = old.by_id(field.id) is not None and new.by_id(field.id) is not None
    return is_common or field.id not in (*old.retired, *new.retired)


def _typed(field: Field, old: Schema, new: Schema) -> Field:
    """Return a column at the wider of its two types."""
    before, after = old.by_id(field.id), new.by_id(field.id)
    if before is None or after is None or widens(before.type, after.type):
        return field
    if widens(after.type, before.type):
        return msgspec.structs.replace(field, type=before.type)
    raise UnsupportedError(
        f"The column '{after.name}' was {before.type} and is {after.type}: there is no type that "
        "holds the values of both, so they can't be compared. Leave the column out."
    )


def _named(fields: Sequence[Field], name: str) -> Field:
    for field in fields:
        if field.name.lower() == name.lower():
            return field
    names = ", ".join(field.name for field in fields)
    raise InputError(f"There is no column '{name}' in either version; the columns are: {names}.")


class Counts(NamedTuple):
    """Numbers of rows added, removed and modified; without a key none is modified."""

    added: int
    removed: int
    modified: int


def merge_base(objects: ObjectStore, left: SnapshotId, right: SnapshotId) -> SnapshotId | None:
    """Return the nearest common ancestor of two versions; None if there is none.

    Versions of a table, its clones and their clones form one graph. After a merge the base is the
    version that was merged. Of several best ones (criss-cross merges) the newest is returned.
    """
    return next(iter(best_bases(objects, left, right)), None)


def best_bases(objects: ObjectStore, left: SnapshotId, right: SnapshotId) -> list[SnapshotId]:
    """Return the nearest common ancestors, the newest first; several after criss-cross merges."""
    parents, age = own_graph(objects)
    # The id decides between equal ages, so that every machine takes the same base.
    found = merge_bases(left, right, parents, age)
    return sorted(found, key=lambda id: (age(id), id), reverse=True)


def own_graph(
    objects: ObjectStore,
) -> tuple[Callable[[SnapshotId], tuple[SnapshotId, ...]], Callable[[SnapshotId], int]]:
    """Return what tells the own parents and the age of a version.

    A version may be younger than one that was made from it: its time is that at which its
    statement began.
    """

    def parents(id: SnapshotId) -> tuple[SnapshotId, ...]:
        return own_parents(objects.snapshot(id))

    def age(id: SnapshotId) -> int:
        return objects.snapshot(id).created_at

    return parents, age


def own_parents(snapshot: Snapshot) -> tuple[SnapshotId, ...]:
    """Return the versions that a version was made from, as if it had been computed.

    What it was taken from is none of them: the branch would have the same rows if it had computed
    them, and then the other branch would know nothing of it.
    """
    # Decision 30: with the second parent as an ancestor, a merge could lose what a branch built.
    return snapshot.parents if taken_from(snapshot) is None else snapshot.parents[:1]


def taken_from(snapshot: Snapshot) -> SnapshotId | None:
    """Return the version whose files a version took instead of computing them; None if it did not.

    A version of two parents is a merge, unless it says what it was computed from.
    """
    is_taken = snapshot.origin.derivation is not None and len(snapshot.parents) > 1
    return snapshot.parents[1] if is_taken else None
