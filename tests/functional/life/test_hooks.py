"""Runs of a project with hooks: what is called, when, and what it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from dbt.adapters.vcs.core.model import RelationName
from tests.functional.life.shop import Shop
from tests.unit.cli.test_hooks import EVENTS, checked
from tests.unit.hooks.receiver import Receiver, receiving

pytestmark = pytest.mark.spark

A = "{{{{ config(materialized='table') }}}} select id from range({})"
PASSES = "select id from {{ ref('a') }} where id < 0"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.delenv("DBT_VCS_EVENT", raising=False)
    with receiving() as found:
        yield found


def hooked(shop: Shop, receiver: Receiver, **more: Any) -> None:
    """Post every event, before what else is to be called."""
    on = {event: [{"url": receiver.url}, *more.get(event, ())] for event in EVENTS}
    shop.write({"vcs.yml": yaml.safe_dump({"on": on})})


def test_a_run_is_one_event_after_all_is_written(
    shop: Shop, receiver: Receiver, capfd: pytest.CaptureFixture[str]
) -> None:
    script = "test -f target/run_results.json || exit 3; cat > event.json; echo no; exit 9"
    hooked(shop, receiver, publish=[{"run": script}])
    shop.write({"models/a.sql": A.format(3), "tests/passes.sql": PASSES})
    assert shop.dbt("build").success
    assert "on.publish[2] (run) failed for publish of main: it ended with exit code 9: no." in (
        capfd.readouterr().out
    )
    (event,) = checked(receiver)
    assert json.loads((shop.root / "event.json").read_text()) == event
    data = event["data"]
    (before,) = shop.repository.objects.commit(shop.head()).parents
    assert (data["before"], data["after"]) == (before, shop.head())
    relation, _ = data["relations"]
    assert (relation["name"], relation["how"], relation["rows_added"]) == (
        "analytics.a",
        "added",
        3,
    )
    assert data["run"]["command"] == "build" and data["run"]["nodes"] == {"pass": 1, "success": 2}
    # Nothing new: no event.
    assert shop.dbt("build").success
    assert len(receiver.events) == 1


def test_a_run_that_fails_is_one_event(shop: Shop, receiver: Receiver) -> None:
    hooked(shop, receiver)
    shop.write({"models/a.sql": A.format(3), "tests/fails.sql": "select id from {{ ref('a') }}"})
    assert not shop.dbt("build").success
    shop.write({"tests/fails.sql": PASSES, "models/b.sql": "select no_such_column"})
    assert not shop.dbt("run", "--select", "b").success
    assert not shop.dbt("run-operation", "no_such_macro").success
    first, second = checked(receiver)
    assert (first["type"], first["data"]["reason"]) == ("fail", "failed")
    assert first["data"]["run"]["failed"] == ["test.shop.fails"]
    assert second["data"]["run"]["failed"] == ["model.shop.b"]
    assert first["data"]["head"] == second["data"]["head"] == shop.head()


def test_merges_by_macro_are_events(shop: Shop, receiver: Receiver) -> None:
    hooked(shop, receiver)
    shop.write({"models/a.sql": A.format(3)})
    shop.write_profile(branch="dev", base="main")
    assert shop.dbt("build").success
    arguments = json.dumps({"source": "dev", "target": "main"})
    assert shop.dbt("run-operation", "vcs_merge", "--args", arguments).success
    first, second = checked(receiver)
    assert (first["type"], first["data"]["branch"]) == ("publish", "dev")
    assert (second["type"], second["data"]["branch"]) == ("merge", "main")
    assert second["data"]["after"] == shop.head() == shop.head("dev")


def test_what_a_run_postpones_is_told_after_the_run(shop: Shop, receiver: Receiver) -> None:
    hooked(shop, receiver)
    merges = "{{ vcs_merge(source='dev', target='main') }}"
    shop.write({"models/a.sql": A.format(3)})
    project = (shop.root / "dbt_project.yml").read_text()
    shop.write({"dbt_project.yml": f'{project}on-run-end: ["{merges}"]\n'})
    shop.write_profile(branch="dev", base="main")
    assert shop.dbt("run").success
    told = [(event["type"], event["data"]["branch"]) for event in checked(receiver)]
    assert told == [("publish", "dev"), ("merge", "main")]
    assert shop.head() == shop.head("dev")


def test_a_run_that_conflicts_is_a_conflict_and_no_failure(shop: Shop, receiver: Receiver) -> None:
    hooked(shop, receiver)
    rules = (shop.root / "vcs.yml").read_text()
    shop.write({"models/a.sql": A.format(3), "vcs.yml": f"{rules}on_stale: warn\n"})
    assert shop.dbt("run", "--select", "a").success
    shop.write({"models/a.sql": A.format(5)})
    done: list[str] = []

    def meanwhile(event: Any) -> None:
        if event.info.name == "NodeFinished" and not done:
            done.append(event.info.name)
            with shop.connect() as other:
                other.sql("drop table a")

    assert not shop.dbt("run", "--select", "a", callbacks=[meanwhile]).success
    first, second = checked(receiver)
    assert (first["type"], second["type"]) == ("publish", "conflict")
    assert second["data"]["waiting"] and second["data"]["action"] == "publish"
    assert second["data"]["relations"] == [{"name": "analytics.a", "conflicts": 1}]
    assert second["data"]["head"] == shop.head()


def test_openlineage_is_told_of_the_versions_of_a_run(
    shop: Shop, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openlineage.client")
    monkeypatch.setenv("OPENLINEAGE_URL", receiver.url)
    shop.write({"vcs.yml": "openlineage: true"})
    assert shop.dbt("build").success
    tree = shop.repository.tree(shop.head())
    a, b = (tree.entry(RelationName("analytics", name)) for name in "ab")
    assert a is not None and b is not None
    ends = {
        event["job"]["name"]: event
        for event in receiver.events
        if event["eventType"] == "COMPLETE"
    }
    assert list(ends) == ["main.analytics.shop.a", "main.analytics.shop.b", "dbt-build-shop"]
    published = shop.repository.objects.commit(shop.head()).run
    assert published is not None
    assert ends["dbt-build-shop"]["run"]["runId"] == published.invocation
    (read,) = ends["main.analytics.shop.b"]["inputs"]
    (made,) = ends["main.analytics.shop.b"]["outputs"]
    assert (read["name"], made["name"]) == ("main.analytics.a", "main.analytics.b")
    assert read["facets"]["version"]["datasetVersion"] == a.version
    assert made["facets"]["version"]["datasetVersion"] == b.version
