"""Changing single rows: `update`, `delete` and `merge into`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final

import msgspec

from dbt.adapters.vcs.changes.writes import pruning
from dbt.adapters.vcs.changes.writes.stage import (
    ACTION,
    CLAUSE,
    MATCHED,
    RowTarget,
    staged,
    target_of,
)
from dbt.adapters.vcs.changes.writes.stage_write import Rewritten, rewritten
from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field
from dbt.adapters.vcs.core.model.data_type import INTEGERS, type_of
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.engines.port import told_rows
from dbt.adapters.vcs.sql.handler_registry import handles
from dbt.adapters.vcs.sql.row_change import Delete, Merge, Update
from dbt.adapters.vcs.sql.staging_sql import TargetColumn
from dbt.adapters.vcs.sql.syntax.names import Target as Named
from dbt.adapters.vcs.table.quoting import quoted
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope

PROBE_ABOVE: Final = 64 * 1024 * 1024
"""A merge into more bytes than this first computes the range of the source's keys."""


@handles(Update)
def update(scope: Scope, statement: Update) -> Outcome:
    """Set columns of the rows that meet a condition.

    Raises:
        NotFoundError: There is no such table.
        InputError: It is a view, or a column that can't be NULL gets a NULL.
        EngineError: A value doesn't fit its column.
    """
    target = _target(scope, statement.target)
    blocks = pruning.matching(target.blocks, target.snapshot.schema, statement.conjuncts())
    keys = set(target.snapshot.primary_key)
    schema = target.snapshot.schema
    set_ = {found.id for item in statement.assignments if (found := schema.find(item.column))}
    result = carried_out(scope, target, statement, blocks, sets=set_)
    return _outcome(scope, target, result, "update", keeps_keys=keys.isdisjoint(set_))


@handles(Delete)
def delete(scope: Scope, statement: Delete) -> Outcome:
    """Delete the rows that meet a condition; without one, delete all by manifests only.

    Raises:
        NotFoundError: There is no such table.
        InputError: It is a view.
    """
    target = _target(scope, statement.target)
    if statement.where is None:
        result = Rewritten((), target.snapshot.rows, bool(target.blocks))
    else:
        blocks = pruning.matching(target.blocks, target.snapshot.schema, statement.conjuncts())
        result = carried_out(scope, target, statement, blocks, sets=())
    return _outcome(scope, target, result, "delete", keeps_keys=True)


@handles(Merge)
def merge(scope: Scope, statement: Merge) -> Outcome:
    """Update, delete and insert rows depending on their matches in a source.

    Raises:
        NotFoundError: There is no such table.
        InputError: It is a view, a row would be changed by several rows of the source, or a
            column that can't be NULL gets a NULL.
        EngineError: A value doesn't fit its column.
    """
    target = _target(scope, statement.target)
    source_columns: list[str] = []
    if statement.needs_source_columns:
        with reading(scope, statement):
            columns = scope.session.columns_of(statement.source_query())
        source_columns = [column.name for column in columns]
    blocks = _reached(scope, target, statement)
    key = _shown_key(target, statement) if statement.needs_cardinality_check else None
    result = carried_out(scope, target, statement, blocks, source_columns, key)
    inserts = "insert" in statement.actions()
    updates = "update" in statement.actions()
    keeps_keys = not inserts and not updates
    return _outcome(scope, target, result, "merge", keeps_keys=keeps_keys)


def carried_out(
    scope: Scope,
    target: RowTarget,
    statement: Update | Delete | Merge,
    blocks: Sequence[Block],
    source_columns: Sequence[str] = (),
    key: Sequence[int] | None = None,
    *,
    sets: Collection[str] | None = None,
) -> Rewritten:
    """Compute what a statement does to some blocks of a table, and write the result.

    Args:
        scope: The statement's scope.
        target: The table.
        statement: The statement.
        blocks: The blocks in which rows may change.
        source_columns: The columns of a merge's source.
        key: As for `rewritten`.
        sets: The columns that may get other values, by field id, if no row is new; None for a
            merge.
    """
    fields = target.snapshot.schema.fields
    columns = [TargetColumn(f.name, f.default) for f in fields]
    located = target.located(scope.session, blocks)
    query = statement.staged(located, columns, source_columns)
    names = [ACTION, FILE_COLUMN, POSITION_COLUMN]
    names.append(MATCHED if isinstance(statement, Merge) else f"cast(null as boolean) {MATCHED}")
    changing = frozenset(n for n, f in enumerate(fields) if sets is None or f.id in sets)
    names += (f"__old_{n}" for n in range(len(fields)))
    names += (f"__new_{n}" for n in sorted(changing))
    givers: Sequence[Mapping[int, bool]] | None = None
    if isinstance(statement, Merge):
        names.insert(0, CLAUSE)
        givers = statement.givers(columns, source_columns)
    query = f"select {', '.join(names)} from (\n{query}\n)"
    with staged(
        scope,
        target.name,
        target.snapshot,
        query,
        analysing=lambda: reading(scope, statement),
        changing=changing,
        givers=givers,
    ) as stage:
        once = sets is not None
        return rewritten(scope, target, stage, key=key, updates_only=sets or (), occurs_once=once)


def reading(scope: Scope, statement: Update | Delete | Merge) -> AbstractContextManager[None]:
    """Make everything that a statement reads, except its target, readable within the block."""
    return scope.shown(scope.reads(statement.reads))


def _target(scope: Scope, named: Named) -> RowTarget:
    name = scope.name(named.name)
    if scope.is_temporary(named.name):
        raise UnsupportedError(
            f"{named.name} is a temporary view, whose rows can't be changed. Name a table."
        )
    if scope.overlay.entry(name) is None and name in scope.externals:
        raise UnsupportedError(
            f"{name} stands for files outside the repository, whose rows can't be changed. Copy "
            f"them into a table first: create table ... as select * from {name}."
        )
    return target_of(scope, name)


def _outcome(
    scope: Scope, target: RowTarget, result: Rewritten, operation: str, *, keeps_keys: bool
) -> Outcome:
    if result.is_changed:
        before = target.snapshot
        version = msgspec.structs.replace(before, segments=result.segments)
        changed(scope, target.name, before, version, operation=operation, keeps_keys=keeps_keys)
    return Outcome(affected=result.affected)


def _reached(scope: Scope, target: RowTarget, statement: Merge) -> Sequence[Block]:
    """Return the blocks in which a row may match one of the source."""
    if any(clause.when == "not matched by source" for clause in statement.clauses):
        return target.blocks
    if sum(block.bytes for block in target.blocks) <= PROBE_ABOVE:
        return target.blocks
    schema = target.snapshot.schema
    pairs = [
        (field, pair.source_sql)
        for pair in statement.conjuncts()
        if (field := schema.find(pair.column)) and pruning.is_ordered(field.type)
    ]
    alias = statement.source.shown_name
    if not pairs or alias is None:
        return target.blocks
    asked = ", ".join(f"min({sql}), max({sql})" for _, sql in pairs)
    query = f"select {asked} from (\n{statement.source_query()}\n) as {quoted(alias)}"
    with reading(scope, statement):
        if not scope.session.is_repeatable(statement.source_query()):
            # Rows that only the second read returns would find no match and be inserted.
            return target.blocks
        rows = scope.session.query(query)
    blocks: Sequence[Block] = target.blocks
    values = told_rows(rows)[0]
    for place, (field, _) in enumerate(pairs):
        low, high = 2 * place, 2 * place + 1
        if _compares_as_itself(rows.columns[low].type, field):
            blocks = pruning.within(blocks, field, values[low], values[high])
    return blocks


def _compares_as_itself(type_: str, field: Field) -> bool:
    """Return whether Spark compares a column with a value of a type without casting the column."""
    types = type_of(type_), type_of(field.type)
    if all(item.kind in INTEGERS for item in types):
        return True
    if any(item.is_text for item in types):
        return all(item.is_plain_text for item in types)
    return types[0].kind == types[1].kind


def _shown_key(target: RowTarget, statement: Merge) -> list[int]:
    """Return the indexes of columns that identify a row: the match's, the key, or all."""
    schema = target.snapshot.schema
    ids = [field.id for field in schema.fields]
    matched = [schema.find(pair.column) for pair in statement.conjuncts()]
    places = [ids.index(field.id) for field in matched if field is not None]
    places = places or [ids.index(id) for id in target.snapshot.primary_key if id in ids]
    return places or list(range(len(ids)))
