"""Rows of this process as files that Spark scans: the same values, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from dbt.adapters.vcs.engines.spark.carried_rows import CarriedRows

from .bench import Bench

pytestmark = pytest.mark.spark

MANY = 6_000
VALUES: dict[str, tuple[pa.DataType, list[object]]] = {
    "Truth": (pa.bool_(), [True, False, None]),
    "tiny": (pa.int8(), [-128, 127, None]),
    "small": (pa.int16(), [-(2**15), 1]),
    "whole": (pa.int32(), [-(2**31), None, 2]),
    "a big`one": (pa.int64(), [2**63 - 1, None]),
    "single": (pa.float32(), [1.5, None, float("inf")]),
    "double": (pa.float64(), [-0.0, 1e300, None]),
    "price": (pa.decimal128(8, 2), [Decimal("-99.99"), None]),
    "money": (pa.decimal128(18, 4), [Decimal("1.0001"), None]),
    "large": (pa.decimal128(38, 6), [Decimal("-1e30"), Decimal("0.000001")]),
    "text": (pa.string(), ["", "it's \\ \n \U0001f600", None, "a\0"]),
    "raw": (pa.binary(), [b"", b"\x00\xff", None]),
    "day": (pa.date32(), [date(1, 1, 1), date(1582, 10, 4), date(9999, 12, 31), None]),
    "instant": (
        pa.timestamp("us", "UTC"),
        [datetime(1, 1, 1, tzinfo=timezone.utc), datetime(1899, 1, 1, tzinfo=timezone.utc), None],
    ),
    "clock": (pa.timestamp("us"), [datetime(1500, 1, 1, 2, 3, 4, 5), None]),
    "list": (pa.list_(pa.string()), [[], ["a", None], None]),
    "pairs": (pa.map_(pa.string(), pa.int32()), [[], [("a", None)], None]),
    "parts": (
        pa.struct([("x", pa.int32()), ("Y y", pa.list_(pa.timestamp("us")))]),
        [{"x": 1, "Y y": [datetime(1500, 1, 1)]}, {"x": None, "Y y": None}, None],
    ),
}


class Parts:
    """A table in parts."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.schema, self.count = table.schema, table.num_rows

    def parts(self) -> Iterator[pa.Table]:
        for start in range(0, self.count, 1_000):
            yield self._table.slice(start, 1_000)


def rows(count: int) -> pa.Table:
    return pa.table(
        {
            name: pa.array([values[n % len(values)] for n in range(count)], type_)
            for name, (type_, values) in VALUES.items()
        }
    )


def carried(bench: Bench) -> CarriedRows:
    return bench.session._carried


def test_values_are_those_that_spark_takes_from_arrow(bench: Bench) -> None:
    few = bench.session.mount_arrow("few", rows(100))
    assert not carried(bench).files()
    many = bench.session.mount_arrow("many", rows(MANY))
    parts = bench.session.mount_arrow("parts", Parts(rows(MANY)))
    assert len(carried(bench).files()) == 2
    read = {name: bench.session.query(f"select * from {name}") for name in (few, many, parts)}
    assert read[many].columns == read[parts].columns == read[few].columns
    assert read[parts].arrow() == read[many].arrow()
    assert sorted(map(repr, read[many].fetch()[:100])) == sorted(map(repr, read[few].fetch()))
    assert read[many].arrow().num_rows == MANY


def test_types_without_a_form_in_parquet_are_carried_in_memory(bench: Bench) -> None:
    table = pa.table({"nothing": pa.nulls(MANY), "span": pa.array([1] * MANY, pa.duration("us"))})
    view = bench.session.mount_arrow("spans", table)
    assert not carried(bench).files()
    assert bench.session.query(f"select count(span) from {view}").fetch() == [(MANY,)]


def test_a_file_stays_as_long_as_something_may_read_it(bench: Bench) -> None:
    session = bench.session
    view = session.mount_arrow("kept", pa.table({"n": range(MANY)}))
    (file,) = (each.path for each in carried(bench).files())
    before = session.query(f"select sum(n) from {view}")
    session.mount_arrow("kept", pa.table({"n": range(1, MANY + 1)}))
    assert before.fetch() == [(MANY * (MANY - 1) // 2,)]
    assert session.query(f"select sum(n) from {view}").fetch() == [(MANY * (MANY + 1) // 2,)]
    assert file.exists()
    del before
    assert not file.exists()
    (other,) = (each.path for each in carried(bench).files())
    session.mount_arrow("kept", pa.table({"n": [1]}))
    assert not other.exists()
    session.mount_arrow("kept", rows(MANY))
    (last,) = (each.path for each in carried(bench).files())
    session.close()
    assert not last.exists()


def test_a_failed_write_leaves_no_file(bench: Bench) -> None:
    class Failing(Parts):
        def parts(self) -> Iterator[pa.Table]:
            yield self._table
            raise ValueError("no more")

    folder = Path(bench.session.spark.sparkContext._temp_dir)  # type: ignore[attr-defined]
    before = set(folder.iterdir())
    with pytest.raises(ValueError, match="no more"):
        bench.session.mount_arrow("failing", Failing(rows(MANY)))
    assert set(folder.iterdir()) == before


PROGRAM = """
import sys
import pyarrow as pa
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.spark.engine import SparkEngine
from pathlib import Path
engine = SparkEngine(LocalBlobs(Path(sys.argv[1])), settings={"spark.master": "local[1]"})
session = engine.session("x")
session.mount_arrow("v", pa.table({"n": range(10000)}))
print(session._carried.files()[0].path, flush=True)
sys.stdin.read()
"""


def test_a_killed_process_leaves_no_file(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "w")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    file = Path(process.stdout.readline().strip())
    assert file.stat().st_size > 10_000
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    end = time.monotonic() + 60
    while file.parent.exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert not file.parent.exists()
