"""Functions as objects of a branch: called, replaced, dropped, merged; isolated by branch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.core.errors import EngineError, InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.model import FunctionEntry, Origin, RelationName
from dbt.adapters.vcs.project.operations import Caller, prepare_operation

from .conftest import SPARK, Sql, rows_of

pytestmark = pytest.mark.spark

DOUBLE = "create or replace function dbl(price float default 100) returns float return price * 2"


def verb(client: Client, name: str, **arguments: str) -> list[str]:
    caller = Caller(repository=client.repository, author="ann", branch="main")
    return prepare_operation(caller, name, arguments)()


def test_calls_with_and_without_schema_and_defaults(sql: Sql) -> None:
    sql(DOUBLE)
    assert sql("select dbl(3), shop.dbl(), `shop`.`DBL`(price => 4)") == [(6.0, 200.0, 8.0)]
    sql("create table t as select dbl(id) d from range(3)")
    sql("update t set d = dbl(d) where dbl(d) > 4")
    sql("insert into t select dbl(50)")
    assert sql("select d from t order by d") == [(0.0,), (2.0,), (8.0,), (100.0,)]


def test_a_function_reads_the_branch_and_versions_that_it_names(sql: Sql) -> None:
    sql("create table t as select id from range(3)")
    sql("create snapshot first for table t")
    sql("create function here() returns bigint return (select count(*) from t)")
    sql(
        "create function before() returns bigint "
        "return (select count(*) from t version as of 'first')"
    )
    sql("insert into t values (9)")
    assert sql("select here(), before()") == [(4, 3)]


def test_what_needs_a_function_follows_it(sql: Sql) -> None:
    sql(DOUBLE)
    sql("create view v as select dbl(id) d from range(2)")
    sql("create function nest(x float) returns float return dbl(x) + 1")
    assert sql("select nest(1), (select max(d) from v)") == [(3.0, 2.0)]
    sql("create or replace function dbl(price float) returns float return price * 5")
    assert sql("select nest(1), (select max(d) from v)") == [(6.0, 5.0)]
    sql("drop function dbl")
    for text in ("select dbl(1)", "select nest(1)", "select * from v"):
        with pytest.raises(EngineError, match="`dbl`"):
            sql(text)


def test_rows(sql: Sql) -> None:
    sql("create table t as select id from range(3)")
    sql(
        "create function said(m int) returns table(a bigint, b bigint) "
        "return select id, id * m from t"
    )
    assert sql("select * from said(2) where b > 2") == [(2, 4)]
    sql("create function found(m int) returns table return select id + m as z from t")
    assert sql("select max(z) from found(2)") == [(4,)]


def test_names_are_shared_and_sparks_own_come_first(sql: Sql) -> None:
    sql("create table t as select 1 id")
    sql(DOUBLE)
    with pytest.raises(InputError, match=r"shop\.t is a table. Drop it first: drop table"):
        sql("create or replace function t() returns int return 1")
    with pytest.raises(InputError, match=r"shop\.dbl is a function. Drop it first: drop function"):
        sql("create or replace table dbl as select 1 x")
    with pytest.raises(InputError, match="is a function and a table or view is needed"):
        sql("describe table dbl")
    with pytest.raises(InputError, match="write: drop function"):
        sql("drop table dbl")
    with pytest.raises(InputError, match="already exists"):
        sql("create function dbl(x int) returns int return x")
    with pytest.raises(NotFoundError, match="no function"):
        sql("drop function nix")
    sql("create function sum(x int) returns int return x * 1000")
    assert sql("select sum(3), shop.sum(3)") == [(3, 3000)]
    with pytest.raises(InputError, match="would call itself"):
        sql("create function again(x int) returns int return again(x - 1)")


def test_a_function_that_spark_refuses_is_not_kept(client: Client, sql: Sql) -> None:
    sql(DOUBLE)
    head = client.repository.branch("main").head
    with pytest.raises(EngineError):
        sql("create or replace function dbl(x int) returns int return nix(x)")
    with pytest.raises(UnsupportedError, match="can't aggregate"):
        sql("create aggregate function total(x int) returns int return sum(x)")
    assert client.repository.branch("main").head == head
    assert sql("select dbl(1)") == [(2.0,)]


def test_listing_and_describing(sql: Sql) -> None:
    sql(DOUBLE.replace("return price", "deterministic comment 'it''s' return price"))
    assert ("spark_catalog.shop.dbl",) in sql("show user functions in shop")
    assert sql("show functions like 'db*l'") == [("spark_catalog.shop.dbl",)]
    assert ("abs",) in sql("show functions")
    facts = dict(row[0].split(":", 1) for row in sql("describe function extended dbl"))
    assert facts["Input"].strip() == "price float default 100"
    assert facts["Body"].strip() == "price * 2"
    assert facts["Comment"].strip() == "it's"
    assert "abs" in sql("describe function abs")[0][0]


@pytest.fixture
def dev(client: Client) -> Iterator[Sql]:
    """Run a statement on the branch dev, which starts here."""
    repository = client.repository
    repository.create_branch("dev", repository.branch("main").head, author="ann", note="")
    with connect(repository.uri, branch="dev", schema="shop", spark=SPARK, author="ann") as other:
        yield lambda text: rows_of(other.sql(text))


def test_branches_have_their_own(sql: Sql, request: pytest.FixtureRequest) -> None:
    sql(DOUBLE)
    dev: Sql = request.getfixturevalue("dev")
    dev(DOUBLE.replace("* 2", "* 7"))
    dev("create function only() returns int language python handler = 'f' as 'def f(): return 1'")
    assert (sql("select dbl(1)"), dev("select dbl(1)"), dev("select only()")) == (
        [(2.0,)],
        [(7.0,)],
        [(1,)],
    )
    with pytest.raises(EngineError, match="only"):
        sql("select only()")


def test_a_merge_takes_functions_over_and_finds_conflicts(
    client: Client, sql: Sql, request: pytest.FixtureRequest
) -> None:
    sql(DOUBLE)
    dev: Sql = request.getfixturevalue("dev")
    dev("create function more(x int) returns int return x + 1")
    verb(client, "merge", source="dev", target="main")
    assert sql("select more(1)") == [(2,)]
    sql("create or replace function more(x int) returns int return x + 10")
    dev("create or replace function more(x int) returns int return x + 100")
    with pytest.raises(Exception, match=r"shop\.more"):
        verb(client, "merge", source="dev", target="main")
    assert sql("select more(1)") == [(11,)]


def test_every_session_of_a_workspace_sees_what_the_branch_has(client: Client, sql: Sql) -> None:
    """Spark's sessions keep a function that they called before until their cache is cleared."""
    workspace = client._workspace
    asked = [workspace.connect("one"), workspace.connect("two")]

    def answers(text: str) -> list[object]:
        found = []
        for connection in asked:
            outcome = connection.execute(text, workspace.begin(), origin=Origin())
            assert outcome.rows is not None
            found.append(outcome.rows.fetch()[0][0])
        return found

    sql(DOUBLE)
    sql("create view v as select dbl(1) d")
    assert answers("select dbl(1)") == [2.0, 2.0]
    sql(DOUBLE.replace("* 2", "* 3"))
    assert answers("select dbl(1)") == [3.0, 3.0]
    assert answers("select d from v") == [3.0, 3.0]
    sql("drop function dbl")
    for text in ("select dbl(1)", "select d from v"):
        with pytest.raises(EngineError):
            answers(text)
    sql("create function dbl(x int) returns table(y int) return select x * 4")
    assert answers("select y from dbl(1)") == [4, 4]
    for connection in asked:
        connection.close()


def test_a_temporary_function_follows_the_branch(client: Client, sql: Sql) -> None:
    sql("create table t as select 1 id")
    sql(DOUBLE)
    sql("create temporary function said() returns float return (select max(dbl(id)) from t)")
    other = client._workspace.connect("other")
    assert sql("select said()") == [(2.0,)]
    sql("insert into t values (5)")
    sql(DOUBLE.replace("* 2", "* 3"))
    outcome = other.execute("select dbl(1)", client._workspace.begin(), origin=Origin())
    assert outcome.rows is not None and outcome.rows.fetch() == [(3.0,)]
    assert sql("select said()") == [(15.0,)]
    other.close()


def test_history_tells_of_functions(client: Client, sql: Sql) -> None:
    sql(DOUBLE)
    first = client.repository.branch("main").head
    sql(DOUBLE.replace("* 2", "* 3"))
    entry = client.repository.tree(first).entry(RelationName("shop", "dbl"))
    assert isinstance(entry, FunctionEntry)
    assert client.repository.objects.function(entry.function).text == "price * 2"
    same = client.repository.branch("main").head
    sql(DOUBLE.replace("* 2", "* 3"))
    assert client.repository.branch("main").head == same
    sql("create table t as select dbl(1) d")
    inputs = client.repository.objects.snapshot(
        client.repository.tree(client.repository.branch("main").head)
        .entry(RelationName("shop", "t"))
        .snapshot  # type: ignore[union-attr]
    ).origin.inputs
    assert [(item.relation, bool(item.function)) for item in inputs] == [("shop.dbl", True)]
    assert sql("select input_relation, input_function from vcs.lineage") == [
        ("shop.dbl", inputs[0].function)
    ]
    verb(client, "restore", relation="shop.dbl", to=first)
    assert sql("select dbl(1)") == [(2.0,)]
    assert check_repository(client.repository).problems == ()
