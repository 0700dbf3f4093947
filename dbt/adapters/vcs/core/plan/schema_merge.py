"""Table definitions, compared and merged three ways: columns by id, key, properties.

In a merge, for each attribute of each column, and for key, partitioning and each property; b, o, t
are the value in base, ours, theirs, Absent if there is none:

| case                                          | result                                |
|-----------------------------------------------|---------------------------------------|
| o = t (both made the same change)             | o                                     |
| t = b (only ours changed, or none)            | o                                     |
| o = b (only theirs changed)                   | t                                     |
| types, one of which holds the other's values  | the wider type                        |
| else, and a side is preferred                 | that side's                           |
| else                                          | conflict                              |

A type must hold every value of the base unchanged, and those of both sides unless a side is
preferred. A column that one side dropped is dropped, unless the other side changed its name, type,
default, nullability or values, or made it part of the key or the partitioning.

Preferring a side decides about the definition only. Its name for a column wins, so two columns
that would share a name keep the names that side has. A conflict is left where no choice fits: the
base's values don't fit the preferred type, or a name, key or partitioning needs what is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from dbt.adapters.vcs.core.model import Absent, Field, Schema, Snapshot
from dbt.adapters.vcs.core.model.snapshot import widens
from dbt.adapters.vcs.core.model.tree import AbsentType

Side: TypeAlias = Literal["ours", "theirs"]
ConflictKind: TypeAlias = Literal[
    "add",
    "drop",
    "name",
    "type",
    "default",
    "comment",
    "order",
    "primary_key",
    "partition_by",
    "cluster_by",
    "property",
]

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A table's definition, without its rows; the attributes are those of `Snapshot`."""

    schema: Schema
    primary_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    comment: str | None = None
    properties: Mapping[str, str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> Definition:
        """Return the definition of a version of a table."""
        return cls(
            schema=snapshot.schema,
            primary_key=snapshot.primary_key,
            partition_by=snapshot.partition_by,
            cluster_by=snapshot.cluster_by,
            comment=snapshot.comment,
            properties=dict(snapshot.properties),
        )

    @property
    def key(self) -> tuple[Field, ...]:
        """The columns of the primary key, in key order; none without one."""
        fields = {field.id: field for field in self.schema.fields}
        return tuple(fields[id] for id in self.primary_key)


class SchemaConflict(NamedTuple):
    """One thing that both sides changed differently.

    Attributes:
        kind: The kind of thing.
        subject: The column's name in ours, else in theirs; or the property's; or ''.
        base: Its value in base, as text; None if it did not exist.
        ours: Its value in ours.
        theirs: Its value in theirs.
        rows: Which rows it concerns, in words; None if it concerns none.
    """

    kind: ConflictKind
    subject: str
    base: str | None
    ours: str | None
    theirs: str | None
    rows: str | None = None

    def __str__(self) -> str:
        what = f"{self.kind} of {self.subject}" if self.subject else self.kind
        base, ours, theirs = (
            "nothing" if value is None else value for value in (self.base, self.ours, self.theirs)
        )
        rows = f" ({self.rows})" if self.rows else ""
        return f"{what}: {base} in the base, {ours} in ours, {theirs} in theirs{rows}"


class SchemaMerge(NamedTuple):
    """The merged definition and the conflicts, for which it keeps ours."""

    definition: Definition
    conflicts: tuple[SchemaConflict, ...]


def merge_definitions(
    base: Snapshot | None,
    ours: Snapshot,
    theirs: Snapshot,
    *,
    prefer: Side | None = None,
    edited: Mapping[str, str] = MappingProxyType({}),
) -> SchemaMerge:
    """Merge theirs' definition into ours by the table above.

    Args:
        base: The version that both come from, None if there is none.
        ours: The version that is changed.
        theirs: The version whose changes are wanted.
        prefer: The side that is right about what both changed differently; None makes each of
            these a conflict.
        edited: Columns that one side dropped and in which the other changed values: by id, which
            rows, in words.
    """
    return _Merger(base, ours, theirs, prefer, edited, []).merge()


@dataclass(slots=True)
class _Merger:
    """One merge, which collects its conflicts."""

    _base: Snapshot | None
    _ours: Snapshot
    _theirs: Snapshot
    _prefer: Side | None
    _edited: Mapping[str, str]
    _conflicts: list[SchemaConflict]

    def merge(self) -> SchemaMerge:
        base, ours, theirs = self._base, self._ours, self._theirs
        old = base.schema if base else Schema(fields=())
        schema = self._schema(old, ours.schema, theirs.schema)
        partition_by = self._ids("partition_by", schema)
        if partition_by and all(field.id in partition_by for field in schema.fields):
            # Files hold only the other columns, and a file without columns has no rows.
            names = (", ".join(side.names) or None for side in (old, ours.schema, theirs.schema))
            subject = "all columns but those that partition"
            self._conflicts.append(SchemaConflict("drop", subject, *names))
        definition = Definition(
            schema=schema,
            primary_key=self._ids("primary_key", schema),
            partition_by=partition_by,
            cluster_by=self._ids("cluster_by", schema),
            comment=self.value(
                "comment", "", base.comment if base else None, ours.comment, theirs.comment
            ),
            properties=self._properties(base.properties if base else {}, ours, theirs),
        )
        return SchemaMerge(definition, tuple(self._conflicts))

    def value(
        self,
        kind: ConflictKind,
        subject: str,
        base: T,
        ours: T,
        theirs: T,
        show: Callable[[T], str | None] = lambda value: None if value is None else str(value),
    ) -> T:
        """Return the value chosen by the rule; that of ours for a conflict."""
        if theirs in (base, ours):
            return ours
        if ours == base:
            return theirs
        if self._prefer is not None:
            return self._preferred(ours, theirs)
        self._conflicts.append(SchemaConflict(kind, subject, show(base), show(ours), show(theirs)))
        return ours

    def _preferred(self, ours: T, theirs: T) -> T:
        return theirs if self._prefer == "theirs" else ours

    def _schema(self, base: Schema, ours: Schema, theirs: Schema) -> Schema:
        ids = dict.fromkeys(field.id for side in (ours, theirs, base) for field in side.fields)
        merged = {
            id: field for id in ids if (field := self._column(id, base, ours, theirs)) is not None
        }
        # Between them, the sides dropped all columns.
        if not merged and self._prefer is not None:
            merged = {field.id: field for field in self._preferred(ours, theirs).fields}
        if not merged:
            names = (", ".join(side.names) or None for side in (base, ours, theirs))
            self._conflicts.append(SchemaConflict("drop", "all columns", *names))
            return ours
        merged = self._with_names_apart(merged, self._preferred(ours, theirs))
        self._check_names(merged.values(), base, ours, theirs)
        fields = tuple(merged[id] for id in self._order(merged, base, ours, theirs))
        # What one side dropped and the merge keeps is in use, so its id isn't retired.
        dropped = {*base.retired, *ours.retired, *theirs.retired, *(ids.keys() - merged.keys())}
        return Schema(fields=fields, retired=tuple(sorted(dropped - merged.keys())))

    def _column(self, id: str, base: Schema, ours: Schema, theirs: Schema) -> Field | None:
        old, our, their = base.by_id(id), ours.by_id(id), theirs.by_id(id)
        if our is None or their is None:
            return self._of_one_side(id, old, our, their, ours, theirs)
        # Files without the column show `initial`, so two of them can't be one column.
        if old is None and (our.name.lower(), our.initial) != (their.name.lower(), their.initial):
            if self._prefer is None:
                self._conflicts.append(
                    SchemaConflict("add", our.name, None, _column_text(our), _column_text(their))
                )
            return self._preferred(our, their)
        name = our.name
        # A column that both added has one name, perhaps in another case: ours is kept.
        both = name if old is None else their.name
        return Field(
            id=id,
            name=self.value("name", name, old.name if old else name, name, both),
            type=self._type(old, our, their),
            nullable=_nullable(old, our, their),
            comment=self.value(
                "comment", name, old.comment if old else None, our.comment, their.comment
            ),
            default=self.value(
                "default", name, old.default if old else None, our.default, their.default
            ),
            # Settled when the column was added, so both sides have the same.
            initial=our.initial,
        )

    def _of_one_side(
        self,
        id: str,
        old: Field | None,
        our: Field | None,
        their: Field | None,
        ours: Schema,
        theirs: Schema,
    ) -> Field | None:
        """Return a column that at most one side has, None if it is dropped."""
        left = our or their
        if left is None:
            return None
        other = theirs if our else ours
        if old is None:
            if id in other.retired and self._prefer is not None:
                return self._preferred(our, their)
            if id in other.retired:
                # The other side's files may still hold the column it dropped.
                self._conflicts.append(
                    SchemaConflict("add", left.name, None, _column_text(our), _column_text(their))
                )
            return left
        is_changed = _meaning(left) != _meaning(old) or self._has_new_use(id, is_ours=bool(our))
        if not is_changed and id not in self._edited:
            return None
        if self._prefer is not None:
            return self._preferred(our, their)
        values = "" if is_changed else " with other values"
        shown = [
            None if field is None else f"{_column_text(field)}{values}" for field in (our, their)
        ]
        conflict = SchemaConflict("drop", left.name, _column_text(old), *shown)
        self._conflicts.append(conflict._replace(rows=self._edited.get(id)))
        return left

    def _has_new_use(self, id: str, *, is_ours: bool) -> bool:
        """Return whether a side made a column part of the key or the partitioning."""
        side = self._ours if is_ours else self._theirs
        before = (*self._base.primary_key, *self._base.partition_by) if self._base else ()
        return id in (*side.primary_key, *side.partition_by) and id not in before

    def _type(self, old: Field | None, our: Field, their: Field) -> str:
        before = old.type if old else None
        chosen: str | None
        if their.type in (our.type, before):
            chosen = our.type
        elif our.type == before or widens(our.type, their.type):
            chosen = their.type
        elif widens(their.type, our.type):
            chosen = our.type
        else:
            chosen = self._preferred(our.type, their.type)
        # A side that is preferred may lose values of the other one, and none of the base.
        sides = (our.type, their.type) if self._prefer is None else ()
        held = [type_ for type_ in (before, *sides) if type_ is not None]
        if not all(widens(type_, chosen) for type_ in held):
            self._conflicts.append(SchemaConflict("type", our.name, before, our.type, their.type))
        return chosen

    def _with_names_apart(self, merged: dict[str, Field], preferred: Schema) -> dict[str, Field]:
        """Give columns that would share a name the names of the preferred side, if there is one.

        That side has them apart. It doesn't help a column that only the other side has.
        """
        # Each name that is given back can clash with one more column, so this is repeated.
        for _ in merged if self._prefer is not None else ():
            owners: dict[str, list[str]] = {}
            for id, field in merged.items():
                owners.setdefault(field.name.lower(), []).append(id)
            clashing = [id for ids in owners.values() if len(ids) > 1 for id in ids]
            names = {id: known.name for id in clashing if (known := preferred.by_id(id))}
            merged = {
                id: msgspec.structs.replace(field, name=names.get(id, field.name))
                for id, field in merged.items()
            }
        return merged

    def _check_names(
        self, fields: Iterable[Field], base: Schema, ours: Schema, theirs: Schema
    ) -> None:
        """Report columns that would share a name as conflicts."""
        taken: dict[str, Field] = {}
        for field in fields:
            first = taken.setdefault(field.name.lower(), field)
            if first is not field:
                shown = (
                    ", ".join(
                        _column_text(found) or ""
                        for id in (first.id, field.id)
                        if (found := side.by_id(id)) is not None
                    )
                    or None
                    for side in (base, ours, theirs)
                )
                self._conflicts.append(SchemaConflict("name", field.name, *shown))

    def _order(
        self, merged: Mapping[str, Field], base: Schema, ours: Schema, theirs: Schema
    ) -> list[str]:
        """Return ids in the order of the side that changed it, with the other's new ids."""
        # Columns that a side added or dropped are no change of the order.
        sides = (base, ours, theirs)
        common = set.intersection(*({field.id for field in side.fields} for side in sides))
        old, our, their = (
            tuple(field.id for field in side.fields if field.id in common) for side in sides
        )
        chosen = self.value(
            "order",
            "",
            old,
            our,
            their,
            lambda ids: ", ".join(merged[id].name for id in ids if id in merged),
        )
        main, other = (ours, theirs) if chosen == our else (theirs, ours)
        order = [field.id for field in main.fields if field.id in merged]
        return _merged_order(order, [field.id for field in other.fields if field.id in merged])

    @property
    def _names(self) -> dict[str, str]:
        """One name for a column in all versions: that of ours, else of theirs; by id."""
        base = self._base.schema.names_by_id if self._base else {}
        return base | self._theirs.schema.names_by_id | self._ours.schema.names_by_id

    def _ids(
        self, kind: Literal["primary_key", "partition_by", "cluster_by"], schema: Schema
    ) -> tuple[str, ...]:
        before: tuple[str, ...] = getattr(self._base, kind) if self._base else ()
        our: tuple[str, ...] = getattr(self._ours, kind)
        their: tuple[str, ...] = getattr(self._theirs, kind)

        def show(ids: tuple[str, ...]) -> str | None:
            return ", ".join(map(self._names.__getitem__, ids)) or None

        chosen = self.value(kind, "", before, our, their, show)
        lost = [id for id in chosen if schema.by_id(id) is None]
        if lost and self._prefer is not None:
            # The side that dropped a column has no key of it.
            chosen = self._preferred(our, their)
            lost = [id for id in chosen if schema.by_id(id) is None]
        # Clustering is advice, which holds without a column, too.
        if lost and kind == "cluster_by":
            return tuple(id for id in chosen if id not in lost)
        if lost:
            self._conflicts.append(SchemaConflict(kind, "", show(before), show(our), show(their)))
        return chosen

    def _properties(
        self, base: Mapping[str, str], ours: Snapshot, theirs: Snapshot
    ) -> dict[str, str]:
        def get(properties: Mapping[str, str], key: str) -> str | AbsentType:
            return properties.get(key, Absent)

        found: dict[str, str] = {}
        for key in sorted({*base, *ours.properties, *theirs.properties}):
            chosen = self.value(
                "property",
                key,
                get(base, key),
                get(ours.properties, key),
                get(theirs.properties, key),
                lambda value: None if value is Absent else str(value),
            )
            if isinstance(chosen, str):
                found[key] = chosen
        return found


def _merged_order(order: list[str], other: Sequence[str]) -> list[str]:
    """Return an order with the other side's new ids, at the end or after their neighbour."""
    known = set(order)
    last = max((number for number, id in enumerate(other) if id in known), default=-1)
    result = list(order)
    for number, id in enumerate(other):
        if id in known:
            continue
        if number > last:
            result.append(id)
        else:
            # The neighbour has a place: it was known, or was put in just before.
            result.insert(result.index(other[number - 1]) + 1 if number else 0, id)
    return result


def _nullable(old: Field | None, our: Field, their: Field) -> bool:
    # Of a column that both added, the rows of either side may be NULL.
    if old is None:
        return our.nullable or their.nullable
    # It has two values, so sides that both changed it agree: there is no conflict.
    return our.nullable if their.nullable == old.nullable else their.nullable


def _meaning(field: Field) -> tuple[object, ...]:
    return field.name, field.type, field.nullable, field.default


def _column_text(field: Field | None) -> str | None:
    if field is None:
        return None
    initial = "" if field.initial is None else f" default {field.initial}"
    return f"{field.name} {field.type}{initial}"


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
