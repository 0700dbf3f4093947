"""Rows replaced by a condition: `insert into ... replace where`."""

from __future__ import annotations

from collections.abc import Sequence

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import Block, RelationName, SegmentRef
from dbt.adapters.vcs.handlers.contents.row_change_handler import carried_out, reading
from dbt.adapters.vcs.rows.quoting import quoted_relation
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.families.row_change import Delete
from dbt.adapters.vcs.statements.families.staging_sql import TargetColumn
from dbt.adapters.vcs.statements.parser import parse
from dbt.adapters.vcs.writes.pruning import matching
from dbt.adapters.vcs.writes.targets import RowTarget, target_of


def without_rows(
    scope: Scope, name: RelationName, condition: str, written: Sequence[Block]
) -> tuple[SegmentRef, ...]:
    """Return a table's segments without the rows that meet a condition.

    Args:
        scope: The statement's scope.
        name: The table.
        condition: SQL text.
        written: The rows that replace them.

    Raises:
        InputError: A new row does not meet the condition; Delta has the same rule.
    """
    statement = parse(f"delete from {quoted_relation(name)} where {condition}")
    assert isinstance(statement, Delete)
    target = target_of(scope, name)
    _check(scope, target, statement, condition, written)
    blocks = matching(target.blocks, target.snapshot.schema, statement.conjuncts())
    return carried_out(scope, target, statement, blocks, sets=()).segments


def _check(
    scope: Scope, target: RowTarget, statement: Delete, condition: str, written: Sequence[Block]
) -> None:
    if not written:
        return
    columns = [TargetColumn(field.name) for field in target.snapshot.schema.fields]
    query = statement.staged(target.located(scope.session, written), columns)
    with reading(scope, statement):
        counted = scope.session.query(f"select count(*) from (\n{query}\n)")
    rows = sum(block.rows for block in written)
    others = rows - counted.fetch()[0][0]
    if others:
        raise InputError(
            f"insert into {target.name} replace where {condition}: {others} of the {rows} new "
            "rows do not meet the condition. Nothing was changed; filter them out of the "
            "query, or widen the condition."
        )
