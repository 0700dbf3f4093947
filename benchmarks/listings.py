"""Listings 2 and 4 of the paper: diff and merge of tables in plain SQL.

Spark can't delete from a Parquet table, so Listing 4 writes a new table: the rows that it doesn't
delete, and those that it inserts.
"""

from collections.abc import Sequence


def diff(before: str, after: str, columns: Sequence[str]) -> str:
    """Return Listing 2: each row that one table has more often, and how much more often.

    The answer is `diff_count`, then the columns.
    """
    names = ", ".join(columns)
    return (
        f"select sum(n) as diff_count, {names} from (select -1 as n, {names} from {before} "
        f"union all select 1 as n, {names} from {after}) group by {names} having sum(n) <> 0"
    )


def apply(target: str, changes: str, columns: Sequence[str], match: Sequence[str]) -> str:
    """Return the rest of Listing 4: a table's rows after the changes that Listing 2 found.

    Args:
        target: The table.
        changes: The table of changes.
        columns: All columns.
        match: Columns by which a row to delete is found: the key, as the paper does even where
            the table has none; or all columns.
    """
    names = ", ".join(columns)
    deleted = f"select {', '.join(match)} from {changes} where diff_count < 0"
    return (
        f"select {names} from {target} left anti join ({deleted}) using ({', '.join(match)}) "
        f"union all select {names} from {changes} where diff_count > 0"
    )
