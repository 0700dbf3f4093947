"""Operations that hooks call: they go where the run goes."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.project.operations import command_of, only_reads, statements_of
from tests.functional.life.shop import MODELS, Shop, make_shop, unaimed

pytestmark = pytest.mark.spark

FAILING_TEST = "select * from {{ ref('b') }}"

CHANGING = {
    "clone": "clone_from_snapshot('analytics.a', 'analytics.copy')",
    "restore": "vcs_restore(relation='analytics.a', to='main')",
    "undrop": "vcs_restore(relation='analytics.dropped')",
    "restore all": "vcs_restore(all=true, to='main~1')",
    "revert": "vcs_revert('main')",
    "cherry-pick": "vcs_cherry_pick('other')",
    "optimize": "optimize('analytics.a')",
    "optimize all": "optimize(all=true)",
    "merge": "vcs_merge('other')",
    "promote": "promote('other', 'main')",
    "tag": "vcs_tag('create', 'nightly')",
    "branch": "vcs_branch('create', 'made')",
    "branch rename": "vcs_branch('rename', 'other', to='renamed')",
    "export": "vcs_export()",
    "purge": "vcs_purge('analytics.a', where='n = 0', force=true)",
    "elsewhere": "clone_from_snapshot('analytics.a', 'analytics.copy', branch='other')",
}
READING = {
    "log": "vcs_log()",
    "status": "vcs_status()",
    "diff": "vcs_diff('main')",
    "branches": "vcs_branch()",
    "merge": "vcs_merge('other', dry_run=true)",
    "cherry-pick": "vcs_cherry_pick('other', dry_run=true)",
    "log of a table": "vcs_log(relation='analytics.a', stat=true)",
    "du": "vcs_du()",
    "forecast": "vcs_forecast(all=true)",
}


def shown(repository: Repository) -> dict[str, Any]:
    """Return what every name shows, but for the branches of runs."""
    branches = {b.name: b.head for b in repository.branches() if not b.name.startswith("runs/")}
    tags = {tag.name: tag.commit for tag in repository.tags()}
    return {"branches": branches, "tags": tags}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Return a shop with two builds on main, and a branch that added a table since."""
    shop = make_shop(tmp_path_factory.mktemp("built") / "shop", dict(MODELS))
    for n in (0, 1):
        assert shop.dbt("run", n=n).success
    with shop.connect() as client:
        client.sql("create table dropped as select 1 as n")
        client.sql("drop table dropped")
    shop.repository.create_branch("other", shop.head(), author="t")
    with shop.connect("other") as client:
        client.sql("create table added as select 1 as n")
    return shop


@pytest.fixture
def shop(built: Shop, tmp_path: Any) -> Shop:
    shutil.copytree(built.root, tmp_path / "shop")
    copied = Shop(tmp_path / "shop")
    copied.write_profile()
    return copied


def with_hook(shop: Shop, call: str, *, hook: str = "post_hook") -> None:
    if hook == "post_hook":
        config = f"config(materialized='table', post_hook=\"{{{{ {call} }}}}\")"
        shop.write({"models/b.sql": f"{{{{ {config} }}}} select 1 as n from {{{{ ref('a') }}}}"})
    else:
        project = (shop.root / "dbt_project.yml").read_text()
        shop.write({"dbt_project.yml": f'{project}{hook}: ["{{{{ {call} }}}}"]\n'})


@pytest.mark.parametrize("call", CHANGING.values(), ids=CHANGING)
def test_what_an_operation_changes_is_left_out_with_a_failing_run(shop: Shop, call: str) -> None:
    before = shown(shop.repository)
    with_hook(shop, call)
    shop.write({"tests/fails.sql": FAILING_TEST})

    assert not shop.dbt("build", n=2).success

    assert shown(shop.repository) == before
    assert not list(shop.warehouse.glob("iceberg/**/*.json"))


def test_a_clone_of_what_the_model_built_lands_with_the_run(shop: Shop) -> None:
    with_hook(shop, "clone_from_snapshot('analytics.b', 'kept.b')")

    assert shop.dbt("build", n=2).success

    assert "kept.b" in shop.relations()
    assert shop.repository.objects.commit(shop.head()).run is not None


def test_what_waits_is_carried_out_in_order_once_the_run_is_published(shop: Shop) -> None:
    with_hook(shop, "vcs_tag('create', 'nightly')", hook="on-run-start")
    with_hook(shop, "promote('main', 'prod')", hook="on-run-end")
    shop.repository.create_branch("prod", shop.repository.resolve("main~1"), author="t")

    assert shop.dbt("build", n=2).success

    assert shop.repository.resolve("nightly") == shop.head()
    assert shop.repository.tree(shop.head("prod")).id == shop.repository.tree(shop.head()).id


def test_what_fails_once_the_run_is_published_fails_the_command(
    shop: Shop, capfd: pytest.CaptureFixture[str]
) -> None:
    with_hook(shop, "vcs_tag('create', 'nightly', at='no-such')", hook="on-run-end")
    before = shop.head()

    assert not shop.dbt("build", n=2).success

    assert shop.head() != before
    assert "Not carried out: dbt run-operation vcs_tag" in unaimed(capfd.readouterr().out)


@pytest.mark.parametrize("call", READING.values(), ids=READING)
def test_what_only_reads_answers_at_once(
    shop: Shop, call: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with_hook(shop, call)

    assert shop.dbt("build", n=2).success

    assert "Waits until" not in capfd.readouterr().out


def test_a_command_that_only_reads_carries_nothing_out(shop: Shop) -> None:
    before = shown(shop.repository)
    body = "{% do vcs_tag('create', 'nightly') %} select 1 as n"
    shop.write({"models/b.sql": "{% if execute %}" + body + "{% endif %}"})

    assert not shop.dbt("compile").success

    assert shown(shop.repository) == before


def test_an_operation_that_changed_rows_is_a_run(shop: Shop) -> None:
    macro = """{% macro keep() %}
      {% do run_query("insert into analytics.a values (7)") %}
      {% do clone_from_snapshot('analytics.a', 'analytics.copy') %}
      {% do exceptions.raise_compiler_error('stop') if var('stop', false) %}
    {% endmacro %}"""
    shop.write({"macros/keep.sql": macro})

    assert not shop.dbt("run-operation", "keep", stop=True).success
    assert "analytics.copy" not in shop.relations()

    assert shop.dbt("run-operation", "keep").success
    assert shop.value("select max(n) from copy") == 7


def test_statements_and_commands_are_quoted() -> None:
    given = {"source": "`a`.`b`", "target": "c.d", "at": "it's"}
    assert statements_of("clone", given, "main") == (
        "create schema if not exists `c`",
        r"create table `c`.`d` clone `a`.`b` version as of 'it\'s'",
    )
    assert statements_of("clone", {**given, "branch": "x"}, "main") == ()
    assert command_of("tag", {"action": "create", "name": "it's"}).startswith(
        "dbt run-operation vcs_tag --args '"
    )
    assert only_reads("tag", {}) and not only_reads("tag", {"action": "create"})
