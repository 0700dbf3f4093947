"""What other engines read is what this package reads, whatever happened to a table."""

from __future__ import annotations

import datetime
import math
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.expressions import EqualTo, GreaterThanOrEqual, IsNull, LessThan

from dbt.adapters.vcs.client.lazy_table import LazyTable, open_table
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.table.types import arrow_type
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import duckdb_connection, duckdb_rows, pyiceberg_rows
from tests.unit.type_values import VALUES

DUCK = duckdb_connection()

PARTS = ("boolean", "tinyint", "int", "bigint", "string", "varchar(80)", "date")
NAMES = ("a", "b 1", "ü", "d", "E")


@st.composite
def steps(draw: Any) -> tuple[list[str], list[Any]]:
    """Draw the types of a table's columns, and what happens to it."""
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4))
    words = st.sampled_from(["add", "add", "delete", "rename", "new", "drop", "part", "document"])
    return ["bigint", *types], draw(st.lists(st.tuples(words, st.integers(0, 7)), max_size=9))


class Table:
    """A table under change; the first column stays."""

    version = 2

    def __init__(self, lake: Lake, types: list[str], data: Any) -> None:
        self.lake = lake
        self.data = data
        self.count = 0
        columns = ", ".join(f"`{n}` {t}" for n, t in zip(("id", *NAMES), types, strict=False))
        lake.run(f"create table s.t ({columns})")

    @property
    def fields(self) -> Any:
        return self.lake.snapshot("t").schema.fields

    def step(self, word: str, number: int) -> None:
        getattr(self, f"_{word}")(number)

    def _add(self, number: int) -> None:
        row = st.tuples(*(st.none() | VALUES[field.type] for field in self.fields[1:]))
        rows = self.data.draw(st.lists(row, min_size=1, max_size=4))
        self.count += len(rows)
        self.lake.add("t", [(self.count - n, *row) for n, row in enumerate(rows)])

    def _delete(self, number: int) -> None:
        alive = set(self.alive())
        if alive:
            some = self.data.draw(st.sets(st.sampled_from(sorted(alive)), min_size=1))
            self.lake.delete("t", *sorted(some))

    def alive(self) -> list[tuple[int, int]]:
        blocks = self.lake.blocks("t")
        gone = self.lake.deleted("t")
        return [
            (number, position)
            for number, block in enumerate(blocks)
            for position in range(block.rows)
            if position not in gone.get(block.path, ())
        ]

    def _rename(self, number: int) -> None:
        field = self.fields[number % len(self.fields)]
        self.count += 1
        self.lake.run(f"alter table s.t rename column `{field.name}` to `n{self.count}`")

    def _new(self, number: int) -> None:
        type_ = list(VALUES)[number * 2]
        self.count += 1
        self.lake.run(f"alter table s.t add columns (`c{self.count}` {type_})")

    def _drop(self, number: int) -> None:
        parts = self.lake.snapshot("t").partition_by
        field = self.fields[number % len(self.fields)]
        if field.id not in parts and field is not self.fields[0]:
            self.lake.run(f"alter table s.t drop column `{field.name}`")

    def _part(self, number: int) -> None:
        ids = [field.id for field in self.fields[1:] if field.type in PARTS]
        self.lake.partition("t", tuple(ids[: number % 3]))

    def _document(self, number: int) -> None:
        self.lake.document("t", format_version=self.version)


def plain(value: Any) -> Any:
    """Return a value in a form that equals itself, and has one form in all engines."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return tuple((key, plain(item)) for key, item in value.items())
    if isinstance(value, datetime.datetime) and value.tzinfo:
        return value.astimezone(datetime.timezone.utc)
    return value


def rows_of(table: pa.Table) -> Counter[Any]:
    columns = (map(plain, column.to_pylist()) for column in table.columns)
    return Counter(zip(*columns, strict=True))


# Each reads a dozen tables through two other engines.
EXAMPLES = max(5, settings().max_examples // 20)


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(steps(), st.sampled_from([2, 3]), st.data())
def test_other_engines_read_what_this_package_reads(case: Any, version: int, data: Any) -> None:
    types, happenings = case
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder))
        table = Table(lake, types, data)
        table.version = version
        expected = {}
        for word, number in happenings:
            table.step(word, number)
            expected[lake.version("t")] = Counter(map(plain, lake.rows("t")))
        document = lake.document("t", format_version=version)
        for version, rows in expected.items():
            assert rows_of(pyiceberg_rows(document.location, snapshot_id=version)) == rows
            found = duckdb_rows(DUCK, document.location, snapshot_from_id=version)
            assert rows_of(found) == rows
        head = lake.repository.branch("main").head
        found = open_table(lake.repository, RelationName("s", "t"), head)
        assert rows_of(found.to_arrow()) == rows_of(pyiceberg_rows(document.location))
        _check_filters(lake, document.location, found, data)


def _check_filters(lake: Lake, location: str, table: LazyTable, data: Any) -> None:
    everything = pyiceberg_rows(location)
    with duckdb.connect() as oracle:
        oracle.execute("set TimeZone = 'UTC'")
        oracle.register("everything", everything)
        for field in lake.snapshot("t").schema.fields:
            name = field.name.replace('"', '""')
            oracle.execute(f'select * from everything where "{name}" is null')
            nulls = rows_of(oracle.fetch_arrow_table())
            if "<" not in field.type:  # PyIceberg can't ask this of nested columns.
                assert rows_of(pyiceberg_rows(location, IsNull(field.name))) == nulls
            assert rows_of(duckdb_rows(DUCK, location, f'"{name}" is null')) == nulls
            quoted = field.name.replace("`", "``")
            assert rows_of(table.scan(filter=f"`{quoted}` is null").to_arrow()) == nulls
            rest = table.scan(filter=f"not `{quoted}` is null").count()
            assert rest == everything.num_rows - nulls.total()
            if field.type not in VALUES or "<" in field.type or field.type == "binary":
                continue
            value = data.draw(VALUES[field.type])
            for sign, form in SIGNS.items():
                query = f'select * from everything where "{name}" {sign} ?'
                rows = rows_of(oracle.execute(query, [value]).fetch_arrow_table())
                where = f'"{name}" {sign} ?'
                asked = f"select * from iceberg_scan('{location}') where {where}"
                found = DUCK.execute(asked, [value]).fetch_arrow_table()
                assert rows_of(found) == rows, where
                # PyIceberg takes NaN for no number, and NULL in a column that a file lacks for
                # another value.
                if field.type not in ("float", "double") and sign != "<>":
                    shown = value.isoformat() if isinstance(value, datetime.date) else value
                    if isinstance(value, Decimal):
                        # PyIceberg takes a decimal of the column's own scale.
                        shown = pa.scalar(value, arrow_type(field.type)).as_py()
                    assert rows_of(pyiceberg_rows(location, form(field.name, shown))) == rows


SIGNS: dict[str, Any] = {
    "=": EqualTo,
    "<": LessThan,
    ">=": GreaterThanOrEqual,
    "<>": None,
}
