"""Checks of a merge's rows against all that the merged definition enforces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.changes.writes.checks import (
    broken_key,
    checks_of,
    columns_named,
    is_dbts_key,
    new_blocks,
    refuse_broken,
    row_text,
)
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Field, RelationName, Schema, Snapshot
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Readers
from dbt.adapters.vcs.table.files.block_reader import Files, is_readable
from dbt.adapters.vcs.table.key_check import SHOWN
from dbt.adapters.vcs.table.python_values import python_values
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.table_version import Version


def is_checked_when_merged(
    ours: Snapshot, theirs: Snapshot, version: Snapshot, *, verbatim: bool
) -> bool:
    """Return whether rows of a merge may have to be looked at; see `check_merged`."""
    merged = _MergedRows(ours, theirs, version, verbatim)
    return bool(merged.checks() or merged.required() or merged.lacks_key_check)


def check_merged(
    repository: Repository,
    name: RelationName,
    version: Snapshot,
    ours: Snapshot,
    theirs: Snapshot,
    *,
    verbatim: bool,
    sessions: Readers | None,
) -> Snapshot:
    """Check that the rows of a merge satisfy all that its definition enforces.

    That is the primary key, NOT NULL and the check constraints; that text fits its length follows
    from the types. Each side's rows satisfy what the side itself declares. So, for each of these:

    | declared by | rows to check                                                 |
    |-------------|---------------------------------------------------------------|
    | both        | none if each row is from a side, else those that neither has; |
    |             | none for a key, which tells rows apart when they are merged   |
    | ours        | those that ours lacks                                         |
    | theirs      | those that theirs lacks                                       |
    | neither     | all: a side declares the key, the other one that it is checked|

    Args:
        name: What errors call the table.
        version: The result, its files written, not yet stored.
        ours: The version that is changed.
        theirs: The version whose changes are wanted.
        verbatim: True if every row of the result is a row of ours or of theirs.
        sessions: Provides the engine's session, used only if there are rows to check.

    Returns:
        The result; without the key if that is dbt's `unique_key`, and rows violate it.

    Raises:
        InputError: Rows violate the definition, or a constraint names a column that the other side
            removed. The message names them, and the side that declares it.
        UnsupportedError: There are rows to check that only an engine can check, and there is none.
    """
    merged = _MergedRows(ours, theirs, version, verbatim)
    sides = merged.sides
    for constraint, expression in checks_of(version.properties).items():
        for side in sides.values():
            if checks_of(side.properties).get(constraint) == expression:
                # A condition is text with the names of its side, and the merge may have renamed
                # the column.
                _check_columns(name, version.schema, side.schema, constraint, expression)
    for field, declaring in merged.required():
        known = [sides[side] for side in declaring]
        nulls = _null_rows(repository, version, known, field)
        if nulls:
            raise InputError(
                f"{_declared_by(declaring)} declares {field.name} NOT NULL in {name}, and it is "
                f"NULL in {nulls}. Nothing was changed; give these rows a value, or drop the "
                f"constraint: alter table {name} alter column {quoted(field.name)} drop not null."
            )
    for declaring, group in merged.checks().items():
        known_sides = {side: sides[side] for side in declaring}
        try:
            refuse_broken(repository, name, version, known_sides, group, sessions)
        except InputError as error:
            raise InputError(
                f"{_declared_by(declaring)} declares what rows break: {error}"
            ) from error
    if not merged.lacks_key_check:
        return version
    # Rows of the side that enforces the key are distinct already. Without such a side all rows are
    # checked.
    before = sides[merged.enforcing[0]] if merged.enforcing else None
    broken = broken_key(repository, name, version, before, sessions)
    if broken and is_dbts_key(version):
        # dbt lets rows violate its unique_key: then the table has no key.
        return msgspec.structs.replace(version, primary_key=())
    if broken:
        raise InputError(
            f"{_declared_by(merged.enforcing)} declares a primary key that rows break: {broken} "
            "Nothing was changed; correct the rows on the other side, or turn the check off: "
            f"alter table {name} set tblproperties ('vcs.enforce_primary_key' = 'false'), or a "
            "model's config enforce_primary_key: false."
        )
    return version


@dataclass(frozen=True, slots=True)
class _MergedRows:
    """What a merge's definition enforces, by the sides that declare it."""

    ours: Snapshot
    theirs: Snapshot
    version: Snapshot
    verbatim: bool

    @property
    def sides(self) -> Mapping[str, Snapshot]:
        return {"ours": self.ours, "theirs": self.theirs}

    def checks(self) -> dict[tuple[str, ...], dict[str, str]]:
        """Return the constraints to check, by the sides that declare them."""
        found: dict[tuple[str, ...], dict[str, str]] = {}
        for name, expression in checks_of(self.version.properties).items():
            sides = tuple(
                side
                for side, version in self.sides.items()
                if checks_of(version.properties).get(name) == expression
            )
            if not self._is_known(sides):
                found.setdefault(sides, {})[name] = expression
        return found

    def required(self) -> list[tuple[Field, tuple[str, ...]]]:
        """Return the NOT NULL columns to check, with the sides that declare them."""
        found = []
        for field in self.version.schema.fields:
            sides = tuple(
                side
                for side, version in self.sides.items()
                if (own := version.schema.by_id(field.id)) and not own.nullable
            )
            if not field.nullable and not self._is_known(sides):
                found.append((field, sides))
        return found

    @property
    def enforcing(self) -> tuple[str, ...]:
        """The sides that check the result's key."""
        key = self.version.primary_key
        return tuple(
            side
            for side, version in self.sides.items()
            if version.is_key_enforced and version.primary_key == key
        )

    @property
    def lacks_key_check(self) -> bool:
        """Whether rows may lack or repeat the result's key."""
        return self.version.is_key_enforced and len(self.enforcing) < len(self.sides)

    def _is_known(self, sides: tuple[str, ...]) -> bool:
        return self.verbatim and len(sides) == len(self.sides)


def _declared_by(sides: Sequence[str]) -> str:
    return sides[0].capitalize() if len(sides) == 1 else "The merged definition"


def _null_rows(
    repository: Repository, version: Snapshot, known: Iterable[Snapshot], field: Field
) -> str:
    """Return how many rows that none of the other versions has are NULL in a column, and which."""
    rows = Version.of(repository, version)
    blocks = new_blocks(rows, known)
    files = Files(repository.blobs)
    deleted = files.deletions(rows.tombstones, [block.path for block in blocks])
    telling = [f for f in (version.key or version.schema.fields) if is_readable(f)]
    total, named = 0, list[str]()
    for block in blocks:
        # A block that lacks the column has no statistics of it.
        stats, gone = block.stats.get(field.id), deleted.get(block.path)
        count = 0 if stats is not None and not stats.nulls else files.nulls(block, field, gone)
        total += count
        # The error names a few rows. The others are only counted.
        if count and len(named) < SHOWN and is_readable(field):
            for batch in files.batches(block, [*telling, field], gone):
                named += _rows_of_nulls(batch, telling)
    if not total:
        return ""
    listed = f", such as {', '.join(named[:SHOWN])}" if named else ""
    return f"{total} {'row' if total == 1 else 'rows'} of the other side{listed}"


def _rows_of_nulls(batch: pa.RecordBatch, telling: Sequence[Field]) -> list[str]:
    """Return a few rows that are NULL in the last column, as errors show them."""
    nulls = batch.filter(batch.column(batch.num_columns - 1).is_null()).slice(0, SHOWN)
    columns = [python_values(column) for column in nulls.columns]
    return [row_text(telling, row) for row in zip(*columns, strict=True)]


def _check_columns(
    name: RelationName, result: Schema, side: Schema, constraint: str, expression: str
) -> None:
    for field in columns_named(expression, side):
        now = result.by_id(field.id)
        if now is None or now.name != field.name:
            became = "dropped" if now is None else f"renamed to {now.name}"
            raise InputError(
                f"{name} can't be merged: one side declares the check constraint {constraint} "
                f"({expression}), and the other side has {became} its column {field.name}. "
                "Nothing was changed. Drop the constraint, or undo the other change, then merge "
                "again."
            )
