"""Properties, settings and comments of tables and views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from dbt.adapters.vcs.changes.merges.conflicts.policy import PROPERTY, Mode
from dbt.adapters.vcs.changes.writes.keys import PRIMARY_KEY, UNIQUE_KEY, key_columns, settled_key
from dbt.adapters.vcs.changes.writes.stage_write import MODES, WRITE_MODE
from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.snapshot import ENFORCED, IDENTIFIERS, REBUILD
from dbt.adapters.vcs.sql.syntax.clauses import (
    primary_key_of,
)
from dbt.adapters.vcs.sql.syntax.names import Target
from dbt.adapters.vcs.sql.syntax.statement import OnRelation
from dbt.adapters.vcs.sql.table import RelationKind
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope, handles


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperties(OnRelation):
    """`alter table|view t set tblproperties (...)`, or `alter table t add primary key (...)`.

    A primary key is the property `primary_key`, its columns separated by commas.
    """

    changes = True

    kind: RelationKind
    target: Target
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetProperties(OnRelation):
    """`alter table|view t unset tblproperties [if exists] (...)`."""

    changes = True

    kind: RelationKind
    target: Target
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOnTable(OnRelation):
    """`comment on table t is '...'`; None removes the comment."""

    changes = True

    target: Target
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
    given = dict(statement.properties)
    _alter_properties(scope, name, given, removed=())
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
    if statement.comment is None:
        _alter_properties(scope, name, {}, removed=(_COMMENT,))
    else:
        _alter_properties(scope, name, {_COMMENT: statement.comment}, removed=())
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
            version = msgspec.structs.replace(
                snapshot,
                comment=comment,
                properties=properties,
                primary_key=_key(snapshot, properties, {*given, *removed}),
            )
            changed(scope, name, snapshot, version, operation="alter")
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
