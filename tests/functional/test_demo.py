"""The demo, step by step: what each branch holds, not what was printed."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dbt.adapters.vcs.api import connect
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.opening import open_blobs

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration_tests"))

from demo.steps import FEATURE, MAIN, Contents, Demo

pytestmark = pytest.mark.spark

FLIGHTS = 336_776
ON_MAIN = Contents(
    flights=FLIGHTS,
    late=14_567,
    routes={"good": 49, "fair": 135, "poor": 40},
    overview={"good": 49, "fair": 135, "poor": 40},
)
ON_FEATURE = Contents(
    flights=FLIGHTS,
    late=9_643,
    routes=ON_MAIN.routes,
    overview=ON_MAIN.overview,
)
WITH_NEW_RATING = {"good": 49, "fair": 135, "poor": 33, "avoid": 7}
AT_THE_END = Contents(
    flights=FLIGHTS, late=9_643, routes=WITH_NEW_RATING, overview=WITH_NEW_RATING
)


@dataclass
class Moment:
    """What the repository held after one step."""

    heads: dict[str, str]
    contents: dict[str, Contents]
    said: str
    invocation: str
    built: set[str]


@dataclass
class Story:
    """The demo, and what was there after each of its steps."""

    demo: Demo
    moments: dict[str, Moment] = field(default_factory=dict)

    @property
    def repository(self) -> Repository:
        return Repository.open(open_blobs(str(self.demo.repository)))

    def note(self, step: str, said: str, *, read: tuple[str, ...]) -> None:
        path = self.demo.project / "target" / "run_results.json"
        results = json.loads(path.read_text())
        ran = {result["unique_id"] for result in results["results"]}
        self.moments[step] = Moment(
            heads={branch.name: branch.head for branch in self.repository.branches()},
            contents={name: self.demo.contents(name) for name in read},
            said=said,
            invocation=results["metadata"]["invocation_id"],
            built={node for node in ran if node.startswith("model.")},
        )


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    story = Story(Demo(tmp_path_factory.mktemp("demo"), say=print))
    demo = story.demo
    story.note("main", demo.build_main().output, read=(MAIN,))
    story.note("branch", demo.change_on_a_branch().output, read=(MAIN, FEATURE))
    failed = demo.fail_a_test().output
    story.note("failed", failed + demo.list_runs().output, read=(MAIN, FEATURE))
    run = f"runs/{story.moments['failed'].invocation}"
    story.moments["failed"].contents["run"] = demo.contents(run)
    story.note("retried", demo.mend_and_retry().output, read=(MAIN, FEATURE))
    story.note("merged", demo.merge().output + demo.log(MAIN).output, read=(MAIN, FEATURE))
    verified = demo.verify()
    print(f"verified in {verified.seconds:.0f} s")
    story.note("verified", verified.output, read=(MAIN,))
    return story


def test_build_publishes_everything_to_main_in_one_commit(story):
    after = story.moments["main"]
    assert after.contents[MAIN] == ON_MAIN
    first, second = [commit for _, commit in story.repository.log(after.heads[MAIN])]
    assert second.parents == ()
    assert first.run.invocation == after.invocation
    assert first.run.command == "build"
    assert {node.status for node in first.run.nodes} == {"success", "pass", "warn"}


def test_main_holds_every_relation_of_the_project(story):
    tree = story.repository.tree(story.moments["main"].heads[MAIN])
    assert sorted(tree.relations("analytics")) == [
        "carrier_delays",
        "daily_summary",
        "delay_bands",
        "delay_distribution",
        "fct_flights",
        "flown_flights",
        "holidays",
        "monthly_traffic",
        "rating_overview",
        "route_statistics",
        "stg_airlines",
        "stg_airports",
        "stg_flights",
        "stg_planes",
        "stg_weather",
    ]
    audit = RelationName("analytics_dbt_test__audit", "not_null_route_statistics_dest_name")
    assert tree.entry(audit) is not None


def test_seed_arrives_as_it_is_written(story):
    with connect(str(story.demo.repository)) as main:
        rows = main.sql("select * from holidays where month(holiday_date) < 3 order by 1")
    assert rows.select(["holiday", "also_called", "remark"]).to_pylist() == [
        {"holiday": "New Year's Day", "also_called": None, "remark": None},
        {
            "holiday": "Birthday of Martin Luther King, Jr.",
            "also_called": "MLK Day",
            "remark": "Third Monday in January",
        },
        {
            "holiday": "Washington's Birthday",
            "also_called": "Presidents' Day",
            "remark": "Most calendars say \"Presidents' Day\"; the law doesn't",
        },
    ]


def test_branch_starts_as_a_pointer_to_main(story):
    first_move = story.repository.refs.log("heads", FEATURE)[-1].move
    assert first_move.commit == story.moments["main"].heads[MAIN]


def test_change_on_the_branch_leaves_main_alone(story):
    before, after = story.moments["main"], story.moments["branch"]
    assert after.heads[MAIN] == before.heads[MAIN]
    assert after.heads[FEATURE] != before.heads[MAIN]
    assert after.contents == {MAIN: ON_MAIN, FEATURE: ON_FEATURE}


def test_branch_shares_what_it_did_not_build(story):
    heads = story.moments["branch"].heads
    trees = [story.repository.tree(heads[name]).relations("analytics") for name in (MAIN, FEATURE)]
    different = {name for name, entry in trees[0].items() if trees[1][name] != entry}
    assert set(trees[0]) == set(trees[1])
    assert different == {"carrier_delays"}


def test_failing_test_publishes_nothing(story):
    before, after = story.moments["branch"], story.moments["failed"]
    assert after.heads[MAIN] == before.heads[MAIN]
    assert after.heads[FEATURE] == before.heads[FEATURE]
    assert after.contents[MAIN] == ON_MAIN
    assert after.contents[FEATURE] == ON_FEATURE


def test_failed_run_is_kept_on_its_own_branch(story):
    after = story.moments["failed"]
    assert f"runs/{after.invocation}" in after.heads
    assert after.invocation[:8] in after.said
    kept = after.contents["run"]
    assert kept.routes == WITH_NEW_RATING, "what was built before the test failed"
    assert kept.overview == ON_MAIN.overview, "what was skipped because of it"


def test_retry_goes_on_with_what_the_failed_run_built(story):
    before, after = story.moments["failed"], story.moments["retried"]
    assert after.contents == {MAIN: ON_MAIN, FEATURE: AT_THE_END}
    (parent,) = story.repository.objects.commit(after.heads[FEATURE]).parents
    assert parent == before.heads[FEATURE]
    assert after.built == {"model.flights.rating_overview"}
    run = story.repository.objects.commit(after.heads[FEATURE]).run
    assert {node.id: node.status for node in run.nodes if node.id.startswith("model.")} == {
        "model.flights.route_statistics": "success",
        "model.flights.rating_overview": "success",
    }


def test_merge_moves_main_to_the_branch(story):
    before, after = story.moments["retried"], story.moments["merged"]
    assert after.heads[MAIN] == after.heads[FEATURE] == before.heads[FEATURE]
    assert after.contents == {MAIN: AT_THE_END, FEATURE: AT_THE_END}


def test_main_has_one_commit_a_run(story):
    head = story.moments["merged"].heads[MAIN]
    runs = [commit.run for _, commit in story.repository.log(head)]
    assert [run.command if run else None for run in runs] == ["build", "build", "build", None]
    assert [run.target for run in runs if run] == ["dev", "dev", "prod"]


def test_what_is_computed_again_is_what_was_remembered(story):
    # A difference would have failed the build. Sums of doubles may differ in their last digits.
    after = story.moments["verified"]
    assert len(after.built) == 13
    assert after.contents == {MAIN: AT_THE_END}


def test_nothing_but_the_repository_is_left_behind(story):
    left = {path.name for path in story.demo.project.iterdir()}
    assert not left & {"metastore_db", "derby.log", "spark-warehouse", "warehouse"}
