"""Conflict tables: the rows that a merge could not decide, and the choices made for them.

A row is a key in conflict. Columns, for each column c of the relation:

| column                                        | holds                                          |
|-----------------------------------------------|------------------------------------------------|
| `our_diff_type`, `their_diff_type`            | what each side did: added, removed, modified   |
| `our_diff_count`, `their_diff_count`          | without a key: by how many rows                |
| `base_<c>`, `our_<c>`, `their_<c>`            | the row of each side, NULL where it has none   |
| `result_<c>`, with a key, but not for its own | what the merge will leave, once it is chosen   |
| `resolution`                                  | ours, theirs, base, delete, custom; NULL: open |

The result follows the resolution, so what is shown is what lands: a side's row, NULLs for a
deleted row, or with `custom` the values that somebody gave.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from shlex import quote
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.changes.merges.rowwise.row_policy import Decided, Seen
from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.ids import SnapshotId, new_table_id
from dbt.adapters.vcs.core.model import Field, RelationName, Schema, Snapshot
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.table.compare.located import Mask
from dbt.adapters.vcs.table.equality import group_ids
from dbt.adapters.vcs.table.files.block_reader import Files, Positions
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import arrow_schema, write_table
from dbt.adapters.vcs.table.manifests import folder_of, put_segments
from dbt.adapters.vcs.table.python_values import (
    arrow_array,
    python_rows,
    python_value,
    python_values,
)
from dbt.adapters.vcs.table.types import arrow_type
from dbt.adapters.vcs.workspace.table_version import Version

RESOLUTION: Final = "resolution"
"""The column that holds the choice made, NULL until one is."""

RESULT: Final = "result_"
"""Prefix of the columns that hold the chosen row."""

_KEY: Final = "vcs.conflicts.key"
_REQUIRED: Final = "vcs.conflicts.required"
SIDES: Final[Mapping[Choice, str]] = {
    Choice.BASE: "base",
    Choice.OURS: "our",
    Choice.THEIRS: "their",
}
"""Prefixes of the columns that show a side's row."""

# A side's row may consist of NULLs, so only these marks show whether there is one.
_ABSENT: Final[Mapping[Choice, tuple[int, str]]] = {
    Choice.BASE: (0, "added"),
    Choice.OURS: (0, "removed"),
    Choice.THEIRS: (1, "removed"),
}
"""The index of the column that marks a side without a row, and its value then."""


@dataclass(frozen=True, kw_only=True)
class ConflictTable:
    """The conflicts of one relation; a choice returns a new table.

    Attributes:
        fields: The columns of the table, `resolution` last.
        rows: Its rows, columns by name.
        key: Columns of the relation's primary key, in its order; empty without one.
        required: Its NOT NULL columns.
    """

    name: RelationName
    fields: tuple[Field, ...]
    rows: pa.Table
    key: tuple[str, ...]
    required: frozenset[str]

    @classmethod
    def of(
        cls,
        name: RelationName,
        rows: pa.Table,
        fields: Iterable[Field],
        *,
        key: Sequence[str],
        required: Collection[str],
    ) -> ConflictTable:
        """Return a table of undecided conflicts.

        Args:
            rows: The sides' columns, by name.
            fields: The types of these.
            key: Columns of the relation's primary key, in its order.
            required: Its NOT NULL columns.
        """
        sides = tuple(fields)
        types = {field.name: field.type for field in sides}
        own = [
            Field(id="", name=RESULT + name, type=types[f"base_{name}"])
            for name in _columns_of(sides)
            # Without a key a conflict is about a number of copies, and there is no row to set.
            if key and name not in key
        ]
        own.append(Field(id="", name=RESOLUTION, type="string"))
        schema = Schema.of([*sides, *own])
        for new in own:
            nulls = pa.nulls(rows.num_rows, arrow_type(new.type))
            rows = rows.append_column(new.name, nulls)
        return cls(
            name=name,
            fields=schema.fields,
            rows=rows,
            key=tuple(key),
            required=frozenset(required),
        )

    @classmethod
    def read(cls, repository: Repository, name: RelationName, snapshot: Snapshot) -> ConflictTable:
        """Read the conflict table from a stored version."""
        wanted = arrow_schema(snapshot.schema)
        files, parts = Files(repository.blobs), [wanted.empty_table()]
        for block in Version.of(repository, snapshot).blocks:
            found = files.columns(block.path, snapshot.schema.fields, entry=block)
            parts.append(found.cast(wanted))
        return cls(
            name=name,
            fields=snapshot.schema.fields,
            rows=pa.concat_tables(parts).rename_columns(list(snapshot.schema.names)),
            key=tuple(json.loads(snapshot.properties.get(_KEY, "[]"))),
            required=frozenset(json.loads(snapshot.properties.get(_REQUIRED, "[]"))),
        )

    def put(self, repository: Repository) -> SnapshotId:
        """Write this as a table of the repository."""
        # Decision 13: conflicts are tables of a branch, so that SQL reads and resolves them.
        table, schema = new_table_id(), Schema(fields=self.fields)
        folder = folder_of(table)
        files = write_table(repository.blobs, self.rows, folder=folder, schema=schema)
        blocks = read_blocks(repository.blobs, files, schema, (), files)
        snapshot = Snapshot(
            table=table,
            schema=schema,
            segments=put_segments(repository.objects, blocks),
            created_at=repository.clock(),
            operation="conflicts",
            properties={
                _KEY: json.dumps(self.key),
                _REQUIRED: json.dumps(sorted(self.required)),
            },
        )
        return SnapshotId(repository.objects.put(snapshot))

    @property
    def columns(self) -> tuple[str, ...]:
        """The relation's columns, in order."""
        return _columns_of(self.fields)

    @property
    def results(self) -> dict[str, Field]:
        """The columns of the result, by the relation's column; none without a key."""
        return {
            field.name.removeprefix(RESULT): field
            for field in self.fields
            if field.name.startswith(RESULT)
        }

    @cached_property
    def resolutions(self) -> list[Choice | None]:
        """What was chosen for each row."""
        words = self.rows.column(RESOLUTION).to_pylist()
        return [None if word is None else Choice(word) for word in words]

    @property
    def open(self) -> int:
        """Number of rows with no choice yet."""
        return int(self.rows.column(RESOLUTION).null_count)

    def side(self, choice: Choice, column: str) -> pa.ChunkedArray:
        """Return one side's values of a column of the relation."""
        return self.rows.column(f"{SIDES[choice]}_{column}")

    def has_row(self, choice: Choice) -> Mask:
        """Return a mask of the conflicts with whose key a side has a row."""
        place, word = _ABSENT[choice]
        absent = pc.fill_null(pc.equal(self.rows.column(place), word), False)
        return ~np.asarray(absent, dtype=np.bool_)

    @cached_property
    def keys(self) -> list[tuple[Any, ...]]:
        """The key of each row, in the key's order; all columns without one."""
        names = self.key or self.columns
        columns = [
            [_first(values) for values in zip(*sides, strict=True)]
            for name in names
            for sides in [[python_values(self.side(choice, name)) for choice in SIDES]]
        ]
        return list(zip(*columns, strict=True)) if columns else []

    @cached_property
    def repeated(self) -> frozenset[int]:
        """Rows that share their key with another row."""
        if not self.key:
            return frozenset()
        columns = [
            pa.chunked_array(
                [arrow_array([key[n] for key in self.keys], self.side(Choice.OURS, name).type)]
            )
            for n, name in enumerate(self.key)
        ]
        codes = group_ids(columns, len(self.keys))
        counts = np.bincount(codes, minlength=1)
        return frozenset(np.flatnonzero(counts[codes] > 1).tolist())

    def chosen(
        self,
        rows: Positions,
        choice: Choice | None,
        given: Mapping[str, pa.ChunkedArray] | None = None,
    ) -> ConflictTable:
        """Return the table with a choice for some rows; None reopens them.

        Args:
            rows: Their numbers.
            given: With `custom`, every result column by its column of the relation, a value for
                each row.
        """
        table, places = self.rows, pa.array(rows, pa.int64())
        for name, result in self.results.items():
            side = self.side(choice, name).take(places) if choice in SIDES and choice else None
            table = _with(table, result.name, rows, side if given is None else given[name])
        word = pa.scalar(choice.value if choice else None, pa.string())
        words = pa.chunked_array([pa.repeat(word, len(rows))])
        return replace(self, rows=_with(table, RESOLUTION, rows, words))

    def taken(self, rows: Positions) -> ConflictTable:
        """Return the table with only these rows, in this order."""
        return replace(self, rows=self.rows.take(pa.array(rows, pa.int64())))

    def mark(self, row: int) -> str:
        """Return a digest of a row and of what is chosen for it, which changes if either does."""
        (values,) = python_rows(self.rows.slice(row, 1))
        return hashlib.sha256(repr(values).encode(errors="surrogatepass")).hexdigest()[:32]

    def result(self, row: int) -> dict[str, Any]:
        """Return the result of a row, by column of the relation."""
        return {
            name: python_value(self.rows.column(f.name)[row]) for name, f in self.results.items()
        }

    def shown_key(self, row: int) -> str:
        """Return the key of a row for messages."""
        pairs = zip(self.key or self.columns, self.keys[row], strict=True)
        return ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in pairs)

    def having_choice(self) -> ConflictTable:
        """Return the table with only the rows that have a choice."""
        return replace(self, rows=self.rows.filter(pc.is_valid(self.rows.column(RESOLUTION))))

    def carrying(self, chosen: ConflictTable, *, others: bool) -> ConflictTable:
        """Return the table with the choices from another one that has the same columns.

        Args:
            chosen: The other table; all of its rows have a choice.
            others: True to also take its rows with keys that this table lacks.
        """
        own = {*(field.name for field in self.results.values()), RESOLUTION}
        both = pa.concat_tables([self.rows, chosen.rows])
        sides = [both.column(field.name) for field in self.fields if field.name not in own]
        count = len(self.rows)
        codes = group_ids(sides, len(both)).tolist()
        # A choice goes with the rows that it was made for: if a side changed, it is open again.
        by_content = {code: count + n for n, code in enumerate(codes[count:])}
        places = [by_content.get(code, n) for n, code in enumerate(codes[:count])]
        if others:
            # Without a key these are values of all columns, and lists can't be hashed.
            known = {repr(key) for key in self.keys}
            keys = enumerate(chosen.keys)
            places += [count + n for n, key in keys if repr(key) not in known]
        return replace(self, rows=both.take(pa.array(places, pa.int64())))


def _columns_of(fields: Iterable[Field]) -> tuple[str, ...]:
    """Return the relation's columns; each side has all of them."""
    names = [field.name for field in fields]
    known = frozenset(names)
    found = (name.removeprefix("base_") for name in names if name.startswith("base_"))
    return tuple(name for name in found if {f"our_{name}", f"their_{name}"} <= known)


def _with(table: pa.Table, column: str, rows: Positions, new: pa.ChunkedArray | None) -> pa.Table:
    """Return a table with a column's values replaced in some rows; None stores NULLs."""
    old = table.column(column)
    count = len(table)
    other = pa.chunked_array([pa.nulls(len(rows), old.type)]) if new is None else new
    places = np.arange(count)
    places[rows] = count + np.arange(len(rows))
    # Arrow's columns can't be changed: each row takes its value from the old ones or the new ones.
    both = pa.chunked_array([*old.chunks, *other.cast(old.type).chunks], old.type)
    return table.set_column(table.schema.get_field_index(column), column, both.take(places))


def _first(values: tuple[Any, ...]) -> Any:
    """Return the values of the first side that has the row; the sides agree or are NULL."""
    return next((value for value in values if value is not None), None)


@dataclass(frozen=True, slots=True)
class Decisions:
    """Choices for one relation.

    Attributes:
        whole: The choice for the relation as a whole, or None.
        rows: The choices for single rows.
    """

    whole: Choice | None = None
    rows: tuple[Decided, ...] = ()

    @property
    def has_values(self) -> bool:
        """Whether values were given for any row."""
        return any(item.choice is Choice.CUSTOM for item in self.rows)


def decided_rows(table: ConflictTable) -> tuple[Decided, ...]:
    """Return what was chosen for the rows of a conflict table.

    Raises:
        ConflictError: Some rows have no choice yet.
    """
    if table.open:
        raise ConflictError(
            f"{table.open} of {len(table.rows)} conflicts of {table.name} are not resolved yet. "
            f"Choose for them: dbt-vcs resolve {quote(str(table.name))} --with ours (or theirs, "
            "base, delete), for a row with --key COLUMN=VALUE, or with --set COLUMN=VALUE as well"
        )
    # Decision 13: continuing plans the merge again. A choice must not apply to a row that somebody
    # else has changed meanwhile.
    ours = {name: python_values(table.side(Choice.OURS, name)) for name in table.columns}
    has_ours = table.has_row(Choice.OURS)

    def seen(row: int) -> Seen | None:
        # Only a row that a key tells from all others can be compared with what it was.
        if not table.key or row in table.repeated:
            return None
        return Seen(
            {name: values[row] for name, values in ours.items()} if has_ours[row] else None
        )

    return tuple(
        Decided(key, choice, table.result(row) if choice is Choice.CUSTOM else None, seen(row))
        for row, (key, choice) in enumerate(zip(table.keys, table.resolutions, strict=True))
        if choice is not None
    )
