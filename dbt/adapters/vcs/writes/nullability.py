"""NOT NULL: no block that a statement wrote holds NULL where the schema refuses it."""

from __future__ import annotations

from collections.abc import Sequence

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Block, Schema
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.rows.files.block_reader import Files
from dbt.adapters.vcs.rows.files.footers import check_not_null


def refuse_null(blobs: Blobs, blocks: Sequence[Block], schema: Schema) -> None:
    """Refuse NULL where the schema does; nested columns, whose footers don't tell, are read.

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
