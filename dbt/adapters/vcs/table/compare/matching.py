"""Matching: which rows meet a condition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.table.files.block_reader import Positions


def hits(table: pa.Table, where: pc.Expression) -> Positions:
    """Return the numbers of the rows that meet a condition on the table's columns.

    Raises:
        InputError: It names a column that doesn't exist, or compares values that can't be
            compared.
    """
    numbered = table.append_column("__vcs_row", pa.array(np.arange(table.num_rows)))
    try:
        found = numbered.filter(where).column("__vcs_row").to_numpy()
    except pa.ArrowException as error:
        names = ", ".join(table.column_names)
        raise InputError(
            f"The condition {where} does not fit the columns {names}: {error}."
        ) from error
    return np.asarray(found, dtype=np.int64)
