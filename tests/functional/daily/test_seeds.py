"""Seeds: the table has exactly the values of the file."""

from __future__ import annotations

import csv
import datetime as dt
import io
import os
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

TEXTS = [
    "it's",
    'say "hello"',
    "back\\slash \\n \\' \\\\",
    "two\nlines\n\nand\ttabs",
    "emoji 🦆 and ünïcode",
    "  spaces around  ",
    "%s %d {{ jinja }} $1 /* -- */ ;",
    "`ticks`",
    None,
    "007",
    "1,234",
    "true",
    "2026-01-31",
    "NaN",
    "None",
    "🦆'\"\\" * (10 * 1024 * 1024 // 10),
]
MANY = 100_000


UTC = dt.timezone.utc
# A row a column: name, type, then text and value of the first row, and of the second.
GUESSED = [
    ("id", "bigint", "1", 1, "2", 2),
    ("big", "bigint", str(2**63 - 1), 2**63 - 1, "9007199254740993", 2**53 + 1),
    ("small", "bigint", str(-(2**63)), -(2**63), None, None),
    ("ratio", "double", "0.1", 0.1, "-1e3", -1000.0),
    ("day", "date", "2026-01-31", dt.date(2026, 1, 31), "1582-10-15", dt.date(1582, 10, 15)),
    (
        "moment",
        "timestamp",
        "2026-01-31 23:59:59",
        dt.datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC),
        "1970-01-01 00:00:00",
        dt.datetime(1970, 1, 1, tzinfo=UTC),
    ),
    (
        "iso",
        "timestamp",
        "2026-01-31T23:59:59+02:00",
        dt.datetime(2026, 1, 31, 21, 59, 59, tzinfo=UTC),
        "1969-12-31T23:59:59.123456",
        dt.datetime(1969, 12, 31, 23, 59, 59, 123456, tzinfo=UTC),
    ),
    ("flag", "boolean", "true", True, "false", False),
    ("code", "string", "007", "007", "12", "12"),
    ("nothing", "bigint", None, None, None, None),
    ("mixed", "string", "1", "1", "a", "a"),
]
TYPED = [
    ("code", "string", "007", "007", " 8 ", " 8 "),
    ("zip", "varchar(10)", "01234", "01234", None, None),
    (
        "amount",
        "decimal(38,18)",
        "12345678901234567890.123456789",
        Decimal("12345678901234567890.123456789"),
        "-0.000000001",
        Decimal("-0.000000001"),
    ),
    ("price", "decimal(5,2)", "9.99", Decimal("9.99"), "-9.9", Decimal("-9.9")),
    ("tiny", "tinyint", "-128", -128, "127", 127),
    ("small", "smallint", "32767", 32767, "-32768", -32768),
    ("whole", "int", str(2**31 - 1), 2**31 - 1, str(-(2**31)), -(2**31)),
    ("float_", "float", "1.5", 1.5, "-1.5", -1.5),
    ("double_", "double", "0.1", 0.1, "1e300", 1e300),
    ("flag", "boolean", "true", True, "False", False),
    ("day", "date", "2026-01-31", dt.date(2026, 1, 31), "0001-01-01", dt.date(1, 1, 1)),
    (
        "of_time",
        "date",
        "2026-01-31 23:59:59",
        dt.date(2026, 1, 31),
        "1969-12-31T1",
        dt.date(1969, 12, 31),
    ),
    (
        "moment",
        "timestamp",
        "2026-01-31T23:59:59.123456-01:00",
        dt.datetime(2026, 2, 1, 0, 59, 59, 123456, tzinfo=UTC),
        "1969-12-31T23:59:59",
        dt.datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
    ),
    (
        "wall",
        "timestamp_ntz",
        "2026-01-31 23:59:59",
        dt.datetime(2026, 1, 31, 23, 59, 59),
        "1969-12-31T00:00:00",
        dt.datetime(1969, 12, 31),
    ),
    ("bytes", "binary", "abc", b"abc", None, None),
    ("letters", "char(4)", "wide", "wide", "x", "x   "),
]
# As people write values: a row a column with its type and two texts that only Spark's cast reads.
SPELLED = [
    ("yes", "boolean", "Y", "no"),
    ("t", "boolean", "t", "f"),
    ("day", "date", "2026-1-5", "2026-01"),
    ("moment", "timestamp", "2026-1-5 1:02:03", "2026-01-05 10:30:00.123456789"),
    ("zoned", "timestamp", "2026-01-05 10:30:00 Europe/Berlin", "2026-01-05 10:30:00+01:00"),
    ("skipped", "timestamp", "2026-03-08 02:30:00", "2026-01-05"),
    ("plus", "int", "+5", " 12 "),
    ("whole", "int", "12.0", "7"),
    ("ratio", "double", "Infinity", "1d"),
    ("rounded", "decimal(9,2)", "0.125", "1e3"),
    ("zeros", "decimal(9,2)", "007.50", "+1"),
    ("span", "interval day", "1", "-2"),
]
SEMICOLONS = """
    id;note
    1;a,b
    2;"c;d"
"""
PARTED = [["a/b", 1, "2026-01-31"], [None, 2, "2026-01-31"], ["a/b", 3, "2026-02-01"]]
SEED_CONFIG = {
    "guessed": {"column_types": {"code": "string"}},
    "typed": {"column_types": {name: type_ for name, type_, *_ in TYPED}},
    "spelled": {"column_types": {name: type_ for name, type_, *_ in SPELLED}},
    "texts": {"column_types": {"text": "string"}},
    "semicolons": {"delimiter": ";"},
    "odd_names": {"quote_columns": True},
    "parted": {"partition_by": ["place", "day"]},
}


def csv_of(header: list[str], rows: list[list[object]], **options: str) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n", **options)
    writer.writerows([header, *rows])
    return out.getvalue()


def two_rows(columns: list[tuple[object, ...]]) -> str:
    names, _, first, _, second, _ = (list(row) for row in zip(*columns, strict=True))
    return csv_of([str(name) for name in names], [first, second])


def configs(seeds: dict[str, dict[str, object]]) -> dict[str, object]:
    return {name: {f"+{k}": v for k, v in config.items()} for name, config in seeds.items()}


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(config={"seeds": {"shop": configs(SEED_CONFIG)}})
    texts = csv_of(["id", "text"], [[i, text] for i, text in enumerate(TEXTS)])
    many = csv_of(
        ["id", "name", "price"],
        [[i, f"it's \\ {i}", f"{i}.5"] for i in range(MANY)],
    )
    project.write(
        {
            "seeds/texts.csv": texts.encode(),
            "seeds/many.csv": many.encode(),
            "seeds/guessed.csv": two_rows(GUESSED),
            "seeds/typed.csv": two_rows(TYPED),
            "seeds/semicolons.csv": SEMICOLONS,
            "seeds/odd_names.csv": '"Order No","select"\n1,a\n',
            "seeds/no_rows.csv": "id,name\n",
            "seeds/parted.csv": csv_of(["place", "id", "day"], PARTED),
        }
    )
    return project


@pytest.fixture(scope="module")
def seeded(shop):
    """Seeds loaded in a process of its own that finds no Java."""
    empty = shop.folder.parent / "empty"
    empty.mkdir()
    env = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "SPARK_HOME")}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "seed", "--profiles-dir", "."],
        cwd=shop.folder,
        env={**env, "PATH": str(empty)},
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"{done.stdout}\n{time.perf_counter() - start:.1f} seconds")
    assert done.returncode == 0, done.stdout + done.stderr
    return shop


def test_texts_arrive_as_they_are(seeded):
    rows = dict(seeded.rows("texts"))
    assert [len(rows[i] or "") for i in range(len(TEXTS))] == [len(text or "") for text in TEXTS]
    assert [rows[i] for i in range(len(TEXTS))] == TEXTS


def test_a_hundred_thousand_rows_arrive(seeded):
    assert seeded.rows("select count(*), sum(id), sum(price), min(name), max(name) from many") == [
        (
            MANY,
            MANY * (MANY - 1) // 2,
            MANY * (MANY - 1) / 2 + MANY / 2,
            "it's \\ 0",
            "it's \\ 99999",
        )
    ]


@pytest.mark.parametrize(("name", "columns"), [("guessed", GUESSED), ("typed", TYPED)])
def test_types_and_values_are_those_of_the_file(seeded, name, columns):
    schema = seeded.snapshot(name).schema
    assert {field.name: field.type for field in schema.fields} == {
        name: type_ for name, type_, *_ in columns
    }
    first = tuple(value for _, _, _, value, _, _ in columns)
    second = tuple(value for *_, value in columns)
    assert seeded.rows(name) == sorted([first, second], key=lambda row: str(row[0]))


def test_texts_are_cast_as_spark_casts_them(seeded):
    header, *rows = ([row[n] for row in SPELLED] for n in (0, 2, 3))
    seeded.write({"seeds/spelled.csv": csv_of(header, rows)})
    seeded.dbt("seed", "--select", "spelled")
    names = ", ".join(f"cast({name} as string)" for name, *_ in SPELLED)
    casts = [
        ", ".join(f"cast(cast('{texts[n]}' as {type_}) as string)" for _, type_, *texts in SPELLED)
        for n in range(2)
    ]
    cast = [seeded.rows(f"select {listed}")[0] for listed in casts]
    assert all(None not in row for row in cast)
    assert sorted(seeded.rows(f"select {names} from spelled")) == sorted(cast)


def test_delimiter_and_quoted_columns_and_no_rows(seeded):
    assert seeded.rows("semicolons") == [(1, "a,b"), (2, "c;d")]
    assert seeded.sql("select * from odd_names").to_pylist() == [{"Order No": 1, "select": "a"}]
    assert seeded.snapshot("no_rows").rows == 0


def test_a_partitioned_seed_has_a_file_for_each_partition(seeded):
    days = {day: dt.date.fromisoformat(day) for _, _, day in PARTED}
    for place, id, day in PARTED:
        where = "place is null" if place is None else f"place = '{place}'"
        query = f"select id, place, day from parted where {where} and day = '{day}'"
        assert seeded.rows(query) == [(id, place, days[day])]
    blocks = seeded.snapshot("parted").segments
    assert sum(segment.blocks for segment in blocks) == 3


def test_unchanged_seeds_make_no_commit(seeded):
    head, files = seeded.head(), seeded.data_files()
    seeded.dbt("seed", "--exclude", "many")
    seeded.dbt("seed", "--exclude", "many", "--full-refresh")
    assert seeded.head() == head
    assert seeded.run_branch() not in seeded.refs()
    assert seeded.data_files() == files


def test_changed_seeds_follow_what_they_were(seeded):
    before, old = seeded.entry("semicolons"), seeded.snapshot("semicolons")
    seeded.write({"seeds/semicolons.csv": "id;note;more\n1;a,b;x\n"})
    seeded.dbt("seed", "--select", "semicolons")
    new = seeded.snapshot("semicolons")
    assert seeded.rows("semicolons") == [(1, "a,b", "x")]
    assert new.table == old.table
    parent = seeded.repository.objects.snapshot(new.parents[0])
    assert before.snapshot in (*new.parents, *parent.parents)
    assert new.origin.node == "seed.shop.semicolons"


def test_values_that_do_not_fit_are_named(seeded):
    head = seeded.head()
    seeded.write(
        {
            "seeds/typed.csv": "code,tiny\nx,300\n",
            "seeds/texts.csv": "text\nlonger\n",
            "seeds/semicolons.csv": "id;note\n99999999999999999999;a\n",
            "seeds/spelled.csv": "rounded\n0.125\nx\n",
            "seeds/empty.csv": "",
        }
    )
    seeded.configure(
        seeds={
            "shop": configs(
                {
                    **SEED_CONFIG,
                    "typed": {"column_types": {"tiny": "tinyint"}},
                    "texts": {"column_types": {"text": "varchar(5)"}},
                }
            )
        }
    )
    names = ("typed", "semicolons", "texts", "spelled", "empty")
    ran = seeded.dbt("seed", "--select", *names, ok=False)
    assert "column rounded of the seed has a value that is not a valid decimal(9,2): 'x'" in (
        ran.message("spelled")
    )
    assert "empty.csv has no header" in ran.message("empty")
    assert "column tiny of the seed has a value that is not a valid tinyint" in ran.message(
        "typed"
    )
    assert "300" in ran.message("typed")
    assert "99999999999999999999 is too large" in ran.message("semicolons")
    assert "not a valid varchar(5): a value has 6 characters" in ran.message("texts")
    assert seeded.head() == head


def test_nothing_else_is_left_in_the_project(seeded):
    assert {path.name for path in Path(seeded.folder).iterdir()} <= {
        "dbt_project.yml",
        "profiles.yml",
        "seeds",
        "target",
        "logs",
        ".user.yml",
    }
