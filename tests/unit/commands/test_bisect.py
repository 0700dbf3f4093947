"""Bisection on a repository without an engine: what it finds, and what it does not look at."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.commands.bisect import BisectReport, bisect
from dbt.adapters.vcs.commands.bisect_condition import condition_of, find_test
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import NodeRun, Run
from dbt.adapters.vcs.core.repository import Proposal
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.warehouse import Warehouse

NO_BAD = "select count(*) = 0 from shop.t where v = 'bad'"
BAD_ROWS = "select id from shop.t where v = 'bad'"


def no_engine() -> Engine:
    raise AssertionError("it starts Spark")


def found(
    warehouse: Warehouse, good: str, bad: str = "main", sql: str = NO_BAD, **further: Any
) -> BisectReport:
    return bisect(
        warehouse.repository,
        good,
        bad,
        condition_of(sql),
        schema="shop",
        engine=no_engine,
        **further,
    )


def history(warehouse: Warehouse, values: Sequence[str]) -> list[CommitId]:
    return [warehouse.put(t=value) for value in values]


@pytest.mark.parametrize("sql", [NO_BAD, BAD_ROWS, "select * from t where v = 'bad';"])
@pytest.mark.parametrize("at", [1, 7, 20])
def test_it_finds_the_commit_in_few_looks(sql: str, at: int) -> None:
    warehouse = Warehouse()
    commits = []
    for number in range(21):
        # Two blocks, so that each version is another one.
        name = f"good{number}" if number < at else "bad"
        commits.append(warehouse.put(t=warehouse.table(name, f"more{number}")))
    told: list[tuple[int, int]] = []
    report = found(
        warehouse, commits[0], sql=sql, tell=lambda looks, left: told.append((looks, left))
    )
    assert report.first_bad is not None and report.first_bad.commit == commits[at]
    assert report.commits == 20
    assert report.looks <= math.ceil(math.log2(20)) + 2, "the ends are looked at, too"
    (changed,) = report.first_bad.changed
    assert changed.relation == "shop.t" and changed.before != changed.after
    assert told[0] == (0, 20) and told[-1][0] == report.looks - 1


def test_commits_that_change_nothing_that_is_read_are_not_looked_at() -> None:
    warehouse = Warehouse()
    good = warehouse.put(t="good")
    for number in range(30):
        warehouse.put(other=f"x{number}")
    broke = warehouse.put(t="bad", other="y")
    for number in range(30):
        warehouse.put(other=f"z{number}")
    report = found(warehouse, good)
    assert report.first_bad is not None and report.first_bad.commit == broke
    assert [item.relation for item in report.first_bad.changed] == ["shop.t"]
    assert (report.looks, report.commits) == (2, 61)


def test_a_bisection_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    warehouse = Warehouse()
    commits = history(warehouse, ["a", "b", "c", "d", "bad", "bad2"])
    sql = "select count(*) = 0 from shop.t where v like 'bad%'"
    first, again = (found(warehouse, commits[0], sql=sql) for _ in range(2))
    assert first == again and first.looks > 0
    assert list(tmp_path.iterdir()) == []


def test_it_finds_a_commit_that_a_merge_brought() -> None:
    warehouse = Warehouse()
    good = warehouse.put(t="good", u="1")
    warehouse.branch("dev")
    warehouse.put("dev", u="2")
    broke = warehouse.put("dev", t="bad")
    warehouse.put("dev", u="3")
    for number in range(5):
        warehouse.put(w=f"x{number}")
    repository = warehouse.repository
    merged = repository.land(
        Proposal(
            branch="main",
            base=warehouse.head(),
            tree=repository.tree(warehouse.head("dev")).id,
            parents=(warehouse.head("dev"),),
            author="ann",
            message="Merge dev",
        )
    )
    assert len(repository.objects.commit(merged.commit).parents) == 2
    report = found(warehouse, good)
    assert report.first_bad is not None and report.first_bad.commit == broke


def test_a_commit_that_lacks_the_table_is_skipped_and_named_at_the_end() -> None:
    warehouse = Warehouse()
    good = warehouse.put(t="good")
    lost = warehouse.put(t=None)
    back = warehouse.put(t="bad")
    report = found(warehouse, good)
    assert report.first_bad is None
    assert [item.commit for item in report.candidates] == [back, lost]
    (skipped,) = report.skipped
    assert skipped.commit == lost and "no shop.t" in skipped.reason
    later = warehouse.put(t="bad2")
    second = found(warehouse, good, sql="select id from shop.t where v like 'bad%'")
    assert [item.commit for item in second.candidates] == [back, lost]
    assert later not in {item.commit for item in second.candidates}


def test_parted_revisions_meet_at_their_merge_base() -> None:
    warehouse = Warehouse()
    base = warehouse.put(t="good")
    warehouse.branch("dev")
    warehouse.put(t="good2")
    broke = warehouse.put("dev", t="bad")
    report = found(warehouse, "main", "dev")
    assert report.base == base
    assert report.first_bad is not None and report.first_bad.commit == broke

    warehouse.put("dev", t="bad")
    old = Warehouse()
    old.put(t="bad")
    old.branch("dev")
    old.put(t="mended")
    old.put("dev", u="1")
    with pytest.raises(InputError, match=r"no ancestor of 'dev'.*already bad at .*mended on"):
        found(old, "main", "dev")


def published(warehouse: Warehouse, head: CommitId, *nodes: str) -> CommitId:
    """The steps of a run as one commit on main."""
    repository = warehouse.repository
    record = Run(
        invocation="r1",
        command="build",
        head=head,
        nodes=tuple(
            NodeRun(id=f"model.shop.{name}", status="success", relation=f"shop.{name}")
            for name in nodes
        ),
    )
    landed = repository.land(
        Proposal(
            branch="main",
            base=warehouse.head(),
            tree=repository.tree(head).id,
            author="ann",
            message="dbt build",
            run=record,
        )
    )
    return landed.commit


def test_the_model_of_a_run_is_found_among_its_steps() -> None:
    warehouse = Warehouse()
    good = warehouse.put(t="good", u="good")
    run = warehouse.run("r1", Status.PUBLISHED, u="good2", w="1", t="bad", x="2")
    commit = published(warehouse, run.head, "u", "w", "t", "x")
    warehouse.put(y="1")
    report = found(warehouse, good)
    suspect = report.first_bad
    assert suspect is not None and suspect.commit == commit
    assert (suspect.invocation, suspect.command) == ("r1", "build")
    assert suspect.nodes == ("model.shop.t",)
    (step,) = suspect.steps
    assert warehouse.repository.objects.commit(step).summary == "model.shop.t (success)"
    assert report.looks == 2, "steps show versions that were looked at"


def test_a_run_without_steps_names_what_changed_what_is_read() -> None:
    warehouse = Warehouse()
    good = warehouse.put(t="good", u="good")
    run = warehouse.run("r1", Status.PUBLISHED, u="good2", t="bad")
    repository = warehouse.repository
    record = Run(
        invocation="r1",
        command="build",
        head=CommitId("0" * 64),
        nodes=(NodeRun(id="model.shop.t", status="success", relation="shop.t"),),
    )
    landed = repository.land(
        Proposal(
            branch="main",
            base=warehouse.head(),
            tree=repository.tree(run.head).id,
            author="ann",
            message="dbt build",
            run=record,
        )
    )
    suspect = found(warehouse, good).first_bad
    assert suspect is not None and suspect.commit == landed.commit
    assert (suspect.steps, suspect.nodes) == ((), ("model.shop.t",))


@pytest.mark.parametrize(
    ("good", "bad", "sql", "words"),
    [
        ("v1", "main", "select count(*) >= 0 from shop.t", "good at 'main' .* should be bad"),
        ("v1", "main", "select count(*) < 0 from shop.t", "already bad at 'v1' .* older commit"),
        ("main", "main", NO_BAD, "are the same commit"),
        ("main", "v1", NO_BAD, "comes after the bad one.*dbt-vcs bisect v1 main"),
        ("v1", "main", "select * from shop.u where v = 'bad'", "reads shop.u, which .* same vers"),
        ("v1", "main", "select * from shop.nope", "can't be evaluated at 'v1'.*no shop.nope"),
        ("v1", "main", "drop table shop.t", "which is no query"),
        ("v1", "main", "select 1 = 2", "reads no table"),
        ("v1", "main", "1 = 2", "reads no table"),
        ("v1", "main", "select 1; select 2", "found 2 statements"),
        ("v1", "main", " -- nothing", "found no statements"),
    ],
)
def test_wrong_use_says_what_to_do(good: str, bad: str, sql: str, words: str) -> None:
    warehouse = Warehouse()
    warehouse.put(t="good", u="1")
    warehouse.repository.create_tag("v1", warehouse.head(), author="ann")
    warehouse.put(t="bad")
    with pytest.raises(InputError, match=words):
        found(warehouse, good, bad, sql)


def test_a_misspelt_revision_is_not_found() -> None:
    warehouse = Warehouse()
    warehouse.put(t="good")
    with pytest.raises(NotFoundError, match="mian"):
        found(warehouse, "mian")


def manifest(folder: Path, **tests: dict[str, Any]) -> Path:
    nodes = {
        f"test.shop.{name}.abc": {
            "resource_type": "test",
            "unique_id": f"test.shop.{name}.abc",
            "name": name,
            "package_name": "shop",
            "original_file_path": "models/schema.yml",
            "path": f"{name}.sql",
            **given,
        }
        for name, given in tests.items()
    }
    nodes["model.shop.t"] = {"resource_type": "model", "unique_id": "model.shop.t", "name": "t"}
    (folder / "manifest.json").write_text(json.dumps({"nodes": nodes}))
    return folder


def test_a_dbt_test_is_a_condition(tmp_path: Path) -> None:
    manifest(
        tmp_path,
        plain={"compiled_code": "select id from shop.t where v is null"},
        counted={
            "compiled_code": "select id from shop.t",
            "config": {"severity": "warn", "warn_if": ">10", "error_if": "!=0", "limit": 20},
        },
        written={"compiled_code": None},
        raw={},
    )
    folder = tmp_path / "compiled/shop/models/schema.yml"
    folder.mkdir(parents=True)
    (folder / "written.sql").write_text("select 1 as n from shop.t where false")
    plain = find_test(tmp_path, "plain")
    assert plain == find_test(tmp_path, "test.shop.plain.abc")
    assert (plain.label, plain.kind) == ("test.shop.plain.abc", "failures")
    assert find_test(tmp_path, "written").text == "select 1 as n from shop.t where false"
    counted = find_test(tmp_path, "counted")
    assert counted.kind == "truth"
    assert counted.text.startswith("select coalesce(not (count(*) >10), true) as is_good from (")
    assert "limit 20" in counted.text
    with pytest.raises(InputError, match=r"'raw' is not compiled.*dbt compile --select raw"):
        find_test(tmp_path, "raw")
    with pytest.raises(NotFoundError, match=r"no test 'plai' .*There are plain"):
        find_test(tmp_path, "plai")
    with pytest.raises(InputError, match=r"found no such file\. Run dbt compile"):
        find_test(tmp_path / "nowhere", "plain")
