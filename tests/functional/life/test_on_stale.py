"""The write skew: one run changes `orders`, another `customers`, `revenue` is made from both."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dbt.cli.main import dbtRunnerResult

from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.core.model import NodeRun, TableEntry
from tests.functional.life.shop import Shop, make_shop, unaimed
from tests.unit.cli.steps import steps_in

pytestmark = pytest.mark.spark

TABLE = "{{ config(materialized='table') }} "
FILES = {
    "models/orders.sql": TABLE + "select {{ var('orders', 1) }} as n",
    "models/customers.sql": TABLE + "select {{ var('customers', 1) }} as n",
    "models/revenue.sql": TABLE
    + "select o.n * 10 + c.n as n from {{ ref('orders') }} o, {{ ref('customers') }} c",
    "models/ledger.sql": "{{ config(materialized='incremental', unique_key='id') }} "
    "select 1 as id, n from {{ ref('orders') }}",
    "models/doubled.py": "def model(dbt, session):\n"
    "    dbt.config(materialized='table', reuse=True)\n"
    "    return dbt.ref('orders').selectExpr('n * 2 as n')\n",
    "seeds/rates.csv": "id,rate\n1,10\n",
    "tests/no_debts.sql": "select * from {{ ref('revenue') }} where n < {{ var('least', 0) }}",
}


SAID: list[str] = []
"""What dbt's log said."""


@pytest.fixture(scope="module")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    shop = make_shop(tmp_path_factory.mktemp("skew") / "shop", FILES)
    assert shop.dbt("build").success
    return shop


def built(
    shop: Shop, on_stale: str | None, *, revenue: bool = True, select: str = "", **vars: Any
) -> dbtRunnerResult:
    """Change customers on a branch of its own, while somebody else changes orders there."""
    branch, done = f"b_{on_stale}{len(vars)}", []
    shop.write({"vcs.yml": f"on_stale: {on_stale}" if on_stale else ""})
    shop.write_profile(branch=branch, base="main")

    def meanwhile(event: Any) -> None:
        SAID.append(event.info.msg)
        if event.info.name == "EndRunResult" or done or event.info.name != "NodeFinished":
            return
        done.append(event)
        with shop.connect(branch) as other:
            other.sql("create or replace table orders as select 2 n")
            other.sql("update rates set rate = 99")
            if revenue:
                other.sql(
                    "create or replace table revenue as "
                    "select o.n * 10 + c.n n from orders o, customers c"
                )

    args = ("build", "--select", *(select or "customers revenue ledger").split())
    return shop.dbt(*args, callbacks=[meanwhile], customers=2, **vars)


def typed(text: str) -> str:
    """Return what the one command says that a text names, typed as it is printed."""
    ((program, *words),) = map(shlex.split, steps_in(text))
    assert program == "dbt-vcs"
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    return result.output


def revenue(shop: Shop) -> Any:
    return shop.value("select n from revenue", shop.profile["branch"])


def metadata(shop: Shop) -> dict[str, str]:
    return shop.repository.objects.commit(shop.head(shop.profile["branch"])).metadata


def nodes(shop: Shop) -> dict[str, NodeRun]:
    run = shop.repository.objects.commit(shop.head(shop.profile["branch"])).run
    assert run is not None
    return {node.id.split(".")[2]: node for node in run.nodes}


def test_warn_publishes_and_records_what_is_stale(skewed: Shop) -> None:
    assert built(skewed, "warn", revenue=False).success
    assert revenue(skewed) == 12
    assert metadata(skewed) == {"stale": "analytics.revenue (analytics.orders)"}
    told = "since others changed what was read: analytics.revenue (analytics.orders)."
    (text,) = {text for text in SAID if f"Stale on b_warn0, {told}" in text}
    assert "analytics.revenue" in typed(text)


def test_fail_keeps_the_run_and_the_same_command_computes_what_is_stale(skewed: Shop) -> None:
    result = built(skewed, "fail")
    assert not result.success
    said = str(result.exception)
    assert "The run was not published to b_fail0, which is unchanged" in said
    assert "analytics.revenue (analytics.orders) (on_stale: fail)" in said
    assert revenue(skewed) == 21
    assert "analytics.customers" in typed(said)
    args = ("build", "--select", "customers", "revenue", "ledger")
    assert skewed.dbt(*args, customers=2).success
    assert revenue(skewed) == 22
    assert nodes(skewed)["customers"].reused
    assert not nodes(skewed)["revenue"].reused
    note = [lambda event: SAID.append(event.info.msg)]
    assert skewed.dbt("run", "--select", "customers", callbacks=note, customers=3).success
    assert any(
        "Stale now: analytics.revenue. See dbt-vcs stale b_fail0." in unaimed(x) for x in SAID
    )


def test_heal_computes_what_is_stale_and_runs_its_tests_again(skewed: Shop) -> None:
    assert built(skewed, "heal").success
    assert revenue(skewed) == 22
    assert skewed.value("select n from ledger", "b_heal0") == 2
    assert metadata(skewed)["healed"].split(", ") in (
        ["analytics.ledger", "analytics.revenue"],
        ["analytics.revenue", "analytics.ledger"],
    )
    entry = skewed.repository.tree(skewed.head("b_heal0")).relations("analytics")["revenue"]
    assert isinstance(entry, TableEntry)
    assert [item.version for item in nodes(skewed)["no_debts"].inputs] == [entry.snapshot]


def test_heal_publishes_nothing_where_a_test_fails_on_what_it_computed(skewed: Shop) -> None:
    """The run itself computed 12 from orders as they were, and that passed."""
    shop = skewed
    shop.write({"tests/no_debts.sql": "select * from {{ ref('revenue') }} where n > 20"})
    result = built(shop, "heal", least=1)
    assert not result.success
    assert "no_debts fails on what 'b_heal1' would show" in str(result.exception)
    assert revenue(shop) == 21


def test_seeds_and_python_models_that_may_be_repeated_are_made_again(skewed: Shop) -> None:
    """Without a setting: to heal is the default."""
    skewed.write({"seeds/rates.csv": "id,rate\n1,11\n"})
    assert built(skewed, None, select="customers doubled rates").success
    branch = skewed.profile["branch"]
    assert skewed.value("select n from doubled", branch) == 4
    assert skewed.value("select rate from rates", branch) == 11
    assert set(metadata(skewed)["healed"].split(", ")) == {"analytics.doubled", "analytics.rates"}


@pytest.mark.parametrize(
    ("rows", "healed"),
    [("select 1 as id, n from", True), ("select 1 as id, * from", False)],
    ids=["named", "all"],
)
def test_an_incremental_model_is_made_again_if_its_rows_have_the_columns_of_its_table(
    tmp_path: Path, rows: str, healed: bool
) -> None:
    shop = make_shop(
        tmp_path / "shop",
        {
            "models/orders.sql": TABLE + "select {{ var('orders', 1) }} as n",
            "models/customers.sql": TABLE + "select {{ var('customers', 1) }} as n",
            "models/ledger.sql": "{{ config(materialized='incremental', unique_key='id') }} "
            + rows
            + " {{ ref('orders') }}",
        },
    )
    assert shop.dbt("build").success
    done = []

    def meanwhile(event: Any) -> None:
        if event.info.name == "NodeFinished" and not done:
            done.append(event)
            with shop.connect() as other:
                other.sql("create or replace table orders as select 2 n, 'x' note")

    args = ("build", "--select", "customers", "ledger")
    result = shop.dbt(*args, callbacks=[meanwhile], customers=2)
    assert result.success is healed
    assert shop.value("select n from ledger") == (2 if healed else 1)
    if not healed:
        assert "new rows have other columns than its table by now: note" in str(result.exception)
        assert "Run the same command again" in str(result.exception)


def test_a_python_model_that_does_not_say_so_keeps_the_run(skewed: Shop) -> None:
    text = FILES["models/doubled.py"].replace(", reuse=True", "").replace("2 as", "3 as")
    skewed.write({"models/doubled.py": text})
    result = built(skewed, None, select="customers doubled", other=1)
    assert not result.success
    assert "Run the same command again" in str(result.exception)
    assert "its config does not say reuse: true" in str(result.exception)
    assert skewed.dbt("build", "--select", "customers", "doubled", customers=2).success
    assert skewed.value("select n from doubled", skewed.profile["branch"]) == 6


def test_the_same_job_three_times_at_once_gives_the_rows_of_one_order(tmp_path: Path) -> None:
    incremental = "{{ config(materialized='incremental', incremental_strategy="
    job = "{{ var('job') }} as job"
    shop = make_shop(
        tmp_path,
        {
            "models/lines.sql": incremental + "'append') }} select " + job,
            "models/latest.sql": incremental
            + "'merge', unique_key='id') }} select 1 as id, "
            + job,
            "models/total.sql": TABLE + "select count(*) as n from {{ ref('lines') }}",
        },
    )
    assert shop.dbt("run", job=0).success
    jobs = [shop.start("run", job=number) for number in (1, 2, 3)]
    told = [job.communicate(timeout=600)[0] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0, 0], "\n".join(told)
    assert shop.value("select array_sort(collect_list(job)) from lines") == [0, 1, 2, 3]
    assert shop.value("select n from total") == 4
    assert shop.value("select job from latest") in (1, 2, 3)
