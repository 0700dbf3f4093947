"""Arrow checks: rows for which a condition is false, found without an engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.rows.files.block_reader import Files
from dbt.adapters.vcs.rows.python_values import python_values
from dbt.adapters.vcs.worktree.table_version import Version
from dbt.adapters.vcs.writes.row_filters import filter_of, named_by


def false_rows(
    repository: Repository,
    version: Version,
    blocks: Iterable[Block],
    condition: str,
    fields: tuple[Field, ...],
    *,
    most: int,
) -> list[tuple[Any, ...]]:
    """Return rows for which a condition is false; NULL is not false.

    Args:
        repository: The repository.
        version: The version that has the blocks, and deletions in them.
        blocks: Where to look.
        condition: In SQL.
        fields: The columns to return, those of the condition among them.
        most: Return no more rows than that.

    Raises:
        UnsupportedError: Only SQL computes the condition.
    """
    schema = version.snapshot.schema
    try:
        holds = filter_of(condition, schema)
        named = named_by(holds, schema.fields)
    except InputError as error:
        raise UnsupportedError(str(error)) from error
    for field in named:
        if type_of(field.type).kind == "timestamp":
            raise UnsupportedError(
                f"{field.name} is a timestamp, which SQL compares by the session's time zone."
            )
    files = Files(repository.blobs)
    found: list[tuple[Any, ...]] = []
    for block in blocks:
        deleted = files.deletions(version.tombstones, [block.path]).get(block.path)
        for batch in files.batches(block, fields, deleted):
            rows = pa.Table.from_batches([batch]).rename_columns([f.name for f in fields])
            broken = rows.filter(~holds).slice(0, most - len(found))
            found += zip(*(python_values(column) for column in broken.columns), strict=True)
            if len(found) >= most:
                return found
    return found
