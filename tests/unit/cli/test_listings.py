"""Long listings: printed as they are read, in little memory, and stopped at any time."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import tracemalloc
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from dbt.adapters.vcs.commands.diff import read_diff
from dbt.adapters.vcs.commands.diff_report import DiffReport, diff_text
from dbt.adapters.vcs.commands.layout import fitted_lines, plain_text
from dbt.adapters.vcs.commands.log import read_log
from dbt.adapters.vcs.commands.output import RowSet, json_lines, print_lines
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.table.exact_values import exact_value
from dbt.adapters.vcs.table.types import arrow_type
from tests.unit.shelf import Shelf
from tests.unit.warehouse import Warehouse

from .conftest import Call
from .test_process import COMMAND

ROWS = 120_000
DIFF = ("diff", "s.old@main", "s.new@main")


def make(folder: Path, rows: int) -> Shelf:
    """Make two tables, each of whose rows differs in one column."""
    shelf = Shelf(open_blobs(str(folder / "warehouse"), {"fsync": "false"}))
    id = pa.array(range(rows), pa.int64())
    for name, price in (("old", "12.00"), ("new", "13.50")):
        shelf.run(
            f"create table s.{name} (id bigint, note string, day string, price string) "
            "tblproperties ('primary_key' = 'id')"
        )
        same = pa.array(["much the same on both sides"] * rows)
        shelf.append(name, id=id, note=same, day=same, price=pa.array([price] * rows))
    return shelf


@pytest.fixture
def vcs(call: Call, folder: Path) -> Call:
    make(folder, 3)
    return lambda *arguments, code=0: call("-r", "warehouse", *arguments, code=code)


@pytest.fixture
def long(folder: Path) -> Shelf:
    return make(folder, ROWS)


def test_json_is_the_same_whether_rows_are_read_or_held(vcs: Call, folder: Path) -> None:
    found = vcs(*DIFF, "--json", "-n", "0", code=1).stdout
    report = json.loads(found)
    assert len(report["rows"]) == report["row_count"] == 6
    assert report["heads"] == list(report["rows"][0])
    assert found == msgspec.json.format(json.dumps(report, ensure_ascii=False), indent=2) + "\n"
    listed = vcs("log", "--json", "-n", "2").stdout
    assert listed == msgspec.json.format(listed.strip(), indent=2) + "\n"
    assert vcs("log", "main..main", "--json").stdout == "[]\n"


def test_jsonl_has_a_line_for_each_row_or_item(vcs: Call) -> None:
    lines = vcs(*DIFF, "--jsonl", "-n", "3", code=1).stdout.splitlines()
    assert [json.loads(line)["_change_type"] for line in lines] == [
        "update_preimage",
        "update_postimage",
        "update_preimage",
    ]
    (relation,) = vcs(*DIFF, "--jsonl", "--stat", code=1).stdout.splitlines()
    assert json.loads(relation)["rows_modified"] == 3
    assert json.loads(vcs("branch", "--jsonl").stdout)["name"] == "main"
    commits = [json.loads(line) for line in vcs("log", "--jsonl", "-n", "0").stdout.splitlines()]
    assert commits == json.loads(vcs("log", "--json", "-n", "0").stdout)
    assert json.loads(vcs("status", "--jsonl").stdout)["branch"] == "main"
    failed = vcs("log", "nope", "--jsonl", code=1).stdout
    assert json.loads(failed)["error"] == "notfound"
    assert failed.count("\n") == 1


def test_what_changed_is_shown_however_narrow_the_terminal(vcs: Call, folder: Path) -> None:
    report = diff_of(folder)
    lines = [
        "".join(span.text for span in line.spans) for line in fitted_lines(diff_text(report), 44)
    ]
    assert lines[1].split() == ["_change_type", "id", "price", "…"]
    assert lines[2].split() == ["update_preimage", "0", "12.00", "…"]
    assert lines[3].split() == ["update_postimage", "0", "13.50", "…"]
    wide = diff_of(folder, shape="wide")
    lines = ["".join(s.text for s in line.spans) for line in fitted_lines(diff_text(wide), 54)]
    assert lines[1].split() == ["diff_type", "from_id", "to_id", "from_price", "to_price", "…"]


def diff_of(folder: Path, **options: object) -> DiffReport:
    repository = Repository.open(open_blobs(str(folder / "warehouse"), {}))
    words = DIFF[1:]
    return read_diff(repository, words, branch="main", **options)  # type: ignore[arg-type]


class Sink:
    """A file that keeps nothing."""

    def __init__(self) -> None:
        self.lines = 0

    def write(self, text: str) -> int:
        self.lines += text.count("\n")
        return len(text)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("kind", ["plain", "terminal", "json"])
def test_printing_takes_as_much_memory_for_many_rows_as_for_few(kind: str) -> None:
    part = pa.table({"_change_type": ["insert"] * 5_000, "id": pa.array(range(5_000))})

    def printed(parts: int) -> int:
        def made() -> Iterator[pa.Table]:
            for _ in range(parts):
                yield part

        rows = RowSet(part.schema, parts * part.num_rows, made)
        report = DiffReport(
            before="a",
            after="b",
            is_equal=False,
            heads=rows.columns,
            rows=rows,
            row_count=len(rows),
        )
        sink = Sink()
        tracemalloc.start()
        if kind == "plain":
            print_lines(plain_text(diff_text(report)), sink)  # type: ignore[arg-type]
        elif kind == "terminal":
            lines = fitted_lines(diff_text(report), 80)
            print_lines(("".join(s.text for s in line.spans) for line in lines), sink)  # type: ignore[arg-type]
        else:
            print_lines(json_lines(report), sink)  # type: ignore[arg-type]
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert sink.lines > parts * part.num_rows
        return peak

    few, many = printed(1), printed(10)
    assert many < 1.5 * few + 200_000


def test_a_log_reads_a_commit_when_it_is_printed(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        warehouse.put(a=str(number))
    read: list[str] = []
    inner = warehouse.repository.log

    def log(at: object) -> Iterator[object]:
        for pair in inner(at):  # type: ignore[arg-type]
            read.append(pair[0])
            yield pair

    monkeypatch.setattr(warehouse.repository, "log", log)
    for number, _ in enumerate(read_log(warehouse.repository, "main"), 1):
        assert len(read) == number


@pytest.mark.parametrize("output", [(), ("--json",), ("--jsonl",)])
def test_a_reader_that_has_enough_ends_the_listing_quietly(
    long: Shelf, output: tuple[str, ...]
) -> None:
    process = begin(*output)
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=120) == 1


def test_ctrl_c_ends_the_listing_with_a_word(long: Shelf) -> None:
    process = begin()
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    assert process.stderr.read() == b"Stopped.\n"
    assert process.wait(timeout=120) == 130


def begin(*output: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(COMMAND), "-r", "warehouse", *DIFF, "-n", "0", *output],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell that runs the tests in the background has them ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (math.nan, "double"),
        (math.inf, "float"),
        (-math.inf, "double"),
        (-0.0, "double"),
        (0.1, "double"),
        (1e300, "double"),
        (b"\x00\xff>", "binary"),
        (b"", "binary"),
        (2**63 - 1, "bigint"),
        (Decimal("1.50"), "decimal(5,2)"),
        (date(2026, 11, 20), "date"),
        (datetime(2026, 11, 20, 12, 0, 0, 1), "timestamp_ntz"),
        (datetime(2026, 11, 20, 12, 0, 0, 1, tzinfo=timezone.utc), "timestamp"),
        ("a=b 'c'", "string"),
    ],
)
def test_a_value_in_json_is_one_that_a_key_takes(value: Any, type: str) -> None:
    """As `jq -r` prints it, in a row and in a list of rows."""
    column = pa.array([value], arrow_type(type))
    table = pa.table({"our_id": column, "in": pa.array([[value]], pa.list_(column.type))})
    rows = RowSet(table.schema, 1, lambda: [table])
    [row] = json.loads("\n".join(json_lines(rows)))
    text = row["our_id"] if isinstance(row["our_id"], str) else json.dumps(row["our_id"])
    assert str(exact_value(text, type)) == str(column[0])
    assert row["in"] == [row["our_id"]]
