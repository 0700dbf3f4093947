"""One client of a race: PyIceberg appends rows to a table and deletes some, in its own process.

Each line of standard output is one change that the catalog acknowledged, refused or left open:
`{"did": "append" | "delete", "id": 1, "outcome": "done" | "refused" | "unknown"}`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ValidationException,
)

ATTEMPTS = 20


def main(url: str, warehouse: str, table: str, first: int, rounds: int) -> None:
    """Append rows `first`, `first + 1` and so on, one a commit, and delete every other one."""
    catalog = RestCatalog("vcs", uri=url, warehouse=warehouse)
    schema = catalog.load_table(table).schema().as_arrow()
    for id in range(first, first + rounds):
        row = pa.Table.from_pylist([{"id": id, "who": f"racer {first}"}], schema=schema)
        tell("append", id, tried(lambda row=row: catalog.load_table(table).append(row)))
        if id % 2:
            only = f"id = {id}"
            tell("delete", id, tried(lambda only=only: catalog.load_table(table).delete(only)))


def tried(change: Callable[[], None]) -> str:
    """Make a change, again if others were faster; return what became of it."""
    for _ in range(ATTEMPTS):
        try:
            change()
        except CommitStateUnknownException:
            return "unknown"
        except (CommitFailedException, ValidationException):
            continue
        return "done"
    return "refused"


def tell(did: str, id: int, outcome: str) -> None:
    """Print what became of a change."""
    print(json.dumps({"did": did, "id": id, "outcome": outcome}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
