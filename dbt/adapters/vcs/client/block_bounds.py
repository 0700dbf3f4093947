"""Block bounds: what manifests know of each file's rows, as promises that Arrow can reason with.

A file is left out only if its promise and the filter can't both be true. Where a bound may not
hold, as with NaN, nothing is promised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

from dbt.adapters.vcs.core.model import Block, ColumnStats, Field
from dbt.adapters.vcs.core.model.data_type import INTEGERS, TIMESTAMPS, type_of
from dbt.adapters.vcs.rows.types import arrow_type


def blocks_for(
    blocks: Sequence[Block], fields: Sequence[Field], filter: pc.Expression
) -> tuple[Block, ...]:
    """Return the blocks in which a row may pass a filter, in their order; no file is opened.

    Args:
        blocks: Blocks of a table.
        fields: The columns that the filter reads.
        filter: An expression over the columns' names.
    """
    dataset = ds.FileSystemDataset.from_paths(
        [block.path for block in blocks],
        schema=pa.schema([pa.field(field.name, arrow_type(field.type)) for field in fields]),
        format=ds.ParquetFileFormat(),
        filesystem=fs.LocalFileSystem(),
        partitions=[_promise(block, fields) for block in blocks],
    )
    kept = {fragment.path for fragment in dataset.get_fragments(filter=filter)}
    return tuple(block for block in blocks if block.path in kept)


def _promise(block: Block, fields: Sequence[Field]) -> pc.Expression:
    found = [
        term
        for field in fields
        if (stats := block.stats.get(field.id)) is not None
        for term in _terms(pc.field(field.name), field, stats, block.rows)
    ]
    return reduce(lambda one, other: one & other, found, pc.scalar(True))


def _terms(
    column: pc.Expression, field: Field, stats: ColumnStats, rows: int
) -> Iterator[pc.Expression]:
    if stats.nulls == rows:
        yield column.is_null()
        return
    if stats.nulls == 0:
        yield column.is_valid()
    type_ = type_of(field.type)
    if type_.kind not in (*INTEGERS, *TIMESTAMPS, "date", "decimal") and not type_.is_plain_text:
        return
    for bound, low in ((stats.min, True), (stats.max, False)):
        if bound is not None:
            value = _scalar(bound, type_.kind, arrow_type(field.type))
            term = column >= value if low else column <= value
            yield term if stats.nulls == 0 else term | column.is_null()


def _scalar(bound: Any, kind: str, type_: pa.DataType) -> pa.Scalar:
    if kind == "decimal":
        return pa.scalar(Decimal(bound), type_)
    if kind == "date":
        return pa.scalar(bound, pa.int32()).cast(type_)
    return (
        pa.scalar(bound, pa.int64()).cast(type_) if kind in TIMESTAMPS else pa.scalar(bound, type_)
    )
