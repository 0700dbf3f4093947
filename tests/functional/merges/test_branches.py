"""Four branches change one table each in its own rows, and in a tenth of the next one's (paper,
sections 6.3 and 6.4); they come back one after the other."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.errors import ConflictError
from tests.functional.life.shop import Shop, make_shop
from tests.unit.warehouse import promote

pytestmark = pytest.mark.spark

ROWS, EACH, SHARED = 1_000, 100, 10
MODEL = """
{{ config(materialized='incremental', unique_key='id', incremental_strategy='merge' %s) }}
{%% if is_incremental() %%}
{%% set first = var('branch') * 100 %%}
select id, {{ var('branch') }} as v from range({{ first }}, {{ first }} + %d)
{%% else %%}
select id, 0 as v from range(1000)
{%% endif %%}
"""
TESTS = """
models:
  - name: apart
    columns: [{name: id, data_tests: [unique, not_null]}]
  - name: mixed
    columns: [{name: id, data_tests: [unique, not_null]}]
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A project whose branches 1 to 4 each changed both tables, and were tested."""
    files = {
        "models/apart.sql": MODEL % ("", EACH),
        "models/mixed.sql": MODEL % (", on_conflict='accept'", EACH + SHARED),
        "models/schema.yml": TESTS,
        "vcs.yml": "branches: {main: {protected: true, require: [tests]}}\n",
    }
    shop = make_shop(tmp_path_factory.mktemp("branches"), files, branch="start")
    assert shop.dbt("build").success
    assert shop.dbt("run-operation", "promote", "--args", "{source: start, target: main}").success
    for number in range(1, 5):
        shop.write_profile(branch=f"b{number}")
        assert shop.dbt("build", branch=number).success
    return shop


def changed(number: int, count: int) -> dict[int, int]:
    return dict.fromkeys(range(number * 100, number * 100 + count), number)


def table(shop: Shop, name: str, branch: str = "main") -> dict[int, int]:
    with shop.connect(branch) as client:
        rows = client.sql(f"select id, v from {name}").to_pylist()
    found = {row["id"]: row["v"] for row in rows}
    assert len(found) == len(rows)
    return found


def test_branches_see_their_own_changes_alone(shop: Shop) -> None:
    base = dict.fromkeys(range(ROWS), 0)
    assert table(shop, "apart") == base
    assert table(shop, "apart", "b2") == {**base, **changed(2, EACH)}
    assert table(shop, "mixed", "b3") == {**base, **changed(3, EACH + SHARED)}


def test_they_come_back_one_after_the_other(shop: Shop) -> None:
    repository = shop.repository
    repository.create_branch("trunk", repository.branch("main").head, author="ann")
    apart = mixed = dict.fromkeys(range(ROWS), 0)
    for number in range(1, 5):
        report = merge(repository, f"b{number}", "trunk", author="ann")
        apart = {**apart, **changed(number, EACH)}
        # Accept: where both sides changed a row, theirs counts.
        mixed = {**mixed, **changed(number, EACH + SHARED)}
        merged = {item.name.identifier: item for item in report.relations}
        if number > 1:
            assert merged["apart"].conflicts == 0
            assert merged["apart"].modified == EACH
            assert merged["mixed"].conflicts == SHARED
            assert merged["mixed"].modified == EACH + SHARED
    assert table(shop, "apart", "trunk") == apart
    assert table(shop, "mixed", "trunk") == mixed
    for number in range(1, 5):
        assert merge(repository, f"b{number}", "trunk", author="ann").how == "up_to_date"


def test_a_protected_branch_takes_what_was_tested(shop: Shop) -> None:
    repository = shop.repository
    with pytest.raises(ConflictError, match=r"saw other versions|no test has seen"):
        promote(repository, "trunk", "main", author="ann")
    promote(repository, "b1", "main", author="ann")
    assert table(shop, "apart") == {**dict.fromkeys(range(ROWS), 0), **changed(1, EACH)}
    head = shop.head()
    with pytest.raises(ConflictError, match=r"what merging makes of analytics\.apart"):
        promote(repository, "b2", "main", author="ann")
    assert shop.head() == head


def test_tables_are_merged_by_operations_and_by_the_command(shop: Shop) -> None:
    shop.write_profile(branch="work")
    flags = ["--project-dir", str(shop.root), "--profiles-dir", str(shop.root)]

    def vcs(*arguments: str) -> str:
        result = CliRunner().invoke(main, [*arguments, *flags])
        assert result.exit_code == 0, result.output
        return result.output

    vcs("branch", "create", "work", "start")
    vcs("sql", "create table copy clone mixed; update copy set v = 5 where id < 3")
    told = shop.dbt(
        "run-operation",
        "snapshot_merge",
        "--args",
        "{target: analytics.apart, source: analytics.apart@b1}",
    )
    assert told.success
    assert table(shop, "apart", "work") == table(shop, "apart", "b1")
    picked = "{target: analytics.mixed, source: analytics.copy, keys: [0, [2]], on_conflict: skip}"
    assert shop.dbt("run-operation", "snapshot_pick", "--args", picked).success
    rows = json.loads(vcs("sql", "--json", "select id from mixed where v = 5 order by id"))
    assert rows == [{"id": 0}, {"id": 2}]
    assert "0  5" in vcs("sql", "select * from mixed order by id", "--limit", "1")
    vcs(
        "sql",
        "create snapshot first for table copy; update copy set v = 6 where id in (7, 8); "
        "create snapshot second for table copy; update copy set v = 7 where id in (8, 9)",
    )
    picks = [
        {"keys": "select id from copy where id = 1"},
        {"between": ["first", "second"], "where": "id > 7"},
        {"between": ["second", "work"], "keys": [9], "dry_run": True},
    ]
    for pick in picks:
        given = {"target": "analytics.mixed", "source": "analytics.copy", **pick}
        assert shop.dbt("run-operation", "snapshot_pick", "--args", json.dumps(given)).success
    picked_rows = json.loads(
        vcs("sql", "--json", "select id, v from mixed where v > 4 order by id")
    )
    assert picked_rows == [{"id": id, "v": v} for id, v in ((0, 5), (1, 5), (2, 5), (8, 6))]


def test_a_run_waits_for_its_promotion(shop: Shop) -> None:
    shop.write_profile(branch="main")
    head = shop.head()
    assert shop.dbt("build", branch=7).success
    assert shop.head() == head
    waiting = shop.runs()[0]
    report = promote(shop.repository, waiting.name, "main", author="ann")
    assert report.how == "fast_forward"
    assert table(shop, "apart")[700] == 7


@pytest.mark.parametrize("macro", ["snapshot_merge", "snapshot_pick"])
def test_a_dry_run_creates_no_branch(shop: Shop, macro: str) -> None:
    shop.write_profile(branch="unmade")
    before = [branch.name for branch in shop.repository.branches()]
    given = {"target": "analytics.apart", "source": "analytics.apart@b1", "dry_run": True}
    given |= {"where": "id > 0"} if macro == "snapshot_pick" else {}
    told = shop.dbt("run-operation", macro, "--args", json.dumps(given))
    assert told.success
    assert [branch.name for branch in shop.repository.branches()] == before
