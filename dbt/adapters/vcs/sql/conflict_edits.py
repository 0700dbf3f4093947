"""Edits of conflict tables: an `update` on the branch of a waiting merge.

Statements may set `resolution` and `result_*` there, and nothing else. Setting a result makes
the resolution `custom`; setting the resolution to a side fills in the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.conflicts.choices import completed, exact_values
from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import (
    RESOLUTION,
    RESULT,
    ConflictTable,
)
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import PREFIX, OpenMerge, open_merge_of
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import TableEntry
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.origins.results import RowCounts
from dbt.adapters.vcs.sql.row_change import Update, reading
from dbt.adapters.vcs.sql.syntax.parser import Statement
from dbt.adapters.vcs.table.files.block_reader import Positions
from dbt.adapters.vcs.table.python_values import arrow_array, python_value
from dbt.adapters.vcs.table.types import arrow_type
from dbt.adapters.vcs.workspace.points import zone_named
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope

_MOUNTED: Final = "__vcs_conflicts"


def merge_kept_by(scope: Scope) -> OpenMerge | None:
    """Return the merge whose conflicts are on the statement's branch, or None."""
    name = scope.overlay.branch
    # A tag or a commit has no name of a branch.
    if name is None or not name.startswith(PREFIX):
        return None
    branch = scope.overlay.repository.find_branch(name)
    return open_merge_of(branch) if branch else None


def edit_conflicts(scope: Scope, merge: OpenMerge, statement: Statement) -> Outcome:
    """Carry out a statement that changes something on the branch of a waiting merge.

    Raises:
        NotFoundError: There is no such conflict table.
        UnsupportedError: It is not an `update`.
        InputError: It sets another column or a value that doesn't fit the type, or something
            for which `completed` has no result.
    """
    if not isinstance(statement, Update):
        raise UnsupportedError(
            f"The branch {merge.branch} keeps the conflicts of merging {merge.source} into "
            f"{merge.target}; nothing can be changed there but what is chosen for them: update "
            f"<table> set {RESOLUTION} = 'ours', or set {RESULT}<column> = <value>, where ... "
            f"Change tables on another branch. To give the merge up: dbt-vcs merge --abort "
            f"{quote(merge.target)}"
        )
    # Decision 13: conflicts are tables on a branch of their own, so an update resolves them.
    name = scope.name(statement.target.name)
    table = ConflictTable.read(scope.overlay.repository, name, scope.overlay.require_table(name))
    rows, words, values = _new_values(scope, table, statement)
    edited = _table_with_edits(scope, table, rows, words, values)
    if not edited.rows.equals(table.rows):
        scope.overlay.put(name, TableEntry(snapshot=edited.put(scope.overlay.repository)))
    return Outcome(affected=len(rows), counts=RowCounts(updated=len(rows)))


def _new_values(
    scope: Scope, table: ConflictTable, statement: Update
) -> tuple[list[int], pa.ChunkedArray | None, dict[str, pa.ChunkedArray]]:
    """Return the rows that change, their resolutions if set, and the values by column."""
    names = [field.name for field in table.fields]
    places = {name.lower(): place for place, name in enumerate(names)}
    set_ = {item.column.lower(): item.column for item in statement.assignments}
    _check_columns(table, set_)
    count = len(table.rows)
    rows = table.rows.append_column(FILE_COLUMN, pa.nulls(count, pa.string()))
    # The table gets the columns of a target, so that the update is staged as that of any table.
    rows = rows.append_column(POSITION_COLUMN, pa.array(range(count), pa.int64()))
    located = f"(select * from {scope.session.mount_arrow(_MOUNTED, rows)})"
    wanted = [POSITION_COLUMN, *(f"__new_{places[name]}" for name in set_)]
    query = f"select {', '.join(wanted)} from (\n{statement.staged(located, table.fields)}\n)"
    with reading(scope, statement):
        found = scope.session.query(query).arrow()
    position, *given = found.columns
    by_name = dict(zip(set_, given, strict=True))
    words = by_name.pop(RESOLUTION, None)
    values = {names[places[name]].removeprefix(RESULT): item for name, item in by_name.items()}
    return position.to_pylist(), words, values


def _check_columns(table: ConflictTable, names: Mapping[str, str]) -> None:
    results = {field.name.lower() for field in table.results.values()}
    for lower, name in names.items():
        if lower in results or lower == RESOLUTION:
            continue
        if lower in {field.name.lower() for field in table.fields}:
            _, _, column = name.partition("_")
            is_free = f"{RESULT}{column}".lower() in results
            instead = f"set {RESULT}{column}" if is_free else f"set {RESOLUTION}"
            raise InputError(
                f"The column {name} shows what is there, and can't be set. To choose what is to "
                f"be there after the merge, {instead}."
            )
        # Raises, and names what can be set instead.
        exact_values(table, {name.removeprefix(RESULT): pa.scalar(None)})


def _table_with_edits(
    scope: Scope,
    table: ConflictTable,
    rows: list[int],
    words: pa.ChunkedArray | None,
    values: Mapping[str, pa.ChunkedArray],
) -> ConflictTable:
    choices: list[Choice | None] = [None] * len(rows)
    if words is not None:
        choices = [_choice(word) for word in words.to_pylist()]
    chosen = table
    for choice in dict.fromkeys(choices):
        places = [n for n, item in enumerate(choices) if item is choice]
        some = np.array([rows[n] for n in places], np.int64)
        if values:
            if words is not None and choice in (None, Choice.DELETE):
                raise InputError(
                    f"A row with the {RESOLUTION} {choice or 'NULL'} has no result; leave out "
                    "either, or set another resolution."
                )
            given = {name: item.take(places) for name, item in values.items()}
            chosen = _with_values(scope, chosen, some, given, choice)
        elif choice is Choice.CUSTOM:
            _check_custom(table, some.tolist())
        else:
            chosen = chosen.chosen(some, choice)
    return chosen


def _with_values(
    scope: Scope,
    table: ConflictTable,
    rows: Positions,
    values: Mapping[str, pa.ChunkedArray],
    choice: Choice | None,
) -> ConflictTable:
    zone = zone_named(scope.zone())
    exact: dict[str, list[Any]] = {name: [] for name in values}
    for row in range(len(rows)):
        given = exact_values(table, {name: item[row] for name, item in values.items()}, zone)
        for name, value in given.items():
            exact[name].append(python_value(value))
    columns = {
        name: pa.chunked_array([arrow_array(found, arrow_type(table.results[name].type))])
        for name, found in exact.items()
    }
    # Columns that aren't set come from a side, if the statement chooses one, too.
    start = None if choice is Choice.CUSTOM else choice
    done = completed(table, rows, columns, start=start)
    if done.why:
        raise InputError(done.why)
    return table.chosen(done.rows, Choice.CUSTOM, done.columns)


def _choice(word: Any) -> Choice | None:
    if word is None:
        return None
    text = str(word)
    return Choice.CUSTOM if text.lower() == Choice.CUSTOM.value else Choice.of(text)


def _check_custom(table: ConflictTable, rows: list[int]) -> None:
    for row in rows:
        if table.resolutions[row] is not Choice.CUSTOM:
            raise InputError(
                f"The {RESOLUTION} custom needs values of the row {table.shown_key(row)}: set "
                f"{RESULT}<column> = <value>, which makes it custom."
            )
