"""Queries on many changed rows: Spark scans files, and finds what plain SQL finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.changes.diffs import difference
from dbt.adapters.vcs.engines.spark.carried_rows import CarriedRows

from .conftest import SPARK, rows_of

pytestmark = pytest.mark.spark

ROWS = 60_000
SCANNED, CARRIED = "scanned", "carried"
COLUMNS = ("id", "name", "price", "tags")
LISTED = ", ".join(COLUMNS)
OTHERS = "select id + 1000000 as id, name, price, tags from t where id < 24000"
OLD, NEW = (
    {
        "changes": f"select {LISTED} from {{diff}} where _change_type in {kinds}",
        "signed": f"select {LISTED} from (select *, explode(sequence(1L, abs(diff_count))) "
        f"from {{diff}}) where diff_count {sign} 0",
        "wide": "select "
        + ", ".join(f"{side}_{name}" for name in COLUMNS)
        + f" from {{diff}} where diff_type <> '{other}'",
    }
    for kinds, sign, side, other in (
        (("delete", "update_preimage"), "<", "from", "added"),
        (("insert", "update_postimage"), ">", "to", "removed"),
    )
)

# What is done to a table, whether it has a key that is enforced, and who then reads what.
CHANGES: dict[str, tuple[str, str | None, dict[str, str]]] = {
    "update": (
        "update t set price = price + 1, name = 'x' where id % 4 = 1",
        "true",
        {"changes": SCANNED, "signed": SCANNED, "wide": SCANNED},
    ),
    "update without a check of the key": (
        "update t set price = price + 1 where id % 4 = 1",
        "false",
        {"changes": CARRIED, "signed": CARRIED, "wide": CARRIED},
    ),
    "update of the key": (
        "update t set id = -id where id % 4 = 1",
        "true",
        {"changes": CARRIED, "signed": CARRIED, "wide": CARRIED},
    ),
    "append": (f"insert into t {OTHERS}", "true", dict.fromkeys(("changes", "signed"), SCANNED)),
    "append without a key": (
        f"insert into t {OTHERS} union all {OTHERS}",
        None,
        {"changes": SCANNED, "signed": CARRIED, "wide": SCANNED},
    ),
    "delete": (
        "delete from t where id % 2 = 0",
        None,
        {"changes": SCANNED, "signed": CARRIED, "wide": SCANNED},
    ),
    "merge": (
        "merge into t using (select id * 2 as id from t) s on t.id = s.id "
        "when matched and t.id % 4 = 0 then update set price = 0 "
        "when not matched then insert (id) values (s.id)",
        "true",
        {"changes": CARRIED, "signed": CARRIED, "wide": CARRIED},
    ),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = tmp_path_factory.mktemp("many")
    with connect(
        str(folder / "warehouse"), schema="shop", create=True, spark=SPARK, author="ann"
    ) as client:
        client.sql("create schema shop")
        yield client


def made(client: Client, change: str, enforced: str | None) -> None:
    properties = "'vcs.write_mode' = 'merge_on_read'"
    if enforced is not None:
        properties += f", 'primary_key' = 'id', 'vcs.enforce_primary_key' = '{enforced}'"
    client.sql(
        f"create or replace table t tblproperties ({properties}) as "
        "select cast(id as int) as id, concat('n', id % 100) as name, "
        "cast(id % 7 as decimal(8,2)) as price, array(id % 3) as tags "
        f"from range({ROWS}) distribute by id % 2"
    )
    client.sql("create or replace table before clone t")
    client.sql(change)


def counted(client: Client, query: str) -> Counter[str]:
    return Counter(map(repr, rows_of(client.sql(query))))


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what reads the rows of each difference."""
    found: list[str] = []
    scan, show = difference.scan_query, CarriedRows.show

    def scanned(*arguments: Any) -> str:
        found.append(SCANNED)
        return scan(*arguments)

    def shown(self: CarriedRows, *arguments: Any, **named: Any) -> None:
        show(self, *arguments, **named)
        if self.files():
            found.append(CARRIED)

    monkeypatch.setattr(difference, "scan_query", scanned)
    monkeypatch.setattr(CarriedRows, "show", shown)
    return found


@pytest.mark.parametrize("change", CHANGES)
def test_many_changes_are_what_except_all_finds(
    shared: Client, change: str, readers: list[str]
) -> None:
    text, enforced, expected = CHANGES[change]
    made(shared, text, enforced)
    gone = counted(shared, "select * from before except all select * from t")
    come = counted(shared, "select * from t except all select * from before")
    assert len(gone) + len(come) > 5_000
    for shape, reader in expected.items():
        readers.clear()
        diff = f"snapshot_diff('before', 't', shape => '{shape}')"
        assert counted(shared, OLD[shape].format(diff=diff)) == gone, shape
        assert counted(shared, NEW[shape].format(diff=diff)) == come, shape
        assert readers == [reader, reader], shape
    # Updates are rows of one key on both sides.
    keys = [{text.partition(",")[0] for text in side} for side in (gone, come)]
    updated = [(0 if enforced is None else len(set.intersection(*keys)),)]
    for shape, condition in (
        ("changes", "_change_type = 'update_preimage'"),
        ("changes", "_change_type = 'update_postimage'"),
        ("wide", "diff_type = 'modified'"),
    ):
        diff = f"snapshot_diff('before', 't', shape => '{shape}')"
        assert rows_of(shared.sql(f"select count(*) from {diff} where {condition}")) == updated


def test_a_query_gets_both_sides_of_an_update(shared: Client, readers: list[str]) -> None:
    made(shared, *CHANGES["update"][:2])
    query = (
        "select count(*), count_if(from_price + 1 = to_price), count_if(from_id = to_id) from {}"
    )
    found = rows_of(shared.sql(query.format("snapshot_diff('before', 't')")))
    assert found == [(ROWS // 4,) * 3]
    assert readers == [CARRIED]
    star = shared.sql("select * from snapshot_diff('before', 't') where from_price = 6")
    assert star.column_names[:3] == ["diff_type", "from_id", "to_id"]
    assert set(star.column("to_price").to_pylist()) == {7}


def test_an_update_of_a_column_that_is_not_compared_changes_nothing(
    shared: Client, readers: list[str]
) -> None:
    made(shared, *CHANGES["update"][:2])
    diff = "snapshot_diff('before', 't', shape => 'changes', columns => 'tags')"
    assert rows_of(shared.sql(f"select count(*) from {diff}")) == [(0,)]
    diff = "snapshot_diff('before', 't', shape => 'changes', columns => 'name, price')"
    assert rows_of(shared.sql(f"select count(*) from {diff}")) == [(ROWS // 2,)]
    assert readers == [SCANNED]


def test_a_view_reads_many_changes(shared: Client, readers: list[str]) -> None:
    made(shared, *CHANGES["update"][:2])
    diff = "snapshot_diff('shop.before', 'shop.t@main', shape => 'changes')"
    shared.sql(f"create or replace view v as select id, name from {diff}")
    wide = "snapshot_diff('shop.before', 'shop.t@main')"
    shared.sql(f"create or replace temporary view w as select from_name, to_name from {wide}")
    assert rows_of(shared.sql("select count(*), count(distinct id) from v")) == [
        (ROWS // 2, ROWS // 4)
    ]
    for _ in range(2):
        shared.sql("select max(from_id), max(to_id) from snapshot_diff('before', 't')")
        found = shared.sql("select count(*), count(to_name) from w where to_name = 'x'")
        assert rows_of(found) == [(ROWS // 4, ROWS // 4)]
    assert readers.count(CARRIED) == 3
    assert SCANNED in readers
