"""Taken versions: a version that was computed elsewhere, put where it would have been computed.

| what the branch has                                    | what is put                            |
|--------------------------------------------------------|----------------------------------------|
| the version itself                                     | nothing                                |
| nothing, and the same names were read                  | the version                            |
| a version that was made from it                        | the version, until the node ends; then |
|                                                        | what the row below says                |
| a version of the same derivation, with the same rows   | that version                           |
| anything else with the same columns                    | a new version of the same files, whose |
|                                                        | parents are the branch's and the taken |

So the history of the table on this branch is kept, and a merge finds its base. No file is written,
and none is read but of two versions of one derivation.

A version that was computed and has the rows of the one before keeps that one's files: what was
computed from the table stays known, and a build that changes nothing ends in the versions that it
began with.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.changes.writes.versions import previous
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError, RetryError
from dbt.adapters.vcs.core.ids import FunctionId, SnapshotId, ViewId
from dbt.adapters.vcs.core.model import (
    Entry,
    FunctionEntry,
    Input,
    RelationName,
    Schema,
    Snapshot,
    TableEntry,
    ViewEntry,
)
from dbt.adapters.vcs.core.origins.results import Result
from dbt.adapters.vcs.core.retention import hold
from dbt.adapters.vcs.reuse.cache_key import CacheKey
from dbt.adapters.vcs.table.limits import Limits
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.statement_scope import Scope

# Versions up to which an ancestor is looked for.
_DEPTH: Final = 1_000


# Statements of a node that follow one whose version was taken from the past.
_STATEMENTS: Final = 20


# Operations that go back because somebody says so.
_ON_PURPOSE: Final = frozenset({"clone", "restore"})


class GoneError(Exception):
    """A result's version isn't held any more, or doesn't fit the branch."""


def put_taken(scope: Scope, key: CacheKey, result: Result) -> None:
    """Put the version of a result where its statement would have put one.

    Raises:
        GoneError: It isn't held any more, or its columns aren't those of the branch's table.
    """
    name = key.target
    assert name is not None
    if not result.version:
        return
    try:
        if result.kind == "table":
            _put_table(scope, name, SnapshotId(result.version), key)
        else:
            _put_definition(scope.overlay, name, result)
    except (DamagedError, NotFoundError, RetryError) as error:
        raise GoneError(str(error)) from error


def _put_table(scope: Scope, name: RelationName, id: SnapshotId, key: CacheKey) -> None:
    overlay = scope.overlay
    taken = overlay.snapshot(id)
    before = previous(overlay, name)
    # The branch has it already, and need not hold it.
    if before is not None and before[0] == id:
        overlay.put(name, TableEntry(snapshot=id))
        return
    # No branch may show it any more; collection must not come in between.
    hold(overlay.repository, None, [id], author=overlay.author, known=overlay.base)
    # Nothing but the branch's own past is taken as it is: merges would find that it shares a
    # version with another branch, and take what either did by itself for one change.
    is_past = before is None or _is_ancestor(overlay, id, before[0])
    # A version of another node would show that node as where its rows come from.
    if is_past and _is_own(scope, taken, key):
        overlay.put(name, TableEntry(snapshot=id))
        return
    version = msgspec.structs.replace(
        taken, parents=(id,), created_at=scope.now, origin=scope.made_by()
    )
    if before is not None:
        version = msgspec.structs.replace(
            version,
            table=before[1].table,
            schema=_on_branch(before[1].schema, taken.schema),
            parents=(before[0], id),
            operation="rebuild" if taken.operation == "create" else taken.operation,
        )
    overlay.put_table(name, version)
    if before is not None and before[1].origin.derivation == key.id:
        # Two nodes of one text were computed at the same time, each into files of its own.
        keep_same_rows(scope, name, TableEntry(snapshot=before[0]), is_rebuild=True)


def _put_definition(overlay: Overlay, name: RelationName, result: Result) -> None:
    """Put a view or function; its object is stored again, so that no collection takes it."""
    entry: ViewEntry | FunctionEntry
    if result.kind == "view":
        entry = ViewEntry(view=ViewId(result.version))
        if overlay.entry(name) != entry:
            overlay.put_view(name, overlay.view(entry.view))
    else:
        entry = FunctionEntry(function=FunctionId(result.version))
        if overlay.entry(name) != entry:
            overlay.put_function(name, overlay.function(entry.function))


def settle_history(overlay: Overlay) -> None:
    """Put a new version where an overlay would take a table back into its past.

    That is to an ancestor of the branch's version, or to what a statement made of one. Going back
    by itself would hide from a merge that the branch had another version in between. A version
    that says what the branch's own version says is not put at all: the same build would
    make another one each time.
    """
    for name, entry in list(overlay.relations.items()):
        before = overlay.before(name)
        if not (isinstance(entry, TableEntry) and isinstance(before, TableEntry)):
            continue
        if entry != before and _says_the_same(
            overlay.snapshot(before.snapshot), overlay.snapshot(entry.snapshot)
        ):
            overlay.put(name, before)
        elif _goes_back(overlay, entry.snapshot, before.snapshot):
            version = msgspec.structs.replace(
                overlay.snapshot(entry.snapshot),
                parents=(before.snapshot, entry.snapshot),
                operation="rebuild",
                created_at=overlay.repository.clock(),
            )
            if version.origin.derivation is None:
                version = msgspec.structs.replace(version, parents=(before.snapshot,))
            overlay.put_table(name, version)


def _goes_back(overlay: Overlay, id: SnapshotId, before: SnapshotId) -> bool:
    """Return whether a version, or one that it was made from, is in the past of the branch's."""
    line = [id]
    while len(line) <= _STATEMENTS and (parents := _parents(overlay, line[-1])):
        # Somebody wanted the past back.
        if overlay.snapshot(line[-1]).operation in _ON_PURPOSE:
            break
        line.append(parents[0])
    # Most often the statement changed what the branch had, and its past need not be read.
    return before not in line and any(_is_ancestor(overlay, item, before) for item in line)


def _says_the_same(old: Snapshot, new: Snapshot) -> bool:
    """Return whether versions differ in nothing but their past and who made them when.

    Of one derivation, the inputs have the same contents, whichever versions they are.
    """
    one, other = old.origin, new.origin
    if one.derivation is None or one.derivation != other.derivation:
        return False
    return (
        one.node == other.node
        and _names(one.inputs) == _names(other.inputs)
        and old
        == msgspec.structs.replace(
            new,
            table=old.table,
            parents=old.parents,
            operation=old.operation,
            created_at=old.created_at,
            origin=one,
        )
    )


def _is_ancestor(overlay: Overlay, before: SnapshotId, id: SnapshotId) -> bool:
    """Return whether a version was made from another one, by first parents."""
    for _ in range(_DEPTH):
        parents = _parents(overlay, id)
        if not parents:
            return False
        if before in parents:
            return True
        id = parents[0]
    return False


def _parents(overlay: Overlay, id: SnapshotId) -> tuple[SnapshotId, ...]:
    try:
        return overlay.snapshot(id).parents
    except DamagedError:
        # Of what is that old, nobody has to know more.
        return ()


def _is_own(scope: Scope, taken: Snapshot, key: CacheKey) -> bool:
    """Return whether a version says of itself what this statement would say of it."""
    origin = taken.origin
    return origin.node == scope.origin.node and _names(origin.inputs) >= _names(key.inputs)


def _names(inputs: tuple[Input, ...]) -> frozenset[str]:
    return frozenset(item.relation for item in inputs)


def _on_branch(before: Schema, taken: Schema) -> Schema:
    """Return the taken columns as a rebuild of the branch's table would have them.

    Raises:
        GoneError: Their files name them otherwise.
    """
    # Columns keep their ids by name; files can only be shared if these are the same.
    rebuilt = before.rebuilt(taken.fields)
    if [field.id for field in rebuilt.fields] != [field.id for field in taken.fields]:
        raise GoneError("its columns have other ids than those of the branch's table")
    retired = tuple(sorted({*rebuilt.retired, *taken.retired}))
    return msgspec.structs.replace(taken, retired=retired)


# Up to here reading both takes less time than Spark takes for the smallest table.
_LIMITS: Final = Limits(rows=1_000_000, bytes=64 * 2**20, memory=2**29)


def keep_same_rows(
    scope: Scope, name: RelationName, before: Entry | None, *, is_rebuild: bool
) -> None:
    """Put the files of the version before back, if a statement gave the same rows.

    A rebuild that gets rid of deleted rows stays, since it reads faster.

    Args:
        scope: The statement's scope; it has been carried out.
        name: What it made or changed.
        before: What the name showed before.
        is_rebuild: True if it wrote all rows.
    """
    after = scope.overlay.entry(name)
    if after == before or not isinstance(before, TableEntry) or not isinstance(after, TableEntry):
        return
    old, new = (scope.overlay.snapshot(entry.snapshot) for entry in (before, after))
    # What costs nothing to look at comes first.
    if _layout(old) != _layout(new) or old.rows != new.rows or old.segments == new.segments:
        return
    if is_rebuild and any(ref.deleted for ref in old.segments):
        return
    compared = Difference(repository=scope.overlay.repository, before=old, after=new)
    counts = compared.counts_here(_LIMITS)
    # If an engine would have to compare them nobody knows, and the new version stays.
    if counts is None or any(counts):
        return
    if _definition(name, old) == _definition(name, new):
        scope.overlay.put(name, before)
        return
    kept = msgspec.structs.replace(new, segments=old.segments, parents=(before.snapshot,))
    scope.overlay.put_table(name, kept)


def _layout(snapshot: Snapshot) -> tuple[Any, ...]:
    """Return what decides how files look inside."""
    fields = [
        msgspec.structs.replace(field, comment=None, default=None)
        for field in snapshot.schema.fields
    ]
    return fields, snapshot.partition_by, snapshot.cluster_by


def _definition(name: RelationName, snapshot: Snapshot) -> tuple[Any, ...]:
    """Return everything about a version but its files, its past and when it was made."""
    inputs = snapshot.origin.inputs
    # A table that reads itself has a new input each time.
    read = {(item.relation, item.version) for item in inputs if item.relation != str(name)}
    return (
        snapshot.schema,
        snapshot.primary_key,
        snapshot.comment,
        snapshot.properties,
        snapshot.origin.node,
        read,
    )
