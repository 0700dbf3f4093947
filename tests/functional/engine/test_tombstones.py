"""Versions whose rows are deleted in part."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from dbt.adapters.vcs.core.errors import DamagedError, EngineError
from dbt.adapters.vcs.core.model import Field, RelationName, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.engines.dataframes import deletions, mounting
from dbt.adapters.vcs.engines.port import Destination, TableMount, Written
from dbt.adapters.vcs.engines.spark import catalog_relations
from dbt.adapters.vcs.engines.spark.adopted import ListedRelations
from dbt.adapters.vcs.engines.spark.catalog_relations import CatalogRelations
from dbt.adapters.vcs.table import row_numbers
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.footers import read_blocks
from dbt.adapters.vcs.table.files.parquet import write_rows, write_tombstone

from .bench import Bench, schema_of

pytestmark = pytest.mark.spark
ALL_ENGINES = True


@pytest.fixture(autouse=True, params=["marked", "numbered", "written", "read"])
def places_of_deleted_rows(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, method: str
) -> str:
    """Mark the deleted rows in a bitmap, write them into the queries, or have Spark read them.

    Spark joins on a row's number, or on its file and position.
    """
    if request.param in ("marked", "numbered") and method == "connect":
        pytest.skip("a server asks the store for the times of files, so they can't be set")
    if request.param != "marked":
        monkeypatch.setattr(deletions, "_MAX_MARKED", -1)
    if request.param in ("numbered", "read"):
        monkeypatch.setattr(deletions, "_MAX_WRITTEN", -1)
    if request.param in ("written", "read"):
        for relations in (CatalogRelations, ListedRelations):
            monkeypatch.setattr(relations, "first_number", lambda self, layout, files: None)
    return str(request.param)


def tombstone(bench: Bench, deleted: Mapping[str, Iterable[int]]) -> Tombstone:
    places = [(file, position) for file, rows in deleted.items() for position in rows]
    rows = pa.table(
        {
            FILE_COLUMN: pa.array([file for file, _ in places], pa.string()),
            POSITION_COLUMN: pa.array([position for _, position in places], pa.int64()),
        }
    )
    return write_tombstone(bench.blobs, rows, folder=bench.folder())


def mounted(
    bench: Bench, files: Iterable[str], schema: Any, stones: Iterable[Tombstone], *by: str
) -> TableMount:
    found = tuple(files)
    return TableMount(
        id=f"m{next(bench.numbers)}",
        folder="data/t",
        files=found,
        fields=schema.fields,
        tombstones=tuple(stones),
        entries=read_blocks(bench.blobs, found, schema, by),
    )


def left(bench: Bench, mount: TableMount, columns: str = "*") -> list[Any]:
    return sorted(
        bench.rows(f"select {columns} from {bench.session.mount_physical(mount)}"), key=repr
    )


def places(bench: Bench, mount: TableMount) -> list[tuple[str, int]]:
    located = bench.session.mount_located(mount)
    return sorted(bench.rows(f"select __vcs_file, __vcs_pos from {located}"))


def ids(bench: Bench, count: int, start: int = 0) -> Written:
    return bench.write(
        f"select id a, cast(id as string) b from range({start}, {start + count}, 1, 1)"
    )


def test_rows_that_tombstones_delete_are_left_out(bench: Bench) -> None:
    one, two, three = ids(bench, 5), ids(bench, 5, 10), ids(bench, 2, 20)
    files = [*one.files, *two.files, *three.files]
    first = tombstone(bench, {one.files[0]: [0, 4], two.files[0]: [1]})
    second = tombstone(bench, {one.files[0]: [2]})
    mount = mounted(bench, files, schema_of(one), [first, second])
    assert left(bench, mount, "a") == [(n,) for n in (1, 10, 12, 13, 14, 20, 21, 3)]
    assert places(bench, mount) == sorted(
        [(one.files[0], 1), (one.files[0], 3), (three.files[0], 0), (three.files[0], 1)]
        + [(two.files[0], n) for n in (0, 2, 3, 4)]
    )


def test_a_few_whole_files_are_read_with_those_that_lack_rows(
    bench: Bench, places_of_deleted_rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Many rows are numbered in two steps.
    monkeypatch.setattr(row_numbers, "_MAX_PLAIN", 0)
    one, two = ids(bench, 1_600), ids(bench, 100, 2_000)
    stone = tombstone(bench, {one.files[0]: [0, 511, 512, 1_599]})
    mount = mounted(bench, [*one.files, *two.files], schema_of(one), [stone])
    kept = [*range(1, 511), *range(513, 1_599), *range(2_000, 2_100)]
    assert left(bench, mount, "a") == sorted([(n,) for n in kept], key=repr)
    assert len(places(bench, mount)) == len(kept)
    name = bench.session.mount_physical(mount)
    [(plan,)] = bench.rows(f"explain select a from {name}")
    scans = {"marked": 1, "numbered": 2, "written": 1, "read": 2}
    assert plan.count("FileScan") == scans[places_of_deleted_rows]


def test_only_targets_that_a_tombstone_lists_count(bench: Bench) -> None:
    one, two = ids(bench, 3), ids(bench, 3, 10)
    files = [*one.files, *two.files]
    stone = tombstone(bench, {one.files[0]: [0], two.files[0]: [0]})
    other = tombstone(bench, {two.files[0]: [1]})
    trimmed = Tombstone(path=stone.path, bytes=stone.bytes, targets={one.files[0]: 1})
    mount = mounted(bench, files, schema_of(one), [trimmed, other])
    assert left(bench, mount, "a") == [(1,), (10,), (12,), (2,)]
    alone = mounted(bench, two.files, schema_of(one), [stone])
    assert left(bench, alone, "a") == [(11,), (12,)]


def test_a_missing_tombstone_is_told(bench: Bench) -> None:
    one = ids(bench, 3)
    stone = tombstone(bench, {one.files[0]: [0]})
    bench.blobs.delete(stone.path)
    with pytest.raises(DamagedError, match="the retention; restore those of any other"):
        left(bench, mounted(bench, one.files, schema_of(one), [stone]))


def test_every_row_deleted(bench: Bench) -> None:
    one = ids(bench, 3)
    mount = mounted(bench, one.files, schema_of(one), [tombstone(bench, {one.files[0]: range(3)})])
    assert left(bench, mount) == []
    assert places(bench, mount) == []


def test_a_version_without_files_has_no_places(bench: Bench) -> None:
    mount = mounted(bench, (), schema_of(ids(bench, 1)), [])
    assert left(bench, mount) == []
    assert places(bench, mount) == []
    columns = bench.session.analysed(f"select * from {bench.session.mount_located(mount)}").columns
    assert [column.type for column in columns] == ["bigint", "string", "string", "bigint"]


def test_partitions_of_any_text(bench: Bench) -> None:
    texts = ["x/ +%=", "ü's", "a\\b", "{c}", "plain", "%2F"]
    values = ", ".join(
        "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'" for text in texts
    )
    query = f"select id a, p from range(0, 3, 1, 1) lateral view explode(array({values})) e as p"
    written = bench.write(query, "p")
    assert len(written.files) == len(texts)
    stone = tombstone(bench, {file: [1] for file in written.files[:4]})
    mount = mounted(bench, written.files, schema_of(written), [stone], "p")
    assert len(left(bench, mount)) == 14
    assert places(bench, mount) == sorted(
        (file, position)
        for number, file in enumerate(written.files)
        for position in ((0, 2) if number < 4 else (0, 1, 2))
    )
    assert {p for _, p in left(bench, mount)} == set(texts)
    [(plan,)] = bench.rows(
        f"explain select a from {bench.session.mount_physical(mount)} where p = 'plain' and a > 1"
    )
    assert plan.count("PartitionFilters: [isnotnull(__vcs_by_p") == 2
    assert "PushedFilters: [IsNotNull(a), GreaterThan(a,1)]" in plan


def test_files_of_several_layouts_and_lineages(bench: Bench) -> None:
    session = bench.session
    writes = [
        session.write(
            "select 1 a, 'x' p union all select 5, 'x'",
            Destination(folder="data/t/w=x1", partition_by=["p"]),
        ),
        session.write("select 2 a, 'y' p", Destination(folder="data/u/w=x2", partition_by=["p"])),
        session.write(
            "select 3 a, 'z' p from range(0, 2, 1, 1)", Destination(folder="data/t/w=x3")
        ),
        session.write(
            "select 4 a, 'k' p from range(0, 2, 1, 1)", Destination(folder="data/u/w=x4")
        ),
    ]
    files = [path for written in writes for path in written.files]
    stones = [
        tombstone(bench, {writes[1].files[0]: [0], writes[2].files[0]: [1]}),
        tombstone(bench, {writes[3].files[0]: [0]}),
    ]
    mount = mounted(bench, files, schema_of(writes[0]), stones, "p")
    assert left(bench, mount) == [(1, "x"), (3, "z"), (4, "k"), (5, "x")]
    assert len(places(bench, mount)) == 4


def test_more_targets_than_a_text_lists_one_by_one(bench: Bench) -> None:
    written = bench.write("select id a, id % 250 p from range(0, 500, 1, 1)", "p")
    stone = tombstone(bench, {file: [0] for file in written.files})
    mount = mounted(bench, written.files, schema_of(written), [stone], "p")
    assert left(bench, mount, "count(*), min(a), count(distinct p)") == [(250, 250, 250)]


@pytest.mark.parametrize(
    ("places_of_deleted_rows", "most_met", "most_sent"),
    [
        ("read", 10_000, 200),
        ("read", 400, 200),
        ("read", 1, 200),
        ("read", 1, -1),
        ("numbered", 1, 200),
        ("numbered", 1, -1),
    ],
    indirect=["places_of_deleted_rows"],
    ids=["wide", "narrow", "named", "not sent to every task", "by number", "merged by number"],
)
def test_neighbours_in_a_bucket_are_told_apart(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, most_met: int, most_sent: int
) -> None:
    monkeypatch.setattr(deletions, "_MAX_MET", most_met)
    monkeypatch.setattr(deletions, "_MAX_BROADCAST", most_sent)
    gone = {0: {0, 62, 63, 128, 199}, 1: {1, 64, 65, 127}, 2: set(range(40, 140))}
    writes = [ids(bench, 200, 1_000 * number) for number in gone]
    files = [path for one in writes for path in one.files]
    stones = [tombstone(bench, {files[number]: rows}) for number, rows in gone.items()]
    mount = mounted(bench, files, schema_of(writes[0]), stones)
    kept = [1_000 * n + row for n, rows in gone.items() for row in range(200) if row not in rows]
    assert sorted(row[0] for row in left(bench, mount, "a")) == kept
    [(plan,)] = bench.rows(f"explain select a from {bench.session.mount_physical(mount)}")
    assert ("SortMergeJoin" in plan) == (most_sent < 0)


def test_predicates_and_columns_reach_the_scan(
    bench: Bench, places_of_deleted_rows: str, method: str
) -> None:
    one, two = ids(bench, 5), ids(bench, 5, 10)
    files = [*one.files, *two.files]
    mount = mounted(bench, files, schema_of(one), [tombstone(bench, {one.files[0]: [0]})])
    name = bench.session.mount_physical(mount)
    [(plan,)] = bench.rows(f"explain select a from {name} where a > 3")
    assert plan.count("PushedFilters: [IsNotNull(a), GreaterThan(a,3)]") == 2
    assert "ReadSchema: struct<a:bigint>" in plan
    assert "b:string" not in plan
    if method == "connect":
        return
    if method == "session":
        [(plain,)] = bench.rows(f"explain select a from {name[:-1]}_1` where a > 3")
        assert "Join" not in plain
    if places_of_deleted_rows == "marked":
        assert plan.count("FileScan") == 2 and "Join" not in plan
        assert len(plan) < 5_000
        return
    [keys] = re.findall(r"BroadcastHashJoin (\[.*?\], \[.*?\]), LeftAnti, BuildRight", plan)
    keys = re.sub(r"#\d+L?", "", keys)
    if places_of_deleted_rows == "numbered":
        assert keys.startswith("[shiftright(coalesce(_tmp_metadata_row_index, ")
        assert keys.endswith(", 6)], [word]")
    else:
        assert keys == "[shiftright(_extract_row_index, 6)], [shiftright(__vcs_pos, 6)]"
    scans = {"numbered": 3, "written": 2, "read": 3}
    assert plan.count("FileScan") == scans[places_of_deleted_rows]


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_positions_come_from_each_reader_of_spark(bench: Bench, vectorized: str) -> None:
    written = bench.write(
        "select id a, named_struct('b', array(id), 'c', map(id, 'x')) s from range(0, 3000, 1, 3)"
    )
    assert len(written.files) == 3
    gone = {written.files[0]: range(0, 1000, 7), written.files[2]: [0, 999]}
    expected = {*range(3000)} - {*range(0, 1000, 7), 2000, 2999}
    reader = "spark.sql.parquet.enableVectorizedReader"
    for files in (written.files, written.files[:1]):
        stones = [tombstone(bench, {file: gone[file]}) for file in files if file in gone]
        mount = mounted(bench, files, schema_of(written), stones)
        bench.rows(f"set {reader}={vectorized}")
        try:
            found = left(bench, mount, "a, s.b[0], s.c[a]")
        finally:
            bench.rows(f"reset {reader}")
        assert sorted(found) == [(a, a, "x") for a in sorted(expected) if a < 1000 * len(files)]


def test_a_row_without_a_position_fails_the_query(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, places_of_deleted_rows: str
) -> None:
    if places_of_deleted_rows not in ("marked", "numbered"):
        pytest.skip("their position is in _metadata")
    unknown = Field(id="unknown", name="unknown", type="bigint")
    monkeypatch.setattr(mounting, "POSITION_FIELD", unknown)
    one, two = ids(bench, 5), ids(bench, 5, 10)
    stone = tombstone(bench, {one.files[0]: [0]})
    mounts = [
        mounted(bench, [*one.files, *two.files], schema_of(one), [stone]),
        mounted(bench, one.files, schema_of(one), [stone]),
    ]
    for mount in mounts:
        with pytest.raises(EngineError, match="more rows than its version knows of"):
            left(bench, mount, "a")


def test_positions_are_read_without_an_engine(bench: Bench) -> None:
    one, two = ids(bench, 5), ids(bench, 5, 10)
    stone = tombstone(bench, {one.files[0]: [4, 0], two.files[0]: [1]})
    other = tombstone(bench, {one.files[0]: [2]})
    files = Files(bench.blobs)
    [(path, positions)] = files.deletions([stone, other], one.files).items()
    assert (path, positions.tolist()) == (one.files[0], [0, 2, 4])
    assert files.deletions([stone], ["data/none"]) == {}


TIMES = (
    "0001-01-01 00:00:00",
    "0999-12-31 12:30:00.5",
    "1969-12-31 23:59:59.999999",
    "2026-11-20 12:00:00",
    "2026-11-20 12:00:10.12",
    "9999-12-31 23:59:59.000001",
)


def test_partition_folders_are_spelled_as_spark_spells_them(bench: Bench) -> None:
    fields = {
        "p": [chr(code) for code in range(1, 128)] + ["ü", "😀", "a b", "%41", None],
        "d": ["0999-01-01", "2020-02-29", None],
        "n": ["-128", "0", None],
        "o": ["true", "false", None],
        "t": [*TIMES, None],
        "u": [*TIMES, None],
        "m": ["0", "1.5", "-0.0000001", "0.0000000001", "99999999.9999999999", None],
        "w": ["0", f"-{'9' * 38}", "100", None],
    }
    types = {"p": "string", "d": "date", "n": "tinyint", "o": "boolean", "t": "timestamp"}
    types |= {"u": "timestamp_ntz", "m": "decimal(18,10)", "w": "decimal(38,0)"}
    texts = pa.table({"p": [f"x{text}" if text else None for text in fields["p"]]})
    for name, type_ in types.items():
        values = texts if name == "p" else pa.table({name: fields[name]})
        view = bench.session.mount_arrow("spelled", values)
        query = f"select 1 k, cast({name} as {type_}) `{name}=` from {view}"
        theirs = bench.write(query, f"{name}=").files
        rows = bench.session.query(query).arrow()
        ours = write_rows(bench.blobs, rows, folder=bench.folder(), partition_by=[f"{name}="])
        assert {path.split("/")[-2] for path in ours} == {path.split("/")[-2] for path in theirs}
        assert len(ours) == len(values)


def test_a_tombstone_beyond_the_end_of_its_file_is_told(
    bench: Bench, places_of_deleted_rows: str
) -> None:
    one, two = ids(bench, 3), ids(bench, 3, 10)
    mount = mounted(
        bench, [*one.files, *two.files], schema_of(one), [tombstone(bench, {one.files[0]: [3]})]
    )
    if places_of_deleted_rows == "marked":
        with pytest.raises(DamagedError, match=r"deletes row 3 of .*, which has 3 rows"):
            left(bench, mount)
    elif places_of_deleted_rows == "numbered":
        with pytest.raises(EngineError, match="deletes a row that isn't in its file"):
            left(bench, mount)
    else:
        assert len(left(bench, mount)) == 6


@pytest.mark.parametrize("places_of_deleted_rows", ["marked"], indirect=True)
def test_a_row_that_no_bit_stands_for_is_an_error(bench: Bench) -> None:
    one = ids(bench, 9_000)
    mount = mounted(bench, one.files, schema_of(one), [tombstone(bench, {one.files[0]: [0]})])
    entry = msgspec.structs.replace(mount.entries[0], rows=900)
    with pytest.raises(EngineError, match="more rows than its version knows"):
        left(bench, dataclasses.replace(mount, entries=(entry,)), "count(*)")


@pytest.mark.parametrize("places_of_deleted_rows", ["marked"], indirect=True)
def test_every_session_of_an_engine_looks_deleted_rows_up(bench: Bench) -> None:
    one, two = ids(bench, 2_000), ids(bench, 10, 5_000)
    before = bench.engine.session("before")
    stone = tombstone(bench, {one.files[0]: [0, 63, 64, 1_999], two.files[0]: [3]})
    mount = mounted(bench, [*one.files, *two.files], schema_of(one), [stone])
    bench.session.mount_table(RelationName("s", "shared"), mount)
    query = "select count(*), sum(a), count_if(a in (0, 63, 64, 1999, 5003)) from s.shared"
    rows = [n for n in (*range(2_000), *range(5_000, 5_010)) if n not in (0, 63, 64, 1999, 5003)]
    for session in (bench.session, before, bench.engine.session("after")):
        assert session.query(query).fetch() == [(len(rows), sum(rows), 0)]


@pytest.mark.parametrize("places_of_deleted_rows", ["marked"], indirect=True)
@pytest.mark.parametrize("limit", [2, 3])
def test_files_are_told_apart_by_links_or_by_times(
    bench: Bench, limit: int, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    for module in (mounting, catalog_relations):
        monkeypatch.setattr(module, "MAX_NAMED", limit)
    written = [ids(bench, 100, 1_000 * n) for n in range(3)]
    files = [file for each in written for file in each.files]
    stone = tombstone(bench, {files[0]: [0], files[1]: [1, 99], files[2]: [2]})
    mount = mounted(bench, files, schema_of(written[0]), [stone])
    gone = [(files[0], 0), (files[1], 1), (files[1], 99), (files[2], 2)]
    assert left(bench, mount, "sum(a), count(*)") == [
        (sum(range(100)) + sum(range(1_000, 1_100)) + sum(range(2_000, 2_100)) - 4_102, 296)
    ]
    every = {(file, position) for file in files for position in range(100)}
    assert places(bench, mount) == sorted(every - set(gone))
    [(plan,)] = bench.rows(f"explain select a from {bench.session.mount_physical(mount)}")
    # There are no links in a session whose owner may read on after the connection is closed.
    assert ("file_modification_time" in plan) == (limit == 2 or method == "adopted")


@pytest.mark.parametrize("places_of_deleted_rows", ["marked"], indirect=True)
def test_columns_are_decoded_for_rows_that_are_left_only(bench: Bench, method: str) -> None:
    if method == "adopted":
        pytest.skip("arrays are in the texts of its views, and Spark generates other code")
    # Spark computes what occurs twice in a filter first, and all columns before that.
    one, two = ids(bench, 2_000), ids(bench, 10, 5_000)
    stone = tombstone(bench, {one.files[0]: [0]})
    mount = mounted(bench, [*one.files, *two.files], schema_of(one), [stone])
    name = bench.session.mount_physical(mount)
    for setting, value in (("wholeStage", "true"), ("factoryMode", "FALLBACK")):
        bench.session.spark.conf.set(f"spark.sql.codegen.{setting}", value)
    [(plan,)] = bench.rows(f"explain codegen select a from {name} where b = '7'")
    body = plan[plan.index("numRows()") :]
    assert 0 < body.index("getLong") < body.index("raiseError") < body.index("getUTF8String")
