"""Three-way merge of table definitions: columns by id, key, properties.

For each attribute of each column, and for key, partitioning and each property; b, o, t are the
value in base, ours, theirs, Absent if there is none:

| case                                          | result                                |
|-----------------------------------------------|---------------------------------------|
| o = t (both made the same change)             | o                                     |
| t = b (only ours changed, or none)            | o                                     |
| o = b (only theirs changed)                   | t                                     |
| types, one of which holds the other's values  | the wider type                        |
| comment, default, order, property, clustering | the side that the mode prefers, if any|
| else                                          | conflict                              |

A type must hold every value of base, ours and theirs unchanged. A column that one side dropped is
dropped, unless the other side changed its name, type, default or nullability.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

from dbt.adapters.vcs.core.model import Absent, Field, Schema, Snapshot
from dbt.adapters.vcs.core.model.schema import widens
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

_MILD: Final = frozenset({"comment", "default", "order", "property", "cluster_by"})
"""What the mode of a merge may decide: no row depends on it."""


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


class SchemaConflict(NamedTuple):
    """One thing that both sides changed differently.

    Attributes:
        kind: The kind of thing.
        subject: The column's name in ours, else in theirs; or the property's; or ''.
        base: Its value in base, as text; None if it did not exist.
        ours: Its value in ours.
        theirs: Its value in theirs.
    """

    kind: ConflictKind
    subject: str
    base: str | None
    ours: str | None
    theirs: str | None

    def __str__(self) -> str:
        what = f"{self.kind} of {self.subject}" if self.subject else self.kind
        base, ours, theirs = (
            "nothing" if value is None else value for value in (self.base, self.ours, self.theirs)
        )
        return f"{what}: {base} in the base, {ours} in ours, {theirs} in theirs"


class SchemaMerge(NamedTuple):
    """The merged definition and the conflicts, for which it keeps ours."""

    definition: Definition
    conflicts: tuple[SchemaConflict, ...]


def merge_definitions(
    base: Snapshot | None, ours: Snapshot, theirs: Snapshot, *, prefer: Side | None = None
) -> SchemaMerge:
    """Merge theirs' definition into ours by the table above.

    Args:
        base: The version that both come from, None if there is none.
        ours: The version that is changed.
        theirs: The version whose changes are wanted.
        prefer: The side whose comment, default, order, property or clustering is kept if both
            changed it; None makes each of these a conflict.
    """
    return _Merger(prefer).merge(base, ours, theirs)


class _Merger:
    """One merge, which collects its conflicts."""

    def __init__(self, prefer: Side | None) -> None:
        self._prefer = prefer
        self._conflicts: list[SchemaConflict] = []

    def merge(self, base: Snapshot | None, ours: Snapshot, theirs: Snapshot) -> SchemaMerge:
        old = base.schema if base else Schema(fields=())
        schema = self._schema(old, ours.schema, theirs.schema)
        partition_by = self._ids("partition_by", base, ours, theirs, schema)
        if partition_by and all(field.id in partition_by for field in schema.fields):
            # Files hold only the other columns, and a file without columns has no rows.
            names = (", ".join(side.names) or None for side in (old, ours.schema, theirs.schema))
            subject = "all columns but those that partition"
            self._conflicts.append(SchemaConflict("drop", subject, *names))
        definition = Definition(
            schema=schema,
            primary_key=self._ids("primary_key", base, ours, theirs, schema),
            partition_by=partition_by,
            cluster_by=self._ids("cluster_by", base, ours, theirs, schema),
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
        if kind in _MILD and self._prefer is not None:
            return ours if self._prefer == "ours" else theirs
        self._conflicts.append(SchemaConflict(kind, subject, show(base), show(ours), show(theirs)))
        return ours

    def _schema(self, base: Schema, ours: Schema, theirs: Schema) -> Schema:
        ids = dict.fromkeys(field.id for side in (ours, theirs, base) for field in side.fields)
        merged = {
            id: field for id in ids if (field := self._column(id, base, ours, theirs)) is not None
        }
        if not merged:
            names = (", ".join(side.names) or None for side in (base, ours, theirs))
            self._conflicts.append(SchemaConflict("drop", "all columns", *names))
            return ours
        self._check_names(merged.values(), base, ours, theirs)
        fields = tuple(merged[id] for id in self._order(merged, base, ours, theirs))
        dropped = {*base.retired, *ours.retired, *theirs.retired, *(ids.keys() - merged.keys())}
        return Schema(fields=fields, retired=tuple(sorted(dropped - merged.keys())))

    def _column(self, id: str, base: Schema, ours: Schema, theirs: Schema) -> Field | None:
        old, our, their = base.by_id(id), ours.by_id(id), theirs.by_id(id)
        if our is None or their is None:
            return self._of_one_side(id, old, our, their, ours, theirs)
        if old is None and (our.name.lower(), our.initial) != (their.name.lower(), their.initial):
            self._conflicts.append(
                SchemaConflict("add", our.name, None, _shown(our), _shown(their))
            )
            return our
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
            if id in other.retired:
                # The other side's files may still hold the column it dropped.
                self._conflicts.append(
                    SchemaConflict("add", left.name, None, _shown(our), _shown(their))
                )
            return left
        if _essence(left) != _essence(old):
            self._conflicts.append(
                SchemaConflict("drop", left.name, _shown(old), _shown(our), _shown(their))
            )
            return left
        return None

    def _type(self, old: Field | None, our: Field, their: Field) -> str:
        before = old.type if old else None
        chosen: str | None
        if their.type in (our.type, before):
            chosen = our.type
        elif our.type == before or widens(our.type, their.type):
            chosen = their.type
        else:
            chosen = our.type
        held = [type_ for type_ in (before, our.type, their.type) if type_ is not None]
        if not all(widens(type_, chosen) for type_ in held):
            self._conflicts.append(SchemaConflict("type", our.name, before, our.type, their.type))
        return chosen

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
                        _shown(found) or ""
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
        everywhere = [
            field.id for field in base.fields if ours.by_id(field.id) and theirs.by_id(field.id)
        ]
        common = set(everywhere)
        sides = {"ours": ours, "theirs": theirs}
        orders = {
            name: tuple(field.id for field in side.fields if field.id in common)
            for name, side in sides.items()
        }
        chosen = self.value(
            "order",
            "",
            tuple(everywhere),
            orders["ours"],
            orders["theirs"],
            lambda ids: ", ".join(merged[id].name for id in ids if id in merged),
        )
        main, other = (ours, theirs) if chosen == orders["ours"] else (theirs, ours)
        order = [field.id for field in main.fields if field.id in merged]
        return _inserted(order, [field.id for field in other.fields if field.id in merged])

    def _ids(
        self,
        kind: Literal["primary_key", "partition_by", "cluster_by"],
        base: Snapshot | None,
        ours: Snapshot,
        theirs: Snapshot,
        schema: Schema,
    ) -> tuple[str, ...]:
        before: tuple[str, ...] = getattr(base, kind) if base else ()
        our: tuple[str, ...] = getattr(ours, kind)
        their: tuple[str, ...] = getattr(theirs, kind)

        def show(ids: tuple[str, ...]) -> str | None:
            return ", ".join(ids) or None

        chosen = self.value(kind, "", before, our, their, show)
        lost = [id for id in chosen if schema.by_id(id) is None]
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


def _inserted(order: list[str], other: Sequence[str]) -> list[str]:
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
            result.insert(result.index(other[number - 1]) + 1 if number else 0, id)
    return result


def _nullable(old: Field | None, our: Field, their: Field) -> bool:
    """Return whether a column is nullable; if both added it, either side suffices."""
    if old is None:
        return our.nullable or their.nullable
    return our.nullable if their.nullable == old.nullable else their.nullable


def _essence(field: Field) -> tuple[object, ...]:
    return field.name, field.type, field.nullable, field.default


def _shown(field: Field | None) -> str | None:
    if field is None:
        return None
    initial = "" if field.initial is None else f" default {field.initial}"
    return f"{field.name} {field.type}{initial}"
