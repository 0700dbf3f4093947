"""DuckDB in this process: what it is given comes back, and what fails is told."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from dbt.adapters.vcs.core.errors import DamagedError, EngineError
from dbt.adapters.vcs.core.model import Field, Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.engines import local_session as local
from dbt.adapters.vcs.engines import session_settings
from dbt.adapters.vcs.engines.local_session import LocalSession
from dbt.adapters.vcs.engines.port import Destination
from dbt.adapters.vcs.table.files.block_reader import Files
from dbt.adapters.vcs.table.files.parquet import write_tombstone

DEEP = [[[0.0]], [[-0.0]], [[math.nan], []], [[-math.nan], []], [None], None]


@pytest.fixture
def session() -> Iterator[LocalSession]:
    with LocalSession(MemoryBlobs()) as session:
        yield session


@pytest.mark.parametrize(
    "text",
    [
        "select v, d, sum(1) over (partition by v, d) n, row_number() over (partition by d "
        "order by k) r from {} order by k",
        "select v, d from {} order by v, d, k",
        "select first(case when k >= 0 then struct(v, d) end, true) over (partition by k) s "
        "from {} order by k",
        "select k, any_value(v) v, any_value(d) d from {} group by k order by k",
    ],
    ids=["windows", "sorted", "first_in_a_window", "any_value"],
)
def test_zeros_keep_their_sign(session: LocalSession, text: str) -> None:
    flat = [0.0, -0.0, 1.0, -0.0, 0.0, -0.0]
    rows = pa.table({"k": range(6), "v": DEEP, "d": flat})
    found = session.query(text.replace("{}", session.mount_arrow("t", rows))).arrow()
    if "s" in found.column_names:
        found = pa.Table.from_struct_array(found.column("s").combine_chunks())
    assert sorted(map(repr, found.column("d").to_pylist())) == sorted(map(repr, flat))
    held = [repr(value) for value in found.column("v").to_pylist()]
    assert held.count("[[-0.0]]") == 1 and held.count("[[0.0]]") == 1


@pytest.mark.parametrize("joined", ["{} a join {} b", "{} b join {} a"], ids=["left", "right"])
def test_a_join_meets_nan_and_both_zeros(session: LocalSession, joined: str) -> None:
    # Of two sides DuckDB reads the smaller one first, and lets the other be filtered by it.
    many = session.mount_arrow("many", pa.table({"k": [*map(float, range(100)), math.nan]}))
    few = session.mount_arrow("few", pa.table({"k": [math.nan, 5.0, -0.0]}))
    sides = (many, few) if joined.endswith("b") else (few, many)
    found = session.query(f"select a.k from {joined.format(*sides)} on a.k = b.k").arrow()
    assert sorted(map(repr, found.column("k").to_pylist())) == ["0.0", "5.0", "nan"]


def test_text_that_is_not_utf_8_is_text_as_any_other(session: LocalSession) -> None:
    bad = pa.array([b"\xff\xfe", b"ok", b"\xff\xfe", None]).view(pa.string())
    name = session.mount_arrow("t", pa.table({"v": bad}))
    found = session.query(f"select v, count(*) n from {name} group by v").arrow()
    texts = found.column("v").cast(pa.binary()).to_pylist()
    assert dict(zip(texts, found.column("n").to_pylist(), strict=True)) == {
        b"\xff\xfe": 2,
        b"ok": 1,
        None: 1,
    }


def test_only_targets_that_a_tombstone_lists_count() -> None:
    blobs = MemoryBlobs()

    def tombstone(write: str, *places: tuple[str, int]) -> Tombstone:
        files, positions = zip(*places, strict=True)
        rows = pa.table({FILE_COLUMN: files, POSITION_COLUMN: positions, "id": positions})
        return write_tombstone(blobs, rows, folder=f"data/t/w={write}")

    # The second block left the first tombstone's entry, whose file still has a row of it.
    both = tombstone("1", ("data/t/w=0/a.parquet", 1), ("data/t/w=0/b.parquet", 2))
    trimmed = msgspec.structs.replace(both, targets={"data/t/w=0/a.parquet": 1})
    other = tombstone("2", ("data/t/w=0/b.parquet", 3))
    field = Field(id="id", name="id", type="bigint")
    files = {"data/t/w=0/a.parquet", "data/t/w=0/b.parquet"}
    with LocalSession(blobs) as session:
        relation, listed = session.mount_deleted([trimmed, other], files, [field])
        found = session.query(f"select id from {relation} where {listed} order by id").fetch()
    assert found == [(1,), (3,)]


def test_an_error_of_a_reader_is_told_as_it_is(session: LocalSession) -> None:
    class Broken:
        schema = pa.schema([("v", pa.int64())])
        count = 2

        def parts(self) -> Iterator[pa.Table]:
            yield pa.table({"v": [1]})
            raise DamagedError("data/x is damaged.")

    name = session.mount_arrow("t", Broken())
    with pytest.raises(DamagedError, match=r"data/x is damaged\."):
        session.query(f"select sum(v) from {name}").fetch()
    # The session goes on.
    assert session.query("select 1 n").fetch() == [(1,)]


def test_an_error_after_the_first_rows_is_told_as_it_is(session: LocalSession) -> None:
    class Broken:
        schema = pa.schema([("v", pa.int64())])
        count = 4_000_000

        def parts(self) -> Iterator[pa.Table]:
            # More than DuckDB reads ahead.
            for start in range(0, self.count, 100_000):
                yield pa.table({"v": range(start, start + 100_000)})
            raise DamagedError("data/x is damaged.")

    name = session.mount_arrow("t", Broken())
    with pytest.raises(DamagedError, match=r"data/x is damaged\."):
        session.query(f"select v from {name}").run()
    assert session.query("select 1 n").fetch() == [(1,)]


def test_memory_that_ends_after_the_first_rows_is_an_error_that_says_what_to_do() -> None:
    # Arrow passes on what DuckDB says, and makes an error of its own of it.
    told = local._what_failed(OSError("Out of Memory Error: failed to allocate data"))
    assert "DBT_VCS_MEMORY" in told


def test_a_full_disk_is_an_error_that_says_what_to_do(
    session: LocalSession,
) -> None:
    for text in ("set memory_limit = '60MB'", "set max_temp_directory_size = '1MB'"):
        session._connection.execute(text)
    rows = pa.table({"v": pa.array(range(3_000_000)).cast(pa.string())})
    name = session.mount_arrow("t", rows)
    with pytest.raises(
        EngineError, match=r"Nothing was changed\. .*DBT_VCS_MEMORY.*DBT_VCS_SPILL"
    ):
        session.query(f"select v, count(*) n from {name} group by v order by v").arrow()


def test_rows_by_place_are_split_between_blocks(
    session: LocalSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_FILE_ROWS", 10)
    monkeypatch.setattr(local, "_BATCH_ROWS", 4)
    files = [f"data/t/w=1/{name}.parquet" for name in "cab"]
    rows = pa.table(
        {
            FILE_COLUMN: [path for path in files for _ in range(15)],
            POSITION_COLUMN: list(range(15)) * 3,
            "v": range(45),
        }
    )
    name = session.mount_arrow("t", rows)
    written = session.write(f"select * from {name}", Destination(folder="data/t/w=2", by_place=9))
    found = [Files(session._blobs)._deletions_of(path, None) for path in written.files]
    assert [list(of) for of in found] == [[path] for path in sorted(files)]
    assert all(part[0].tolist() == list(range(15)) for of in found for part in of.values())


def test_what_was_spilled_is_deleted_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(local.SPILL, str(tmp_path))
    with LocalSession(MemoryBlobs()) as session:
        assert len(list(tmp_path.iterdir())) == 1
        assert session.query("select 1 n").fetch() == [(1,)]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "size"), [("2GB", 2 * 10**9), ("1.5 GiB", 3 * 2**29), ("700mb", 700 * 10**6)]
)
def test_amounts_of_memory(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv(local.MEMORY, text)
    assert local._memory() == size


def test_the_memory_of_a_container_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(local.MEMORY, raising=False)
    (tmp_path / "memory.max").write_text(f"{2**30}\n")
    monkeypatch.setattr(session_settings, "_CGROUP_LIMIT", tmp_path / "memory.max")
    assert local._memory() == 2**28
