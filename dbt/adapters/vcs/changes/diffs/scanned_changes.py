"""Known changes as a query that only scans files: no row is compared, sorted or joined."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from dbt.adapters.vcs.changes.diffs.diff_query import files_mount, image_relations, tombstones_of
from dbt.adapters.vcs.core.model import Field, Snapshot
from dbt.adapters.vcs.core.plan.delta import Delta
from dbt.adapters.vcs.core.plan.known_changes import ChangeKind, KnownChange, known_changes
from dbt.adapters.vcs.engines.port import VersionMounts
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.sql.syntax.diff_call import TwoWayShape
from dbt.adapters.vcs.table.compare.comparison import Counts, VersionComparison
from dbt.adapters.vcs.table.quoting import literal, quoted, sql_type

_COUNTS: Final[Mapping[ChangeKind, int]] = {
    "insert": 1,
    "update_postimage": 1,
    "delete": -1,
    "update_preimage": -1,
}
_TYPES: Final[Mapping[ChangeKind, str]] = {
    "insert": "added",
    "update_postimage": "modified",
    "delete": "removed",
    "update_preimage": "modified",
}
_UPDATED: Final[frozenset[ChangeKind]] = frozenset({"update_preimage", "update_postimage"})
_FROM: Final = "from"
_TO: Final = "to"


class Scan(NamedTuple):
    """What to scan.

    Attributes:
        changes: The files, by kind of change.
        sides: The sides that the shape `wide` shows: `from`, `to`.
    """

    changes: tuple[KnownChange, ...]
    sides: tuple[str, ...] = (_FROM, _TO)


def scannable(
    before: Snapshot | None,
    after: Snapshot | None,
    delta: Delta,
    comparison: VersionComparison,
    shape: TwoWayShape,
    shown: Collection[str] | None = None,
) -> Scan | None:
    """Return what to scan for the changes between two versions; None if they must be compared.

    Args:
        before: The first version.
        after: The second one.
        delta: Their delta.
        comparison: How they are compared.
        shape: The shape. `signed` has equal rows once, and `wide` has both sides of an update in
            one row, so neither can always be scanned.
        shown: Lower-case names of the only columns of the shape that are read; None for all.
    """
    versions = [side for side in (before, after) if side is not None]
    unique = is_unique(before, after, comparison)
    if not _have_same_columns(versions, comparison) or (shape == "signed" and not unique):
        return None
    found = known_changes(
        delta,
        unique=unique,
        key=_ids(comparison.key),
        compared=_ids(comparison.compared),
    )
    if found is None:
        return None
    return _one_sided(found, comparison.fields, shown) if shape == "wide" else Scan(found)


def is_unique(
    before: Snapshot | None, after: Snapshot | None, comparison: VersionComparison
) -> bool:
    """Return whether each version has a key of the comparison at most once."""
    versions = [side for side in (before, after) if side is not None]
    return bool(comparison.key) and all(version.is_key_enforced for version in versions)


def known_counts(delta: Delta, changes: Iterable[KnownChange]) -> Counts:
    """Return the numbers of rows added, removed and modified, of changes that are known."""
    modified = sum(
        image.rows for change in changes if change.kind in _UPDATED for image in change.images
    )
    return Counts(delta.rows_added - modified, delta.rows_removed - modified, modified)


def _one_sided(
    changes: tuple[KnownChange, ...], fields: Sequence[Field], shown: Collection[str] | None
) -> Scan | None:
    """Return a scan for the shape `wide`; None if it has to have both sides of an update."""
    skipped: dict[ChangeKind, str] = {"update_preimage": _TO, "update_postimage": _FROM}
    if not any(item.kind in skipped for item in changes):
        return Scan(changes)
    if shown is None:
        return None
    names = [field.name.lower() for field in fields]
    sides = tuple(
        side for side in (_FROM, _TO) if any(f"{side}_{name}" in shown for name in names)
    )
    if len(sides) > 1:
        return None
    sides = sides or (_TO,)
    return Scan(tuple(item for item in changes if skipped.get(item.kind) not in sides), sides)


def _have_same_columns(sides: Sequence[Snapshot], comparison: VersionComparison) -> bool:
    shapes = {tuple((field.id, field.type) for field in side.schema.fields) for side in sides}
    return len(shapes) == 1 and len(comparison.compared) == len(comparison.fields)


def scan_query(
    session: VersionMounts,
    delta: Delta,
    scan: Scan,
    comparison: VersionComparison,
    shape: TwoWayShape,
) -> str:
    """Return the query for changes that are `scannable`, and mount what it reads."""
    parts: list[str] = []
    sides = scan.sides
    for change in scan.changes:
        listed = ", ".join(_columns(change.kind, comparison.fields, shape, sides))
        for relation, condition in _relations(session, delta, change, comparison.fields):
            where = "" if condition is None else f" {where_clause(condition)}"
            parts.append(f"select {listed} from {relation} kept{where}")
    if parts:
        return " union all ".join(parts)
    nulls = [_null(field) for field in comparison.fields]
    columns = ", ".join(_columns("insert", comparison.fields, shape, sides, nulls))
    return f"select {columns} {where_clause('false')}"


def _relations(
    session: VersionMounts, delta: Delta, change: KnownChange, fields: Sequence[Field]
) -> Iterator[tuple[str, str | None]]:
    """Yield the relations with the rows of a change, and the condition on their rows."""
    if change.blocks:
        holes = (*delta.deleted, *delta.restored)
        stones = tombstones_of(item for item in holes if item.block in change.blocks)
        entries = (*delta.removed, *delta.added)
        mount = files_mount(change.blocks, fields, stones, entries)
        yield session.mount_physical(mount), None
    for relation, condition in image_relations(session, change.images, fields):
        yield relation, None if change.whole else condition


def _columns(
    kind: ChangeKind,
    fields: Sequence[Field],
    shape: TwoWayShape,
    sides: Sequence[str],
    values: Sequence[str] | None = None,
) -> Iterator[str]:
    """Yield what to select, as SQL; by default, the values are in columns called by field id."""
    values = values or [f"kept.{quoted(field.id)}" for field in fields]
    if shape == "wide":
        yield f"{literal(_TYPES[kind])} diff_type"
        present = _TO if _COUNTS[kind] > 0 else _FROM
        for field, value in zip(fields, values, strict=True):
            for side in sides:
                sql = value if side == present else _null(field)
                yield f"{sql} {quoted(f'{side}_{field.name}')}"
        return
    if shape == "signed":
        yield f"{_COUNTS[kind]}L diff_count"
    else:
        yield f"{literal(kind)} `_change_type`"
    for field, value in zip(fields, values, strict=True):
        yield f"{value} {quoted(field.name)}"


def _null(field: Field) -> str:
    return f"cast(null as {sql_type(field.type)})"


def _ids(fields: Sequence[Field]) -> list[str]:
    return [field.id for field in fields]
