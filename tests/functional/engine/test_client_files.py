"""Spark on files that another engine wrote into a partitioned table."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

from dbt.adapters.vcs.api import connect
from tests.functional.life.shop import SPARK
from tests.unit.iceberg.lake import Lake
from tests.unit.serve.hand_writer import LINEAGE, VectorWriter
from tests.unit.serve.server_process import serving
from tests.unit.serve.test_adopted_rows import PARTS, partitioned
from tests.unit.serve.test_partition_types import CASES, table_of
from tests.unit.serve.test_view_commits import create
from tests.unit.serve.test_writing import client_of

pytestmark = pytest.mark.spark


def test_spark_reads_and_changes_them_beside_its_own(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    partitioned(lake)
    wanted: dict[int, Any] = {id: name for rows in PARTS.values() for id, name in rows}
    with connect(str(tmp_path / "lake"), spark=SPARK) as client:

        def found(where: str = "true") -> dict[int, Any]:
            read = client.sql(f"select id, name from s.t where {where}")
            assert read.num_rows == len(set(read["id"].to_pylist()))
            return dict(zip(*read.to_pydict().values(), strict=True))

        def check() -> None:
            assert found() == wanted
            assert client.table("s.t").to_arrow().num_rows == len(wanted)
            for name in {"a/b", "null", "new"}:
                part = {id: value for id, value in wanted.items() if value == name}
                assert found(f"name = '{name}'") == part
            assert found("name is null") == {
                id: value for id, value in wanted.items() if value is None
            }

        check()
        client.sql("insert into s.t (id, name) values (6, 'a/b'), (7, 'new')")
        wanted |= {6: "a/b", 7: "new"}
        check()
        client.sql("delete from s.t where id = 2")
        del wanted[2]
        check()
        client.sql("update s.t set name = 'new' where id = 3")
        wanted[3] = "new"
        check()
        client.sql("optimize s.t")
        check()
        client.sql("insert overwrite s.t partition (name = 'a/b') (id) values (8)")
        wanted = {id: name for id, name in wanted.items() if name != "a/b"} | {8: "a/b"}
        check()


def test_spark_reads_views_that_clients_made(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lake.run("create table s.t (id bigint, price decimal(9,2))")
    made = create(client_of(lake), "select id, price * 2 as twice from t where price > 1")
    assert made.status_code == 200, made.text
    with connect(str(tmp_path / "lake"), spark=SPARK) as client:
        client.sql("insert into s.t values (1, 2.50), (2, 0.50), (3, 7)")
        found = client.sql("select id, total from s.v order by id").to_pydict()
        assert found == {"id": [1, 3], "total": [Decimal("5.00"), Decimal("14.00")]}


def test_spark_sees_no_numbers_of_rows_that_clients_put_into_files(tmp_path: Path) -> None:
    writer = VectorWriter(Lake(tmp_path / "lake"))
    base = writer.load()
    numbered = dict.fromkeys(LINEAGE, pa.int64())
    rows = [(1, "a", None, 70, 80), (2, "b", None, 71, None), (3, "c", None, 72, 80)]
    uri = writer.write(base, rows, **numbered)
    assert writer.send(writer.snapshot(base, [uri])).is_success
    base = writer.load()
    assert writer.send(writer.snapshot(base, [uri], (writer.delete(base, {uri: [2]}),))).is_success
    with connect(str(tmp_path / "lake"), spark=SPARK) as client:

        def found(columns: str = "*") -> list[tuple[Any, ...]]:
            read = client.sql(f"select {columns} from s.t order by id")
            return list(zip(*read.to_pydict().values(), strict=True))

        assert found() == [(1, "a", None), (2, "b", None)]
        client.sql("alter table s.t add columns (_row_id bigint)")
        assert found("id, _row_id") == [(1, None), (2, None)]
        client.sql("update s.t set _row_id = 5 where id = 2")
        client.sql("optimize s.t")
        assert found("id, name, _row_id") == [(1, "a", None), (2, "b", 5)]


@pytest.mark.parametrize("name", CASES)
def test_spark_writes_into_the_partitions_that_clients_made(tmp_path: Path, name: str) -> None:
    iceberg, arrow, values = CASES[name]
    lake = Lake(tmp_path / "lake")
    rows = pa.table({"id": pa.array(range(len(values))), "part": pa.array(values, arrow)})
    with serving(tmp_path / "lake") as server:
        table_of(RestCatalog("vcs", uri=server.url, warehouse="main"), iceberg).append(rows)
    with connect(str(tmp_path / "lake"), spark=SPARK) as client:
        for at, value in enumerate(values[:-1]):
            text = str(value).replace("+00:00", "")
            where = f"part = cast('{text}' as {name})"
            assert client.sql(f"select id from s.t where {where}")["id"].to_pylist() == [at]
        client.sql(f"insert into s.t select id + 100, part from s.t where id <> {len(values) - 1}")
        assert sorted(lake.rows("t"))[: len(values)] == list(enumerate(values))
        texts = {block.partition["part"] for block in lake.blocks("t")}
        assert len(texts) == len(values)
        client.sql("optimize s.t")
        assert len(lake.blocks("t")) == len(values)
        assert lake.snapshot("t").rows == 2 * len(values) - 1
        client.sql("delete from s.t where id >= 100")
        assert sorted(lake.rows("t")) == list(enumerate(values))
