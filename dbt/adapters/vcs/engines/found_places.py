"""Places that a query finds: eight bytes a row in this process, and each block's path once."""

from __future__ import annotations

from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.engines.port import Queries
from dbt.adapters.vcs.table.files.block_reader import Positions
from dbt.adapters.vcs.table.row_numbers import distinct


def find_places(session: Queries, query: str) -> dict[str, Positions]:
    """Return the positions that a query finds in each block, ascending, each once.

    Args:
        session: The engine's session.
        query: Returns `__vcs_file` and `__vcs_pos`; a place may occur several times.
    """
    found = session.query(
        f"select {FILE_COLUMN}, collect_list({POSITION_COLUMN}) from ({query}) "
        f"group by {FILE_COLUMN}"
    ).arrow()
    lists = found.column(1).combine_chunks()
    return {
        path: distinct(lists[number].values.to_numpy())
        for number, path in enumerate(found.column(0).to_pylist())
    }
