"""What a notebook shows of a branch, a table and a diff."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.commands.branch import protect_branch
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.store.objects import object_path
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.visible_text import visible
from tests.unit.commands.test_review_page import HOSTILE, Page
from tests.unit.iceberg.lake import Lake

ALLOWED = {"div", "p", "b", "bdi", "table", "thead", "tbody", "tr", "th", "td", "br", "small"}
ALLOWED |= {"i", "mark"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "w")


@pytest.fixture
def client(lake: Lake, tmp_path: Path) -> Iterator[Client]:
    with connect(str(tmp_path / "w"), schema="s") as client:
        yield client


def html(shown: Any) -> str:
    made: str = shown._repr_html_()
    page = Page(made)
    assert {name for name, _ in page.elements} <= ALLOWED
    names = {name for _, attributes in page.elements for name in attributes}
    assert names <= {"class", "scope", "style"}, "nothing loads, links or runs"
    assert {letter for letter in made if not letter.isprintable()} <= {"\n", "\t"}
    return made


def texts(shown: Any) -> list[str]:
    return [text for text in Page(html(shown)).texts if text.strip()]


def people(client: Client, **columns: list[Any]) -> None:
    client.sql("create table s.people (id bigint, name string) tblproperties('primary_key'='id')")
    client.write("people", pa.table(columns))


def test_a_table_shows_its_columns_its_version_and_its_first_rows(client: Client) -> None:
    people(client, id=list(range(12)), name=[f"n{n}" for n in range(11)] + [None])
    table = client.table("people")
    found = texts(table)
    assert found[:6] == [
        "s.people",
        f"Version {table.version[:12]}, 12 rows, primary key: id.",
        *("id", "bigint", "name", "string"),
    ]
    assert found[6:-1] == [text for n in range(10) for text in (str(n), f"n{n}")]
    assert found[-1] == "The first 10 of 12 rows."
    assert "<i>NULL</i>" in html(table.scan(filter="id = 11"))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_value_is_text_wherever_a_notebook_shows_it(client: Client, text: str) -> None:
    value = text.encode("utf-8", "replace").decode()
    people(client, id=[1, 2], name=[value, "x"])
    with client.create("work") as work:
        newer = pa.table({"id": [1, 2], "name": ["y", value]})
        work.write("people", newer, "merge", on=["id"], message=f"Write {value}")
        shown = visible(value, 200)
        assert shown in "".join(texts(work.table("people")))
        assert shown in "".join(texts(work.diff("main", "s.people")))
        assert "UTC: Write" in texts(work)[1]


def test_odd_names_are_shown_and_open_as_they_are_listed(client: Client) -> None:
    columns = ("a b", "select", "a.b", 'q"uote`d', "<b>x</b>", "u\u202ecod.exe", "größe", "$x$")
    rows = pa.table({name: ["v"] for name in columns})
    for name in ("1st", "select", "_", "123", "p"):
        client.write(f"`{name}`", rows)
    listed = client.tables()
    assert [item.name for item in listed] == ["s.123", "s.1st", "s._", "s.p", "s.select"]
    for item in listed:
        found = texts(client.table(item.name))
        assert found[0] == item.name
        assert found[2:18:2] == [visible(name) for name in columns]
        assert client.table(item.name).count() == item.rows == 1
    assert texts(client)[-3:] == ["s.select", "table", "1"]
    # Else a notebook typesets what is between dollar signs.
    assert 'class="tex2jax_ignore mathjax_ignore"' in html(client.table("p"))


def test_a_long_text_is_cut_and_its_length_said(client: Client) -> None:
    people(client, id=[1, 2], name=["x" * 10_000_000, "y"])
    made = html(client.table("people"))
    assert len(made) < 3_000
    assert "(10,000,000 characters)" in made
    with client.create("work") as work:
        newer = pa.table({"id": [1], "name": ["z" * 10_000_000]})
        work.write("people", newer, "merge", on=["id"])
        made = html(work.diff("main", "s.people"))
    assert len(made) < 4_000
    assert made.count("(10,000,000 characters)") == 2


def test_only_the_first_rows_are_read(
    lake: Lake, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.run("create table s.t (id bigint)")
    for part in range(40):
        lake.add("t", [(part * 100 + n,) for n in range(100)])
    lake.delete("t", *((0, n) for n in range(95)))
    opened: list[str] = []
    batches = Files.batches

    def counted(self: Files, block: Any, *args: Any, **more: Any) -> Any:
        opened.append(block.path)
        return batches(self, block, *args, **more)

    monkeypatch.setattr(Files, "batches", counted)
    found = texts(client.table("t"))
    assert found[4:14] == [str(n) for n in range(95, 105)]
    assert len(opened) == 2
    opened.clear()
    found = texts(client.table("t").scan(filter="id in (7, 3998)"))
    assert "3998" in found, "bounds rule the files between out"
    opened.clear()
    # No bound rules a file out, and no row passes.
    lake.run("create table s.texts (name string)")
    for _ in range(40):
        lake.add("texts", [("a",), ("z",)])
    found = texts(client.table("texts").scan(filter="name = 'm'"))
    assert found[-1].startswith("Only the beginning was read: at most 20,000 rows in 20 files.")
    assert len(opened) <= 21


def test_many_columns_are_cut_and_counted(client: Client) -> None:
    client.write("wide", pa.table({f"c{n}": [n] for n in range(100)}))
    found = texts(client.table("wide"))
    assert "c39" in found
    assert "c40" not in found
    assert "60 more columns are not shown." in found


def test_columns_that_only_spark_reads_say_so(lake: Lake, client: Client) -> None:
    lake.run("create table s.t (id bigint, v variant)")
    snapshot = lake.snapshot("t")
    assert [field.type for field in snapshot.schema.fields] == ["bigint", "variant"]
    found = texts(client.table("t"))
    assert found[2:] == ["id", "bigint", "v", "variant"]


def test_a_table_whose_files_are_gone_shows_its_columns_and_a_sentence(
    lake: Lake, client: Client
) -> None:
    people(client, id=[1], name=["a"])
    table = client.table("people")
    for block in table.blocks:
        lake.blobs.delete(block.path)
    found = texts(table)
    assert found[2:6] == ["id", "bigint", "name", "string"]
    assert table.blocks[0].path in found[-1]


def test_whatever_fails_is_a_sentence(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    people(client, id=[1], name=["a"])

    def broken(*_: Any, **__: Any) -> Any:
        raise OSError("<b>the disk</b>")

    table, diff = client.table("people"), client.diff("main~1", "s.people")
    monkeypatch.setattr(Files, "batches", broken)
    assert texts(table)[-1] == "It can't be shown: OSError: <b>the disk</b>"
    monkeypatch.setattr(type(diff.rows), "values", broken)
    assert texts(diff)[-1] == "It can't be shown: OSError: <b>the disk</b>"
    monkeypatch.setattr(type(client.repository), "tree", broken)
    assert texts(client)[-1] == "It can't be shown: OSError: <b>the disk</b>"


def test_a_branch_shows_its_place_its_protection_and_its_tables(client: Client) -> None:
    people(client, id=[1, 2], name=["a", "b"])
    with client.create("feature/tax") as work:
        work.write("people", pa.table({"id": [3], "name": ["c"]}), message="One more")
        client.write("rates", pa.table({"code": ["EUR"]}))
        found = texts(work)
        assert found[0] == "feature/tax"
        assert work.log()[0].id[:12] in found[1]
        assert found[1].endswith("UTC: One more")
        assert found[2] == "1 ahead of main, 1 behind."
        assert found[3:] == ["table", "kind", "rows", "s.people", "table", "3"]
        protect_branch(work.repository, "feature/tax", Protection(("tests",)), author="ann")
        assert "Protected: it accepts only promotions on which tests passed." in texts(work)
    assert "The default branch." in texts(client)


def test_views_have_no_rows_and_a_damaged_table_hides_no_other(
    lake: Lake, client: Client, tmp_path: Path
) -> None:
    lake.run("create table s.a (id bigint)")
    lake.view("v", "select 1 as id")
    lake.run("create table s.b (id bigint)")
    lake.add("b", [(1,)])
    lost = client.table("a").version
    lake.blobs.delete(object_path("snapshot", lost))
    with connect(str(tmp_path / "w"), schema="s") as fresh:
        kinds = [(item.name, item.kind, item.rows, item.is_damaged) for item in fresh.tables()]
        assert kinds == [
            ("s.a", "table", None, True),
            ("s.b", "table", 1, False),
            ("s.v", "view", None, False),
        ]
        assert "damaged" in texts(fresh)


def test_an_empty_repository_shows_no_tables(tmp_path: Path) -> None:
    with connect(str(tmp_path / "new"), create=True) as client:
        assert texts(client)[-1] == "No tables."
        assert client.tables() == []
        assert [branch.name for branch in client.branches()] == ["main"]
        assert texts(client.diff("main"))[0] == "main..main"


def test_a_revision_and_a_branch_that_is_gone_say_what_they_are(client: Client) -> None:
    people(client, id=[1], name=["a"])
    old = Client.on(client.repository, "main~1", client._engine, schema="s", author="ann")
    assert "read-only: a revision that is not a branch." in texts(old)[1]
    with client.create("work") as work:
        diff, table = work.diff("main"), work.table("people")
        client.delete("work")
        assert texts(work)[0] == "work"
        assert texts(work)[1].startswith("The branch 'work' was deleted on ")
        assert texts(work)[1].endswith("dbt-vcs branch undelete work.")
        assert len(texts(work)) == 2
        assert texts(table)[-2:] == ["1", "a"], "a version stays what it is"
        assert "equal" in texts(diff)[1]


def test_a_diff_shows_counts_and_marks_what_changed(client: Client) -> None:
    people(client, id=list(range(30)), name=[f"n{n}" for n in range(30)])
    with client.create("work") as work:
        newer = pa.table({"id": list(range(30)), "name": [f"m{n}" for n in range(30)]})
        work.write("people", newer, "merge", on=["id"])
        work.sql("create table s.more (id bigint)")
        whole = work.diff("main")
        assert texts(whole)[1:6] == ["name", "kind", "change", "rows", "definition"]
        assert "+0 -0 ~30" in texts(whole)
        rows = work.diff("main", "s.people")
        made = html(rows)
        assert made.count("update_preimage") == made.count("update_postimage") == 20
        assert "<mark>n19</mark>" in made
        assert "<mark>m19</mark>" in made
        assert "n20" not in made
        assert "The first 40 of 60 rows." in made
        cut = html(work.diff("main", "s.people", limit=1))
        assert cut.count("<mark>") == 0, "the caller's limit cut off the second image"


def test_a_diff_of_tables_that_were_collected_says_so(lake: Lake, client: Client) -> None:
    people(client, id=[1, 2], name=["a", "b"])
    with client.create("work") as work:
        work.write("people", pa.table({"id": [1], "name": ["c"]}), "merge", on=["id"])
        diff = work.diff("main", "s.people")
        for block in work.table("people").blocks:
            lake.blobs.delete(block.path)
        found = texts(diff)
        assert "+0 -0 ~1" in found
