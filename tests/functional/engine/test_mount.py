"""What a catalog shows, and to whom."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.model import Field, RelationName, Schema
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.dataframes import mounting
from dbt.adapters.vcs.engines.engine_errors import StatementError
from dbt.adapters.vcs.engines.port import Column, Destination, TableMount

from .bench import Bench, schema_of
from .conftest import EngineFactory

pytestmark = pytest.mark.spark
ALL_ENGINES = True

T = RelationName("s", "t")


def test_a_name_shows_what_was_mounted_last(bench: Bench) -> None:
    session = bench.session
    one, two = bench.write("select 1 a"), bench.write("select 2 b, 'x' c")
    bench.mount(one.files, schema_of(one), name="t")
    assert bench.rows("select * from s.t") == [(1,)]
    bench.mount(two.files, schema_of(two), name="t")
    assert bench.rows("select * from s.t") == [(2, "x")]
    session.mount_view(T, "select 3 d")
    assert bench.rows("select * from s.t") == [(3,)]
    session.unmount(T)
    with pytest.raises(StatementError) as caught:
        session.query("select * from s.t")
    assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    session.unmount(T)
    session.unmount(RelationName("nowhere", "t"))


def test_columns_are_shown_under_their_names_with_comments(bench: Bench) -> None:
    written = bench.write("select 1 a, 2 b, 3 c", ids=["a", "b__2", "c"])
    schema = Schema(
        fields=(
            Field(id="c", name="first one", type="int", comment='it\'s \\ a "comment"'),
            Field(id="b__2", name="b", type="int"),
            Field(id="new", name="new", type="array<string>"),
        )
    )
    table = bench.mount(written.files, schema)
    assert bench.rows(f"select * from {table}") == [(3, 2, None)]
    assert bench.session.relation_columns(RelationName(*table.split("."))) == (
        Column(name="first one", type="int", comment='it\'s \\ a "comment"'),
        Column(name="b", type="int"),
        Column(name="new", type="array<string>"),
    )


def test_a_version_without_files(bench: Bench) -> None:
    fields = (Field(id="v", name="v", type="varchar(3)"), Field(id="p", name="p", type="variant"))
    table = bench.mount((), Schema(fields=fields))
    assert bench.rows(f"select * from {table}") == []
    columns = bench.session.analysed(f"select * from {table}").columns
    assert [column.type for column in columns] == ["varchar(3)", "variant"]


def test_files_of_several_layouts(bench: Bench) -> None:
    writes = [
        bench.session.write(
            "select 1 a, 'x' p, 10 w", Destination(folder="data/t/w=x1", partition_by=["p"])
        ),
        bench.session.write(
            "select 2 a, 'y' p, 20 w", Destination(folder="data/u/w=x2", partition_by=["p"])
        ),
        bench.session.write("select 3 a, 'z' p, 30 w", Destination(folder="data/t/w=x3")),
        bench.session.write(
            "select 4 a, '01' p, 40 w", Destination(folder="data/t/w=x4", partition_by=["p"])
        ),
    ]
    files = [path for written in writes for path in written.files]
    table = bench.mount(files, schema_of(writes[0]))
    assert sorted(bench.rows(f"select * from {table}")) == [
        (1, "x", 10),
        (2, "y", 20),
        (3, "z", 30),
        (4, "01", 40),
    ]


def test_a_partition_column_called_w(bench: Bench) -> None:
    writes = [bench.write(f"select {number} a, 'q{number}' w", "w") for number in (1, 2)]
    files = [path for written in writes for path in written.files]
    table = bench.mount(files, schema_of(writes[0]))
    assert sorted(bench.rows(f"select a, w from {table}")) == [(1, "q1"), (2, "q2")]


@pytest.mark.parametrize("kept", [0, 1])
def test_a_missing_file_is_told(bench: Bench, kept: int) -> None:
    writes = [bench.write("select 1 a") for _ in range(2)]
    files = [path for written in writes for path in written.files]
    for path in files[kept:]:
        bench.blobs.delete(path)
    told = rf"have 2 files .* {kept} are there.* the retention; restore"
    with pytest.raises(DamagedError, match=told):
        bench.mount(files, schema_of(writes[0]))


def test_a_version_is_its_own_relation_with_positions(bench: Bench) -> None:
    written = bench.write("select id a from range(0, 5, 1, 1)")
    mount = TableMount(
        id="physical", folder="data/t1", files=written.files, fields=schema_of(written).fields
    )
    name = bench.session.mount_physical(mount)
    assert bench.session.mount_physical(mount) == name
    rows = bench.rows(
        f"select a, _metadata.row_index, _metadata.file_name from {name} where a = 3"
    )
    assert rows == [(3, 3, written.files[0].rpartition("/")[2])]


def test_threads_mount_one_version_under_one_name_at_once(bench: Bench) -> None:
    written = bench.write("select 1 a")
    versions = [
        TableMount(
            id=f"v{n % 2}", folder="d", files=written.files, fields=schema_of(written).fields
        )
        for n in range(8)
    ]
    start = threading.Barrier(8)

    def show(mount: TableMount) -> None:
        session = bench.engine.session("thread")
        start.wait()
        session.mount_table(T, mount)

    # Whoever queries holds the name steady, since Spark replaces a view by dropping it first.
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(show, versions))
    assert bench.session.query("select * from s.t").fetch() == [(1,)]


def test_views(bench: Bench) -> None:
    session = bench.session
    session.mount_view(
        RelationName("s", "v"), "select 1 a, 'x' b -- why\n", [("c", "it's"), ("d", None)]
    )
    assert bench.rows("select c, d from s.v") == [(1, "x")]
    assert session.relation_columns(RelationName("s", "v"))[0] == Column(
        name="c", type="int", nullable=False, comment="it's"
    )
    with pytest.raises(StatementError) as caught:
        session.mount_view(RelationName("s", "u"), "select * from s.nope")
    assert caught.value.condition == "TABLE_OR_VIEW_NOT_FOUND"


def test_files_that_are_not_versioned(bench: Bench, tmp_path: Path) -> None:
    folder = tmp_path / "external files"
    folder.mkdir()
    (folder / "one.csv").write_text("a,b\n1,x\n2,\n")
    name = RelationName("raw", "csv")
    options = {"header": "true", "inferSchema": "true"}
    bench.session.mount_files(name, location=f"{folder}/*.csv", format="csv", options=options)
    assert bench.rows("select * from raw.csv") == [(1, "x"), (2, None)]
    (folder / "two.csv").write_text("a,b\n3,y\n")
    bench.session.mount_files(name, location=f"{folder}/*.csv", format="csv", options=options)
    assert bench.rows("select sum(a) from raw.csv") == [(6,)]
    (folder / "x.json").write_text('{"k": {"n": 1}}\n')
    bench.session.mount_files(name, location=f"{folder}/x.json", format="json")
    assert bench.rows("select k.n from raw.csv") == [(1,)]
    for format in ("parquet", "csv"):
        with pytest.raises(NotFoundError, match=rf"no files of format {format} at {folder}/no\.x"):
            bench.session.mount_files(name, location=f"{folder}/no.x", format=format)
    with pytest.raises(StatementError, match="nonsense"):
        bench.session.mount_files(name, location=str(folder), format="nonsense")


def test_engines_have_catalogs_of_their_own(
    bench: Bench, engine_factory: EngineFactory, tmp_path: Path
) -> None:
    other_blobs = LocalBlobs(tmp_path / "other", fsync=False)
    engine = engine_factory(other_blobs)
    other = Bench(other_blobs, engine, engine.session("other"))
    for number, here in enumerate((bench, other)):
        written = here.write(f"select {number} a")
        here.mount(written.files, schema_of(written), name="t")
    assert bench.rows("select * from s.t") == [(0,)]
    assert other.rows("select * from s.t") == [(1,)]


def test_sessions_share_names_but_no_temporary_views_or_settings(
    bench: Bench, method: str
) -> None:
    if method == "adopted":
        pytest.skip("all sessions of the engine are its owner's one")
    other = bench.engine.session("other")
    bench.session.mount_view(T, "select 1 a")
    bench.session.query("create temporary view Mine as select 2 b")
    bench.session.query("set spark.sql.shuffle.partitions = 3")
    assert other.query("select * from s.t").fetch() == [(1,)]
    assert bench.session.temporary_views() == {"mine"}
    assert not other.temporary_views()
    assert [column.name for column in bench.session.relation_columns("MINE")] == ["b"]
    assert bench.session.setting("spark.sql.shuffle.partitions") == "3"
    assert other.setting("spark.sql.shuffle.partitions") == "2"
    assert other.setting("spark.nothing") is None


def test_settings_are_each_engines_own(engine_factory: EngineFactory, blobs: LocalBlobs) -> None:
    strict = engine_factory(blobs, settings={"spark.sql.ansi.enabled": "true"}).session("a")
    lax = engine_factory(blobs).session("b")
    with pytest.raises(StatementError, match="Division by zero"):
        strict.query("select 1 / 0").fetch()
    assert lax.query("select 1 / 0").fetch() == [(None,)]


def test_threads_with_one_temporary_name_never_mix_rows(bench: Bench, method: str) -> None:
    if method == "adopted":
        pytest.skip("all sessions of the engine are its owner's one")

    def build(number: int) -> list[tuple[object, ...]]:
        session = bench.engine.session(f"thread {number}")
        session.query(f"create temporary view model__dbt_tmp as select {number} a from range(20)")
        for step in range(3):
            written = session.write(
                "select a from model__dbt_tmp", Destination(folder=f"data/t{number}/w=x{step}")
            )
            fields = schema_of(written).fields
            mount = TableMount(
                id=f"v{number}_{step}", folder="d", files=written.files, fields=fields
            )
            session.mount_table(RelationName(f"s{number}", "model"), mount)
        return session.query(f"select distinct a from s{number}.model").fetch()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(build, range(6))) == [[(number,)] for number in range(6)]


@pytest.mark.parametrize("limit", [1, 3])
def test_a_row_knows_its_file_by_its_place_among_few_or_by_its_path(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, method: str, limit: int
) -> None:
    monkeypatch.setattr(mounting, "MAX_NAMED", limit)
    written = bench.write("select id, id div 2 part from range(0, 6, 1, 3)")
    assert len(written.files) == 3
    fields = schema_of(written).fields
    mount = TableMount(id="m", folder="data/t1", files=written.files, fields=fields)
    located = bench.session.mount_located(mount)
    rows = bench.rows(f"select part, __vcs_file, __vcs_pos from {located}")
    files = {file: part for part, file, _ in rows}
    assert sorted(files) == sorted(written.files)
    assert sorted(rows) == sorted((part, file, n) for file, part in files.items() for n in (0, 1))
    for file, part in files.items():
        stored = pq.ParquetFile(bench.blobs.root / file).read()
        assert set(stored.column("part").to_pylist()) == {part}
    [(plan,)] = bench.rows(f"explain select __vcs_file from {located}")
    assert ("file_path" in plan) == (limit == 1 or method == "connect")
