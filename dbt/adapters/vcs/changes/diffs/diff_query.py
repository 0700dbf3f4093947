"""The difference of two versions as a query, for an engine: any size, any type.

Rows are joined by key where each side has a key at most once. Otherwise signed rows are grouped
by value, and what does not cancel is paired by key. The result has the same rows as
`table.compare.located` computes column by column.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.model import Block, Field, Snapshot, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.delta import (
    ChangeKind,
    Deletion,
    Delta,
    KnownChange,
    known_changes,
)
from dbt.adapters.vcs.engines.port import TableMount, VersionMounts
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.sql.syntax.diff_call import DiffShape, TwoWayShape
from dbt.adapters.vcs.table.compare.comparison import Counts, VersionComparison
from dbt.adapters.vcs.table.equality import canonical, differs
from dbt.adapters.vcs.table.quoting import literal, quoted, sql_type

_SIGN: Final = "__vcs_sign"

_CHANGE: Final = (
    "case when diff_type = 'added' then 'insert' when diff_type = 'removed' then 'delete' "
    "when side < 0 then 'update_preimage' else 'update_postimage' end"
)


class SignedPart(NamedTuple):
    """A query for rows that are added (1) or removed (-1): columns `c0`, `c1`..."""

    sign: int
    text: str


def diff_query(
    parts: Iterable[SignedPart],
    comparison: VersionComparison,
    shape: DiffShape,
    *,
    unique: bool = False,
) -> str:
    """Return the query for a difference.

    Args:
        parts: The signed rows, as `delta_parts` gives them.
        shape: The shape of the result; columns as in `difference.TableDiff`.
        unique: Whether the added rows have a key at most once, and the removed ones, so that rows
            are joined by it.
    """
    parts = tuple(parts)
    names = [field.name for field in comparison.fields]
    if shape == "signed" and not unique:
        columns = [f"c{n} {quoted(name)}" for n, name in enumerate(names)]
        return f"select {', '.join(['diff_count', *columns])} from ({_net(parts, comparison)})"
    changes = _joined(parts, comparison) if unique else _paired(parts, comparison)
    if shape == "wide":
        columns = [
            f"{side}{n} {quoted(f'{prefix}_{name}')}"
            for n, name in enumerate(names)
            for side, prefix in (("g", "from"), ("a", "to"))
        ]
        return f"select {', '.join(['diff_type', *columns])} from ({changes})"
    # The old row of a change, then the new one, as far as there are any.
    images = (
        f"select * from ({changes}) lateral view explode(array(-1, 1)) sides as side "
        "where side < 0 and diff_type <> 'added' or side > 0 and diff_type <> 'removed'"
    )
    columns = [f"if(side < 0, g{n}, a{n}) {quoted(name)}" for n, name in enumerate(names)]
    first = "cast(side as bigint) diff_count" if shape == "signed" else f"{_CHANGE} `_change_type`"
    return f"select {', '.join([first, *columns])} from ({images})"


def delta_parts(
    session: VersionMounts, delta: Delta, comparison: VersionComparison
) -> Iterator[SignedPart]:
    """Yield queries for the signed rows of a delta, over its own files only.

    Rows of a block that the same side deletes are left out, as in `core.plan.states`. An image has
    the columns at the time its row was deleted; to show an older column, the row itself is read.
    """
    fields = comparison.fields
    read = _image_parts if len(comparison.compared) == len(fields) else _row_parts
    come, go = ({block.path for block in blocks} for blocks in (delta.added, delta.removed))
    for sign, paths, holes, images, whole in (
        (-1, go, delta.restored, delta.deleted, come),
        (1, come, delta.deleted, delta.restored, go),
    ):
        if paths:
            tombstones = tombstones_of(item for item in holes if item.block in paths)
            mount = files_mount(paths, fields, tombstones, (*delta.removed, *delta.added))
            yield signed_part(session.mount_physical(mount), sign, _same(fields))
        kept = [item for item in images if item.block not in whole]
        yield from read(session, kept, sign, fields)


def signed_part(
    relation: str, sign: int, columns: Sequence[tuple[str, str]], where: str | None = None
) -> SignedPart:
    """Return a query for rows that are added (1) or removed (-1).

    Args:
        relation: The relation with the rows, quoted.
        sign: 1 or -1.
        columns: For each column compared or shown its SQL and its type.
        where: The condition on the rows, or None for all.
    """
    listed = [f"{sql} c{n}" for n, (sql, _) in enumerate(columns)]
    query = f"select {', '.join(listed)} from {relation}"
    return SignedPart(sign, query if where is None else f"{query} {where_clause(where)}")


def image_relations(
    session: VersionMounts, images: Iterable[Deletion], fields: Sequence[Field]
) -> Iterator[tuple[str, str]]:
    """Yield the quoted relations that hold deleted rows, with the condition to select them.

    The relations have `__vcs_file`, `__vcs_pos` and the fields by id.
    """
    for tombstones, blocks in _by_depth(images):
        yield session.mount_deleted(tombstones, blocks, fields)


def _image_parts(
    session: VersionMounts, images: Sequence[Deletion], sign: int, fields: Sequence[Field]
) -> Iterator[SignedPart]:
    for relation, wanted in image_relations(session, images, fields):
        yield signed_part(relation, sign, _same(fields), wanted)


def _row_parts(
    session: VersionMounts, images: Sequence[Deletion], sign: int, fields: Sequence[Field]
) -> Iterator[SignedPart]:
    """Yield queries that read the rows of images from their original blocks."""
    for tombstones, blocks in _by_depth(images):
        rows = session.mount_located(files_mount(blocks, fields))
        places, listed = session.mount_deleted(tombstones, blocks)
        gone = f"select {FILE_COLUMN}, {POSITION_COLUMN} from {places} {where_clause(listed)}"
        yield signed_part(
            f"{rows} kept left semi join ({gone}) gone on "
            f"kept.{FILE_COLUMN} = gone.{FILE_COLUMN} "
            f"and kept.{POSITION_COLUMN} = gone.{POSITION_COLUMN}",
            sign,
            _same(fields),
        )


def _by_depth(images: Iterable[Deletion]) -> Iterator[tuple[tuple[Tombstone, ...], set[str]]]:
    """Yield the tombstones of images, and the blocks that they belong to."""
    # Files of one depth are read as one table, so that Spark reports each row's file.
    depths: dict[int, list[Deletion]] = {}
    for image in images:
        depths.setdefault(image.path.count("/"), []).append(image)
    for group in depths.values():
        yield tombstones_of(group), {item.block for item in group}


def tombstones_of(deletions: Iterable[Deletion]) -> tuple[Tombstone, ...]:
    """Return the tombstones of deletions, of 0 bytes where their size isn't known."""
    found: dict[str, dict[str, int]] = {}
    known: dict[str, tuple[int, str]] = {}
    for item in deletions:
        found.setdefault(item.path, {})[item.block] = item.rows
        known[item.path] = (
            (item.tombstone.bytes, item.tombstone.footer) if item.tombstone else (0, "")
        )
    return tuple(
        Tombstone(path=path, bytes=known[path][0], targets=rows, footer=known[path][1])
        for path, rows in found.items()
    )


def files_mount(
    files: Iterable[str],
    fields: Sequence[Field],
    tombstones: Sequence[Tombstone] = (),
    entries: Iterable[Block] = (),
) -> TableMount:
    """Return a mount of some files; its id covers the files, columns and deletions.

    The entries may be of other blocks, too.
    """
    files = tuple(sorted(files))
    known = set(files)
    holes = sorted((tombstone.path, sorted(tombstone.targets.items())) for tombstone in tombstones)
    # An id by content: what the engine mounted for one query serves the next.
    told = repr((files, [(field.id, field.type) for field in fields], holes))
    return TableMount(
        id=f"d_{hashlib.sha256(told.encode()).hexdigest()[:32]}",
        folder=files[0].rpartition("/")[0],
        files=files,
        fields=tuple(fields),
        tombstones=tuple(tombstones),
        entries=tuple(entry for entry in entries if entry.path in known),
    )


def _net(parts: Sequence[SignedPart], comparison: VersionComparison) -> str:
    """Return the query for `diff_count` (never 0), `c0`, `c1`...: each distinct row once."""
    compared = {field.id for field in comparison.compared}
    groups: list[str] = []
    shown: list[str] = []
    for n, field in enumerate(comparison.fields):
        spelled = canonical(f"c{n}", field.type)
        is_compared = field.id in compared
        if is_compared:
            groups.append(spelled)
        is_plain = is_compared and spelled == f"c{n}"
        # Equal values may be spelled differently (-0.0, maps in another order): any is shown.
        shown.append(f"c{n}" if is_plain else f"any_value(c{n}) c{n}")
    group = f" group by {', '.join(groups)}" if groups else ""
    rows = _rows(parts, comparison.fields, signed=True)
    return (
        f"select sum({_SIGN}) diff_count, {', '.join(shown)} from ({rows}){group} "
        f"having sum({_SIGN}) <> 0"
    )


def _paired(parts: Sequence[SignedPart], comparison: VersionComparison) -> str:
    """Return the query for `diff_type`, `g0`, `g1`... (the old row), `a0`... (the new one).

    | rows left of one key | changes                                                 |
    |----------------------|---------------------------------------------------------|
    | an old one           | a removed row                                           |
    | a new one            | an added row                                            |
    | one of each          | a modified row                                          |
    | more                 | removed and added rows: the key is ambiguous            |
    """
    numbers = range(len(comparison.fields))
    net = _net(parts, comparison)
    key = ", ".join(_key(comparison, "c"))
    if key:
        group = f"over (partition by {key})"
        # Of a pair the old row comes first.
        before = f"over (partition by {key} order by diff_count)"
        pair = (
            f"count(*) {group} = 2 and max(abs(diff_count)) {group} = 1 "
            f"and sum(diff_count) {group} = 0"
        )
        olds = ", ".join(f"lag(c{n}) {before} p{n}" for n in numbers)
        net = f"select *, {pair} is_pair, {olds} from ({net})"
    else:
        nulls = ", ".join(f"c{n} p{n}" for n in numbers)
        net = f"select *, false is_pair, {nulls} from ({net})"
    columns = [
        column
        for n in numbers
        for column in (
            f"case when is_pair then p{n} when diff_count < 0 then c{n} end g{n}",
            f"case when diff_count > 0 then c{n} end a{n}",
        )
    ]
    return (
        "select case when is_pair then 'modified' when diff_count > 0 then 'added' "
        f"else 'removed' end diff_type, {', '.join(columns)} from ({net}) "
        # Several copies of a row are as many changes. Of a pair the new row has the old one's
        # values, so the old one is dropped.
        "lateral view explode(array_repeat(0, cast(abs(diff_count) as int))) copies as copy "
        "where not is_pair or diff_count > 0"
    )


def _joined(parts: Sequence[SignedPart], comparison: VersionComparison) -> str:
    """Return the same query where each sign has a key at most once: its rows are joined by it."""
    compared = {field.id for field in comparison.compared}
    numbers = range(len(comparison.fields))
    sides = []
    for sign, side in ((-1, "g"), (1, "a")):
        rows = _rows([part for part in parts if part.sign == sign], comparison.fields)
        named = ", ".join(f"c{n} {side}{n}" for n in numbers)
        # All columns of a row may be NULL, so one of our own says whether there is a row.
        sides.append(f"(select true {side}_is, {named} from ({rows}))")
    pairs = zip(_key(comparison, "g"), _key(comparison, "a"), strict=True)
    same_key = " and ".join(f"{old} <=> {new}" for old, new in pairs)
    differ = " or ".join(
        differs(f"g{n}", f"a{n}", field.type)
        for n, field in enumerate(comparison.fields)
        # Rows that were joined are equal in their key.
        if field.id in compared and field not in comparison.key
    )
    columns = ", ".join(f"g{n}, a{n}" for n in numbers)
    return (
        "select case when g_is is null then 'added' when a_is is null then 'removed' "
        f"else 'modified' end diff_type, {columns} from {sides[0]} gone "
        f"full outer join {sides[1]} come on {same_key} "
        f"where g_is is null or a_is is null or {differ or 'false'}"
    )


def _rows(parts: Sequence[SignedPart], fields: Sequence[Field], *, signed: bool = False) -> str:
    """Return the query for all rows of some parts, with their sign or without it."""
    sign = f"1 {_SIGN}, " if signed else ""
    texts = [
        f"select {f'{part.sign} {_SIGN}, ' if signed else ''}* from ({part.text})"
        for part in parts
    ]
    nulls = [f"cast(null as {sql_type(field.type)}) c{n}" for n, field in enumerate(fields)]
    # A side without files has the same columns, so that the query around it stays valid.
    nothing = f"select {sign}{', '.join(nulls)} {where_clause('false')}"
    return " union all ".join(texts) or nothing


def _key(comparison: VersionComparison, side: str) -> list[str]:
    """Return SQL of the canonical values of the key."""
    return [
        canonical(f"{side}{n}", field.type)
        for n, field in enumerate(comparison.fields)
        if field in comparison.key
    ]


def _same(fields: Sequence[Field]) -> list[tuple[str, str]]:
    return [(quoted(field.id), field.type) for field in fields]


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
        shape: The shape. `signed` has equal rows once, and `wide` has both sides of an update in
            one row, so neither can always be scanned.
        shown: Lower-case names of the only columns of the shape that are read; None for all.
    """
    versions = [side for side in (before, after) if side is not None]
    unique = is_unique(before, after, comparison)
    if not _have_same_columns(versions, comparison) or (shape == "signed" and not unique):
        return None
    # Decision 29: an update says which rows it replaced, so its files can be scanned.
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
    # To the manifests an updated row is a removed one and an added one.
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
    # Decision 29: to have both sides in a row takes a join, which costs as much as a comparison.
    if len(sides) > 1:
        return None
    # Only `diff_type` is read. One side has every update once.
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
        tombstones = tombstones_of(item for item in holes if item.block in change.blocks)
        entries = (*delta.removed, *delta.added)
        mount = files_mount(change.blocks, fields, tombstones, entries)
        yield session.mount_physical(mount), None
    for relation, condition in image_relations(session, change.images, fields):
        # If every row of the file counts, a condition on the paths would only cost.
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
        # `L` for bigint, the type that it has where rows are compared.
        yield f"{_COUNTS[kind]}L diff_count"
    else:
        yield f"{literal(kind)} `_change_type`"
    for field, value in zip(fields, values, strict=True):
        yield f"{value} {quoted(field.name)}"


def _null(field: Field) -> str:
    return f"cast(null as {sql_type(field.type)})"


def _ids(fields: Sequence[Field]) -> list[str]:
    return [field.id for field in fields]
