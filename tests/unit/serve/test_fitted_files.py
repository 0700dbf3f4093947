"""Files of clients that are written again: renamed columns, and texts of a limited length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.client.lazy_table import open_table
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.store.objects import Condemned
from tests.unit.iceberg.lake import Lake

from .hand_writer import Writer
from .test_writing import head, refusal


def rows(writer: Writer) -> list[dict[str, Any]]:
    """Return the rows of the table as this package reads it."""
    lazy = open_table(writer.lake.repository, RelationName("s", "t"), head(writer.lake), None)
    found = lazy.to_arrow().drop_columns(["day"]).to_pylist()
    return sorted(found, key=lambda row: int(row["id"]))


@pytest.fixture
def renamed(tmp_path: Path) -> Writer:
    """A table whose column `name` is called `who` by now, and whose `name` is another column."""
    writer = Writer(Lake(tmp_path / "lake"))
    base = writer.load()
    assert writer.send(writer.snapshot(base, [writer.write(base, [(1, "a")])])).is_success
    writer.lake.run("alter table s.t rename column name to who")
    writer.lake.run("alter table s.t add columns (name string)")
    fields = writer.load()["schemas"][-1]["fields"]
    assert [field["name"] for field in fields] == ["id", "who", "day", "name"]
    writer.ids = {"who": "name", "name": "name__2"}
    return writer


NAMED: dict[str, Any] = {"name": pa.string(), "who": pa.string()}


def test_a_file_with_the_new_names_of_columns_is_read_by_them(renamed: Writer) -> None:
    base = renamed.load()
    old = files(renamed)
    new = renamed.write(base, [(2, "y", None, "b"), (3, "z", None, "c")], **NAMED)
    request = renamed.snapshot(base, [*old, new], (renamed.delete(base, {new: [1]}),))
    for _ in range(2):
        assert renamed.send(request).is_success, renamed.send(request).text
        assert rows(renamed) == [
            {"id": 1, "who": "a", "name": None},
            {"id": 2, "who": "b", "name": "y"},
        ]
        assert len(files(renamed)) == 2
    base = renamed.load()
    more = renamed.write(base, [(9, None, None, "i")], **NAMED)
    everything = renamed.snapshot(
        base, [*files(renamed), more], tuple(renamed.shown_deletes(base))
    )
    assert renamed.send(everything).is_success
    assert [row["id"] for row in rows(renamed)] == [1, 2, 9]


def test_a_file_with_the_number_of_another_column_is_refused(renamed: Writer) -> None:
    base, before = renamed.load(), head(renamed.lake)
    renamed.ids = {"who": "nobody", "name": "name__2"}
    new = renamed.write(base, [(2, "y", None, "b")], **NAMED)
    status, _, message = refusal(renamed.send(renamed.snapshot(base, [*files(renamed), new])))
    assert (status, "has the field id" in message) == (400, True)
    assert head(renamed.lake) == before


@pytest.mark.parametrize("end", ["", "-fitted.parquet"])
def test_a_file_that_a_collection_has_let_go_of_is_not_taken(renamed: Writer, end: str) -> None:
    """The request to delete it may arrive after the commit."""
    base, before, blobs = renamed.load(), head(renamed.lake), renamed.lake.repository.blobs
    new = renamed.write(base, [(2, "y", None, "b")], **NAMED)
    (path,) = (info.path for info in blobs.walk("data") if new.endswith(info.path))
    Condemned(blobs).condemn([f"{path}{end}"], renamed.lake.repository.clock())
    status, _, message = refusal(renamed.send(renamed.snapshot(base, [*files(renamed), new])))
    assert (status, "Write the rows to another file" in message) == (400, True)
    assert head(renamed.lake) == before


@pytest.fixture
def limited(tmp_path: Path) -> Writer:
    """A table with texts of three characters, and of three at most."""
    writer = Writer(Lake(tmp_path / "lake"))
    writer.lake.run("alter table s.t add columns (c char(3), v varchar(3))")
    return writer


TEXTS: dict[str, Any] = {"c": pa.string(), "v": pa.string()}


def test_texts_are_padded_and_cut_as_statements_do(limited: Writer) -> None:
    base = limited.load()
    found = [
        (1, "a", None, "x", "y"),
        (2, "b", None, "xyz  ", "yy   "),
        (3, "c", None, None, None),
    ]
    request = limited.snapshot(base, [limited.write(base, found, **TEXTS)])
    for _ in range(2):
        assert limited.send(request).is_success
        assert [(row["c"], row["v"]) for row in rows(limited)] == [
            ("x  ", "y"),
            ("xyz", "yy "),
            (None, None),
        ]


@pytest.mark.parametrize("texts", [("abcd", None), (None, "abcd")])
def test_a_text_that_is_too_long_is_refused(
    limited: Writer, texts: tuple[str | None, str | None]
) -> None:
    base, before = limited.load(), head(limited.lake)
    new = limited.write(base, [(1, "a", None, *texts)], **TEXTS)
    status, _, message = refusal(limited.send(limited.snapshot(base, [new])))
    assert (status, "has 4 characters" in message) == (400, True)
    assert head(limited.lake) == before


def files(writer: Writer) -> list[str]:
    """Return the URIs of the table's data files, as clients are shown them."""
    base = writer.load()
    listing = next(
        item["manifest-list"]
        for item in base["snapshots"]
        if item["snapshot-id"] == base["current-snapshot-id"]
    )
    return [
        entry["data_file"]["file_path"]
        for item in writer.records(listing)
        if item["content"] == 0
        for entry in writer.records(item["manifest_path"])
        if entry["status"] != 2
    ]
