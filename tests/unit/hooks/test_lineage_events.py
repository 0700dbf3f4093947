"""What OpenLineage is told of runs and merges, by its own client over HTTP."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import Input, NodeRun, Origin, Run, TableEntry
from dbt.adapters.vcs.hooks import lineage_events
from dbt.adapters.vcs.hooks.branch_event import BranchMove, MergeStop, Occurrence, RunFailure
from dbt.adapters.vcs.hooks.lineage_events import tell_openlineage
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.hooks.receiver import Receiver, receiving
from tests.unit.warehouse import SECOND, START, Warehouse

ID = "0193b4a5-0000-4000-8000-000000000001"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Receiver]:
    pytest.importorskip("openlineage.client")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENLINEAGE_NAMESPACE", raising=False)
    with receiving() as found:
        monkeypatch.setenv("OPENLINEAGE_URL", found.url)
        yield found


def told(receiver: Receiver, item: Occurrence) -> dict[tuple[str, str], dict[str, Any]]:
    """The events of an occurrence, by job and state; each is one of a pair."""
    receiver.posts.clear()
    tell_openlineage(item, pytest.fail)
    assert not any(b"secretive" in body for _, body in receiver.posts)
    found = {(event["job"]["name"], event["eventType"]): event for event in receiver.events}
    assert len(found) == len(receiver.events)
    for (job, state), event in found.items():
        if state != "START":
            start = found[job, "START"]
            assert start["run"]["runId"] == event["run"]["runId"]
            assert start["eventTime"] <= event["eventTime"]
            assert not start["outputs"]
    return found


def shown(datasets: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    """Names and versions."""
    return [
        (item["name"], item["facets"].get("version", {}).get("datasetVersion"))
        for item in datasets
    ]


def move(warehouse: Warehouse, source: str, action: str, before: str = "main~1") -> BranchMove:
    repository = warehouse.repository
    return BranchMove(
        repository=repository,
        branch="main",
        before=repository.resolve(before),
        after=warehouse.head(),
        source=source,
        action=action,
    )


def made_from(warehouse: Warehouse, entry: TableEntry, *inputs: Input) -> TableEntry:
    objects = warehouse.repository.objects
    snapshot = msgspec.structs.replace(
        objects.snapshot(entry.snapshot),
        origin=Origin(inputs=inputs, node="model.shop.b"),
        created_at=Micros(START + 60 * SECOND),
    )
    return TableEntry(snapshot=objects.put(snapshot))


def test_a_published_run_tells_the_versions_that_its_nodes_read_and_made(
    receiver: Receiver,
) -> None:
    warehouse = Warehouse()
    a, old = warehouse.table("x"), warehouse.table("old")
    warehouse.put(a=a, gone=old)
    b = made_from(
        warehouse,
        warehouse.table("y"),
        Input(relation="shop.a", snapshot=a.version),
        Input(relation="raw.c", external="s3://bucket/raw/c.csv"),
        Input(relation="shop.f", function="f" * 64),
    )
    view = warehouse.view("select * from shop.b")
    view = type(view)(
        view=warehouse.repository.objects.put(
            msgspec.structs.replace(
                warehouse.repository.objects.view(view.version), reads=("shop.b",)
            )
        )
    )
    nodes = (
        NodeRun(id="model.shop.b", status="success", seconds=2.5, relation="shop.b"),
        NodeRun(id="model.shop.c", status="skipped", relation="shop.c"),
        NodeRun(id="model.shop.v", status="success", relation="shop.v"),
        NodeRun(id="test.shop.t", status="pass", relation="shop.t"),
    )
    run = Run(invocation=ID, command="build", started_at=Micros(START), nodes=nodes)
    warehouse.put(b=b, v=view, gone=None, run=run)
    found = told(receiver, move(warehouse, f"runs/{ID}", "publish"))
    assert {job for job, _ in found} == {
        "dbt-build-shop",
        "main.shop.shop.b",
        "main.shop.shop.v",
    }
    whole = found["dbt-build-shop", "COMPLETE"]
    assert whole["run"]["runId"] == ID
    assert whole["job"]["namespace"] == "dbt"
    assert found["dbt-build-shop", "START"]["eventTime"].startswith("2026-11-18T11:06:40")
    (dropped,) = whole["outputs"]
    assert dropped["name"] == "main.shop.gone"
    assert dropped["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "DROP"
    table = found["main.shop.shop.b", "COMPLETE"]
    assert table["run"]["facets"]["parent"]["run"]["runId"] == ID
    assert shown(table["inputs"]) == [("main.shop.a", a.version), ("raw/c.csv", None)]
    assert [item["namespace"] for item in table["inputs"]][1] == "s3://bucket"
    assert shown(table["outputs"]) == [("main.shop.b", b.version)]
    assert [
        (field["name"], field["type"])
        for field in table["outputs"][0]["facets"]["schema"]["fields"]
    ] == [("id", "bigint"), ("v", "string")]
    shows = found["main.shop.shop.v", "COMPLETE"]
    assert shown(shows["inputs"]) == [("main.shop.b", b.version)]
    assert shown(shows["outputs"]) == [("main.shop.v", view.version)]


def test_a_merge_tells_both_branches(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "lake")
    warehouse = Warehouse()
    warehouse.put(a="1")
    warehouse.branch("feature/x.y")
    warehouse.put("feature/x.y", b="1")
    warehouse.put(c="1")
    merge(warehouse.repository, "feature/x.y", "main", author="ann")
    found = told(receiver, move(warehouse, "feature/x.y", "promote"))
    event = found["main.promote", "COMPLETE"]
    version = warehouse.shown()["shop.b"].version
    assert event["job"]["namespace"] == "lake"
    assert shown(event["inputs"]) == [("feature/x.y.shop.b", version)]
    assert shown(event["outputs"]) == [("main.shop.b", version)]


def test_a_revert_has_outputs_alone(receiver: Receiver) -> None:
    warehouse = Warehouse()
    first = warehouse.put(a="1")
    warehouse.put(a="2")
    found = told(receiver, move(warehouse, first, "revert"))
    assert found["main.revert", "COMPLETE"]["inputs"] == []


def test_what_failed_is_told_without_a_message(receiver: Receiver) -> None:
    warehouse = Warehouse()
    run = warehouse.run("not-a-uuid", Status.FAILED, note="the value 'secretive' is wrong", a="1")
    nodes = (
        NodeRun(id="model.shop.a", status="success", relation="shop.a"),
        NodeRun(id="model.shop.b", status="error", relation="shop.b"),
    )
    failure = RunFailure(
        repository=warehouse.repository,
        run=run,
        nodes=nodes,
        reason="failed",
        author="ann",
        has_changes=True,
    )
    found = told(receiver, failure)
    assert {key for key in found if key[1] != "START"} == {
        ("dbt-build-shop", "FAIL"),
        ("main.shop.shop.b", "FAIL"),
    }
    assert found["dbt-build-shop", "FAIL"]["run"]["facets"]["errorMessage"]["message"] == (
        "the run failed"
    )
    stop = MergeStop(
        repository=warehouse.repository,
        branch="main",
        source="dev",
        action="merge",
        author="ann",
    )
    assert ("main.merge", "FAIL") in told(receiver, stop)


def test_openlineage_that_does_not_answer_holds_nobody_up(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lineage_events, "SECONDS", 0.3)
    receiver.hangs = True
    warehouse = Warehouse()
    warehouse.put(a="1")
    warned: list[str] = []
    tell_openlineage(move(warehouse, "dev", "merge"), warned.append)
    assert warned == [
        "OpenLineage was not told of merge of main: it took longer than 0.3 seconds. Nothing is "
        "undone, and it is not sent again. See the settings of its client: OPENLINEAGE_URL, "
        "openlineage.yml"
    ]


def test_openlineage_that_refuses_is_a_warning(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.codes = [401] * 9
    warehouse = Warehouse()
    warehouse.put(a="1")
    warned: list[str] = []
    tell_openlineage(move(warehouse, "dev", "merge"), warned.append)
    assert len(warned) == 1 and warned[0].startswith("OpenLineage was not told of merge of main: ")
    assert receiver.url not in warned[0]


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.startswith("openlineage"):
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    warehouse = Warehouse()
    warehouse.put(a="1")
    warned: list[str] = []
    tell_openlineage(move(warehouse, "dev", "merge"), warned.append)
    assert warned == [lineage_events.INSTALL]
