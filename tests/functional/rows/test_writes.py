"""What row changes write: rows in the order of those that change, and nothing if none does."""

import pyarrow as pa
import pytest

from dbt.adapters.vcs.changes.writes import stage_write, tombstone_ranges
from dbt.adapters.vcs.core.errors import (
    StorageError,
    UnsupportedError,
    VcsError,
)
from dbt.adapters.vcs.table.files.block_reader import Files

from .shop import Shop

pytestmark = pytest.mark.spark

ROWS = 300_000


@pytest.fixture(scope="module")
def large(shop: Shop) -> str:
    """A table of two blocks beyond the size of those that are written again."""
    shop.sql(
        f"create table large as select id k, concat('text ', id, ' ', uuid()) v, rand(1) r "
        f"from range(0, {ROWS}, 1, 2)"
    )
    assert [block.bytes > stage_write.MIN_BYTES for block in shop.blocks("large")] == [True, True]
    return "large"


@pytest.fixture
def copy(shop: Shop, large: str) -> str:
    name = f"copy{next(shop.numbers)}"
    shop.sql(f"create table {name} shallow clone {large}")
    return name


def test_an_update_of_a_thousand_rows_writes_a_thousand(shop: Shop, copy: str) -> None:
    before = shop.version(copy)
    known = shop.files()
    assert shop.change(f"update {copy} set v = 'new' where k % {ROWS // 1000} = 7") == 1000
    change = shop.since(before, copy)
    assert (change.removed, change.restored) == ((), ())
    assert sum(block.rows for block in change.added) == 1000
    assert sum(item.rows for item in change.deleted) == 1000
    written = shop.files() - known
    assert len(written) == len(change.added) + 1
    size = sum(shop.repository.blobs.size(path) for path in written)
    assert size < sum(block.bytes for block in shop.blocks("large")) / 50
    assert shop.rows(f"select count(*), count_if(v = 'new'), sum(k) from {copy}") == [
        (ROWS, 1000, ROWS * (ROWS - 1) // 2)
    ]
    assert shop.version(copy).rows == ROWS


def test_tombstones_add_up_until_the_block_is_written_again(shop: Shop, copy: str) -> None:
    paths = {block.path for block in shop.blocks(copy)}
    for step in range(4):
        shop.sql(f"delete from {copy} where k % 10 = {step}")
        kept = paths & {block.path for block in shop.blocks(copy)}
        assert (kept == paths) is (step < 3), step
        assert shop.version(copy).rows == ROWS * (9 - step) // 10
        assert shop.rows(f"select count(*), count(distinct k % 10) from {copy}") == [
            (ROWS * (9 - step) // 10, 9 - step)
        ]
    assert not shop.tombstones(copy)


def test_a_block_that_loses_all_rows_leaves(shop: Shop, copy: str) -> None:
    before, files = shop.version(copy), shop.files()
    shop.sql(f"delete from {copy} where k < {ROWS // 2}")
    change = shop.since(before, copy)
    assert (len(change.removed), change.added, change.deleted) == (1, (), ())
    assert shop.files() == files
    assert shop.rows(f"select count(*), min(k) from {copy}") == [(ROWS // 2, ROWS // 2)]


@pytest.mark.parametrize(("mode", "holed"), [("merge_on_read", True), ("copy_on_write", False)])
def test_the_write_mode_of_a_table(shop: Shop, copy: str, mode: str, holed: bool) -> None:
    shop.sql(f"alter table {copy} set tblproperties ('vcs.write_mode' = '{mode}')")
    shop.sql(f"delete from {copy} where k % 2 = 0")
    assert bool(shop.tombstones(copy)) is holed
    assert shop.rows(f"select count(*), min(k % 2) from {copy}") == [(ROWS // 2, 1)]
    small = shop.make(
        "k int", "select id from range(1, 3, 1, 1)", properties=f"'vcs.write_mode' = '{mode}'"
    )
    shop.sql(f"delete from {small} where k = 1")
    assert bool(shop.tombstones(small)) is holed
    assert shop.rows(small) == [(2,)]


def test_only_rows_whose_values_change_are_written(shop: Shop, copy: str) -> None:
    before, files = shop.version(copy), shop.files()
    assert shop.change(f"update {copy} set r = r + 0 where k < 100") == 100
    assert (shop.version(copy), shop.files()) == (before, files)
    assert shop.change(f"update {copy} set r = if(k = 5, 2, r) where k < 100") == 100
    change = shop.since(before, copy)
    assert [block.rows for block in change.added] == [1]
    assert [item.rows for item in change.deleted] == [1]


def test_nothing_that_matches_is_nothing_new(shop: Shop, copy: str) -> None:
    before, files = shop.version(copy), shop.files()
    assert shop.change(f"delete from {copy} where v = 'nope'") == 0
    assert shop.change(f"update {copy} set v = 'x' where k = -1") == 0
    assert (shop.version(copy), shop.files()) == (before, files)


def test_all_rows_go_without_the_engine(shop: Shop, copy: str) -> None:
    shop.sql(f"delete from {copy} where k = 3")
    files = shop.files()
    assert shop.change(f"delete from {copy}") == ROWS - 1
    assert (shop.rows(copy), shop.blocks(copy), shop.files()) == ([], [], files)


def test_blocks_that_cannot_match_are_not_read(
    shop: Shop, copy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted: list[int] = []
    session = shop._connection.session()
    real = session.mount_located
    monkeypatch.setattr(
        session, "mount_located", lambda mount: mounted.append(len(mount.files)) or real(mount)
    )
    shop.sql(f"update {copy} set v = 'x' where k = 5")
    shop.sql(f"delete from {copy} where k = -5")
    monkeypatch.setattr("dbt.adapters.vcs.sql.merge_into.PROBE_ABOVE", 0)
    source = f"(select cast({ROWS - 1} as int) k union all select null)"
    shop.sql(
        f"merge into {copy} t using {source} s on t.k = s.k "
        "when matched then update set v = 'last' when not matched then insert (v) values ('new')"
    )
    assert mounted == [1, 0, 1]
    assert shop.rows(f"select v, k from {copy} where v in ('x', 'last', 'new')") == [
        ("last", ROWS - 1),
        ("new", None),
        ("x", 5),
    ]
    # What a source like this one gives the second time need not lie where the first one's did.
    everywhere = len(shop.blocks(copy))
    source = f"(select cast({ROWS - 1} + 0 * rand() as int) k)"
    shop.sql(f"merge into {copy} t using {source} s on t.k = s.k when matched then delete")
    assert mounted[3:] == [everywhere] != [1]


def test_a_source_without_keys_reaches_no_block(
    shop: Shop, copy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbt.adapters.vcs.sql.merge_into.PROBE_ABOVE", 0)
    text = f"merge into {copy} t using (select 1 k where false) s on t.k = s.k"
    assert shop.change(f"{text} when matched then delete") == 0
    assert shop.change(f"{text} when not matched by source and t.k < 9 then delete") == 9


def test_both_ways_of_writing_make_the_same_table(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = (
        "k int, v varchar(9), a array<int>, m map<string,int>, s struct<x:int>, f double, "
        "d decimal(10,2), ts timestamp, q date, p string"
    )
    values = (
        "select cast(id as int), 'v', array(1), map('a', 1), named_struct('x', 1), double('NaN'), "
        "1.25, timestamp'2020-01-01 00:00:00', date'2020-01-01', if(id % 2 = 0, 'x/ü', null) "
        "from range(40)"
    )
    statements = [
        "update {t} set v = if(k % 7 = 3, 'w', v), a = if(k % 7 = 3, null, a), f = f, m = m, "
        "p = if(k = 11, 'moved', p), q = if(k = 11, null, q) where k < 20",
        "delete from {t} where k in (1, 2, 30)",
        "merge into {t} t using (select id k from range(35, 45)) s on t.k = s.k when matched then "
        "update set v = 'm' when not matched then insert (k, p) values (s.k, 'new') "
        "when not matched by source and t.k = 5 then delete",
        "merge into {t} t using (values (4), (4) as v(k)) s on t.k = s.k when matched then delete",
    ]
    tables = [
        shop.make(columns, values, by="p", properties=f"'vcs.write_mode' = '{mode}'")
        for mode in ("merge_on_read", "copy_on_write")
        for _ in range(2)
    ]
    for text in statements:
        affected = set()
        for number, name in enumerate(tables):
            with monkeypatch.context() as patch:
                if number == 1:
                    patch.setattr(stage_write, "MAX_STAGED_IN_PROCESS", -1)
                elif number == 3:
                    patch.setattr(stage_write, "MAX_VALUES", -1)
                affected.add(shop.change(text.format(t=name)))
        assert len(affected) == 1, text
    assert len({repr(shop.rows(name)) for name in tables}) == 1
    for one, other in (tables[:2], tables[2:]):
        deleted = [
            sorted(rows for item in shop.tombstones(name) for rows in item.targets.values())
            for name in (one, other)
        ]
        assert deleted[0] == deleted[1]
        assert shop.version(one).rows == shop.version(other).rows


def test_a_frame_is_merged_alike_by_the_engine(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pa.table({"k": [3, 4, 50], "v": ["x", None, "new"]})
    names = [
        shop.make(
            "k bigint, v varchar(9), x double",
            "select id, 'v', double(id) from range(40)",
            properties="'primary_key' = 'k'",
        )
        for _ in range(3)
    ]
    for name, limit in zip(names, (None, "MAX_VALUES", "MAX_ROWS_IN_PROCESS"), strict=True):
        with monkeypatch.context() as patch:
            if limit:
                patch.setattr(stage_write, limit, -1)
            assert shop.write(name, frame, "merge").rows == 3
    assert len({repr(shop.rows(name)) for name in names}) == 1


def test_a_large_change_has_a_tombstone_for_each_range_of_blocks(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = shop.make(
        "k int, v string, p string",
        "select cast(id as int), 'v', if(id % 3 = 0, 'ü/ x', null) from range(0, 40, 1, 4)",
        by="p",
        properties="'vcs.write_mode' = 'merge_on_read'",
    )
    monkeypatch.setattr(stage_write, "MAX_STAGED_IN_PROCESS", -1)
    monkeypatch.setattr(tombstone_ranges, "ROWS", 4)
    holed = {block.path: block.rows for block in shop.blocks(name)}
    assert len(holed) == 8
    assert shop.change(f"update {name} set v = 'w' where k % 2 = 0") == 20
    assert shop.change(f"delete from {name} where k % 4 = 1") == 10
    tombstones = shop.tombstones(name)
    assert sum(tombstone.rows for tombstone in tombstones) == 30
    assert len(tombstones) > 4
    files = Files(shop.repository.blobs)
    for tombstone in tombstones:
        # Nobody else counted these: the files' own rows, by block.
        assert {
            path: len(files.deleted(tombstone.path, path)[0]) for path in tombstone.targets
        } == (tombstone.targets)
        assert files.files_of(tombstone) == tombstone.targets.keys()
    by_write: dict[str, list[tuple[str, str]]] = {}
    for tombstone in tombstones:
        ends = (min(tombstone.targets), max(tombstone.targets))
        by_write.setdefault(tombstone.path.rpartition("/")[0], []).append(ends)
    assert len(by_write) == 2
    for ranges in by_write.values():
        ordered = [end for both in sorted(ranges) for end in both]
        assert ordered == sorted(ordered)
    expected = [(k, "w" if k % 2 == 0 else "v") for k in range(40) if k % 4 != 1]
    assert shop.rows(f"select k, v from {name}") == sorted(expected, key=repr)


def test_files_of_few_rows_are_a_setting_that_row_changes_stand(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = shop.make(
        "k int, v string",
        "select cast(id as int), 'v' from range(0, 40, 1, 2)",
        properties="'vcs.write_mode' = 'merge_on_read'",
    )
    monkeypatch.setattr(stage_write, "MAX_STAGED_IN_PROCESS", -1)
    shop.sql("set spark.sql.files.maxRecordsPerFile = 3")
    try:
        blocks = len(shop.blocks(name))
        assert shop.change(f"update {name} set v = 'w' where k % 4 = 0") == 10
        sizes = [block.rows for block in shop.blocks(name)[blocks:]]
        assert sum(sizes) == 10 and max(sizes) <= 3, sizes
        assert shop.change(f"delete from {name} where k % 4 = 1") == 10
        assert (
            shop.change(
                f"merge into {name} t using (select id k from range(30, 50)) s on t.k = s.k "
                "when matched and t.k % 4 = 2 then delete when matched then update set v = 'm' "
                "when not matched then insert (k, v) values (s.k, 'n')"
            )
            == 3 + 5 + 12
        )
    finally:
        shop.sql("reset spark.sql.files.maxRecordsPerFile")
    expected = {k: "w" if k % 4 == 0 else "v" for k in range(40) if k % 4 != 1}
    for k in range(30, 50):
        if k in expected and k % 4 == 2:
            del expected[k]
        else:
            expected[k] = "m" if k in expected else "n"
    assert shop.rows(f"select k, v from {name} order by k") == sorted(expected.items(), key=repr)
    assert sum(item.rows for item in shop.tombstones(name)) > 20


def test_a_store_that_fails_leaves_nothing_behind(
    shop: Shop, copy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, files = shop.version(copy), shop.files()

    def fail(*_: object, **__: object) -> None:
        raise StorageError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("dbt.adapters.vcs.changes.writes.stage_write.write_tombstone", fail)
        with pytest.raises(StorageError, match="no space left"):
            shop.sql(f"update {copy} set v = 'x' where k = 3")
    assert (shop.version(copy), shop.files()) == (before, files)


def test_who_loses_the_race_changes_what_is_there_then(
    shop: Shop, copy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = shop._workspace.line
    land = line.land

    def late(*arguments: object) -> object:
        monkeypatch.setattr(line, "land", land)
        shop.sql(f"update {copy} set v = concat(v, ' first') where k in (1, 2)")
        return land(*arguments)

    monkeypatch.setattr(line, "land", late)
    assert shop.change(f"update {copy} set v = concat(v, ' second') where k in (2, 3)") == 2
    found = shop.rows(f"select k, substring_index(v, ' ', -2) from {copy} where k in (2)")
    assert found == [(2, "first second")]


def test_a_failed_write_leaves_nothing_behind(shop: Shop, copy: str) -> None:
    before, files = shop.version(copy), shop.files()
    head = shop.repository.branch("main").head
    for text in (
        f"update {copy} set k = 1 / (k - 7) where k < 9 and raise_error('no') is null",
        f"update {copy} set nope = 1",
        f"update {copy} set v = nope",
        f"delete from {copy} where nope",
        f"update {copy} set k = 'x' where k = 1",
    ):
        with pytest.raises(VcsError):
            shop.sql(text)
    assert (shop.version(copy), shop.files()) == (before, files)
    assert shop.repository.branch("main").head == head


def test_what_a_change_read_is_its_lineage(shop: Shop) -> None:
    name, source = shop.make("k int", "values (1)"), shop.make("k int", "values (1)")
    shop.sql(f"delete from {name} where k in (select k from {source})")
    version = shop.version(name)
    assert [item.relation for item in version.origin.inputs] == [f"s.{source}"]
    assert version.operation == "delete"


def test_a_column_of_a_reserved_name(shop: Shop) -> None:
    name = shop.make("k int, __vcs_pos int", "values (1, 2)")
    assert shop.rows(f"select __vcs_pos from {name}") == [(2,)]
    with pytest.raises(UnsupportedError, match="has a column __vcs_pos"):
        shop.sql(f"delete from {name} where k = 1")
    shop.sql(f"alter table {name} rename column __vcs_pos to x")
    shop.sql(f"update {name} set x = x + 1")
    assert shop.rows(name) == [(1, 3)]
