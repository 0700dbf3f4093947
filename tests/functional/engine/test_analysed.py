"""A query that was analysed keeps what its names meant, and not the moment."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.core.model import Field, Schema
from dbt.adapters.vcs.engines.port import Column, Destination

from .bench import Bench

pytestmark = pytest.mark.spark
ALL_ENGINES = True

SCHEMA = Schema.of([Field(id="", name="a", type="int")])


def written_rows(bench: Bench, query: str) -> list[tuple[object, ...]]:
    """Return the rows of what `query` gives, by the table that they were written to."""
    return bench.rows(f"select * from {bench.table(query)[0]}")


def test_what_is_mounted_later_is_not_read(bench: Bench, method: str) -> None:
    files = [bench.write(f"select {n} as a", ids=[SCHEMA.fields[0].id]).files for n in (1, 2)]
    bench.mount(files[0], SCHEMA, name="t")
    query = bench.session.analysed("select a from s.t")
    rows = bench.session.query("select a from s.t")
    bench.mount(files[1], SCHEMA, name="t")
    assert [column.name for column in query.columns] == ["a"]
    written = query.write(Destination(folder=bench.folder(), ids=[SCHEMA.fields[0].id]))
    assert bench.rows(f"select a from {bench.mount(written.files, SCHEMA)}") == [(1,)]
    assert rows.fetch() == [(1,)]
    assert query.is_repeatable() and rows.is_repeatable()
    assert bench.rows("select a from s.t") == [(2,)]


def test_the_moment_is_that_of_the_write(bench: Bench, method: str) -> None:
    query = bench.session.analysed("select current_timestamp() as t")
    [(between,)] = bench.rows("select current_timestamp()")
    written = query.write(Destination(folder=bench.folder(), ids=["t"]))
    schema = Schema(fields=(Field(id="t", name="t", type="timestamp"),))
    [(told,)] = bench.rows(f"select t from {bench.mount(written.files, schema)}")
    assert told > between


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("select id from range(3)", True),
        ("select rand() as r", False),
        ("select id from range(3) limit 1", False),
        ("select id from range(3) where current_date() > '2020-01-01'", False),
    ],
)
def test_rows_and_queries_tell_alike_whether_they_vary(
    bench: Bench, method: str, query: str, same: bool
) -> None:
    assert bench.session.analysed(query).is_repeatable() is same
    assert bench.session.query(query).is_repeatable() is same


def test_a_function_that_varies_is_written_once(bench: Bench, method: str) -> None:
    [(first, second)] = written_rows(bench, "select r, r as again from (select rand() r)")
    assert first == second


def test_an_insert_tells_whether_its_query_varies(bench: Bench, method: str) -> None:
    columns = [Column(name="a", type="double")]
    for query, same in (("select 1", True), ("select rand()", False)):
        written = bench.session.insert(
            lambda stage, query=query: f"insert into {stage} {query}",
            Destination(folder=bench.folder()),
            columns=columns,
        )
        # A server's rows may have been staged in files, which say nothing.
        told = written.is_repeatable
        assert told is None if method == "connect" else told is not None and told() is same


def test_a_query_that_can_not_be_analysed_says_so_at_once(bench: Bench, method: str) -> None:
    with pytest.raises(EngineError, match="UNRESOLVED_COLUMN"):
        bench.session.analysed("select nothing_of_that_name from range(2)")
