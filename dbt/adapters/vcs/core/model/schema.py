"""A table's columns, each with an identity that outlives its name."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model.data_type import INTEGERS, Type, type_of
from dbt.adapters.vcs.core.model.value import Value


class Field(Value, frozen=True, kw_only=True):
    """One top-level column.

    Attributes:
        id: The column's name inside Parquet files, and its identity: stays when `name` changes,
            and is never given to another column of the lineage. The same column added on two
            branches gets the same id.
        name: The name that statements use.
        type: Spark SQL type text, lower case: `bigint`, `decimal(10,2)`, `struct<a:int>`.
        nullable: False if writes must refuse NULL.
        comment: Free text, or None.
        default: SQL text of the column's default expression, or None.
        initial: The value, as text, of rows in files that lack the column; None for NULL. It is
            settled when the column is added, and never changes.
    """

    id: str
    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None
    initial: str | None = None


class Schema(Value, frozen=True, kw_only=True):
    """The ordered columns of one snapshot.

    Attributes:
        fields: In the order that `select *` shows.
        retired: Ids of columns that the lineage once had, sorted; never handed out again.
    """

    fields: tuple[Field, ...]
    retired: tuple[str, ...] = ()

    @classmethod
    def of(cls, columns: Iterable[Field]) -> Schema:
        """Return the schema of a new table; the `id` of the columns passed in is ignored.

        Raises:
            InputError: There are no columns, or a name occurs twice.
        """
        schema = cls(fields=()).add(columns)
        if not schema.fields:
            raise InputError("A table needs at least one column; none was given.")
        return schema

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(field.name for field in self.fields)

    def find(self, name: str) -> Field | None:
        """Return the column with a name, ignoring case as Spark does, or None."""
        wanted = name.lower()
        return next((field for field in self.fields if field.name.lower() == wanted), None)

    def field(self, name: str) -> Field:
        """Return the column with a name, as `find` does.

        Raises:
            InputError: There is no such column.
        """
        found = self.find(name)
        if found is None:
            raise InputError(
                f"There is no column '{name}'; the columns are: {', '.join(self.names)}."
            )
        return found

    def by_id(self, id: str) -> Field | None:
        """Return the column with an id, or None if this version of the schema lacks it."""
        return next((field for field in self.fields if field.id == id), None)

    def add(self, columns: Iterable[Field]) -> Schema:
        """Return the schema with more columns at the end; their `id` is handed out here.

        A name that another column had before gets a new id (`x__2`), so that old files never show
        through a new column. Ids of columns that are added to others are in lower case. The id of
        a name that files have for something else has a prefix.

        Raises:
            InputError: A name already exists.
        """
        fields = list(self.fields)
        taken = {field.id.lower() for field in fields} | {id.lower() for id in self.retired}
        for column in columns:
            if any(field.name.lower() == column.name.lower() for field in fields):
                raise InputError(
                    f"The column '{column.name}' already exists; choose another name."
                )
            # Two sides that add `W` and `w` to a table add one column: Spark ignores the case of
            # names. A new table's ids keep it, as its files were perhaps written by others.
            wanted = column.name.lower() if self.fields else column.name
            fields.append(msgspec.structs.replace(column, id=_free_id(wanted, taken)))
            taken.add(fields[-1].id.lower())
        return Schema(fields=tuple(fields), retired=self.retired)

    def rename(self, old: str, new: str) -> Schema:
        """Return the schema with one column renamed; its identity stays.

        Raises:
            InputError: There is no column `old`, or another one is called `new`.
        """
        column = self.field(old)
        other = self.find(new)
        if other is not None and other is not column:
            raise InputError(f"The column '{new}' already exists; choose another name.")
        return self.replace(msgspec.structs.replace(column, name=new))

    def drop(self, names: Iterable[str]) -> Schema:
        """Return the schema without some columns; their ids are never handed out again.

        Raises:
            InputError: There is no such column, or none would be left.
        """
        gone = {self.field(name).id for name in names}
        fields = tuple(field for field in self.fields if field.id not in gone)
        if not fields:
            raise InputError("A table needs at least one column; drop the table instead.")
        return Schema(fields=fields, retired=tuple(sorted({*self.retired, *gone})))

    def replace(self, column: Field) -> Schema:
        """Return the schema with the column of the same id replaced."""
        return Schema(
            fields=tuple(column if field.id == column.id else field for field in self.fields),
            retired=self.retired,
        )

    def rebuilt(self, columns: Iterable[Field]) -> Schema:
        """Return the schema of a rebuild that computed these columns.

        A column keeps its identity if its name stays and its type stays or widens without loss;
        otherwise it is a new column, and what it replaced is retired.
        """
        kept: dict[str, str] = {}
        columns = tuple(columns)
        for column in columns:
            before = self.find(column.name)
            if before is not None and widens(before.type, column.type):
                kept[column.name.lower()] = before.id
        gone = {field.id for field in self.fields} - set(kept.values())
        retired = tuple(sorted({*self.retired, *gone}))
        taken = {id.lower() for id in (*retired, *kept.values())}
        fields: list[Field] = []
        for column in columns:
            id = kept.get(column.name.lower()) or _free_id(column.name, taken)
            taken.add(id.lower())
            before = self.by_id(id)
            initial = before.initial if before is not None else None
            fields.append(msgspec.structs.replace(column, id=id, initial=initial))
        return Schema(fields=tuple(fields), retired=retired)


RESERVED = "__vcs_"
"""No field id begins so: these columns stand beside a table's own in files and relations."""


POSITION_ID = "_tmp_metadata_row_index"
"""No field id is this: Spark's readers fill a column of this name with positions in the file."""

_LINEAGE = ("_row_id", "_last_updated_sequence_number")
"""No field id is one of these: other engines' files have each row's number and last change so."""


def widens(old: str, new: str) -> bool:
    """Return whether every value of a type fits another unchanged; both are type texts."""
    if old == new:
        return True
    narrow, wide = type_of(old), type_of(new)
    if narrow.kind in INTEGERS and wide.kind in INTEGERS:
        return INTEGERS.index(narrow.kind) <= INTEGERS.index(wide.kind)
    if (narrow.kind, wide.kind) == ("float", "double"):
        return True
    if narrow.collation is None and narrow.length is not None:
        # Values of char(n) have n characters; a longer char(n) would pad them to others.
        is_longer = wide.kind == "varchar" and (wide.length or 0) >= narrow.length
        return narrow == wide or wide == Type("string") or is_longer
    if narrow.kind == wide.kind == "decimal":
        before = wide.precision - wide.scale >= narrow.precision - narrow.scale
        return before and wide.scale >= narrow.scale
    return narrow == wide


def fitted(text: str, type_: str) -> str:
    """Return a text as char(n) and varchar(n) store it: padded, or with spaces beyond n cut."""
    found = type_of(type_)
    if found.length is None:
        return text
    padded = text.ljust(found.length) if found.kind == "char" else text
    return padded[: found.length] + padded[found.length :].rstrip(" ")


def _free_id(name: str, taken: set[str]) -> str:
    if name.lower().startswith(RESERVED) or name.lower() in (*_LINEAGE, POSITION_ID):
        name = f"column{name}"
    if name.lower() not in taken:
        return name
    number = 2
    while f"{name}__{number}".lower() in taken:
        number += 1
    return f"{name}__{number}"
