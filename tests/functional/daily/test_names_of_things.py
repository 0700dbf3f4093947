"""Traps 8 and 12: names of all kinds are safe or refused; an error is no missing table."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.errors import StorageError
from dbt.adapters.vcs.core.store.local import LocalBlobs

from .models import config, incremental

pytestmark = pytest.mark.spark

BRANCHES = [
    "feature/tax",
    "a.b.c",
    "ünïcode-🦆",
    "UPPER",
    "upper",
    "x" * 200,
    "con",
    "<>\"'|%",
]
REFUSED = [
    "x" * 201,
    "new\nline",
    "../x",
    "../../../etc/x",
    "..",
    "a..b",
    "with space",
    "-dash",
    "a\\b",
    "main~1",
    "x@{1}",
    "refs/heads/main",
    "20261120",
]


@pytest.fixture(scope="module")
def seeds(make_project):
    project = make_project({"seeds/raw.csv": "id\n1\n"})
    project.dbt("seed")
    return project


def use(project, branch: str) -> None:
    project.output["branch"] = branch
    project.configure()


def test_branches_of_all_names_hold_their_own(seeds):
    outside = sorted(path for path in seeds.root.parent.iterdir())
    for number, branch in enumerate(BRANCHES):
        use(seeds, branch)
        seeds.write({"seeds/raw.csv": f"id\n{number + 2}\n"})
        seeds.dbt("seed")
    assert set(seeds.refs()) - set(seeds.runs()) == {*BRANCHES, "main"}
    found = [block.stats["id"].min for branch in BRANCHES for block in seeds.blocks("raw", branch)]
    assert found == list(range(2, len(BRANCHES) + 2))
    assert [block.stats["id"].min for block in seeds.blocks("raw")] == [1]
    assert sorted(path for path in seeds.root.parent.iterdir()) == outside
    found = {path.name for path in seeds.root.iterdir()}
    assert found == {".gitignore", "vcs.json", "objects", "refs", "data", "results", "creating"}


@pytest.mark.parametrize("branch", REFUSED)
def test_names_that_are_none_are_refused(seeds, branch):
    refs = seeds.refs()
    use(seeds, branch)
    ran = seeds.dbt("seed", ok=False)
    assert "name" in ran.error
    assert seeds.refs() == refs


@pytest.fixture(scope="module")
def shop(make_project):
    grown = incremental(
        "append", "select 1 as Id", "select 2 as Id", alias="Grown", schema="Mixed"
    )
    project = make_project(
        {
            "models/grown.sql": grown,
            "models/Order.sql": config(materialized="table")
            + "select ID as `Group`, 'x' as `Größe in %` from {{ ref('grown') }}",
            "models/select.sql": config(materialized="view", alias="select")
            + "select `group` from {{ ref('Order') }}",
            "models/quoted.sql": config(materialized="table", alias="QUOTED")
            + "-- depends_on: {{ ref('grown') }}\nselect 1 as id from `ANALYTICS_MIXED`.`GROWN`",
        },
        output={"schema": "Analytics"},
    )
    project.dbt("run", "--exclude", "quoted")
    project.dbt("run")
    return project


def test_case_and_reserved_words_do_not_matter(shop):
    assert shop.kinds("analytics_mixed") == {"grown": "table"}
    assert shop.kinds() == {"order": "table", "select": "view", "quoted": "table"}
    assert shop.column("select id from ANALYTICS_mixed.GROWN") == [1, 2]
    assert shop.snapshot("order").schema.names == ("Group", "Größe in %")
    assert shop.rows("select * from order") == [(1, "x"), (2, "x")]
    assert shop.column("select * from `select`") == [1, 2]
    assert shop.column("quoted") == [1, 1]


def test_quoting_changes_nothing(shop):
    shop.configure(quoting={"identifier": True, "schema": True})
    shop.dbt("run")
    assert shop.column("select id from analytics_mixed.grown") == [1, 2, 2]
    assert shop.kinds() == {"order": "table", "select": "view", "quoted": "table"}


@pytest.mark.parametrize("flags", [[], ["--no-populate-cache"]])
def test_a_listing_that_fails_is_no_missing_table(shop, monkeypatch, flags):
    head, before = shop.head(), shop.entry("analytics_mixed.grown")
    schema = shop.repository.tree(head).schema_ref("analytics_mixed").id
    get = LocalBlobs.get

    def failing(self, path: str) -> bytes:
        if path.endswith(schema):
            raise StorageError("The disk holds its breath; try again.")
        return get(self, path)

    monkeypatch.setattr(LocalBlobs, "get", failing)
    ran = shop.dbt("run", "--select", "grown", *flags, ok=False)
    monkeypatch.undo()
    said = ran.error + " ".join(message for _, message in ran.nodes.values())
    assert "The disk holds its breath" in said
    assert "TABLE_OR_VIEW_NOT_FOUND" not in said
    assert shop.head() == head
    assert shop.entry("analytics_mixed.grown") == before
