"""Tables sorted by columns within each write, so that blocks have narrow ranges."""

from __future__ import annotations

import itertools

import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.plan import compaction

from .models import config, incremental

pytestmark = pytest.mark.spark

MIXED = "select id, cast((id * 7919) % 10007 as int) as k, id % 3 as day from range(20000)"


@pytest.fixture(scope="module")
def shop(make_project):
    spark = {
        "spark.sql.shuffle.partitions": 4,
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.master": "local[2]",
    }
    project = make_project(
        {
            "models/sorted.sql": config(materialized="table", cluster_by="k") + MIXED,
            "models/both.sql": config(
                materialized="table", cluster_by=["k", "id"], partition_by="day"
            )
            + MIXED,
            "models/grown.sql": incremental("append", MIXED, MIXED, cluster_by=["k"]),
            "models/tidy.sql": incremental(
                "append", MIXED, MIXED, cluster_by="k", auto_optimize=True
            ),
            "seeds/few.csv": "id,k\n1,3\n2,1\n3,2\n",
        },
        output={"spark_config": spark},
        config={"seeds": {"cluster_by": "k"}},
    )
    project.dbt("build")
    return project


def ranges(blocks, column):
    return sorted((block.stats[column].min, block.stats[column].max) for block in blocks)


def are_apart(found):
    return all(one[1] <= other[0] for one, other in itertools.pairwise(found))


def test_blocks_have_ranges_of_their_own(shop):
    blocks = shop.blocks("sorted")
    assert shop.snapshot("sorted").cluster_by == ("k",)
    found = ranges(blocks, "k")
    assert len(found) == 4
    assert are_apart(found)
    assert sum(block.rows for block in blocks) == 20000


def test_within_partitions_too(shop):
    blocks = shop.blocks("both")
    assert shop.snapshot("both").cluster_by == ("k", "id")
    for day in ("0", "1", "2"):
        found = ranges([block for block in blocks if block.partition["day"] == day], "k")
        assert are_apart(found)
    assert len(blocks) < 8, "a task's rows are of few partitions"
    for block in blocks:
        values = pq.read_table(shop.root / block.path, columns=["k"], partitioning=None)["k"]
        assert values.to_pylist() == sorted(values.to_pylist())


def test_each_insert_is_sorted_by_itself(shop):
    shop.dbt("run", "--select", "grown")
    blocks = shop.blocks("grown")
    for half in (blocks[:4], blocks[4:]):
        found = ranges(half, "k")
        assert len(found) == 4
        assert are_apart(found)


def test_a_run_says_what_to_compact_or_does_it(shop, monkeypatch):
    monkeypatch.setattr(compaction, "DUE_BLOCKS", 1)
    ran = shop.dbt("run", "--select", "grown", "tidy")
    assert "slow to read: analytics.grown. Compact them" in ran.said
    assert len(shop.blocks("grown")) > 4
    (block,) = shop.blocks("tidy")
    assert block.rows == 40000
    assert shop.snapshot("tidy").properties["vcs.auto_optimize"] == "true"
    values = pq.read_table(shop.root / block.path, columns=["k"], partitioning=None)["k"]
    assert values.to_pylist() == sorted(values.to_pylist())


def test_seeds_are_sorted(shop):
    assert shop.sql("select id from few").column(0).to_pylist() == [2, 3, 1]


def test_partition_columns_are_named_like_others(shop):
    shop.sql("create table p (day int, id int, note string) partitioned by (day)")
    shop.sql("insert into p (day, id) values (1, 1), (2, 2)")
    shop.sql("insert into p values (3, 'c', 1)")
    shop.sql("insert overwrite p (id, day, note) select id + 10, day, note from p where day = 1")
    assert shop.rows("select day, id, note from p") == [(1, 11, None), (1, 13, "c")]


@pytest.mark.parametrize(
    ("columns", "text"),
    [("(nix)", "no column 'nix'"), ("(tags)", "array<int>")],
)
def test_columns_that_can_not_be_clustered_by(shop, columns, text):
    with pytest.raises(InputError, match=text):
        shop.sql(f"create table x cluster by {columns} as select 1 id, array(1) tags")
    shop.sql("create table if not exists y (id int, tags array<int>) cluster by (id)")
    assert shop.snapshot("y").cluster_by == ("id",)
