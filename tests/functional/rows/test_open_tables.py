"""Files that Spark wrote, read by other engines as Spark reads them."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.client.lazy_table import open_table
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.iceberg.metadata_files import place_of
from dbt.adapters.vcs.iceberg.table_metadata import table_metadata
from tests.property.test_iceberg_laws import rows_of
from tests.unit.iceberg.readers import duckdb_connection, duckdb_rows, pyiceberg_rows

from .shop import Shop

pytestmark = pytest.mark.spark

VALUES = """
    select id, cast(id as tinyint) as t, cast(id * 1.5 as decimal(9, 2)) as d,
      cast(id as decimal(38, 4)) as wide, cast(id / 3 as float) as f,
      if(id = 2, double('NaN'), id / 7) as n, concat('k/', id, '=ü') as v,
      cast(concat('a', id) as char(5)) as c, binary(concat('b', id)) as b,
      date'2026-11-20' + cast(id as int) as day,
      timestamp'1883-11-18 12:00:00.123456' + make_interval(0, 0, 0, cast(id as int)) as at,
      cast(timestamp'2300-01-01 00:00:00' as timestamp_ntz) as ntz, id % 2 = 0 as even,
      array(id, null) as l, map(concat('m', id), id) as m, named_struct('x', id, 'Y', 'z') as s
    from range(1, 6)
"""


PARTS = """
    select id, nullif(concat('k/', id % 3, '=ü%'), 'k/0=ü%') as k,
      timestamp'2026-11-20 12:00:00.5' + make_interval(0, 0, 0, cast(id % 2 as int)) as at,
      cast(id % 2 as decimal(9, 2)) / 4 as d, cast('a' as char(3)) as c, double('NaN') as n
    from range(1, 8)
"""


def agree(shop: Shop, table: str) -> None:
    """Check that other engines, and this process, read the rows that Spark reads."""
    rows = shop.sql(f"select * from {table}")
    expected = rows_of(rows)
    repository, relation = shop.repository, RelationName("s", table)
    head = repository.branch("main").head
    assert rows_of(open_table(repository, relation, head).to_arrow()) == expected
    location = table_metadata(repository, head, relation, place=place_of(repository)).location
    assert rows_of(pyiceberg_rows(location)) == expected
    with duckdb_connection() as duck:
        assert rows_of(duckdb_rows(duck, location)) == expected


def test_rows_of_all_types(shop: Shop) -> None:
    shop.sql(f"create table every_type as {VALUES}")
    agree(shop, "every_type")


def test_partitions_of_all_types_and_deleted_rows(shop: Shop) -> None:
    shop.sql(f"create table parted partitioned by (k, at, d, c, n) as {PARTS}")
    agree(shop, "parted")
    shop.sql("delete from parted where id in (2, 5)")
    shop.sql("update parted set id = 70 where id = 7")
    agree(shop, "parted")


def test_columns_that_were_renamed_added_and_widened(shop: Shop) -> None:
    shop.sql("create table moved as select 1 as id, 'a' as v, cast(1.5 as float) as f")
    shop.sql("alter table moved rename column v to w")
    shop.sql("alter table moved alter column id type bigint")
    shop.sql("alter table moved alter column f type double")
    shop.sql("alter table moved add columns (v array<int>)")
    shop.sql("insert into moved values (5000000000, 'b', 2.5, array(1))")
    agree(shop, "moved")
    shop.sql("create table whole shallow clone moved")
    shop.sql("delete from whole where id = 1")
    agree(shop, "whole")
    agree(shop, "moved")
