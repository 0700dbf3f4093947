"""The same rows in fewer files: `optimize`."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.vcs.changes.writes.compaction import put_optimized, rewrite_table
from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.sql.syntax.clauses import read_names
from dbt.adapters.vcs.sql.syntax.cursor import TokenCursor
from dbt.adapters.vcs.sql.syntax.names import Target, is_name
from dbt.adapters.vcs.sql.syntax.parser import ChangingStatement, reads
from dbt.adapters.vcs.workspace.statement_scope import Listing, Outcome, Scope, handles


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimize(ChangingStatement):
    """`optimize t [cluster by (...)]`: the same rows in fewer files.

    Attributes:
        cluster_by: Columns to sort rows by; empty for the table's own.
    """

    writes_rows = True

    target: Target
    cluster_by: tuple[str, ...] = ()


@reads("optimize")
def read_optimize(cursor: TokenCursor) -> Optimize:
    """Read what follows `optimize`.

    Raises:
        UnsupportedError: It has `where` or `zorder by`.
    """
    # `optimize table` alone is about a table of that name.
    if cursor.at("table") and is_name(cursor.ahead()):
        cursor.index += 1
    target = cursor.target()
    if cursor.at("where"):
        raise UnsupportedError(
            "`optimize ... where` is not supported on versioned tables: blocks of a good size "
            "are not rewritten anyway. Leave the condition out."
        )
    if cursor.at("zorder"):
        raise UnsupportedError(
            f"`optimize {target.name} ... zorder by` is not supported on versioned tables. "
            "Sort the rows by columns instead: optimize ... cluster by (a, b)."
        )
    cluster_by = read_names(cursor) if cursor.take("cluster", "by") else ()
    cursor.end()
    return Optimize(target=target, cluster_by=cluster_by)


@handles(Optimize)
def optimize(scope: Scope, statement: Optimize) -> Outcome:
    """Compact a table; returns one row: `relation, blocks_before, blocks_after, dropped_rows`.

    Raises:
        NotFoundError: There is no such table.
        InputError: A column to cluster by doesn't exist, or its type has no ranges.
    """
    name = scope.name(statement.target.name)
    before = scope.overlay.require_table(name)
    rewrites = rewrite_table(
        scope.overlay.repository, before, scope.engine, cluster_by=statement.cluster_by
    )
    # Nothing is stored where no block is worth a rewrite.
    after = put_optimized(scope.overlay, name, rewrites, scope.made_by()) or before
    row = [str(name), *(str(number) for number in (before.block_count, after.block_count))]
    gone = sum(tombstone.rows for item in rewrites for tombstone in item.tombstones)
    names = ["relation", "blocks_before", "blocks_after", "dropped_rows"]
    return Outcome(rows=Listing.of(names, [[*row, str(gone)]]))
