"""Whatever a session sets, statements that write mean what they mean to Spark that only reads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark import SparkContext

from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.engines.session_settings import session_settings
from dbt.adapters.vcs.engines.spark.context import new_session, private_root
from dbt.adapters.vcs.workspace.lines.line_workspace import Connection

from .shop import Shop

pytestmark = pytest.mark.spark

SQL: Final = "spark.sql."
ZONE: Final = "session.timeZone"
TELLING: Final[Mapping[str, tuple[str, str]]] = {
    ZONE: ("America/New_York", "unix_micros(timestamp'2026-07-01 10:00:00')"),
    "ansi.enabled": ("true", "typeof(1 + '1')"),
    "parser.escapedStringLiterals": ("true", r"'a\nb'"),
    "legacy.consecutiveStringLiterals.enabled": ("true", "'a''b'"),
    "legacy.exponentLiteralAsDecimal.enabled": ("true", "typeof(1e3)"),
    "legacy.literal.pickMinimumPrecision": ("false", "typeof(1 + 1.5)"),
    "legacy.interval.enabled": ("true", "typeof(interval 1 day)"),
    "legacy.sizeOfNull": ("false", "size(cast(null as array<int>))"),
    "legacy.timeParserPolicy": ("LEGACY", "try_to_date('2026-7-1x', 'yyyy-MM-dd')"),
    "legacy.negativeIndexInArrayInsert": ("true", "array_insert(array(1, 2), -1, 9)"),
    "legacy.castComplexTypesToString.enabled": ("true", "cast(array(1, null) as string)"),
    "legacy.lpadRpadAlwaysReturnString": ("true", "typeof(lpad(x'41', 2, x'00'))"),
    "legacy.followThreeValuedLogicInArrayExists": ("false", "exists(array(1, null), x -> x > 1)"),
    "decimalOperations.allowPrecisionLoss": (
        "false",
        "typeof(cast(1 as decimal(38, 18)) * cast(1 as decimal(38, 18)))",
    ),
    "function.concatBinaryAsString": ("true", "typeof(concat(x'41', x'42'))"),
    "function.eltOutputAsString": ("true", "typeof(elt(1, x'41', x'42'))"),
    "jsonGenerator.ignoreNullFields": (
        "false",
        "to_json(named_struct('a', 1, 'b', cast(null as int)))",
    ),
    "chunkBase64String.enabled": ("false", "base64(repeat('x', 100))"),
    "timestampType": ("TIMESTAMP_NTZ", "typeof(timestamp'2026-07-01 10:00:00')"),
}
"""Settings that parsing or analysis reads: another value, and an expression that shows it."""

SILENT: Final[Mapping[str, str]] = {
    "ansi.doubleQuotedIdentifiers": "true",
    "ansi.enforceReservedKeywords": "true",
    "caseSensitive": "true",
    "crossJoin.enabled": "false",
    "parser.quotedRegexColumnNames": "true",
    "readSideCharPadding": "false",
    "charAsVarchar": "true",
    "runSQLOnFiles": "false",
    "storeAssignmentPolicy": "STRICT",
}
"""Settings that parsing or analysis reads, and that must not change the statements below."""

NUMBERS: Final = itertools.count(1)

ALL: Final[Mapping[str, str]] = {key: value for key, (value, _) in TELLING.items()} | SILENT

TIMES: Final = (
    ("at", "timestamp", "timestamp'2026-07-01 10:00:00'"),
    ("also", "timestamp", "cast('2026-07-01 10:00:00' as timestamp)"),
    ("inside", "array<struct<t: timestamp>>", "array(named_struct('t', timestamp'2026-07-01'))"),
    ("moment", "timestamp_ltz", "timestamp_ltz'2026-07-01 10:00:00'"),
    ("clock", "timestamp_ntz", "timestamp_ntz'2026-07-01 10:00:00'"),
)


@pytest.fixture(scope="module", params=["session", "connect"])
def method(request: pytest.FixtureRequest) -> str:
    """Return where the branch's statements run: in this process, or on a server."""
    return str(request.param)


@pytest.fixture(scope="module")
def either(
    method: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    """Return a branch on the engine of the method."""
    if method == "session":
        yield request.getfixturevalue("shop")
        return
    engines = request.getfixturevalue("connect_engine_factory")
    with Shop.open(tmp_path_factory.mktemp("served"), engines) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Return a maker of sessions of Spark's own, each with the same empty catalog."""
    shop.rows("select 1")
    context = SparkContext._active_spark_context
    folder = str(tmp_path_factory.mktemp("plain"))
    root = private_root(context, session_settings({}, {}, folder))

    def make(changed: Mapping[str, str]) -> Any:
        session = new_session(root)
        for key, value in changed.items():
            session.conf.set(key, value)
        return session

    return make


def test_each_expression_shows_its_setting(plain: Any) -> None:
    for key, (value, text) in TELLING.items():
        others, changed = plain({}), plain({SQL + key: value})
        query = f"select {text}"
        assert changed.sql(query).collect() != others.sql(query).collect(), key


def rows_of(shop: Shop, connection: Connection, text: str) -> object:
    """Return the rows of a statement on a connection whose settings no other test has changed."""
    rows = connection.execute(text, shop._workspace.begin(), origin=Origin()).rows
    return rows.fetch() if rows else None


def test_a_view_is_read_with_the_settings_of_who_reads_it(either: Shop) -> None:
    view = f"view{next(NUMBERS)}"
    query = "select typeof(1 + '1') as a, typeof(timestamp'2026-07-01') as b"
    either.sql(f"create view {view} as {query}")
    changed, other = (either._workspace.connect(name) for name in ("changed", "other"))
    # A session that has shown the view already reads it by what it sets later, too.
    before = rows_of(either, changed, f"select * from {view}")
    assert before == rows_of(either, changed, query)
    for key in ("ansi.enabled", "timestampType"):
        rows_of(either, changed, f"set {SQL}{key} = {TELLING[key][0]}")
    seen = [
        rows_of(either, connection, f"select * from {view}") for connection in (changed, other)
    ]
    assert seen == [rows_of(either, connection, query) for connection in (changed, other)]
    assert seen[0] != seen[1]


@pytest.mark.parametrize("reset", [f"reset {SQL}{ZONE}", "reset"])
def test_a_reset_returns_to_what_the_connection_began_with(either: Shop, reset: str) -> None:
    query = "select current_timezone(), typeof(1 + '1')"
    connection = either._workspace.connect("begins")
    before = rows_of(either, connection, query)
    rows_of(either, connection, f"set {SQL}{ZONE} = Asia/Tokyo")
    assert rows_of(either, connection, query) != before
    rows_of(either, connection, reset)
    assert rows_of(either, connection, query) == before


@settings(max_examples=max(1, settings().max_examples // 100))
@example(keys=frozenset(ALL))
@example(keys=frozenset())
@given(keys=st.frozensets(st.sampled_from(sorted(ALL))))
def test_statements_that_write_read_texts_as_spark_does(
    either: Shop, plain: Any, keys: frozenset[str]
) -> None:
    shop = either
    changed = {SQL + key: ALL[key] for key in keys}
    spark = plain(changed)
    texts = {f"c{place}": text for place, (_, text) in enumerate(TELLING.values())}
    types = spark.sql("select " + ", ".join(texts.values())).schema.fields
    declared = {
        name: field.dataType.simpleString() for name, field in zip(texts, types, strict=True)
    }
    for name, type_, text in TIMES:
        texts[name], declared[name] = text, type_
    values = ", ".join(texts.values())
    named = ", ".join(f"{text} as {name}" for name, text in texts.items())
    sets = ", ".join(f"{name} = {text}" for name, text in texts.items())
    meets = " and ".join(f"{name} <=> {text}" for name, text in texts.items())
    made, view, table = (f"{kind}{next(NUMBERS)}" for kind in ("made", "view", "table"))
    columns = ", ".join(f"{name} {type_}" for name, type_ in declared.items())
    shown = ", ".join(f"cast({name} as string), typeof({name})" for name in texts)
    seen = f"select {shown}, unix_micros(moment), {meets} from"

    def rows(name: str, k: int | None = None) -> list[list[str]]:
        where = "" if k is None else f" where k = {k}"
        found = shop.sql(f"{seen} {name}{where}").to_pylist()
        return [list(map(str, row.values())) for row in found]

    for key, value in changed.items():
        shop.sql(f"set {key} = {value}")
    try:
        spark.sql(f"create table {table} ({columns}) using parquet")
        spark.sql(f"insert into {table} select {values}")
        stored = [list(map(str, row)) for row in spark.sql(f"{seen} {table}").collect()]
        spark.sql(f"create table {made} using parquet as select {named}")
        found = [list(map(str, row)) for row in spark.sql(f"{seen} {made}").collect()]
        same = stored[0][-1] == "True"

        shop.sql(f"create table {made} as select {named}")
        assert rows(made) == found
        shop.sql(f"create view {view} as select {named}")
        assert rows(view) == found
        shop.sql(f"create table {table} (k int, {columns})")
        shop.sql(f"insert into {table} select 1, {values}")
        assert rows(table) == stored
        shop.sql(f"insert into {table} (k) values (2), (3)")
        shop.sql(f"update {table} set {sets} where k = 2")
        assert rows(table, 2) == stored
        shop.sql(
            f"merge into {table} t using (select 3 as id union all select 4) s on t.k = s.id "
            f"when matched then update set {sets} when not matched then insert "
            f"(k, {', '.join(texts)}) values (s.id, {values})"
        )
        assert rows(table, 3) == rows(table, 4) == stored
        assert shop.change(f"update {table} set k = k + 1 where {meets}") == (4 if same else 0)
        shop.change(
            f"merge into {table} t using (select {named}) s on "
            + " and ".join(f"t.{name} <=> s.{name}" for name in texts)
            + " when matched then update set k = k + 1"
        )
        assert shop.change(f"delete from {table} where {meets}") == (4 if same else 0)

        later = f"select typeof(any_value(later)) from {table}"
        for run in (spark.sql, shop.sql):
            run(f"alter table {table} add columns (later timestamp)")
        assert shop.rows(later) == [tuple(row) for row in spark.sql(later).collect()]
    finally:
        for key in changed:
            shop.sql(f"reset {key}")
