"""`dbt-vcs reuse`: what it lists, counts, explains and drops, and what an old repository gives."""

from __future__ import annotations

import json

import pytest

from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import Input, NodeRun, RelationName, Run, TableEntry
from dbt.adapters.vcs.core.origins.results import Result, ResultKind, Results
from tests.unit.warehouse import SECOND, START, Warehouse

from .conftest import Call

ORDERS, TEST = "model.shop.orders", "test.shop.unique_orders_id.fed79b3a6e"


class Memory:
    """The results of a warehouse, with short ways to fill it."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self.results = Results(warehouse.blobs)
        self._number = 0

    def version(self, name: str) -> str:
        entry = self.warehouse.repository.tree(self.warehouse.head()).entry(
            RelationName("shop", name)
        )
        assert isinstance(entry, TableEntry)
        return entry.snapshot

    def put(
        self,
        node: str | None,
        statement: str,
        *,
        kind: ResultKind = "table",
        version: str = "",
        rows: str | None = None,
        inputs: tuple[Input, ...] = (),
        **ingredients: str,
    ) -> str:
        self._number += 1
        key = f"{self._number:04x}".ljust(64, "0")
        named = {name.replace("__", " "): value for name, value in ingredients.items()}
        self.results.put(
            key,
            Result(
                kind=kind,
                version=version,
                rows=rows,
                seconds=1.5,
                made_at=Micros(START + self._number * 60 * SECOND),
                node=node,
                invocation=f"run-{self._number}",
                branch="main",
                statement=statement,
                target="shop.orders" if kind == "table" else "",
                inputs=inputs,
                ingredients=named,
            ),
        )
        return key


@pytest.fixture
def memory(warehouse: Warehouse) -> Memory:
    """A table of two versions, of which the first was replaced, a test's answer and a query's."""
    warehouse.put(orders="a")
    found = Memory(warehouse)
    text = "create or replace table orders as select id from raw"
    found.put(ORDERS, text, version=found.version("orders"), text="1", settings="1")
    warehouse.put(orders="b")
    found.put(
        ORDERS,
        text.replace("id", "id + 1 as id"),
        version=found.version("orders"),
        text="2",
        settings="1",
    )
    found.put(TEST, "select 1", kind="answer", rows="[[1], [2]]", text="3")
    found.put(None, "select 2", kind="answer", rows="[]", text="4")
    return found


def run(*nodes: NodeRun, id: str = "0d7c1f0e") -> Run:
    return Run(invocation=id, command="build", target="dev", nodes=nodes)


def test_results_are_listed_with_the_newest_first(memory: Memory, vcs: Call) -> None:
    found = json.loads(vcs("reuse", "list", "--json").output)
    assert [item["node"] for item in found] == [None, TEST, ORDERS, ORDERS]
    assert [item["rows"] for item in found] == [0, 2, 10, 10]
    assert {item["is_held"] for item in found} == {True}
    assert vcs("reuse").output == vcs("reuse", "list").output
    assert "KEY" in vcs("reuse").output and ORDERS in vcs("reuse").output


@pytest.mark.parametrize("name", ["orders", ORDERS, "shop.orders"])
def test_a_node_is_named_as_people_do(memory: Memory, vcs: Call, name: str) -> None:
    found = json.loads(vcs("reuse", "list", "--node", name, "--json").output)
    assert [item["node"] for item in found] == [ORDERS, ORDERS]
    assert TEST in vcs("reuse", "list", "--node", "unique_orders_id").output
    failed = vcs("reuse", "list", "--node", "order", code=1)
    assert "Nothing is remembered of 'order'" in failed.output


def test_a_version_whose_rows_were_collected_is_gone(memory: Memory, vcs: Call) -> None:
    for info in list(memory.warehouse.blobs.walk("data")):
        if "xa-" in info.path:
            memory.warehouse.blobs.delete(info.path)
    found = json.loads(vcs("reuse", "list", "--node", "orders", "--json").output)
    assert [(item["rows"], item["is_held"]) for item in found] == [(10, True), (None, False)]
    assert "gone" in vcs("reuse", "list", "--node", "orders").output


def test_figures_count_each_node_once_a_run(memory: Memory, vcs: Call) -> None:
    reused = NodeRun(id=ORDERS, status="success", reused="main", saved=4.5)
    computed = NodeRun(id=TEST, status="pass")
    memory.warehouse.put(orders="c", run=run(reused, computed))
    memory.warehouse.put(orders="d", run=run(reused, computed))
    memory.warehouse.put(orders="e", run=run(computed, id="5b3c"))
    found = json.loads(vcs("reuse", "stats", "--days", "100000", "--json").output)
    assert (found["results"], found["nodes"]) == (4, 2)
    assert found["kinds"] == {"answer": 2, "table": 2}
    assert found["bytes"] == sum(info.bytes for info in memory.warehouse.blobs.walk("results"))
    assert (found["runs"], found["ended"], found["reused"], found["saved"]) == (2, 3, 1, 4.5)
    said = vcs("reuse", "stats", "--days", "100000").output
    assert "4 results of 2 nodes" in said
    assert "2 runs on record. Of 3 nodes, 1 was reused, 4.5 s of work saved." in said
    assert json.loads(vcs("reuse", "stats", "--days", "0", "--json").output)["runs"] == 0
    for days in ("-1", "inf", "nan"):
        assert "Expected 0 or more days" in vcs("reuse", "stats", "--days", days, code=2).output


def test_why_says_what_differs_from_the_time_before(memory: Memory, vcs: Call) -> None:
    said = vcs("reuse", "why", "orders").output
    assert said.splitlines()[0] == ORDERS
    assert "its text is another: `+ 1 as id from raw`, before `from raw`" in said
    memory.put(
        ORDERS,
        "create or replace table orders as select id + 1 as id from raw",
        text="2",
        settings="2",
        reads__shop_raw="2",
        **{"setting spark.sql.ansi.enabled": "2"},
    )
    [found] = json.loads(vcs("reuse", "why", "orders", "--json").output)["statements"]
    assert found["differs"] == [
        "it reads shop_raw now",
        "the setting spark.sql.ansi.enabled has another value",
    ]


@pytest.mark.parametrize(
    ("inputs", "clause"),
    [
        ((Input(relation="shop.raw", snapshot="1"),), "shop.raw has other rows or columns"),
        (
            (Input(relation="shop.raw", view="1"),),
            "shop.raw is another, or something that it reads is",
        ),
        (
            (Input(relation="shop.raw", external="data/*.csv"),),
            "shop.raw has other files, by their paths, sizes or times",
        ),
    ],
)
def test_why_says_how_what_is_read_has_changed(
    memory: Memory, vcs: Call, inputs: tuple[Input, ...], clause: str
) -> None:
    text = "create table orders as select * from raw"
    for version in ("1", "2"):
        memory.put(ORDERS, text, inputs=inputs, **{"reads shop.raw": version})
    [found] = json.loads(vcs("reuse", "why", "orders", "--json").output)["statements"]
    assert found["differs"] == [clause]


@pytest.mark.parametrize(
    ("name", "clause"),
    [
        ("target", "shop.orders, which it changes, was another"),
        ("schema", "the schema of names without one is another"),
        ("user", "another user ran it, and its text asks who does"),
        ("always", "reuse: always was set or taken away"),
        ("settings", "a setting that counts has another value"),
        ("setting spark", "Spark has another version"),
        ("difference shop.a, shop.b", "between other versions"),
        ("text", "a config is another"),
    ],
)
def test_every_ingredient_has_its_words(memory: Memory, vcs: Call, name: str, clause: str) -> None:
    for version in ("1", "2"):
        memory.put(ORDERS, "create table orders as select 1", **{name: version})
    [found] = json.loads(vcs("reuse", "why", "orders", "--json").output)["statements"]
    [said] = found["differs"]
    assert clause in said


def test_why_says_what_the_last_run_refused(memory: Memory, vcs: Call) -> None:
    refused = "`create table orders as select rand()`: it may give another result each time: rand"
    memory.warehouse.put(
        orders="c", run=run(NodeRun(id=ORDERS, status="success", refused=refused))
    )
    said = vcs("reuse", "why", "orders").output
    assert f"Not looked up: {refused}." in said
    assert "set the config reuse: always" in said
    reused = NodeRun(id=ORDERS, status="success", reused="dev", saved=2.0)
    memory.warehouse.put(orders="d", run=run(reused, id="5b3c"))
    said = vcs("reuse", "why", "orders").output
    assert "Reused from dev by dbt build for main" in said and "2.0 s of work saved" in said
    assert "No run on record built 'none'" in vcs("reuse", "why", "none", code=1).output


def test_two_nodes_of_one_name_are_told_apart(memory: Memory, vcs: Call) -> None:
    memory.put("seed.other.orders", "insert into orders values (1)")
    assert "2 nodes are named 'orders'" in vcs("reuse", "why", "orders", code=2).output
    assert "seed.other.orders" in vcs("reuse", "why", "seed.other.orders").output


def test_dropping_says_what_was_forgotten_and_takes_no_table(memory: Memory, vcs: Call) -> None:
    tables = memory.version("orders")
    assert "one of --node NODE, --key KEY and --all" in vcs("reuse", "drop", code=2).output
    assert vcs("reuse", "drop", "--all", "--key", "0001", code=2)
    assert "No result has the key '0'" in vcs("reuse", "drop", "--key", "0", code=1).output
    assert "Forgot 1 result of 1 node" in vcs("reuse", "drop", "--key", "0003").output
    assert "Forgot 2 results of 1 node" in vcs("reuse", "drop", "--node", "orders").output
    report = json.loads(vcs("reuse", "drop", "--all", "--json").output)
    assert (report["results"], report["nodes"]) == (1, [])
    assert "Nothing was remembered." in vcs("reuse", "drop", "--all").output
    assert memory.results.count() == 0
    assert memory.version("orders") == tables


def test_a_repository_that_remembers_nothing_gives_no_error(
    warehouse: Warehouse, vcs: Call
) -> None:
    warehouse.put(orders="a")
    assert vcs("reuse").output == "Nothing is remembered.\n"
    assert "0 runs on record" in vcs("reuse", "stats").output
    assert "Nothing was remembered." in vcs("reuse", "drop", "--all").output
    assert "Build it: dbt build --select orders" in vcs("reuse", "why", "orders", code=1).output
    vcs("reuse", "drop", "--node", "orders", code=1)


def test_a_damaged_result_is_passed_over_and_dropped(memory: Memory, vcs: Call) -> None:
    memory.warehouse.blobs.create(f"results/ff/{'ff' * 32}", b"no record")
    assert len(json.loads(vcs("reuse", "--json").output)) == 4
    assert json.loads(vcs("reuse", "stats", "--json").output)["results"] == 5
    assert json.loads(vcs("reuse", "drop", "--all", "--json").output)["results"] == 5
    assert memory.results.count() == 0


def test_show_and_log_say_what_was_reused(memory: Memory, vcs: Call) -> None:
    nodes = (
        NodeRun(id=ORDERS, status="success", reused="dev", saved=4.5),
        NodeRun(id=TEST, status="pass"),
    )
    memory.warehouse.put(orders="c", run=run(*nodes), message="dbt build")
    shown = vcs("show").output
    assert "Reused:  1 of 2 nodes, 4.5 s of work saved" in shown
    assert "REUSED FROM" in shown
    first, second = vcs("log", "-n", "2").output.splitlines()[:2]
    assert first.endswith(", 1 of 2 reused") and "reused" not in second
    [found, _] = json.loads(vcs("log", "-n", "2", "--json").output)
    assert (found["nodes"], found["reused"], found["saved"]) == (2, 1, 4.5)
