"""Columns of two versions of a table, matched before rows are compared."""

from __future__ import annotations

import msgspec

from dbt.adapters.vcs.core.model import Field, Schema, Snapshot
from dbt.adapters.vcs.core.plan.schema_merge import ColumnChange, diff_schemas


def column_changes(before: Snapshot | None, after: Snapshot | None) -> tuple[ColumnChange, ...]:
    """Return how columns differ: matched by identity, or by name if the tables are unrelated."""
    before, after = matched(before, after)
    if before is None or after is None:
        return ()
    return diff_schemas(before.schema, after.schema)


def matched(
    before: Snapshot | None, after: Snapshot | None
) -> tuple[Snapshot | None, Snapshot | None]:
    """Return two versions in which columns to be compared share an id.

    Clones and branches of one table already do. In unrelated tables, columns with the same name
    are matched.
    """
    if before is None or after is None or before.table == after.table:
        return before, after
    taken = {field.id.lower() for field in after.schema.fields}
    fields: list[Field] = []
    for field in before.schema.fields:
        same = after.schema.find(field.name)
        id = same.id if same is not None else field.id
        # Decision 1: an id is a name, so a column of the other table may have it by chance.
        while same is None and id.lower() in taken:
            id = f"{id}__before"
        taken.add(id.lower())
        fields.append(msgspec.structs.replace(field, id=id))
    ids = {old.id: new.id for old, new in zip(before.schema.fields, fields, strict=True)}
    return (
        msgspec.structs.replace(
            before,
            schema=Schema(fields=tuple(fields)),
            primary_key=tuple(ids[id] for id in before.primary_key),
        ),
        # Without retired ids: a column of the other table may have one by chance, and would count
        # as dropped.
        msgspec.structs.replace(after, schema=Schema(fields=after.schema.fields)),
    )


def needs_names(before: Snapshot | None, after: Snapshot | None) -> bool:
    """Return whether a column of one table has the id of a different column of the other.

    In files, where columns are named by id, one would be mistaken for the other.
    """
    if before is None or after is None or before.table == after.table:
        return False
    new = matched(before, after)[0]
    if new is None or new.schema.fields != before.schema.fields:
        return True
    sides = ((before.schema, after.schema), (after.schema, before.schema))
    return any(field.id in other.retired for own, other in sides for field in own.fields)
