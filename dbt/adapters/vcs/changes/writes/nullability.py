"""NOT NULL: refuse NULLs that a statement wrote to NOT NULL columns."""

from __future__ import annotations

from collections.abc import Sequence

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Block, Schema
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.footers import check_not_null


def refuse_null(blobs: Blobs, blocks: Sequence[Block], schema: Schema) -> None:
    """Refuse NULL in NOT NULL columns; nested columns are read, since footers don't count them.

    Raises:
        InputError: There are NULLs.
    """
    files = Files(blobs)
    for field in check_not_null(blocks, schema):
        count = sum(files.nulls(block, field) for block in blocks)
        if count:
            raise InputError(
                f"NULL in the column {field.name} ({count} rows), which is declared NOT NULL. "
                "Nothing was changed; filter the rows out, or drop the constraint."
            )
