"""Rebuilds that store their difference: the rows are those computed, and no more is stored."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.changes.writes.rebuild import MAX_CHANGED, put_rebuilt
from dbt.adapters.vcs.core.ids import new_table_id
from dbt.adapters.vcs.core.model import Field, Origin, RelationName, Schema, Snapshot
from dbt.adapters.vcs.core.model.snapshot import REBUILD
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.table.compare.located import signed_rows
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_table
from dbt.adapters.vcs.table.manifests import folder_of, put_segments
from dbt.adapters.vcs.workspace.overlay import Overlay
from tests.unit.shelf import Shelf

NAME = RelationName("s", "t")
SCHEMA = Schema.of(
    Field(id="", name=name, type=type_)
    for name, type_ in {
        "id": "int",
        "x": "double",
        "text": "string",
        "pairs": "map<string,int>",
    }.items()
)
ARROW = {
    "id": pa.int32(),
    "x": pa.float64(),
    "text": pa.string(),
    "pairs": pa.map_(pa.string(), pa.int32()),
}
VALUES = st.tuples(
    st.none() | st.sampled_from([0.0, -0.0, 1.5, math.nan]),
    st.none() | st.sampled_from(["", "a", "é"]),
    st.none() | st.dictionaries(st.sampled_from("ab"), st.none() | st.integers(0, 1), max_size=2),
)
ROWS = st.lists(st.tuples(st.integers(0, 3), VALUES), max_size=12)
KEYED = st.dictionaries(st.integers(0, 15), VALUES, max_size=12)

Row = tuple[int, tuple[Any, ...]]


@given(st.lists(ROWS, min_size=2, max_size=4), st.sampled_from(["auto", "merge_on_read"]))
def test_without_a_key(versions: list[list[Row]], mode: str) -> None:
    hold(versions, mode, key=())


@given(st.lists(KEYED, min_size=2, max_size=4), st.sampled_from(["auto", "merge_on_read"]))
def test_with_a_key(versions: list[dict[int, tuple[Any, ...]]], mode: str) -> None:
    hold([list(rows.items()) for rows in versions], mode, key=("id",))


def hold(versions: list[list[Row]], mode: str, key: tuple[str, ...]) -> None:
    shelf = Shelf()
    overlay = shelf.begin()
    overlay.put_table(NAME, written(overlay, versions[0], mode, key, None))
    for number, rows in enumerate(versions[1:]):
        entry, before = overlay.require(NAME), overlay.require_table(NAME)
        scope = shelf.connection.scope("", overlay, Origin())
        version = written(overlay, rows, mode, key, before)
        put_rebuilt(scope, NAME, version, (entry.snapshot, before))
        after = overlay.require_table(NAME)
        wanted, had = (Counter(map(plain, side)) for side in (rows, versions[number]))
        assert Counter(map(plain, read(overlay, after))) == wanted
        if wanted == had and rows:
            assert overlay.require(NAME) == entry
        changed = (wanted - had).total() + (had - wanted).total()
        if mode == "merge_on_read" and 0 < changed < MAX_CHANGED * max(len(rows), before.rows):
            found = delta(before, after, overlay.repository.objects.segments)
            assert found.rows_added + found.rows_removed == changed


def written(
    overlay: Overlay, rows: list[Row], mode: str, key: tuple[str, ...], before: Snapshot | None
) -> Snapshot:
    """Return a version that holds rows, written whole."""
    repository = overlay.repository
    table = before.table if before else new_table_id()
    columns = zip(*((id, *values) for id, values in rows), strict=True) if rows else [[]] * 4
    arrays = [
        pa.array([list(v.items()) if isinstance(v, dict) else v for v in column], type_)
        for column, type_ in zip(columns, ARROW.values(), strict=True)
    ]
    files = write_table(
        repository.blobs,
        pa.table(arrays, names=list(ARROW)),
        folder=folder_of(table),
        schema=SCHEMA,
        max_rows_per_file=5,
    )
    return Snapshot(
        table=table,
        schema=SCHEMA,
        segments=put_segments(
            repository.objects, read_blocks(repository.blobs, files, SCHEMA, ())
        ),
        created_at=repository.clock(),
        operation="rebuild",
        primary_key=key,
        properties={REBUILD: "delta", "vcs.write_mode": mode},
    )


def read(overlay: Overlay, version: Snapshot) -> list[Row]:
    repository = overlay.repository
    whole = delta(None, version, repository.objects.segments)
    table = signed_rows(repository.blobs, whole).read(SCHEMA.fields)
    columns = [table.column(name).to_pylist() for name in ARROW]
    return [(id, tuple(values)) for id, *values in zip(*columns, strict=True)]


def plain(row: Row) -> tuple[Any, ...]:
    """Return a row whose equality in Python is that of tables."""
    id, (x, text, pairs) = row
    x = "NaN" if x is not None and math.isnan(x) else x
    return id, x, text, None if pairs is None else frozenset(dict(pairs).items())
