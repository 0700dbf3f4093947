"""Duplicate and NULL keys among rows, found in process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.model import Block, Field
from dbt.adapters.vcs.table.equality import plain
from dbt.adapters.vcs.table.files.block_reader import Files, Positions
from dbt.adapters.vcs.table.python_values import python_values

Deleted = Mapping[str, Positions]
"""Positions of deleted rows, by path of the block."""

SHOWN: Final = 5
"""Keys that an error names."""

_COUNT: Final = "count_all"


class Clashes(NamedTuple):
    """The bad keys of new rows; each list holds up to `SHOWN` keys.

    Attributes:
        null: Keys with a NULL in them.
        repeated: Keys shared by several new rows.
        present: Keys shared by a new row and an old one.
    """

    null: tuple[tuple[Any, ...], ...] = ()
    repeated: tuple[tuple[Any, ...], ...] = ()
    present: tuple[tuple[Any, ...], ...] = ()


def find_clashes(
    files: Files,
    fields: Sequence[Field],
    new: Iterable[Block],
    old: Iterable[Block],
    deleted: Deleted,
) -> Clashes:
    """Compare the keys of new rows with each other and with those of old rows.

    Keys are compared as in `table.equality`. The keys of all new rows are held in memory, and
    those of one old block at a time.

    Raises:
        UnsupportedError: Arrow lacks the type of a key column.
    """
    names = [field.id for field in fields]
    batches = [
        batch for block in new for batch in files.batches(block, fields, deleted.get(block.path))
    ]
    if not batches:
        return Clashes()
    rows = pa.Table.from_batches(batches)
    is_null = _any_null(rows)
    if is_null is not None:
        return Clashes(null=_keys(rows.filter(is_null).select(names)))
    rows = _plain(rows)
    repeated = _repeated(rows)
    if repeated.num_rows:
        return Clashes(repeated=_keys(repeated.select(names)))
    return Clashes(present=_present(files, fields, rows, old, deleted))


def _present(
    files: Files, fields: Sequence[Field], rows: pa.Table, old: Iterable[Block], deleted: Deleted
) -> tuple[tuple[Any, ...], ...]:
    names = [field.id for field in fields]
    # By the first column most old rows are left out before whole keys are compared.
    first = pc.unique(rows.column(0))
    found: list[pa.RecordBatch] = []
    for block in old:
        batches = list(files.batches(block, fields, deleted.get(block.path)))
        if batches:
            # Once for a block: Arrow hashes the new keys again each time.
            plain = _plain(pa.Table.from_batches(batches))
            found += plain.filter(pc.is_in(plain.column(0), value_set=first)).to_batches()
        if len(fields) == 1 and found:
            # Each of these is a new row's key; there is no need to find them all.
            break
    if not found:
        return ()
    met = pa.Table.from_batches(found).group_by(names).aggregate([])
    if len(fields) == 1:
        return _keys(met)
    # Each side holds a key once, so a key that occurs twice is on both sides.
    return _keys(_repeated(pa.concat_tables([rows.select(names), met])))


def _repeated(rows: pa.Table) -> pa.Table:
    """Return the keys that occur more than once, each once."""
    if len(rows.column_names) == 1 and pc.count_distinct(rows.column(0)).as_py() == rows.num_rows:
        return rows.slice(0, 0)
    counted = rows.group_by(rows.column_names).aggregate([([], _COUNT)])
    return counted.filter(pc.greater(counted[_COUNT], 1)).drop_columns([_COUNT])


def _any_null(rows: pa.Table) -> pa.ChunkedArray | None:
    """Return a mask of the rows with a NULL; None if there are none."""
    if not any(column.null_count for column in rows.columns):
        return None
    return reduce(pc.or_, map(pc.is_null, rows.columns))


def _plain(rows: pa.Table) -> pa.Table:
    """Return keys that are equal exactly if their bits are."""
    return pa.table([plain(column) for column in rows.columns], names=rows.column_names)


def _keys(rows: pa.Table) -> tuple[tuple[Any, ...], ...]:
    # Arrow groups in any order, and an error should name the same keys each time.
    rows = rows.sort_by([(name, "ascending") for name in rows.column_names])
    shown = rows.slice(0, SHOWN)
    return tuple(zip(*(python_values(column) for column in shown.columns), strict=True))
