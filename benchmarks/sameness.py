"""Whether two sides have the same rows; a benchmark that compares other rows fails."""

from collections.abc import Callable, Sequence

import pyarrow as pa


class WrongRowsError(SystemExit):
    """Both sides don't have the same rows: nothing that was measured counts."""


def checksum(table: str, columns: Sequence[str]) -> str:
    """Return the query of a relation's row count and of a sum that knows no order."""
    hashed = f"cast(xxhash64({', '.join(columns)}) as decimal(20,0))"
    return f"select count(*), cast(sum({hashed}) as string) from {table}"


def content(sql: Callable[[str], pa.Table], table: str, columns: Sequence[str]) -> str:
    """Return what a relation holds, as text that only equal rows have in common."""
    answer = sql(checksum(table, columns))
    return " ".join(str(column[0].as_py()) for column in answer.columns)


def require_equal(what: str, expected: object, found: object) -> None:
    """Fail unless two answers are the same.

    Raises:
        WrongRowsError: They aren't.
    """
    if expected != found:
        raise WrongRowsError(f"{what}: expected {expected}, found {found}")


def require_same_rows(what: str, expected: pa.Table, found: pa.Table) -> None:
    """Fail unless two tables hold the same rows in any order, whatever the order of columns.

    Raises:
        WrongRowsError: They don't.
    """
    columns = sorted(expected.column_names)
    require_equal(f"{what}: columns", columns, sorted(found.column_names))
    order = [(name, "ascending") for name in columns]
    one = expected.select(columns).sort_by(order).combine_chunks()
    other = found.select(columns).cast(one.schema).sort_by(order).combine_chunks()
    if not one.equals(other):
        raise WrongRowsError(
            f"{what}: {one.num_rows} rows of plain SQL aren't the {other.num_rows} found"
        )
