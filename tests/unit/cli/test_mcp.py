"""`dbt-vcs mcp`: each tool by the client of the protocol's own library."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from dbt.adapters.vcs.changes.diffs.row_facts import MASK
from dbt.adapters.vcs.commands import mcp_tools, serve
from dbt.adapters.vcs.commands.options import Settings
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.core.ids import SnapshotId, TableId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from tests.unit.cli.conftest import Call
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

HOSTILE = 'o\'ne "two"; $(three)'
SECRET = "s3cret@example.org"

Ask = Callable[..., CallToolResult]


@pytest.fixture
def tables(warehouse: Warehouse) -> Tables:
    """`dev` changes a row of `orders`, and adds one."""
    made = Tables(warehouse)
    rows = made.block({1: "a", 2: SECRET, 3: None})
    orders = made.entry([rows], key=True)
    warehouse.put(orders=orders, v=warehouse.view("select 1 as a"))
    warehouse.branch("dev")
    gone, come = made.tombstone(rows, {1: (2, SECRET)}), made.block({2: f"new {SECRET}", 4: "d"})
    new = made.entry([rows, come], [gone], parents=[orders], key=True)
    warehouse.put("dev", orders=new, message="Change orders")
    return made


@pytest.fixture
def project(folder: Path, tables: Tables) -> Path:
    (folder / "dbt_project.yml").write_text("{name: shop, profile: shop}")
    output = "{type: vcs, method: session, repository: ./warehouse, schema: shop}"
    (folder / "profiles.yml").write_text(f"shop: {{target: dev, outputs: {{dev: {output}}}}}")
    return folder


def asked(settings: Settings, tool: str, **given: Any) -> CallToolResult:
    server = mcp_tools.mcp_server(settings, CommandSession(settings).repository)

    async def call() -> CallToolResult:
        async with Client(server) as client:
            return await client.call_tool(tool, given)

    return anyio.run(call)


@pytest.fixture
def ask(tables: Tables) -> Ask:
    """Call a tool on the warehouse."""
    return lambda tool, **given: asked(Settings(repository="warehouse"), tool, **given)


def said(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def found(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, said(result)
    assert result.structured_content == json.loads(said(result))
    return result.structured_content


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_each_tool_answers_what_its_command_does_and_writes_nothing(
    ask: Ask, call: Call, folder: Path
) -> None:
    before = files(folder)
    assert found(ask("status"))["contents"]["tables"] == 1
    branches = found(ask("branches"))
    listed = json.loads(call("-r", "warehouse", "branch", "--json").output)
    assert branches == {"branches": listed, "is_complete": True, "damaged": []}
    log = json.loads(call("-r", "warehouse", "log", "dev", "--stat", "--json").output)
    assert found(ask("log", revision="dev", stat=True))["commits"] == log
    (commit,) = found(ask("log", revision="main..dev", table="shop.orders"))["commits"]
    assert commit["message"] == "Change orders"
    diff = call("-r", "warehouse", "diff", "main...dev", "shop.orders", "--json", code=1).output
    assert found(ask("diff", revisions="main...dev", table="shop.orders")) == {
        **json.loads(diff),
        "is_complete": True,
    }
    (relation,) = found(ask("diff", revisions="main..dev"))["relations"]
    assert (relation["rows_added"], relation["rows_modified"]) == (1, 1)
    review = found(ask("review", revisions="main...dev"))
    assert review["verdict"]["can_merge"] and review["relations"][0]["name"] == "shop.orders"
    kinds = {item["name"]: item["kind"] for item in found(ask("tables"))["tables"]}
    assert kinds == {"shop.orders": "table", "shop.v": "view"}
    assert found(ask("tables", part="ORD"))["tables"][0]["rows"] == 3
    rows = found(ask("rows", table="shop.orders", at="dev", where="id > 2"))
    assert rows == {
        "table": "shop.orders",
        "columns": [{"name": "id", "type": "bigint"}, {"name": "name", "type": "string"}],
        "rows": [{"id": 3, "name": None}, {"id": 4, "name": "d"}],
        "is_complete": True,
    }
    assert files(folder) == before


def test_every_tool_says_that_it_only_reads(tables: Tables) -> None:
    server = mcp_tools.mcp_server(Settings(), tables.warehouse.repository)

    async def listing() -> list[Any]:
        async with Client(server) as client:
            return (await client.list_tools()).tools

    tools = anyio.run(listing)
    names = ["status", "branches", "log", "diff", "review", "tables", "rows"]
    assert [tool.name for tool in tools] == names
    for tool in tools:
        assert tool.annotations.read_only_hint and not tool.annotations.destructive_hint
        assert tool.description and "\n" not in tool.description
        assert tool.input_schema["additionalProperties"] is False


def test_answers_have_limits(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = found(ask("rows", table="shop.orders", limit=2))
    assert len(rows["rows"]) == 2 and not rows["is_complete"]
    assert found(ask("rows", table="shop.orders", limit=3))["is_complete"]
    diff = found(ask("diff", revisions="main...dev", table="shop.orders", limit=1))
    assert len(diff["rows"]) == 1 and not diff["is_complete"] and diff["row_count"] == 3
    assert not found(ask("branches", limit=1))["is_complete"]
    for limit in (0, mcp_tools.MOST + 1):
        assert ask("rows", table="shop.orders", limit=limit).is_error
    monkeypatch.setattr(mcp_tools, "BYTES", 40)
    rows = found(ask("rows", table="shop.orders"))
    assert [row["id"] for row in rows["rows"]] == [1] and not rows["is_complete"]


@pytest.mark.parametrize(
    ("tool", "given", "text"),
    [
        ("log", {"revision": HOSTILE}, f"There is no branch {HOSTILE!r}"),
        ("diff", {"revisions": "main...nowhere"}, "'nowhere'"),
        ("diff", {"revisions": "shop.orders@main"}, "Expected revisions, such as main...dev"),
        ("diff", {"revisions": "main..dev", "table": "shop.none"}, "shop.none"),
        ("review", {"revisions": "main"}, "dbt-vcs -r warehouse review main...BRANCH"),
        ("rows", {"table": "shop.v"}, "shop.v is a view"),
        ("rows", {"table": HOSTILE}, "is not closed"),
        ("rows", {"table": "a.b.c.d"}, "Expected the name of a table"),
        ("rows", {"table": "shop.orders", "columns": ["nope"]}, "nope"),
        ("rows", {"table": "shop.orders", "where": "id; drop table"}, "drop"),
        ("rows", {"table": "shop.orders", "at": "nowhere"}, "nowhere"),
        ("tables", {"at": "-r"}, "'-r'"),
    ],
)
def test_a_mistake_is_told_as_the_commands_tell_it(
    ask: Ask, tool: str, given: dict[str, Any], text: str
) -> None:
    result = ask(tool, **given)
    assert result.is_error and text in said(result)
    assert "Traceback" not in said(result)


@pytest.mark.parametrize(
    ("tool", "given", "text"),
    [
        # It would be answered for the profile's branch.
        (
            "tables",
            {"revision": "dev"},
            "tables has no argument 'revision'. It takes at, part, limit.",
        ),
        (
            "rows",
            {"table": "shop.orders", "Column": ["id"]},
            "rows has no argument 'Column'. It takes table, at, columns, where, limit. "
            "Did you mean columns?",
        ),
        (
            "review",
            {"revision": "main...dev"},
            "review has no argument 'revision'. It takes revisions, limit. Did you mean "
            "revisions?",
        ),
    ],
)
def test_an_argument_that_a_tool_does_not_have_is_refused(
    ask: Ask, tool: str, given: dict[str, Any], text: str
) -> None:
    result = ask(tool, **given)
    assert result.is_error and said(result) == text


@pytest.mark.parametrize(
    ("tool", "meant"),
    [
        ("Row", " Did you mean rows?"),
        (HOSTILE, ""),
        ("", ""),
    ],
)
def test_a_tool_that_there_is_not_is_refused_with_those_that_there_are(
    ask: Ask, tool: str, meant: str
) -> None:
    result = ask(tool, table="shop.orders")
    known = "status, branches, log, diff, review, tables, rows"
    assert result.is_error
    assert said(result) == f"There is no tool {tool!r}. There are {known}.{meant}"
    assert len(said(ask("x" * 10_000))) < 300


@pytest.mark.parametrize(
    ("tool", "given", "text"),
    [
        (
            "review",
            {},
            "review needs revisions, a text: BASE...HEAD: what HEAD changed since it forked from "
            "BASE. It takes revisions, limit.",
        ),
        ("rows", {"table": 5}, "rows expected a text as table, found 5."),
        (
            "rows",
            {"table": "shop.orders", "limit": 0},
            "rows expected a number from 1 to 1000 as limit, found 0. Give one, or leave limit "
            "out.",
        ),
        (
            "rows",
            {"table": "shop.orders", "columns": ["id", 3], "limit": "x"},
            'rows expected a list of texts as columns, found ["id", 3]. Give one, or leave '
            "columns out.",
        ),
        (
            "log",
            {"stat": HOSTILE},
            f"log expected true or false as stat, found {json.dumps(HOSTILE)}. Give one, or leave "
            "stat out.",
        ),
        (
            "log",
            {"revision": ["x" * 200]},
            f'log expected a text as revision, found ["{"x" * 98}.... Give one, or leave revision '
            "out.",
        ),
    ],
)
def test_an_argument_of_another_kind_is_refused_in_a_sentence(
    ask: Ask, tool: str, given: dict[str, Any], text: str
) -> None:
    result = ask(tool, **given)
    assert result.is_error and said(result) == text


def test_each_kind_of_argument_has_a_sentence(tables: Tables) -> None:
    server = mcp_tools.mcp_server(Settings(), tables.warehouse.repository)

    async def refused() -> int:
        async with Client(server) as client:
            listed = (await client.list_tools()).tools
            calls = [
                (tool.name, name) for tool in listed for name in tool.input_schema["properties"]
            ]
            for tool, name in calls:
                answer = await client.call_tool(tool, {name: {"of": "no kind"}})
                text = said(answer)
                assert "expected" in text or "needs" in text, text
                assert "validation error" not in text
            return len(calls)

    assert anyio.run(refused) > 15


def test_a_server_that_runs_sees_what_others_do_meanwhile(warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    settings = Settings(repository="warehouse")
    server = mcp_tools.mcp_server(settings, CommandSession(settings).repository)

    async def calls() -> list[CallToolResult]:
        async with Client(server) as client:
            first = await client.call_tool("tables", {"at": "dev"})
            warehouse.put("dev", b="1")
            second = await client.call_tool("tables", {"at": "dev"})
            warehouse.repository.delete_branch("dev", author="ann")
            gone = await client.call_tool("tables", {"at": "dev"})
            return [first, second, gone, await client.call_tool("tables", {"at": "main"})]

    first, second, gone, main = anyio.run(calls)
    assert "shop.b" not in said(first)
    assert "shop.b" in said(second)
    assert gone.is_error
    assert "dev" in said(gone)
    assert not main.is_error


def test_a_fault_of_ours_is_told_and_the_server_goes_on(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mcp_tools, "read_status", lambda *_: 1 // 0)
    result = asked(Settings(repository="warehouse", debug=True), "status")
    assert result.is_error and "failed unexpectedly: ZeroDivisionError" in said(result)
    assert "1 // 0" in capfd.readouterr().err


@pytest.mark.parametrize("how", ["hide", "mask"])
def test_what_stays_out_of_reviews_stays_out_of_each_answer(
    project: Path, tables: Tables, how: str
) -> None:
    old = tables.shown(RelationName("shop", "orders"), "dev")
    tables.warehouse.branch("later", "dev")
    tables.put("later", orders=tables.renamed(old, "name", "contact"))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("diff", {"revisions": "main..dev", "table": "shop.orders"}),
        ("diff", {"revisions": "main..later", "table": "shop.orders"}),
        ("review", {"revisions": "main...dev"}),
        ("review", {"revisions": "main...later"}),
        ("rows", {"table": "shop.orders"}),
    ]
    for tool, given in calls:
        assert SECRET in said(asked(Settings(), tool, **given))
    # Read again for each call.
    (project / "vcs.yml").write_text(f"review: {{{how}: [shop.orders.NAME]}}\n")
    for tool, given in calls:
        assert SECRET not in said(asked(Settings(), tool, **given)), (tool, given)
    rows = found(asked(Settings(), "rows", table="orders", limit=1))["rows"]
    assert rows == [{"id": 1, "name": MASK} if how == "mask" else {"id": 1}]
    # Nor does a condition find it out.
    for where in (f"NAME = '{SECRET}'", "id = 2 and name is null"):
        result = asked(Settings(), "rows", table="shop.orders", columns=["id"], where=where)
        assert result.is_error and "shop.orders.name out of reviews" in said(result)
    result = asked(Settings(), "rows", table="shop.orders", columns=["Name"])
    assert result.is_error is (how == "hide")


@pytest.mark.parametrize("said_of", ["orders.name", "clients.contact", "clients.name"])
def test_what_stays_out_stays_out_under_the_names_of_then_and_of_now(
    project: Path, tables: Tables, said_of: str
) -> None:
    """A table and its column are renamed on `main`; the project names either."""
    old = tables.shown(RelationName("shop", "orders"))
    tables.warehouse.repository.create_tag("then", tables.warehouse.head(), author="ann")
    new = tables.renamed(old, "name", "contact")
    tables.put(orders=None, clients=new)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("rows", {"table": "shop.orders", "at": "then"}),
        ("rows", {"table": "shop.orders", "at": "dev"}),
        ("rows", {"table": "shop.orders", "at": old.snapshot}),
        ("diff", {"revisions": "then..dev", "table": "shop.orders"}),
        ("diff", {"revisions": "then...dev", "table": "shop.orders"}),
        ("diff", {"revisions": "then..main", "table": "shop.orders"}),
        ("diff", {"revisions": "dev..main", "table": "shop.clients"}),
    ]
    for tool, given in calls:
        assert SECRET in said(asked(Settings(), tool, **given)), (tool, given)
    (project / "vcs.yml").write_text(f"review: {{hide: [shop.{said_of}]}}\n")
    for tool, given in calls:
        answer = asked(Settings(), tool, **given)
        assert not answer.is_error and SECRET not in said(answer), (tool, given)
    where = f"name = '{SECRET}'"
    result = asked(Settings(), "rows", table="shop.orders", at="then", columns=["id"], where=where)
    assert result.is_error and "shop.orders.name out of reviews" in said(result)


def test_another_table_of_the_same_name_is_not_kept_out(project: Path, tables: Tables) -> None:
    repository = tables.warehouse.repository
    repository.create_tag("then", tables.warehouse.head(), author="ann")
    tables.put(orders=None, clients=tables.shown(RelationName("shop", "orders")))
    other = tables.entry([tables.block({1: "plain"})])
    version = repository.objects.snapshot(other.snapshot)
    apart = msgspec.structs.replace(version, table=TableId("apart"))
    tables.put(orders=TableEntry(snapshot=SnapshotId(repository.objects.put(apart))))
    (project / "vcs.yml").write_text("review: {hide: [shop.clients.name]}\n")
    rows = found(asked(Settings(), "rows", table="shop.orders"))["rows"]
    assert rows == [{"id": 1, "name": "plain"}]
    rows = found(asked(Settings(), "rows", table="shop.orders", at="then"))["rows"]
    assert rows == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_a_client_starts_the_command_as_the_guide_configures_it(project: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs/cli.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```json\n(\{\s*\"mcpServers\".*?)```", guide, re.DOTALL)
    configured = json.loads(block.replace("/path/to/project", str(project)))
    given = configured["mcpServers"]["dbt-vcs"]
    assert given["command"] == "dbt-vcs" and str(project) in given["args"]
    words = ["-c", "from dbt.adapters.vcs.cli import main; main()", *given["args"]]
    # The client hands on few variables by itself.
    server = StdioServerParameters(
        command=sys.executable, args=words, env=dict(os.environ), cwd=project.parent
    )

    async def call() -> CallToolResult:
        with anyio.fail_after(60):
            async with Client(stdio_client(server)) as client:
                assert client.server_info.name == "dbt-vcs"
                return await client.call_tool("log", {"revision": "dev", "limit": 1})

    (commit,) = found(anyio.run(call))["commits"]
    assert commit["message"] == "Change orders"


def test_ctrl_c_ends_it_while_it_waits(tables: Tables) -> None:
    words = ["-c", "from dbt.adapters.vcs.cli import main; main()", "-r", "warehouse", "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, *words], stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        try:
            server.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
            server.stdin.flush()
            assert json.loads(server.stdout.readline())["id"] == 1
            server.send_signal(signal.SIGINT)
            assert server.wait(30) == -signal.SIGINT
        finally:
            server.kill()


def test_without_the_library_it_says_what_to_install(
    tables: Tables, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Version 1 has the first module alone.
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "mcp_types" else object())
    text = call("-r", "warehouse", "mcp", code=2).output
    assert "mcp needs packages that are not installed: mcp_types" in text
    assert "pip install 'dbt-vcs[mcp]'" in text


def test_a_repository_that_is_not_there_is_told_before_anything_is_served(call: Call) -> None:
    assert "nowhere" in call("-r", "nowhere", "mcp", code=1).output
