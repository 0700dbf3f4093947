"""What docs/architecture.md draws and follows is how the code is."""

from __future__ import annotations

import ast
import multiprocessing
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.connections import VcsConnectionManager
from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.credentials import VcsCredentials
from dbt.adapters.vcs.project.environment import Environment
from dbt.adapters.vcs.project.events import RunListener
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from tests.unit.fake_engine import FakeEngine
from tests.unit.test_layers import FLOORS
from tests.unit.warehouse import Warehouse

CHECKOUT = Path(__file__).parents[3]
PACKAGE = CHECKOUT / "dbt/adapters/vcs"
PAGE = (CHECKOUT / "docs/architecture.md").read_text(encoding="utf-8")
DRAWN = re.compile(r"^│ ([a-z_]+(?:  [a-z_]+)*) {2,}", re.MULTILINE)
ROOM = re.compile(r"^\| `([a-z_/]+)` \|", re.MULTILINE)
OF_SPARK = ("engines/spark/", "engines/dataframes/")
STEP = re.compile(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", re.MULTILINE)


class Step(NamedTuple):
    """A function that a walk passes: its file below the package, its name with its class."""

    file: str
    function: str


def walk(letter: str) -> list[Step]:
    found = re.search(rf"^## Walk {letter}: .*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return [Step(*parts) for parts in STEP.findall(found[0])]


def test_the_picture_shows_the_floors() -> None:
    rooms = [{name for name in row if "." not in name} for row in FLOORS]
    drawn = [set(row.split()) for row in DRAWN.findall(PAGE)]
    assert drawn == [row for row in reversed(rooms) if row]


def test_every_room_is_described_in_the_order_of_the_floors() -> None:
    named = ROOM.findall(PAGE)
    floors = {name: floor for floor, row in enumerate(FLOORS) for name in row if "." not in name}
    rooms = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
    assert sorted(named) == sorted((rooms - {"."}) | set(floors))
    outer = [floors[name] for name in named if "/" not in name]
    assert outer == sorted(outer, reverse=True)
    # A room inside another one follows it.
    for place, name in enumerate(named):
        around = name.rpartition("/")[0]
        assert not around or named[place - 1].startswith(around)


@pytest.mark.parametrize("step", sorted({step for letter in "abcd" for step in walk(letter)}))
def test_a_function_on_a_walk_exists(step: Step) -> None:
    body: list[ast.stmt] = ast.parse((PACKAGE / step.file).read_text(encoding="utf-8")).body
    for name in step.function.split("."):
        found = [
            node
            for node in body
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name
        ]
        assert found, f"{step.file} has no {step.function}"
        body = found[0].body


@contextmanager
def traced() -> Iterator[list[tuple[str, str]]]:
    """Note the package's calls: file and bare name, in the order in which they begin."""
    calls: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        _, ours, file = frame.f_code.co_filename.partition(f"{PACKAGE}/")
        if event == "call" and ours:
            calls.append((file, frame.f_code.co_name))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def first_missed(steps: list[Step], calls: list[tuple[str, str]]) -> Step | None:
    """Return the first step that isn't called after the step before it, or None."""
    left = iter(calls)
    for step in steps:
        if (step.file, step.function.rpartition(".")[2]) not in left:
            return step
    return None


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """Table shop.a; main and dev changed the same rows of it."""
    filled = Warehouse(open_blobs(str(tmp_path / "warehouse"), {"fsync": "false"}))
    filled.put(a=filled.table("a", "b", "c"))
    filled.branch("dev")
    filled.put("dev", a=filled.table("x", "b", "c"))
    filled.put(a=filled.table("y", "b", "c"))
    return filled


@pytest.fixture
def send(warehouse: Warehouse) -> Callable[[str], None]:
    """Send a statement to main, and fetch what it answers."""
    line = BranchLine(warehouse.repository, "main", "ann")
    workspace = Workspace(
        warehouse.repository, line, lambda: FakeEngine(warehouse.blobs), schema="shop"
    )
    connection = workspace.connect("test")

    def run(text: str) -> None:
        outcome = connection.execute(text, workspace.begin(), origin=Origin())
        if outcome.rows is not None:
            outcome.rows.fetch()

    return run


def event(name: str, **data: Any) -> Any:
    return SimpleNamespace(info=SimpleNamespace(name=name), data=SimpleNamespace(**data))


def test_a_model_walks_to_its_publish(warehouse: Warehouse, tmp_path: Path) -> None:
    credentials = VcsCredentials(
        database=None,
        schema="shop",
        repository=str(tmp_path / "warehouse"),
        storage_options={"fsync": "false"},
    )
    config: Any = SimpleNamespace(
        credentials=credentials, project_root=tmp_path, query_comment=None
    )
    environment = Environment(config, manifest=lambda: None, say=lambda line: None)
    environment.invocation = replace(environment.invocation, command="build")
    environment.make_engine = FakeEngine  # type: ignore[method-assign]
    manager = VcsConnectionManager(config, multiprocessing.get_context("spawn"))
    manager.environment = environment
    manager.set_connection_name("model.shop.few")
    listen = RunListener(lambda: environment.life, environment.close, environment.before_nodes)
    node = SimpleNamespace(
        node_relation=SimpleNamespace(schema="shop", alias="few"), unique_id="model.shop.few"
    )
    result = SimpleNamespace(status="success", execution_time=1.0)

    with traced() as calls:
        manager.execute("create table few as select * from shop.a limit 3")
        listen(event("NodeFinished", node_info=node, run_result=result))
        listen(event("EndRunResult", success=True, elapsed_time=1.0))

    assert len(warehouse.rows("few")) == 3
    assert first_missed(walk("a"), calls) is None


def test_a_difference_walks_to_its_rows(send: Callable[[str], None]) -> None:
    with traced() as calls:
        send("snapshot diff shop.a {snapshot = 'dev'} and shop.a {snapshot = 'main'}")
    assert first_missed(walk("b"), calls) is None


def test_a_conflict_walks_to_the_merged_version(warehouse: Warehouse, tmp_path: Path) -> None:
    def vcs(*arguments: str) -> None:
        CliRunner().invoke(main, [*arguments, "--repository", str(tmp_path / "warehouse")])

    with traced() as calls:
        vcs("merge", "dev", "main")
        vcs("resolve", "--all", "--with", "theirs", "main")
        vcs("merge", "--continue", "main")

    assert {row["v"] for row in warehouse.rows("a")} == {"x", "b", "c"}
    assert first_missed(walk("c"), calls) is None


def test_a_query_walks_to_the_engine(send: Callable[[str], None]) -> None:
    with traced() as calls:
        send("select * from shop.a limit 3")
    steps = [
        step
        for step in walk("d")
        if not step.file.startswith(("engines/spark/", "engines/dataframes/"))
    ]
    assert first_missed(steps, calls) is None
