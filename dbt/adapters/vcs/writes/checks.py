"""Check constraints: conditions that must not be false for any row of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dbt.adapters.vcs.core.errors import EngineError, InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Block, Field, RelationName, Schema, Snapshot
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Queries, Readers, VersionReader
from dbt.adapters.vcs.rows.key_check import SHOWN
from dbt.adapters.vcs.rows.positions import placeless
from dbt.adapters.vcs.rows.quoting import quoted
from dbt.adapters.vcs.scope.statement_scope import Scope
from dbt.adapters.vcs.statements.readers.check_reader import CHECK
from dbt.adapters.vcs.statements.syntax.conditions import where_clause
from dbt.adapters.vcs.statements.syntax.lexer import Kind, tokenize
from dbt.adapters.vcs.worktree.table_version import Version
from dbt.adapters.vcs.writes.arrow_checks import false_rows
from dbt.adapters.vcs.writes.keys import shown

Checks = Mapping[str, str]
"""SQL conditions by the constraint's name."""

_NAMES: Final = (Kind.WORD, Kind.QUOTED)


def checks_of(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the check constraints stored in a table's properties."""
    return {
        key.removeprefix(CHECK): value
        for key, value in properties.items()
        if key.startswith(CHECK) and key != CHECK
    }


def columns_named(expression: str, schema: Schema) -> tuple[Field, ...]:
    """Return the columns that a condition may name, treating every word as a possible name."""
    words = {token.text.lower() for token in tokenize(expression) if token.kind in _NAMES}
    return tuple(field for field in schema.fields if field.name.lower() in words)


def check_rows(
    scope: Scope, name: RelationName, version: Snapshot, before: Snapshot | None
) -> None:
    """Check that no row of a version violates its check constraints, and that these are valid.

    As with primary keys, `versions.changed` calls this for every new version. The engine reads
    only the new files, or all files for a constraint that `before` lacks.

    Args:
        scope: The statement's scope.
        name: What errors call the table.
        version: The new version, not yet stored.
        before: The version that it follows; None if every row is new.

    Raises:
        InputError: A condition is false for some rows, of which up to five are shown; or it is not
            valid in a constraint.
    """
    checks = checks_of(version.properties)
    known = checks_of(before.properties) if before else {}
    added = {key: value for key, value in checks.items() if known.get(key) != value}
    for constraint, expression in added.items():
        _check_expression(scope.session, name, version.schema, constraint, expression)
    kept = {key: value for key, value in checks.items() if key not in added}
    repository = scope.overlay.repository
    refuse_broken(repository, name, version, {}, added, scope.engine)
    if before is not None:
        refuse_broken(repository, name, version, {"before": before}, kept, scope.engine)


def refuse_broken(
    repository: Repository,
    name: RelationName,
    version: Snapshot,
    sides: Mapping[str, Snapshot],
    checks: Checks,
    sessions: Readers | None,
) -> None:
    """Refuse rows for which a condition is false; NULL is not false.

    Only files are read that none of the other versions has, whose rows are known to be good.
    Without an engine, comparisons of columns with constants are computed in this process.

    Raises:
        InputError: There are such rows.
        UnsupportedError: There are rows to check that only an engine can check, and there is none.
    """
    if not checks:
        return
    rows = Version.of(repository, version)
    blocks = new_blocks(rows, sides.values())
    if not blocks:
        return
    session = _session_of(sessions)
    if session is None:
        found = _broken_here(repository, rows, blocks, name, checks)
    else:
        mounted = session.mount_version(rows.mount(blocks))
        found = _broken(session, mounted, version, name, checks)
    if found:
        raise InputError(found)


def _session_of(sessions: Readers | None) -> VersionReader | None:
    """Return the engine's session; None if there is no engine, as in a server."""
    try:
        return sessions() if sessions is not None else None
    except UnsupportedError:
        return None


def _broken_here(
    repository: Repository,
    version: Version,
    blocks: Sequence[Block],
    name: RelationName,
    checks: Checks,
) -> str:
    """Do what `_broken` does, in this process."""
    fields = _told_by(version.snapshot, checks)
    for constraint, expression in checks.items():
        try:
            rows = false_rows(repository, version, blocks, expression, fields, most=SHOWN)
        except UnsupportedError as error:
            raise UnsupportedError(
                f"Rows of {name} have to be checked against the check constraint {constraint} "
                f"({expression}), which needs Spark. Nothing was changed; run this where Spark "
                f"can be started. {error}"
            ) from error
        if rows:
            return _refusal(name, constraint, expression, [_row(fields, row) for row in rows])
    return ""


def _told_by(version: Snapshot, checks: Checks) -> tuple[Field, ...]:
    """Return the columns that errors show: those that the checks name, and the key's."""
    named = {f.id for text in checks.values() for f in columns_named(text, version.schema)}
    named |= set(version.primary_key)
    return tuple(field for field in version.schema.fields if field.id in named)


def new_blocks(version: Version, others: Iterable[Snapshot]) -> tuple[Block, ...]:
    """Return the blocks with rows that none of the other versions has, by the manifests."""
    fresh: set[str] | None = None
    for other in others:
        change = delta(other, version.snapshot, version.read)
        paths = {block.path for block in change.added} | {item.block for item in change.restored}
        fresh = paths if fresh is None else fresh & paths
    return tuple(block for block in version.blocks if fresh is None or block.path in fresh)


def check_merged(
    repository: Repository,
    name: RelationName,
    version: Snapshot,
    ours: Snapshot,
    theirs: Snapshot,
    *,
    verbatim: bool,
    sessions: Readers | None,
) -> None:
    """Check that the rows of a merge satisfy its check constraints.

    Each side's rows satisfy the side's own constraints. So, per constraint of the result:

    | declared by | rows to check                                                 |
    |-------------|---------------------------------------------------------------|
    | both        | none if each row is from a side, else those that neither has   |
    | ours        | those that ours lacks                                         |
    | theirs      | those that theirs lacks                                       |

    Args:
        repository: The repository with the versions.
        name: What errors call the table.
        version: The result, its files written, not yet stored.
        ours: The version that is changed.
        theirs: The version whose changes are wanted.
        verbatim: True if every row of the result is a row of ours or of theirs.
        sessions: Provides the engine's session, used only if there are rows to check.

    Raises:
        InputError: Rows violate a constraint, or it names a column that the other side removed.
    """
    checks = checks_of(version.properties)
    declared = {"ours": checks_of(ours.properties), "theirs": checks_of(theirs.properties)}
    both = {"ours": ours, "theirs": theirs}
    by_sides: dict[tuple[str, ...], dict[str, str]] = {}
    for constraint, expression in checks.items():
        sides = tuple(s for s in both if declared[s].get(constraint) == expression)
        for side in sides:
            _check_columns(name, version.schema, both[side].schema, constraint, expression)
        if not (verbatim and len(sides) == len(both)):
            by_sides.setdefault(sides, {})[constraint] = expression
    for sides, group in by_sides.items():
        known = {side: both[side] for side in sides}
        refuse_broken(repository, name, version, known, group, sessions)


def check_unnamed(name: RelationName, version: Snapshot, column: str, change: str) -> None:
    """Refuse to drop or rename a column that a constraint names.

    Raises:
        InputError: A constraint names the column.
    """
    for constraint, expression in checks_of(version.properties).items():
        if version.schema.find(column) in columns_named(expression, version.schema):
            raise InputError(
                f"The column {column} of {name} can't be {change}: the check constraint "
                f"{constraint} ({expression}) names it. Drop the constraint first: alter table "
                f"{name} drop constraint {quoted(constraint)}."
            )


def _check_columns(
    name: RelationName, result: Schema, side: Schema, constraint: str, expression: str
) -> None:
    for field in columns_named(expression, side):
        now = result.by_id(field.id)
        if now is None or now.name != field.name:
            became = "dropped" if now is None else f"renamed to {now.name}"
            raise InputError(
                f"{name} can't be merged: one side declares the check constraint {constraint} "
                f"({expression}), and the other side has {became} its column {field.name}. "
                "Nothing was changed. Drop the constraint, or undo the other change, then merge "
                "again."
            )


def _check_expression(
    session: Queries, name: RelationName, schema: Schema, constraint: str, expression: str
) -> None:
    """Reject a condition that is not deterministic or looks beyond one row."""
    where = f"The check constraint {constraint} ({expression}) of {name}"
    depth = 0
    for token in tokenize(expression):
        depth += {"(": 1, ")": -1}.get(token.word, 0)
        if token.word == "select" or depth < 0 or token.word == ";":
            raise InputError(f"{where} is not one condition on a single row. Write it without it.")
    nulls = ", ".join(f"cast(null as {f.type}) as {quoted(f.name)}" for f in schema.fields)
    rows = f"from (select {nulls})"
    condition = _bracketed(expression)
    try:
        (column,) = session.columns_of(f"select {condition} as c {rows} {where_clause(condition)}")
        same = session.is_repeatable(f"select {condition} as c {rows}")
    except EngineError as error:
        raise InputError(
            f"{where} is not a condition on a row of the table: {placeless(error)}"
        ) from error
    if column.type not in ("boolean", "void"):
        raise InputError(f"{where} is not a condition: it is {column.type}, not boolean.")
    if not same:
        raise InputError(
            f"{where} does not always give the same value for a row. Don't use random numbers "
            "and the like."
        )


def _broken(
    session: Queries, relation: str, version: Snapshot, name: RelationName, checks: Checks
) -> str:
    """Return the violations among the rows of a relation; empty if there are none."""
    fields = _told_by(version, checks)
    conditions = [_bracketed(expression) for expression in checks.values()]
    columns = ", ".join([*(quoted(field.name) for field in fields), *conditions])
    broken = " or ".join(f"not {condition}" for condition in conditions)
    text = f"select {columns} from {relation} {where_clause(broken)} limit {SHOWN}"
    try:
        found = session.query(text).fetch()
    except EngineError as error:
        raise EngineError(
            f"The check constraints of {name} ({', '.join(checks)}) can't be computed for the "
            f"rows to be written: {placeless(error)}"
        ) from error
    for number, (constraint, expression) in enumerate(checks.items(), start=len(fields)):
        rows = [_row(fields, row) for row in found if row[number] is False]
        if rows:
            return _refusal(name, constraint, expression, rows)
    return ""


def _refusal(name: RelationName, constraint: str, expression: str, rows: Sequence[str]) -> str:
    return (
        f"The check constraint {constraint} ({expression}) of {name} is false for "
        f"{', '.join(rows)}. Nothing was changed; correct the rows, or drop the constraint: "
        f"alter table {name} drop constraint {quoted(constraint)}."
    )


def _row(fields: Sequence[Field], row: Sequence[Any]) -> str:
    values = (f"{f.name}: {shown(value)}" for f, value in zip(fields, row, strict=False))
    return f"({', '.join(values)})"


def _bracketed(expression: str) -> str:
    """Return a condition in parentheses, even if it ends with a comment."""
    return f"({expression}\n)"
