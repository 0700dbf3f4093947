"""The difference of two versions as a query, for an engine: any size, any type.

Signed rows are grouped by value, and what does not cancel is paired by key. The result has the
same rows as `rows.compare.net` computes in process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dbt.adapters.vcs.core.model import Block, Field, Tombstone
from dbt.adapters.vcs.core.model.segment import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.plan.delta import Deletion, Delta
from dbt.adapters.vcs.engines.version_mounts import TableMount, VersionMounts
from dbt.adapters.vcs.rows.compare.comparison import VersionComparison
from dbt.adapters.vcs.rows.equality_sql import canonical
from dbt.adapters.vcs.rows.quoting import quoted, sql_type
from dbt.adapters.vcs.statements.syntax.conditions import where_clause
from dbt.adapters.vcs.statements.syntax.diff_call import DiffShape

_SIGN: Final = "__vcs_sign"


def diff_query(parts: Iterable[str], comparison: VersionComparison, shape: DiffShape) -> str:
    """Return the query for a difference.

    Args:
        parts: Queries for the signed rows, as `delta_parts` gives them.
        comparison: How rows are compared.
        shape: The shape of the result; columns as in `row_diff.TableDiff`.
    """
    names = [field.name for field in comparison.fields]
    ctes = [
        f"signed as ({' union all '.join(parts) or _nothing(comparison.fields)})",
        f"net as ({_net(comparison)})",
    ]
    if shape == "signed":
        columns = [f"row.{_column(n)} {quoted(name)}" for n, name in enumerate(names)]
        return f"with {', '.join(ctes)} select {', '.join(['diff_count', *columns])} from net"
    ctes.append(f"changes as ({_changes(comparison)})")
    if shape == "wide":
        columns = [
            f"{side}.{_column(n)} {quoted(f'{prefix}_{name}')}"
            for n, name in enumerate(names)
            for side, prefix in (("gone", "from"), ("come", "to"))
        ]
        return f"with {', '.join(ctes)} select {', '.join(['diff_type', *columns])} from changes"
    ctes.append(
        "images as (select inline(filter(array("
        "struct(if(come is null, 'delete', 'update_preimage') as kind, gone as row), "
        "struct(if(gone is null, 'insert', 'update_postimage') as kind, come as row)), "
        "image -> image.row is not null)) from changes)"
    )
    columns = [f"row.{_column(n)} {quoted(name)}" for n, name in enumerate(names)]
    listed = ", ".join(["kind `_change_type`", *columns])
    return f"with {', '.join(ctes)} select {listed} from images"


def delta_parts(
    session: VersionMounts, delta: Delta, comparison: VersionComparison
) -> Iterator[str]:
    """Yield queries for the signed rows of a delta, over its own files only.

    Rows of a block that the same side deletes are left out, as in `core.plan.pieces`. An image has
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
            stones = tombstones_of(item for item in holes if item.block in paths)
            mount = files_mount(paths, fields, stones, (*delta.removed, *delta.added))
            yield signed_part(session.mount_physical(mount), sign, _same(fields))
        kept = [item for item in images if item.block not in whole]
        yield from read(session, kept, sign, fields)


def signed_part(
    relation: str, sign: int, columns: Sequence[tuple[str, str]], where: str | None = None
) -> str:
    """Return a query for rows that are added (1) or removed (-1).

    Args:
        relation: The relation with the rows, quoted.
        sign: 1 or -1.
        columns: For each column compared or shown its SQL and its type.
        where: The condition on the rows, or None for all.
    """
    listed = [f"{sql} {_column(n)}" for n, (sql, _) in enumerate(columns)]
    query = f"select {sign} {_SIGN}, {', '.join(listed)} from {relation}"
    return query if where is None else f"{query} {where_clause(where)}"


def image_relations(
    session: VersionMounts, images: Iterable[Deletion], fields: Sequence[Field]
) -> Iterator[tuple[str, str]]:
    """Yield the quoted relations that hold deleted rows, with the condition to select them.

    The relations have `__vcs_file`, `__vcs_pos` and the fields by id.
    """
    for stones, blocks in _by_depth(images):
        yield session.mount_deleted(stones, blocks, fields)


def _image_parts(
    session: VersionMounts, images: Sequence[Deletion], sign: int, fields: Sequence[Field]
) -> Iterator[str]:
    for relation, wanted in image_relations(session, images, fields):
        yield signed_part(relation, sign, _same(fields), wanted)


def _row_parts(
    session: VersionMounts, images: Sequence[Deletion], sign: int, fields: Sequence[Field]
) -> Iterator[str]:
    """Yield queries that read the rows of images from their original blocks."""
    for stones, blocks in _by_depth(images):
        rows = session.mount_located(files_mount(blocks, fields))
        places, listed = session.mount_deleted(stones, blocks)
        gone = f"select {FILE_COLUMN}, {POSITION_COLUMN} from {places} {where_clause(listed)}"
        yield signed_part(
            f"{rows} kept left semi join ({gone}) gone on "
            f"kept.{FILE_COLUMN} = gone.{FILE_COLUMN} "
            f"and kept.{POSITION_COLUMN} = gone.{POSITION_COLUMN}",
            sign,
            _same(fields),
        )


def _by_depth(images: Iterable[Deletion]) -> Iterator[tuple[tuple[Tombstone, ...], set[str]]]:
    """Yield the tombstones of images, and the blocks that they belong to.

    Files of one depth are read as one table, so that Spark reports each row's file.
    """
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
        known[item.path] = (item.stone.bytes, item.stone.footer) if item.stone else (0, "")
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
    holes = sorted((stone.path, sorted(stone.targets.items())) for stone in tombstones)
    told = repr((files, [(field.id, field.type) for field in fields], holes))
    return TableMount(
        id=f"d_{hashlib.sha256(told.encode()).hexdigest()[:32]}",
        folder=files[0].rpartition("/")[0],
        files=files,
        fields=tuple(fields),
        tombstones=tuple(tombstones),
        entries=tuple(entry for entry in entries if entry.path in known),
    )


def _net(comparison: VersionComparison) -> str:
    """Return the query for `diff_count` (never 0) and `row`, a struct: each distinct row once."""
    compared = {field.id for field in comparison.compared}
    keys: list[str] = []
    shown: list[str] = []
    for n, field in enumerate(comparison.fields):
        column = _column(n)
        if field.id not in compared:
            shown.append(f"any_value({column}) {column}")
            continue
        spelled = canonical(column, field.type)
        keys.append(spelled)
        shown.append(column if spelled == column else f"any_value({column}) {column}")
    names = ", ".join(_column(n) for n in range(len(comparison.fields)))
    group = f" group by {', '.join(keys)}" if keys else ""
    return (
        f"select diff_count, struct({names}) row from (select sum({_SIGN}) diff_count, "
        f"{', '.join(shown)} from signed{group} having sum({_SIGN}) <> 0)"
    )


def _changes(comparison: VersionComparison) -> str:
    """Return the query for `diff_type`, `gone`, `come` (structs or NULL): one row per change."""
    key = {field.id for field in comparison.key}
    keys = [
        canonical(f"row.{_column(n)}", field.type)
        for n, field in enumerate(comparison.fields)
        if field.id in key
    ]
    removed = "struct('removed' as diff_type, item.row as gone, if(true, null, item.row) as come)"
    added = "struct('added' as diff_type, if(true, null, item.row) as gone, item.row as come)"
    each = (
        f"flatten(transform(items, item -> if(item.n < 0, "
        f"array_repeat({removed}, cast(-item.n as int)), "
        f"array_repeat({added}, cast(item.n as int)))))"
    )
    if not keys:
        return (
            f"select inline({each}) from "
            "(select array(struct(diff_count as n, row)) items from net)"
        )
    modified = (
        "array(struct('modified' as diff_type, "
        "filter(items, item -> item.n < 0)[0].row as gone, "
        "filter(items, item -> item.n > 0)[0].row as come))"
    )
    is_pair = (
        "size(items) = 2 and forall(items, item -> abs(item.n) = 1) "
        "and items[0].n + items[1].n = 0"
    )
    return (
        f"select inline(if({is_pair}, {modified}, {each})) from "
        f"(select collect_list(struct(diff_count as n, row)) items from net "
        f"group by {', '.join(keys)})"
    )


def _same(fields: Sequence[Field]) -> list[tuple[str, str]]:
    return [(quoted(field.id), field.type) for field in fields]


def _column(number: int) -> str:
    return f"c{number}"


def _nothing(fields: Sequence[Field]) -> str:
    nulls = (f"cast(null as {sql_type(field.type)})" for field in fields)
    columns = [f"{null} {_column(n)}" for n, null in enumerate(nulls)]
    return f"select 1 {_SIGN}, {', '.join(columns)} {where_clause('false')}"
