"""Writing from Python: rows of any library land on a branch as a statement's would."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.client.write_rows import WriteMode
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    ProtectedError,
    ReadOnlyError,
    UnsupportedError,
    VcsError,
)
from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.engines import engine_errors
from dbt.adapters.vcs.table.files.footers import read_footer
from dbt.adapters.vcs.workspace.statement_scope import Outcome
from tests.unit.iceberg.lake import Lake

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


def no_engine(branch: str) -> NoReturn:
    pytest.fail("Writing from Python starts no engine.")


def client_of(lake: Lake, branch: str = "main") -> Client:
    return Client.on(lake.repository, branch, no_engine, schema="s", author="ann")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "w")


@pytest.fixture
def client(lake: Lake) -> Client:
    return client_of(lake)


def rows_of(client: Client, name: str = "t") -> list[dict[str, Any]]:
    table = client.table(name).to_arrow()
    return sorted(table.to_pylist(), key=lambda row: str(list(row.values())))


def test_a_warning_points_to_the_line_of_the_caller(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.sql("create table s.t (id bigint) tblproperties ('vcs.unique_key' = 'id')")
    with pytest.warns(UserWarning, match="the config unique_key is not the primary key") as told:
        client.write("t", pa.table({"id": [1, 1]}))
    answer = Outcome(warnings=("Nothing was picked.",))
    monkeypatch.setattr(client._connection, "execute", lambda *_, **__: answer)
    with pytest.warns(UserWarning, match="Nothing was picked") as said:
        client.sql("snapshot pick table t from u keys (1)")
    with pytest.warns(UserWarning) as deep:
        (lambda: engine_errors.warn_caller("Called from a function of the program."))()
    assert [item.filename for item in (*told, *said, *deep)] == [__file__] * 3


def test_a_table_that_is_not_there_is_created_with_the_columns_of_the_rows(client: Client) -> None:
    given = pa.table(
        {
            "id": pa.array([1, 2], pa.uint32()),
            "at": pa.array([NOON, None], pa.timestamp("ms", "Europe/Berlin")),
            "tags": pa.array([["a"], None], pa.large_list(pa.large_string())),
            "kind": pa.array(["x", "x"]).dictionary_encode(),
            "half": pa.array([np.float16(0.5), None], pa.float16()),
            "big": pa.array([2**64 - 1, 0], pa.uint64()),
        }
    )
    done = client.write("t", given)
    assert (done.relation, done.rows, done.moved) == ("s.t", 2, True)
    assert done.commit == client.repository.branch("main").head
    fields = {field.name: field.type for field in client.table("t").fields}
    assert fields == {
        "id": "bigint",
        "at": "timestamp",
        "tags": "array<string>",
        "kind": "string",
        "half": "float",
        "big": "decimal(20,0)",
    }
    assert rows_of(client)[0] == {
        "id": 1,
        "at": NOON,
        "tags": ["a"],
        "kind": "x",
        "half": 0.5,
        "big": Decimal(2**64 - 1),
    }


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_what_a_statement_would_warn_of_is_a_warning(client: Client, mode: WriteMode) -> None:
    client.sql("create table s.t (id int, name string) tblproperties ('vcs.unique_key' = 'id')")
    with pytest.warns(UserWarning, match="unique_key is not the primary key") as caught:
        client.write("t", pa.table({"id": [1, 1], "name": ["b", "c"]}), mode)
    assert [warning.filename for warning in caught] == [__file__]


def batches() -> Iterator[pa.RecordBatch]:
    for number in range(3):
        yield pa.record_batch({"id": [number], "name": [f"n{number}"]})


class Capsule:
    """Rows of a library of which nothing is known."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return STREAM().__arrow_c_stream__(requested_schema)


def STREAM() -> pa.RecordBatchReader:
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    return pa.RecordBatchReader.from_batches(schema, batches())


ROWS = {"id": [0, 1, 2], "name": ["n0", "n1", "n2"]}


@pytest.mark.parametrize(
    "frame",
    [
        pa.table(ROWS),
        pa.record_batch(ROWS),
        pd.DataFrame(ROWS, index=[7, 8, 9]),
        pl.DataFrame(ROWS),
        pl.LazyFrame(ROWS),
        Capsule(),
        STREAM(),
    ],
    ids=lambda frame: f"{type(frame).__module__}.{type(frame).__name__}",
)
def test_frames_of_all_libraries_are_written(client: Client, frame: Any) -> None:
    assert client.write("t", frame).rows == 3
    expected = [{"id": n, "name": f"n{n}"} for n in range(3)]
    assert rows_of(client) == expected
    copied = client.write("u", client.table("t").scan(filter="id > 0"))
    assert (copied.rows, rows_of(client, "u")) == (2, expected[1:])


def test_columns_are_found_by_name_in_any_case_and_one_left_out_is_null(
    lake: Lake, client: Client
) -> None:
    lake.run("create table s.t (id bigint not null, old string, amount decimal(9,2))")
    lake.run("alter table s.t rename column old to `new one`")
    client.write("t", pa.table({"NEW ONE": ["a"], "ID": [1]}))
    assert rows_of(client) == [{"id": 1, "new one": "a", "amount": None}]


def test_files_are_those_that_a_statement_writes(lake: Lake, client: Client) -> None:
    columns = "id bigint, region string, day date"
    lake.run(f"create table s.t ({columns}) partitioned by (region, day)")
    rows = {"id": [1, 2, 3], "region": ["a/b", None, "a/b"], "day": [date(2026, 1, 2)] * 3}
    client.write("t", pa.table(rows))
    client.write("t", pa.table(rows), "overwrite")
    blocks = client.table("t").blocks
    partitions = [block.partition["region"] for block in blocks]
    assert sorted(map(str, partitions)) == ["None", "a/b"]
    for block in blocks:
        schema = read_footer(lake.blobs, block.path).metadata.schema.to_arrow_schema()
        assert schema.names == ["id", "region", "day"]
        assert int(schema.field("id").metadata[b"PARQUET:field_id"]) == field_number("id")
        assert block.footer
    assert check_repository(lake.repository).problems == ()


@pytest.mark.parametrize(
    ("type_", "given", "expected"),
    [
        ("int", pa.array([1, None], pa.int64()), [1, None]),
        ("bigint", pa.array([1.0, None]), [1, None]),
        ("decimal(9,2)", pa.array([12.34, 0.1]), [Decimal("12.34"), Decimal("0.10")]),
        ("decimal(9,2)", pa.array([Decimal("1.5")], pa.decimal128(30, 9)), [Decimal("1.50")]),
        ("double", pa.array([1, 2], pa.int8()), [1.0, 2.0]),
        ("float", pa.array([0.1]), [pa.scalar(0.1, pa.float32()).as_py()]),
        ("date", pa.array([datetime(2026, 1, 2)]), [date(2026, 1, 2)]),
        ("timestamp", pa.array([datetime(2026, 11, 20, 12)], pa.timestamp("ns")), [NOON]),
        ("timestamp_ntz", pa.array([date(2026, 1, 2)]), [datetime(2026, 1, 2)]),
        ("char(3)", pa.array(["a", "a    ", None]), ["a  ", "a  ", None]),
        ("varchar(3)", pa.array(["a", "abc  "]), ["a", "abc"]),
        ("binary", pa.array([b"ab"], pa.binary(2)), [b"ab"]),
        ("string", pa.array([None], pa.null()), [None]),
        ("array<bigint>", pa.array([[1], None], pa.list_(pa.int32())), [[1], None]),
        ("struct<a:string>", pa.array([{"a": "x"}]), [{"a": "x"}]),
    ],
)
def test_values_become_those_of_the_column(
    lake: Lake, client: Client, type_: str, given: pa.Array, expected: list[Any]
) -> None:
    lake.run(f"create table s.t (v {type_})")
    client.write("t", pa.table({"v": given}))
    assert client.table("t").to_arrow().column("v").to_pylist() == expected


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        ("int", pa.array([2**40])),
        ("bigint", pa.array([1.5])),
        ("bigint", pa.array([float("nan")])),
        ("bigint", pa.array(["1"])),
        ("bigint", pa.array([True])),
        ("boolean", pa.array([1])),
        ("string", pa.array([1])),
        ("double", pa.array([2**60 + 1])),
        ("decimal(9,2)", pa.array([0.125])),
        ("decimal(9,2)", pa.array([1e12])),
        ("date", pa.array([datetime(2026, 1, 2, 3)])),
        ("timestamp", pa.array([1], pa.timestamp("ns"))),
        ("timestamp_ntz", pa.array([NOON])),
        ("varchar(3)", pa.array(["abcd"])),
        ("array<int>", pa.array([["a"]])),
        ("array<int>", pa.array([[2**40]])),
        ("struct<a:string>", pa.array([{"b": "x"}])),
    ],
)
def test_what_a_column_does_not_hold_exactly_is_refused(
    lake: Lake, client: Client, type_: str, given: pa.Array
) -> None:
    lake.run(f"create table s.t (v {type_})")
    with pytest.raises(InputError, match=r"The column v of s.t is .*Nothing was changed"):
        client.write("t", pa.table({"v": given}))
    assert client.table("t").count() == 0


def keyed(lake: Lake) -> None:
    lake.run(
        "create table s.t (id bigint not null, name string, n int) "
        "tblproperties ('primary_key' = 'id')"
    )


def test_a_merge_updates_rows_of_the_same_key_and_adds_the_others(
    lake: Lake, client: Client
) -> None:
    keyed(lake)
    client.write("t", pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"], "n": [1, 2, 3]}))
    lake.delete("t", (0, 2))
    done = client.write("t", pa.table({"id": [2, 3, 4], "name": ["B", "C", "D"]}), "merge")
    assert done.rows == 3
    assert rows_of(client) == [
        {"id": 1, "name": "a", "n": 1},
        {"id": 2, "name": "B", "n": 2},
        {"id": 3, "name": "C", "n": None},
        {"id": 4, "name": "D", "n": None},
    ]
    again = client.write("t", pa.table({"id": [2], "name": ["B"]}), "merge")
    assert (again.moved, again.commit) == (False, done.commit)


def test_a_merge_finds_rows_by_other_columns_where_it_is_told(client: Client) -> None:
    client.write("t", pa.table({"a": [1, 1, 2], "b": ["x", "y", "x"], "v": [1, 2, 3]}))
    client.write(
        "t", pa.table({"b": ["x", "z"], "a": [1, 1], "v": [10, 30]}), "merge", on=["A", "b"]
    )
    found = [tuple(row.values()) for row in rows_of(client)]
    assert found == [(1, "x", 10), (1, "y", 2), (1, "z", 30), (2, "x", 3)]
    with pytest.raises(InputError, match="no primary key"):
        client.write("t", pa.table({"a": [1]}), "merge")
    with pytest.raises(InputError, match=r"b tells rows of s.t apart, and was not given"):
        client.write("t", pa.table({"a": [1]}), "merge", on=["a", "b"])


def test_a_merge_by_other_columns_leaves_keys_distinct(lake: Lake, client: Client) -> None:
    keyed(lake)
    client.write("t", pa.table({"id": [1, 2], "name": ["a", "b"], "n": [1, 2]}))
    for name in ("a", "new"):
        with pytest.raises(InputError, match=r"primary key \(id\).*: 2"):
            client.write("t", pa.table({"id": [2], "name": [name]}), "merge", on=["name"])
    assert [row["id"] for row in rows_of(client)] == [1, 2]
    client.write("t", pa.table({"id": [3], "name": ["a"]}), "merge", on=["name"])
    assert {row["id"]: row["name"] for row in rows_of(client)} == {2: "b", 3: "a"}


def test_zeros_and_nans_are_equal_keys(client: Client) -> None:
    client.write("t", pa.table({"k": [0.0, float("nan")], "v": [1, 2]}))
    client.write("t", pa.table({"k": [-0.0, float("nan")], "v": [10, 20]}), "merge", on=["k"])
    assert client.table("t").to_arrow().column("v").to_pylist() == [10, 20]


@pytest.mark.parametrize(
    ("rows", "mode", "match"),
    [
        ({"id": [1, 1]}, "merge", "have one key: id = 1"),
        ({"id": [None]}, "merge", "is NULL in 1 new rows"),
        ({"id": [1]}, "append", "id"),
        ({"id": [5, 5]}, "append", "id"),
        ({"id": pa.array([None], pa.int64())}, "append", "NOT NULL"),
        ({"id": [5], "ID": [6]}, "append", "given twice"),
        ({"id": [5], "nope": [6]}, "append", "no column nope; it has: id, name, n"),
        ({"id": [5]}, "upsert", "append, overwrite, merge"),
    ],
)
def test_rows_that_break_a_rule_change_nothing(
    lake: Lake, client: Client, rows: dict[str, Any], mode: Any, match: str
) -> None:
    keyed(lake)
    client.write("t", pa.table({"id": [1], "name": ["a"]}))
    head = lake.repository.branch("main").head
    with pytest.raises(InputError, match=match):
        client.write("t", pa.table(rows), mode)
    assert lake.repository.branch("main").head == head


def test_what_only_spark_writes_is_refused_by_name(lake: Lake, client: Client) -> None:
    lake.run("create table s.t (id int, v variant)")
    with pytest.raises(UnsupportedError, match=r"VARIANT.*Write with SQL"):
        client.write("t", pa.table({"id": [1]}))
    with pytest.raises(UnsupportedError, match="The column t is time64"):
        client.write("u", pa.table({"t": pa.array([1], pa.time64("us"))}))
    with pytest.raises(InputError, match=r"found list.*from_pylist"):
        client.write("t", [{"id": 1}])  # type: ignore[arg-type]


def test_only_branches_that_take_changes_are_written(lake: Lake, client: Client) -> None:
    client.write("t", pa.table({"id": [1]}))
    with pytest.raises(ReadOnlyError, match="is not a branch"):
        client_of(lake, "main~1").write("t", pa.table({"id": [1]}))
    with pytest.raises(NotFoundError, match="no schema 'nope'"):
        client.write("nope.t", pa.table({"id": [1]}))
    lake.repository.protect("main", Protection(), author="ann")
    with pytest.raises(ProtectedError):
        client.write("t", pa.table({"id": [2]}))


def test_rows_that_several_programs_append_and_merge_all_land(lake: Lake) -> None:
    keyed(lake)
    client_of(lake).write("t", pa.table({"id": [0], "n": [0]}))
    errors: list[VcsError] = []

    def work(number: int) -> None:
        client = client_of(lake)
        try:
            for turn in range(4):
                client.write("t", pa.table({"id": [100 * number + turn], "n": [number]}))
                client.write("t", pa.table({"id": [0, -number], "n": [turn, turn]}), "merge")
        except VcsError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    ids = client_of(lake).table("t").to_arrow().column("id").to_pylist()
    assert sorted(ids) == sorted(
        [0, -1, -2, -3, *(100 * n + turn for n in (1, 2, 3) for turn in range(4))]
    )


def test_a_branch_is_made_written_compared_and_merged(lake: Lake, client: Client) -> None:
    keyed(lake)
    client.write("t", pa.table({"id": [1, 2], "name": ["a", "b"]}))
    with client.create("feature") as branch:
        branch.write("t", pa.table({"id": [2, 3], "name": ["B", "c"]}), "merge")
        client.write("t", pa.table({"id": [1], "name": ["A"]}), "merge")
        assert [item.name for item in branch.diff().relations] == ["s.t"]
        changes = branch.diff("main...feature", "s.t").rows.to_arrow()
        assert sorted(changes.column("id").to_pylist()) == [2, 2, 3]
        assert branch.diff("main...feature", "s.t", limit=1).rows.to_arrow().num_rows == 1
    assert client.merge("feature", dry_run=True).how == "merge"
    assert [row["name"] for row in rows_of(client)] == ["A", "b"]
    done = client.merge("feature", message="the feature")
    assert done.after == client.repository.branch("main").head
    assert [row["name"] for row in rows_of(client)] == ["A", "B", "c"]
    assert [entry.message for entry in client.log(1)] == ["the feature"]
    assert client.diff("main", "s.t").is_equal
    assert client.diff("main", "s.t").rows.to_arrow().num_rows == 0


def test_a_merge_says_what_to_do_about_conflicts(lake: Lake, client: Client) -> None:
    keyed(lake)
    client.write("t", pa.table({"id": [1], "name": ["a"]}))
    with client.create("feature", at="main") as branch:
        branch.write("t", pa.table({"id": [1], "name": ["theirs"]}), "merge")
    client.write("t", pa.table({"id": [1], "name": ["ours"]}), "merge")
    with pytest.raises(InputError, match="expected one of fail, skip"):
        client.merge("feature", on_conflict="nope")
    with pytest.raises(ConflictError):
        client.merge("feature")
    client.merge("feature", on_conflict="accept")
    assert [row["name"] for row in rows_of(client)] == ["theirs"]


def test_the_settings_of_new_sessions_say_what_a_timestamp_is(tmp_path: Path) -> None:
    clock = {
        "spark.sql.timestampType": "timestamp_ntz",
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
    with connect(str(tmp_path / "w"), schema="s", create=True, spark=clock) as client:
        client.sql("create schema s")
        client.sql("create table t (at timestamp, moment timestamp_ltz)")
        with client.create("more") as branch:
            branch.sql("alter table t add columns (also array<timestamp>)")
            types = {field.name: field.type for field in branch.table("t").fields}
    naive = NOON.replace(tzinfo=None)
    with connect(str(tmp_path / "w"), "more", schema="s") as client:
        client.write("t", pa.table({"at": [naive], "moment": [NOON], "also": [[naive]]}))
        client.sql("alter table t add columns (last timestamp)")
        assert rows_of(client) == [{"at": naive, "moment": NOON, "also": [naive], "last": None}]
        types |= {field.name: field.type for field in client.table("t").fields[3:]}
    assert types == {
        "at": "timestamp_ntz",
        "moment": "timestamp",
        "also": "array<timestamp_ntz>",
        "last": "timestamp",
    }
