"""Diff of two schemas, column by column."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from dbt.adapters.vcs.core.model import Schema

ChangeKind: TypeAlias = Literal[
    "added", "dropped", "renamed", "retyped", "nullable", "default", "comment", "moved"
]


class ColumnChange(NamedTuple):
    """One attribute of one column that differs between two schemas.

    Attributes:
        kind: The attribute.
        column: The column's name after, or before if it was dropped.
        before: Its value before; None if there was none.
        after: Its value after; None if there is none.
    """

    kind: ChangeKind
    column: str
    before: str | None
    after: str | None


def diff_schemas(before: Schema, after: Schema) -> tuple[ColumnChange, ...]:
    """Return changes to columns, matched by identity: in after's order, dropped ones last.

    A column has moved if its place among the columns that both have is different.
    """
    changes: list[ColumnChange] = []
    common = [field.id for field in before.fields if after.by_id(field.id)]
    kept = [field.id for field in after.fields if before.by_id(field.id)]
    for new in after.fields:
        old = before.by_id(new.id)
        if old is None:
            changes.append(ColumnChange("added", new.name, None, new.type))
            continue
        pairs: tuple[tuple[ChangeKind, Any, Any], ...] = (
            ("renamed", old.name, new.name),
            ("retyped", old.type, new.type),
            ("nullable", _yes_or_no(old.nullable), _yes_or_no(new.nullable)),
            ("default", old.default, new.default),
            ("comment", old.comment, new.comment),
            ("moved", str(common.index(new.id) + 1), str(kept.index(new.id) + 1)),
        )
        changes += [ColumnChange(kind, new.name, a, b) for kind, a, b in pairs if a != b]
    gone = (field for field in before.fields if after.by_id(field.id) is None)
    return (*changes, *(ColumnChange("dropped", old.name, old.type, None) for old in gone))


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"
