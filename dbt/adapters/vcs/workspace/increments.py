"""Increments: what changed in an input since a table was last built, and that it was consumed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from shlex import quote
from typing import Final, NamedTuple, NoReturn

import msgspec

from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import (
    Consumed,
    Consumption,
    FunctionEntry,
    Input,
    Origin,
    RelationName,
    Snapshot,
    TableEntry,
    ViewEntry,
)
from dbt.adapters.vcs.core.origins.lineage import last_read
from dbt.adapters.vcs.core.plan.collect import missing_file
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.sql.syntax.diff_call import DiffReference
from dbt.adapters.vcs.sql.syntax.names import TableAt
from dbt.adapters.vcs.sql.syntax.parser import Query, read
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.points import find_point

OPERATION: Final = "consume"
"""Makes a version that has the rows of the one before, and accounts for more."""


class Increment(NamedTuple):
    """Two versions of an input whose difference a table has to consume.

    Attributes:
        before: What the table has consumed; None if nothing, so that all rows are new.
        after: What the branch shows.
    """

    relation: RelationName
    before: SnapshotId | None
    after: SnapshotId


def increment_of(
    overlay: Overlay, reader: RelationName, relation: RelationName, *, whole: bool
) -> Increment:
    """Return what a table has to consume of an input to account for what the branch shows.

    Args:
        overlay: The branch.
        reader: The table that is built.
        relation: The input.
        whole: True if the table is built anew, so that all rows of the input are new.

    Raises:
        NotFoundError: There is no such input, or rows that the table consumed were collected.
        InputError: The input is not a table, or the table exists and has no record of it.
    """
    entry = overlay.require(relation)
    if not isinstance(entry, TableEntry):
        raise InputError(
            f"{relation} is a {entry.noun}, which has no versions, so changes() can't say what "
            f"changed in it. Name the tables that it reads, or build it as a table: "
            "materialized='table'."
        )
    if whole:
        return Increment(relation, None, entry.snapshot)
    found = _last_read(overlay, reader, relation, entry.snapshot)
    if found is None:
        # Guessing would lose or repeat rows, and a rebuild may cost a thousand increments.
        raise InputError(
            f"{reader} doesn't record which version of {relation} it accounts for: it was built "
            f"without changes() of {relation}. Build it once from all rows: dbt build "
            f"--full-refresh --select {quote(reader.identifier)}"
        )
    before = None if found.snapshot is None else SnapshotId(found.snapshot)
    _check_present(overlay, reader, Increment(relation, before, entry.snapshot))
    return Increment(relation, before, entry.snapshot)


def check_reader(overlay: Overlay, item: DiffReference, zone: Callable[[], str]) -> None:
    """Check that a difference for a table begins where the table's last build ended.

    Raises:
        InputError: The table has consumed another version, as when SQL that was compiled for an
            earlier build is run again.
    """
    if item.reader is None:
        return
    step, reader = _step(overlay, item, zone), item.reader.relation("")
    consumed = _last_read(overlay, reader, step.relation, step.after)
    found = consumed.snapshot if consumed else None
    if found != step.before:
        raise InputError(
            f"Expected {reader} to account for {_version(step.before)} of {step.relation}, found "
            f"that it accounts for {_version(found)}: it was built after this SQL was compiled. "
            "Compile it again."
        )


def record(
    overlay: Overlay,
    reader: RelationName,
    text: str,
    origin: Origin,
    zone: Callable[[], str],
    *,
    advance: bool = True,
) -> None:
    """Record that a table that was built in an overlay accounts for the changes that it read.

    A version that the overlay made gets the record. If the build changed no row, a version with
    the same rows gets it, so that the same changes are not read again.

    Args:
        overlay: Has the table; nothing is changed if it shows none.
        reader: The table.
        text: The query that it was built from; empty if it was not built from a query.
        origin: Who built it.
        zone: Gives the time zone of times without one.
        advance: False if the build was to read no row (`--empty`), and so consumed none.
    """
    entry = overlay.entry(reader)
    if not isinstance(entry, TableEntry):
        return
    # Decision 32: which SQL was run decides, so both versions are taken from its text.
    found = read(text)[0] if text else None
    diffs = found.diffs if isinstance(found, Query) else ()
    own = (item for item in diffs if item.reader and item.reader.relation("") == reader)
    steps = {step.relation: step for step in (_step(overlay, item, zone) for item in own)}
    inputs = tuple(
        Consumed(relation=str(name), snapshot=step.after if advance else step.before)
        for name, step in sorted(steps.items())
    )
    # Decision 32: rows and what they account for are one object, and can't come apart.
    old = overlay.snapshot(entry.snapshot)
    new = msgspec.structs.replace(
        old, consumption=Consumption(reader=str(reader), inputs=inputs) if inputs else None
    )
    if new.consumption == old.consumption:
        return
    made = old.origin
    if overlay.before(reader) == entry:
        # The build changed no row: without a version of its own it would read the same again.
        made = msgspec.structs.replace(origin, inputs=_inputs_now(overlay, reader, made.inputs))
        new = msgspec.structs.replace(
            new,
            parents=(entry.snapshot,),
            operation=OPERATION,
            created_at=overlay.repository.clock(),
        )
    overlay.put_table(reader, msgspec.structs.replace(new, origin=_with_consumed(made, inputs)))


def _inputs_now(
    overlay: Overlay, reader: RelationName, inputs: Iterable[Input]
) -> tuple[Input, ...]:
    """Return inputs of a version at the versions that the branch shows, for a build of the same.

    A build that changed no row leaves no record of what it read beside changes, and it read what
    the one before did.
    """
    found: dict[str, Input] = {}
    for item in inputs:
        name = RelationName.of(item.relation)
        entry = overlay.entry(name)
        if entry is not None and name != reader and not item.pinned:
            found[item.relation] = Input(
                relation=item.relation,
                snapshot=entry.version if isinstance(entry, TableEntry) else None,
                view=entry.version if isinstance(entry, ViewEntry) else None,
                function=entry.version if isinstance(entry, FunctionEntry) else None,
            )
    return tuple(found.values())


def _with_consumed(origin: Origin, consumed: Iterable[Consumed]) -> Origin:
    """Return an origin with more inputs; what the branch shows counts before a pinned version."""
    found = {(item.relation, item.version): item for item in origin.inputs}
    for item in consumed:
        if item.snapshot is not None:
            now = Input(relation=item.relation, snapshot=item.snapshot)
            found[now.relation, now.version] = now
    return msgspec.structs.replace(origin, inputs=tuple(found[key] for key in sorted(found)))


def _step(overlay: Overlay, item: DiffReference, zone: Callable[[], str]) -> Increment:
    sides = (item.before, item.after)
    relation = item.after.name.relation("")
    before, after = (side and find_point(overlay, relation, side.at, zone).id for side in sides)
    if after is None or {side.name.relation("") for side in sides if side} != {relation}:
        raise InputError(
            f"Expected snapshot_diff(...) with reader => '{item.reader}' between two versions of "
            f"one table, found {' and '.join(_side_text(side) for side in sides)}, one of which "
            "is another table or none. Let changes() write the call."
        )
    return Increment(relation, before, after)


def _side_text(side: TableAt | None) -> str:
    if side is None:
        return "no row"
    return f"{side.name}@{side.at.value}" if side.at else str(side.name)


def _last_read(
    overlay: Overlay, reader: RelationName, relation: RelationName, shown: SnapshotId
) -> Consumed | None:
    entry = overlay.entry(reader)
    if not isinstance(entry, TableEntry):
        return None
    consumption = overlay.snapshot(entry.snapshot).consumption
    # A clone, or a table that was renamed, may only find its input by lineage.
    table = overlay.snapshot(shown).table
    return last_read(overlay.repository.objects, consumption, reader, relation, table)


def _check_present(overlay: Overlay, reader: RelationName, step: Increment) -> None:
    """Check that the rows that a difference needs have not been collected.

    Raises:
        NotFoundError: Some are gone.
    """
    if step.before is None or step.before == step.after:
        return
    objects = overlay.repository.objects
    try:
        before: Snapshot = objects.snapshot(step.before)
        change = delta(before, objects.snapshot(step.after), objects.segments)
    except DamagedError:
        # Its manifests went with it.
        _raise_collected(reader, step)
    # Files that were added since are shown by the branch, and no collection takes these.
    paths = {block.path for block in change.removed} | {item.path for item in change.restored}
    if missing_file(overlay.repository.blobs, paths) is not None:
        _raise_collected(reader, step)


def _raise_collected(reader: RelationName, step: Increment) -> NoReturn:
    raise NotFoundError(
        f"{reader} accounts for {_version(step.before)} of {step.relation}, whose rows have been "
        f"collected, so what changed since can't be read. Build it once from all rows: dbt build "
        f"--full-refresh --select {quote(reader.identifier)}"
    )


def _version(id: str | None) -> str:
    return "no row" if id is None else f"version {id[:12]}"
