"""Iceberg's own client changes a branch through a server that runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceNotEmptyError,
    NoSuchTableError,
    RESTError,
    TableAlreadyExistsError,
    ValidationException,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, IntegerType, LongType, NestedField, StringType
from pyiceberg.view.metadata import SQLViewRepresentation, ViewVersion

from dbt.adapters.vcs.client.lazy_table import open_table
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import duckdb_connection
from tests.unit.serve.server_process import ServerProcess, serving

COLUMNS = Schema(
    NestedField(1, "id", IntegerType(), required=True),
    NestedField(2, "name", StringType(), required=False),
    NestedField(3, "day", DateType(), required=False),
    identifier_field_ids=[1],
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(tmp_path_factory.mktemp("writes") / "lake")


@pytest.fixture(scope="module")
def server(lake: Lake) -> Iterator[ServerProcess]:
    with serving(Path(lake.blobs.uri)) as running:
        yield running


@pytest.fixture
def main(server: ServerProcess) -> RestCatalog:
    return RestCatalog("vcs", uri=server.url, warehouse="main")


def test_pyiceberg_creates_renames_and_drops(main: RestCatalog, lake: Lake) -> None:
    spec = PartitionSpec(
        PartitionField(source_id=3, field_id=1000, transform=IdentityTransform(), name="day")
    )
    main.create_namespace("raw", {"comment": "as it came"})
    made = main.create_table("raw.t", COLUMNS, partition_spec=spec, properties={"owner": "ann"})
    assert made.schema().column_names == ["id", "name", "day"]
    assert made.schema().identifier_field_names() == {"id"}
    assert [field.name for field in made.spec().fields] == ["day"]
    assert made.properties["owner"] == "ann"
    assert made.scan().to_arrow().num_rows == 0
    with pytest.raises(TableAlreadyExistsError):
        main.create_table("raw.t", COLUMNS)
    main.rename_table("raw.t", "raw.u")
    with pytest.raises(NoSuchTableError):
        main.load_table("raw.t")
    with pytest.raises(NamespaceNotEmptyError):
        main.drop_namespace("raw")
    main.drop_table("raw.u")
    main.drop_namespace("raw")
    assert ("raw",) not in main.list_namespaces()
    head = lake.repository.branch("main").head
    assert lake.repository.objects.commit(head).message == (
        "PyIceberg drop the schema raw through the catalog"
    )


def test_pyiceberg_creates_a_table_in_a_transaction(main: RestCatalog) -> None:
    with main.create_table_transaction("s.staged", COLUMNS) as transaction:
        transaction.set_properties(a="1")
    made = main.load_table("s.staged")
    assert made.properties["a"] == "1"
    assert made.schema().column_names == ["id", "name", "day"]


def test_pyiceberg_changes_columns_and_properties(main: RestCatalog) -> None:
    table = main.create_table("s.columns", COLUMNS)
    with table.update_schema() as update:
        update.add_column("price", LongType(), doc="EUR")
        update.rename_column("name", "who")
        update.update_column("id", field_type=LongType())
        update.delete_column("day")
        update.move_first("price")
    assert table.schema().column_names == ["price", "id", "who"]
    assert table.schema().find_field("id").field_type == LongType()
    with table.update_schema() as update:
        update.union_by_name(
            pa.schema([pa.field("id", pa.int64(), nullable=False), ("more", pa.string())])
        )
    with table.transaction() as transaction:
        transaction.set_properties(a="1", b="2")
        transaction.remove_properties("b")
    again = main.load_table("s.columns")
    assert again.schema() == table.schema()
    assert again.schema().column_names == ["price", "id", "who", "more"]
    assert again.properties["a"] == "1"
    assert "b" not in again.properties


def test_a_table_that_pyiceberg_made_is_filled_here_and_read_there(
    main: RestCatalog, lake: Lake
) -> None:
    table = main.create_table("s.filled", COLUMNS)
    with table.update_schema() as update:
        update.rename_column("name", "who")
        update.add_column("price", LongType())
    lake.add("filled", [(1, "a", None, 5), (2, None, None, None)])
    read = main.load_table("s.filled").scan().to_arrow().select(["id", "who", "price"])
    assert sorted(map(tuple, zip(*read.to_pydict().values(), strict=True))) == [
        (1, "a", 5),
        (2, None, None),
    ]


def rows(lake: Lake, table: str) -> list[tuple[object, ...]]:
    lazy = open_table(lake.repository, RelationName("s", table), head(lake), None)
    return sorted(map(tuple, zip(*lazy.to_arrow().to_pydict().values(), strict=True)))


def head(lake: Lake) -> CommitId:
    return lake.repository.branch("main").head


def some(table: Table, *ids: int) -> pa.Table:
    columns = table.schema().as_arrow()
    return pa.Table.from_pylist([{"id": id, "name": f"n{id}"} for id in ids], schema=columns)


def test_rows_that_pyiceberg_appends_are_rows_of_the_branch(main: RestCatalog, lake: Lake) -> None:
    table = main.create_table("s.appended", COLUMNS)
    table.append(some(table, 1, 2))
    table.append(some(table, 3))
    assert rows(lake, "appended") == [(1, "n1", None), (2, "n2", None), (3, "n3", None)]
    assert main.load_table("s.appended").scan().to_arrow().num_rows == 3
    assert lake.repository.objects.commit(head(lake)).message == (
        "PyIceberg append to s.appended through the catalog"
    )


def test_rows_of_a_column_that_the_same_commit_adds(main: RestCatalog, lake: Lake) -> None:
    table = main.create_table("s.widened", COLUMNS)
    table.append(some(table, 1))
    with table.transaction() as transaction:
        with transaction.update_schema() as update:
            update.add_column("more", LongType())
        new = pa.schema([*table.schema().as_arrow(), pa.field("more", pa.int64())])
        transaction.append(pa.Table.from_pylist([{"id": 2, "more": 7}], schema=new))
    assert rows(lake, "widened") == [(1, "n1", None, None), (2, None, None, 7)]
    found = main.load_table("s.widened").scan("more = 7").to_arrow()
    assert found.to_pylist() == [{"id": 2, "name": None, "day": None, "more": 7}]


def test_pyiceberg_deletes_and_overwrites_rows(main: RestCatalog, lake: Lake) -> None:
    table = main.create_table("s.overwritten", COLUMNS)
    table.append(some(table, 1, 2, 3))
    table.delete("id = 2")
    assert rows(lake, "overwritten") == [(1, "n1", None), (3, "n3", None)]
    table.overwrite(some(table, 4))
    assert rows(lake, "overwritten") == [(4, "n4", None)]
    assert main.load_table("s.overwritten").scan().to_arrow()["id"].to_pylist() == [4]


def test_two_clients_that_append_at_once_lose_nothing(main: RestCatalog, lake: Lake) -> None:
    one = main.create_table("s.raced", COLUMNS)
    two = main.load_table("s.raced")
    one.append(some(one, 1))
    two.append(some(two, 2))
    assert rows(lake, "raced") == [(1, "n1", None), (2, "n2", None)]


def test_deletions_of_two_clients_in_one_file_are_merged_by_row(
    main: RestCatalog, lake: Lake
) -> None:
    one = main.create_table("s.merged", COLUMNS)
    one.append(some(one, 1, 2, 3))
    two = main.load_table("s.merged")
    one.delete("id = 1")
    # The file that the client writes again is not in the table any more.
    two.delete("id = 3")
    assert rows(lake, "merged") == [(2, "n2", None)]
    assert main.load_table("s.merged").scan().to_arrow()["id"].to_pylist() == [2]


def test_an_overwrite_of_rows_that_others_replaced_is_refused(
    main: RestCatalog, lake: Lake
) -> None:
    one = main.create_table("s.lost", COLUMNS)
    one.append(some(one, 1))
    two = main.load_table("s.lost")
    one.overwrite(some(one, 2))
    before = head(lake)
    # The client takes the refusal as a reason to look, and sees what the others did.
    with pytest.raises((CommitFailedException, ValidationException)):
        two.overwrite(some(two, 3))
    assert head(lake) == before


def test_a_key_that_is_there_already_is_refused(main: RestCatalog, lake: Lake) -> None:
    table = main.create_table("s.keyed", COLUMNS)
    table.append(some(table, 1))
    before = head(lake)
    with pytest.raises(RESTError, match="primary key"):
        table.append(some(table, 1))
    assert head(lake) == before


def test_a_frame_of_pandas_is_appended_to_a_table_with_a_key(
    main: RestCatalog, lake: Lake
) -> None:
    lake.run("create table s.framed (id int not null, name string, primary key (id))")
    lake.add("framed", [(1, "n1")])
    table = main.load_table("s.framed")
    schema = pa.schema([("id", pa.int32()), ("name", pa.string())])
    # As pandas makes it, each column may be NULL.
    frame = pa.Table.from_pandas(pd.DataFrame({"id": [2], "name": ["n2"]}), schema=schema)
    table.append(frame)
    assert rows(lake, "framed") == [(1, "n1"), (2, "n2")]
    before = head(lake)
    empty = pa.Table.from_pydict({"id": [3, None], "name": ["a", "b"]}, schema=schema)
    with pytest.raises(RESTError, match="NULL"):
        table.append(empty)
    with pytest.raises(RESTError, match="primary key"):
        table.append(frame)
    assert head(lake) == before
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.update_column("id", required=True)
        update.set_identifier_fields("id")
    assert main.load_table("s.framed").schema().identifier_field_names() == {"id"}


def test_pyiceberg_writes_partitions(main: RestCatalog, lake: Lake) -> None:
    spec = PartitionSpec(
        PartitionField(source_id=2, field_id=1000, transform=IdentityTransform(), name="name")
    )
    table = main.create_table("s.parts", COLUMNS, partition_spec=spec)
    made = pa.Table.from_pylist(
        [{"id": 1, "name": "a/b"}, {"id": 2, "name": None}, {"id": 3, "name": "c"}],
        schema=table.schema().as_arrow(),
    )
    table.append(made)
    table.delete("name = 'c'")
    table.overwrite(made.slice(0, 1), overwrite_filter="name = 'a/b'")
    wanted = [(1, "a/b"), (2, None)]
    head = lake.repository.branch("main").head
    here = open_table(lake.repository, RelationName("s", "parts"), head, None).to_arrow()
    for found in (here, main.load_table("s.parts").scan().to_arrow()):
        rows = found.select(["id", "name"]).to_pylist()
        assert sorted((row["id"], row["name"]) for row in rows) == wanted
    only = main.load_table("s.parts").scan("name = 'a/b'", selected_fields=("id",)).to_arrow()
    assert only["id"].to_pylist() == [1]


def test_pyiceberg_appends_to_columns_that_it_renamed(main: RestCatalog, lake: Lake) -> None:
    table = main.create_table("s.renamed", COLUMNS)
    table.append(some(table, 1))
    with table.update_schema() as update:
        update.rename_column("name", "who")
    columns = main.load_table("s.renamed").schema().as_arrow()
    added = pa.Table.from_pylist([{"id": 2, "who": "b"}], schema=columns)
    main.load_table("s.renamed").append(added)
    assert rows(lake, "renamed") == [(1, "n1", None), (2, "b", None)]
    shown = main.load_table("s.renamed").scan().to_arrow()
    assert dict(zip(shown["id"].to_pylist(), shown["who"].to_pylist(), strict=True)) == {
        1: "n1",
        2: "b",
    }


def test_duckdb_inserts_updates_and_merges(server: ServerProcess, lake: Lake) -> None:
    def here() -> list[tuple[int, str]]:
        head = lake.repository.branch("main").head
        read = open_table(lake.repository, RelationName("s", "duck"), head, None).to_arrow()
        return sorted((row["id"], row["name"]) for row in read.to_pylist())

    with duckdb_connection("httpfs") as duck:
        duck.execute(
            f"attach 'main' as vcs (type iceberg, endpoint '{server.url}', "
            "authorization_type 'none')"
        )
        duck.execute("create table vcs.s.duck (id bigint, name varchar)")
        duck.execute("insert into vcs.s.duck values (1, 'a'), (2, 'b'), (3, 'c')")
        duck.execute("update vcs.s.duck set name = 'z' where id = 3")
        duck.execute(
            "merge into vcs.s.duck t using (values (1, 'm'), (9, 'n')) s(id, name) "
            "on t.id = s.id when matched then update set name = s.name "
            "when not matched then insert values (s.id, s.name)"
        )
        wanted = [(1, "m"), (2, "b"), (3, "z"), (9, "n")]
        assert duck.execute("select id, name from vcs.s.duck order by id").fetchall() == wanted
    assert here() == wanted


def test_duckdb_deletes_rows_of_a_table_that_it_wrote_nothing_to(
    server: ServerProcess, lake: Lake
) -> None:
    lake.run("create table s.duck_deletes (id bigint, name string)")
    lake.add("duck_deletes", [(1, "a"), (2, "b"), (3, "c")])
    with duckdb_connection("httpfs") as duck:
        duck.execute(
            f"attach 'main' as vcs (type iceberg, endpoint '{server.url}', "
            "authorization_type 'none')"
        )
        duck.execute("delete from vcs.s.duck_deletes where id = 1")
        assert rows(lake, "duck_deletes") == [(2, "b"), (3, "c")]
        duck.execute("delete from vcs.s.duck_deletes where id = 2")
        assert duck.execute("select id from vcs.s.duck_deletes").fetchall() == [(3,)]
    assert rows(lake, "duck_deletes") == [(3, "c")]


def test_pyiceberg_creates_a_view_and_loads_it(main: RestCatalog, lake: Lake) -> None:
    main.create_table("s.viewed", COLUMNS)
    query = SQLViewRepresentation(type="sql", sql="select id from viewed", dialect="spark")
    version = ViewVersion(
        version_id=1,
        schema_id=0,
        timestamp_ms=1,
        summary={},
        representations=[query],
        default_namespace=["s"],
    )
    ids = Schema(NestedField(1, "id", IntegerType(), required=False))
    main.create_view("s.ids", ids, version, properties={"owner": "ann"})
    loaded = main.load_view("s.ids")
    assert loaded.metadata.versions[0].representations[0].root.sql == "select id from `s`.`viewed`"
    assert loaded.metadata.properties["owner"] == "ann"
    assert ("s", "ids") in main.list_views("s")
    main.drop_view("s.ids")
    assert not main.view_exists("s.ids")
