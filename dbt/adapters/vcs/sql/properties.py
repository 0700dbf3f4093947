"""Properties of tables and views: comments, settings, keys, and defaults of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from dbt.adapters.vcs.changes.merges.conflicts.policy import PROPERTY, Mode
from dbt.adapters.vcs.changes.writes.checks import PRIMARY_KEY, UNIQUE_KEY
from dbt.adapters.vcs.changes.writes.stage_write import MODES, WRITE_MODE
from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.errors import EngineError, InputError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName, Schema, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.core.model.snapshot import ENFORCED, IDENTIFIERS, REBUILD, fitted
from dbt.adapters.vcs.engines.port import Readers
from dbt.adapters.vcs.sql.syntax.clauses import ColumnDef, primary_key_of
from dbt.adapters.vcs.sql.syntax.names import names_in
from dbt.adapters.vcs.sql.syntax.parser import ChangingRelation
from dbt.adapters.vcs.sql.table import RelationKind
from dbt.adapters.vcs.table.quoting import sql_type
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope, handles


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperties(ChangingRelation):
    """`alter table|view t set tblproperties (...)`, or `alter table t add primary key (...)`.

    A primary key is the property `primary_key`, its columns separated by commas.
    """

    kind: RelationKind
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetProperties(ChangingRelation):
    """`alter table|view t unset tblproperties [if exists] (...)`."""

    kind: RelationKind
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOnTable(ChangingRelation):
    """`comment on table t is '...'`; None removes the comment."""

    comment: str | None


_COMMENT = "comment"


_OF_KEYS = frozenset({PRIMARY_KEY, UNIQUE_KEY})


@handles(SetProperties)
def set_properties(scope: Scope, statement: SetProperties) -> Outcome:
    """Set properties of a table or view; `comment` sets its comment, as in Spark.

    Raises:
        InputError: A table setting gets an invalid value.
    """
    name = scope.name(statement.target.name)
    _alter_properties(scope, name, dict(statement.properties), removed=())
    return Outcome()


@handles(UnsetProperties)
def unset_properties(scope: Scope, statement: UnsetProperties) -> Outcome:
    """Remove properties of a table or view.

    Raises:
        InputError: One of them isn't set, and `if exists` was not given.
    """
    name = scope.name(statement.target.name)
    properties = scope.overlay.properties(name)
    # The comment is no property here, but in Spark.
    missing = [key for key in statement.keys if key not in properties and key != _COMMENT]
    if missing and not statement.if_exists:
        raise InputError(f"{name} has no property '{missing[0]}'; use unset ... if exists.")
    _alter_properties(scope, name, {}, removed=statement.keys)
    return Outcome()


@handles(CommentOnTable)
def comment_on_table(scope: Scope, statement: CommentOnTable) -> Outcome:
    """Set or remove the comment of a table or view.

    Raises:
        NotFoundError: There is no such relation.
    """
    name = scope.name(statement.target.name)
    given = {} if statement.comment is None else {_COMMENT: statement.comment}
    _alter_properties(scope, name, given, removed=() if given else (_COMMENT,))
    return Outcome()


def _alter_properties(
    scope: Scope, name: RelationName, given: dict[str, str], *, removed: tuple[str, ...]
) -> None:
    entry = scope.overlay.require(name)
    if isinstance(entry, TableEntry):
        snapshot = scope.overlay.snapshot(entry.snapshot)
        given = settled(given)
        comment, properties = _comment_and_properties(
            snapshot.comment, snapshot.properties, given, removed
        )
        # What changes nothing makes no version.
        if (comment, properties) != (snapshot.comment, snapshot.properties):
            changed(
                scope,
                name,
                snapshot,
                operation="alter",
                comment=comment,
                properties=properties,
                primary_key=_key(snapshot, properties, {*given, *removed}),
            )
    else:
        view = scope.overlay.view(entry.view)
        comment, properties = _comment_and_properties(
            view.comment, view.properties, given, removed
        )
        # Decision 3: a view with the same contents is the same object, so nothing has to be
        # compared.
        changed_view = msgspec.structs.replace(view, comment=comment, properties=properties)
        scope.overlay.put_view(name, changed_view)


def _comment_and_properties(
    comment: str | None,
    properties: dict[str, str],
    given: dict[str, str],
    removed: tuple[str, ...],
) -> tuple[str | None, dict[str, str]]:
    # Spark has the comment of a table among its properties, here it is a field of its own.
    comment = given.get(_COMMENT, None if _COMMENT in removed else comment)
    merged = {**properties, **given}
    for key in (_COMMENT, *removed):
        merged.pop(key, None)
    return comment, merged


def _key(snapshot: Snapshot, properties: dict[str, str], touched: set[str]) -> tuple[str, ...]:
    """Return the key's field ids from properties; the current ones if not touched."""
    if not _OF_KEYS & touched:
        return snapshot.primary_key
    schema = snapshot.schema
    return key_columns(schema, settled_key(schema, primary_key_of(properties), properties))


AUTO_OPTIMIZE: Final = "vcs.auto_optimize"
"""Table property: whether runs compact the table when necessary, whatever the profile says."""


_TRUTHS: Final = ("true", "false")


_KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    WRITE_MODE: MODES,
    ENFORCED: _TRUTHS,
    IDENTIFIERS: _TRUTHS,
    REBUILD: ("full", "delta"),
    PROPERTY: tuple(mode.value for mode in Mode),
    AUTO_OPTIMIZE: _TRUTHS,
}


def settled(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties with the values of settings in lower case.

    Raises:
        InputError: A value is not allowed. Later it would be ignored, or fail far from the
            cause.
    """
    given = dict(properties)
    for key, values in _KNOWN.items():
        if key in given:
            given[key] = given[key].strip().lower()
            if given[key] not in values:
                raise InputError(
                    f"The table property {key} is {properties[key]!r}; expected one of "
                    f"{', '.join(values)}."
                )
    return given


def key_columns(schema: Schema, names: Sequence[str]) -> tuple[str, ...]:
    """Return the field ids of the columns of a new primary key.

    Raises:
        InputError: There is no such column, one occurs twice, or its values can't be compared.
    """
    fields = [schema.field(name) for name in names]
    for field in fields:
        if type_of(field.type).is_nested:
            raise InputError(
                f"The column {field.name} can't be in a primary key: values of type {field.type} "
                "can't be compared. Use columns of plain types, such as a hash of this one."
            )
    ids = [field.id for field in fields]
    if len(set(ids)) < len(ids):
        raise InputError(f"A primary key has each column once; found: {', '.join(names)}.")
    return tuple(ids)


def settled_key(schema: Schema, declared: Sequence[str], properties: dict[str, str]) -> list[str]:
    """Return the names of the key's columns: the declared ones, else those of dbt's `unique_key`.

    A `unique_key` that is an expression, or names no column, makes no key.
    """
    if declared:
        return list(declared)
    names = dict.fromkeys(names_in(properties.get(UNIQUE_KEY, "")))
    fields = [schema.find(name) for name in names]
    if all(field is not None and not type_of(field.type).is_nested for field in fields):
        return list(names)
    return []


# Types of which a text is one value, whatever the session's time zone and the reader.
_KEPT: Final = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    *("string", "char", "varchar", "date", "timestamp_ntz"),
)


def check_default(sessions: Readers, column: str, default: str, type_: str) -> None:
    """Refuse a default that Spark would refuse in one of its own tables.

    It must be an expression that uses no row, reads no table, and has a type that can be stored as
    the column's. Otherwise no row could be inserted at all, not even with a value.

    Args:
        column: What errors call the column.

    Raises:
        InputError: It is not such an expression.
    """
    try:
        sessions().check_default(default, type_)
    except EngineError as error:
        raise InputError(
            f"The default of the column {column} is not an expression of type {type_} without "
            f"columns: {default}. Spark says: {error}"
        ) from error


def initial_value(sessions: Readers, column: ColumnDef) -> str | None:
    """Return the present value of a column's default, as stored in `Field.initial`; None for NULL.

    Raises:
        UnsupportedError: Values of the column's type have no stable text.
    """
    type_ = type_of(column.type)
    if type_.kind not in _KEPT or type_.collation:
        raise UnsupportedError(
            f"The column {column.name} can't have a default from the start: existing rows can't "
            f"get a value of type {column.type} without being rewritten. Add it without "
            "a default, fill it (update ... set), then alter the column: set default ..."
        )
    text = f"select cast(cast({column.default} as {sql_type(column.type)}) as string)"
    found = sessions().query(text).fetch()[0][0]
    return None if found is None else fitted(str(found), column.type)
