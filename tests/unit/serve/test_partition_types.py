"""Clients write into partitions of every type that has one text for each value."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import BadRequestError
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    IcebergType,
    LongType,
    NestedField,
    TimestampType,
    TimestamptzType,
)

from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.iceberg.client_files import client_blocks
from dbt.adapters.vcs.iceberg.client_manifests import client_folder
from dbt.adapters.vcs.table.files.parquet import parquet_bytes
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import duckdb_connection
from tests.unit.serve.server_process import serving

UTC = timezone.utc
MOMENTS = [
    datetime(1, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(2026, 11, 20),
    datetime(2026, 11, 20, 12, 0, 10, 120_000),
    datetime(9999, 12, 31, 23, 59, 59, 1),
    None,
]
LARGE = Decimal("9" * 28 + "." + "9" * 10)
CASES: dict[str, tuple[IcebergType, pa.DataType, list[Any]]] = {
    "timestamp_ntz": (TimestampType(), pa.timestamp("us"), MOMENTS),
    "timestamp": (
        TimestamptzType(),
        pa.timestamp("us", "UTC"),
        [moment and moment.replace(tzinfo=UTC) for moment in MOMENTS],
    ),
    "decimal(38,10)": (
        DecimalType(38, 10),
        pa.decimal128(38, 10),
        [
            Decimal("0E-10"),
            Decimal("0.0000000001"),
            Decimal("-1.5000000000"),
            LARGE,
            LARGE.copy_negate(),
            None,
        ],
    ),
    "decimal(9,2)": (
        DecimalType(9, 2),
        pa.decimal128(9, 2),
        [Decimal("0.00"), Decimal("-0.01"), Decimal("1234567.80"), None],
    ),
}


def table_of(catalog: RestCatalog, type_: IcebergType) -> Any:
    columns = Schema(NestedField(1, "id", LongType()), NestedField(2, "part", type_))
    by = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "part"))
    return catalog.create_table("s.t", columns, partition_spec=by)


@pytest.mark.parametrize("name", CASES)
def test_a_client_writes_and_every_reader_reads(tmp_path: Path, name: str) -> None:
    iceberg, arrow, values = CASES[name]
    lake = Lake(tmp_path / "lake")
    with serving(Path(lake.blobs.uri)) as server, duckdb_connection("httpfs") as duck:
        catalog = RestCatalog("vcs", uri=server.url, warehouse="main")
        table = table_of(catalog, iceberg)
        rows = [(number, value) for number, value in enumerate([*values, *values])]
        schema = pa.schema([("id", pa.int64()), ("part", arrow)])
        table.append(pa.Table.from_pylist([{"id": n, "part": v} for n, v in rows], schema=schema))
        assert len(lake.blocks("t")) == len(values)
        assert sorted(lake.rows("t")) == rows
        table = catalog.load_table("s.t")
        found = table.scan().to_arrow().to_pylist()
        assert sorted((row["id"], row["part"]) for row in found) == rows
        duck.execute("set TimeZone = 'UTC'")
        where = f"endpoint '{server.url}', authorization_type 'none'"
        duck.execute(f"attach 'main' as vcs (type iceberg, {where})")
        counted = duck.execute("select count(*), count(distinct part) from vcs.s.t").fetchall()
        assert counted == [(len(rows), len(values) - 1)]
        for number, value in enumerate(values[:-1]):
            wanted = [number, number + len(values)]
            shown = value.isoformat() if isinstance(value, datetime) else value
            hits = table.scan(EqualTo("part", shown)).to_arrow()["id"].to_pylist()
            assert sorted(hits) == wanted
            asked = "select id from vcs.s.t where part = ? order by id"
            assert [id for (id,) in duck.execute(asked, [value]).fetchall()] == wanted
        table.delete("id = 0")
        assert sorted(lake.rows("t")) == rows[1:]
        assert check_repository(lake.repository).problems == ()


def test_rows_of_one_value_are_in_one_partition_whoever_wrote_them(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    with serving(Path(lake.blobs.uri)) as server:
        catalog = RestCatalog("vcs", uri=server.url, warehouse="main")
        for name, (iceberg, arrow, values) in CASES.items():
            table = table_of(catalog, iceberg)
            schema = pa.schema([("id", pa.int64()), ("part", arrow)])
            rows = [{"id": n, "part": value} for n, value in enumerate(values)]
            for _ in range(2):
                table.append(pa.Table.from_pylist(rows, schema=schema))
            texts = [block.partition["part"] for block in lake.blocks("t")]
            assert len(set(texts)) == len(values), name
            catalog.drop_table("s.t")


def test_a_partition_by_a_floating_point_number_is_refused(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    with serving(Path(lake.blobs.uri)) as server:
        catalog = RestCatalog("vcs", uri=server.url, warehouse="main")
        table = table_of(catalog, DoubleType())
        with pytest.raises(BadRequestError, match="only Spark knows how values of type double"):
            table.append(pa.table({"id": [1], "part": [0.5]}))


def test_a_year_that_has_no_text_is_refused(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lake.run("create table s.t (id bigint, part timestamp_ntz) partitioned by (part)")
    version = lake.snapshot("t")
    folder = client_folder(version.table, "main")
    path = f"{folder}/a.parquet"
    far = pa.array([400_000_000_000_000_000], pa.int64()).cast(pa.timestamp("us"))
    lake.blobs.create(path, parquet_bytes(pa.table({"id": [1], "part": far}), path))
    with pytest.raises(InputError, match=r"a partition of part that can't be read"):
        client_blocks(lake.repository, version, [path], folder)
