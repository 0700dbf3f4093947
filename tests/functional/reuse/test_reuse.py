"""What was computed once is taken, and only that: builds of a dbt project, again and elsewhere."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.commands.log import read_log
from dbt.adapters.vcs.commands.reuse import reuse_reasons
from dbt.adapters.vcs.commands.show import show_commit
from dbt.adapters.vcs.core.origins.results import Results
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.engines.spark.engine import SparkEngine
from tests.functional.daily.models import TABLE, VIEW, config, incremental
from tests.functional.daily.project import BUILT

pytestmark = pytest.mark.spark

MODELS = {
    "seeds/rates.csv": "country,rate\nde,19\nfr,20\n",
    "models/orders.sql": TABLE
    + "select id, if(id % 2 = 0, 'de', 'fr') as country, id * 10 as amount from range(100)",
    "models/taxed.sql": VIEW
    + "select o.id, o.amount * r.rate / 100 as tax from {{ ref('orders') }} o"
    " join {{ ref('rates') }} r using (country)",
    "models/revenue.sql": TABLE + "select sum(tax) as tax from {{ ref('taxed') }}",
    "models/grown.sql": incremental(
        "merge",
        "select id, amount from {{ ref('orders') }}",
        "select id, amount from {{ ref('orders') }} where id >= (select max(id) from {{ this }})",
        unique_key="id",
    ),
    "models/rebuilt.sql": incremental(
        "insert_overwrite",
        "select amount, country from {{ ref('orders') }}",
        "select amount, country from {{ ref('orders') }}",
        partition_by=["country"],
    ),
    "models/schema.yml": """
        models:
          - name: orders
            description: All orders
            columns:
              - {name: id, description: Number, data_tests: [unique, not_null]}
          - name: taxed
            columns: [{name: tax, data_tests: [not_null]}]
        unit_tests:
          - name: adds_up
            model: revenue
            given:
              - {input: ref('taxed'), rows: [{tax: 1}, {tax: 2}]}
            expect: {rows: [{tax: 3}]}
    """,
}
DOCUMENTED = {"models": {"+persist_docs": {"relation": True, "columns": True}}}


@pytest.fixture
def shop(make_project):
    return make_project(MODELS, config=DOCUMENTED)


@pytest.fixture
def no_spark(monkeypatch):
    """Whoever asks for Spark fails."""

    def refuse(self, label):
        raise AssertionError(f"{label} starts Spark")

    return lambda: monkeypatch.setattr(SparkEngine, "session", refuse)


def revenue(rate):
    return sum(i * 10 * (19 if i % 2 == 0 else rate) / 100 for i in range(100))


def why(shop, node):
    """What differs between the last two times that a node was computed, or what forbade it."""
    found = reuse_reasons(shop.repository, node, "main")
    return [text for statement in found.statements for text in statement.differs] or list(
        found.last.refused
    )


def reused(ran):
    return {name for name, (_, message) in ran.nodes.items() if message.startswith("REUSED")}


def test_a_build_with_nothing_to_do_starts_no_engine_and_moves_nothing(shop, no_spark):
    shop.dbt("build")
    # Incremental models have another statement the second time.
    shop.dbt("build")
    head, rows = shop.head(), {name: shop.rows(name) for name in ("orders", "revenue", "grown")}
    no_spark()
    ran = shop.dbt("build")
    assert "Reused: " in ran.said
    assert {"orders", "taxed", "revenue", "grown", "rebuilt"} <= reused(ran)
    assert shop.head() == head
    assert rows["revenue"] == [(pytest.approx(revenue(20)),)]


def test_a_new_branch_and_a_promoted_one_take_what_is_known(shop, no_spark):
    shop.dbt("build")
    shop.dbt("build")
    shop.output["branch"] = "feature/tax"
    shop.configure()
    no_spark()
    shop.dbt("build")
    assert shop.head("feature/tax") == shop.head("main")


def test_a_changed_model_costs_its_own_subgraph(shop):
    shop.dbt("build")
    shop.write({"seeds/rates.csv": "country,rate\nde,19\nfr,21\n"})
    ran = shop.dbt("build")
    assert {"orders"} <= reused(ran)
    assert "revenue" not in reused(ran)
    assert shop.rows("revenue") == [(pytest.approx(revenue(21)),)]
    assert why(shop, "revenue") == ["analytics.taxed is another, or something that it reads is"]
    assert why(shop, "rates") == ["its rows or a config are others"]
    shop.write({"seeds/rates.csv": "country,rate\nde,19\nfr,20\n"})
    ran = shop.dbt("build")
    assert "revenue" in reused(ran)
    assert shop.rows("revenue") == [(pytest.approx(revenue(20)),)]


def test_rows_that_stay_the_same_end_what_has_to_be_computed(shop):
    shop.dbt("build")
    text = MODELS["models/orders.sql"].replace("id * 10", "10 * id")
    shop.write({"models/orders.sql": text})
    ran = shop.dbt("build")
    assert "orders" not in reused(ran)
    assert "revenue" in reused(ran)


def test_white_space_and_comments_count_for_nothing(shop):
    shop.dbt("build", "--select", "orders")
    text = MODELS["models/orders.sql"].replace("select id,", "select -- the number\n   id,")
    shop.write({"models/orders.sql": text})
    assert "orders" in reused(shop.dbt("run", "--select", "orders"))


@pytest.mark.parametrize(
    "expression", ["current_timestamp()", "rand()", "uuid()", "(select first(id) from range(9))"]
)
def test_what_depends_on_the_moment_is_computed(make_project, expression):
    shop = make_project({"models/m.sql": TABLE + f"select {expression} as c"})
    shop.dbt("run")
    first = shop.rows("m")
    ran = shop.dbt("run")
    assert not reused(ran)
    assert expression.strip("()").split("(")[0].split()[-1] in why(shop, "m")[0]
    assert expression.startswith("(") or shop.rows("m") != first


def test_what_depends_on_the_moment_and_gets_the_same_rows_keeps_its_version(make_project):
    imported = "import os\ndef model(dbt, session):\n    return session.sql('select 1 as id')\n"
    shop = make_project(
        {
            "models/days.sql": TABLE
            + "select id, current_date() > '2013-01-01' as is_past from range(9)",
            "models/imported.py": imported,
            "models/reader.sql": TABLE
            + "select count(*) as n from {{ ref('days') }}, {{ ref('imported') }}",
        }
    )
    shop.dbt("run")
    head = shop.head()
    assert reused(shop.dbt("run")) == {"reader"}
    assert "it depends on the moment: current_date" in why(shop, "days")[0]
    assert shop.head() == head


def test_configs_and_flags_decide(make_project):
    shop = make_project(
        {
            "models/lucky.sql": config(materialized="table", reuse="always")
            + "select rand() as c",
            "models/never.sql": config(materialized="table", reuse=False) + "select 1 as c",
            "models/plain.sql": TABLE + "select 2 as c",
        }
    )
    shop.dbt("run")
    first = shop.rows("lucky")
    assert reused(shop.dbt("run")) == {"lucky", "plain"}
    assert shop.rows("lucky") == first
    assert not reused(shop.dbt("run", "--full-refresh"))
    assert not reused(shop.dbt("run", "--vars", "{vcs_reuse: verify}", "--select", "plain"))
    assert not reused(shop.dbt("run", "--vars", "{vcs_reuse: false}"))
    assert why(shop, "never") == ["it has the config reuse: false"]
    ran = shop.dbt("run", "--vars", "{vcs_reuse: perhaps}", ok=False)
    assert "expected true, false, always or verify" in ran.said + ran.error


def test_verifying_finds_a_result_that_is_not_what_was_computed(make_project):
    shop = make_project({"models/m.sql": TABLE + "select id from range(3)"})
    shop.dbt("run")
    shop.dbt("run", "--vars", "{vcs_reuse: verify}")
    results = Results(open_blobs(str(shop.root)))
    [(key, found)] = [
        (item.key, result)
        for item in results.all()
        if (result := results.find(item.key)) is not None and result.kind == "table"
    ]
    shop.write({"models/other.sql": TABLE + "select id + 5 as id from range(3)"})
    shop.dbt("run", "--select", "other")
    wrong = shop.entry("other").snapshot
    results.put(key, type(found)(kind="table", version=wrong, node=found.node), replace=True)
    ran = shop.dbt("run", "--select", "m", "--vars", "{vcs_reuse: verify}", ok=False)
    assert "remembered only: [(" in ran.said
    assert shop.column("m") == [0, 1, 2]


def test_a_failed_node_leaves_no_result(make_project):
    shop = make_project({"models/m.sql": TABLE + "select assert_true(id < 2) as c from range(3)"})
    shop.dbt("run", ok=False)
    results = Results(open_blobs(str(shop.root)))
    assert not [item for item in results.all() if results.find(item.key).kind == "table"]


def test_a_test_that_failed_fails_again_without_being_carried_out(make_project, no_spark):
    shop = make_project(
        {
            "models/m.sql": TABLE + "select id % 2 as id from range(3)",
            "models/m.yml": "models: [{name: m, columns: [{name: id, data_tests: [unique]}]}]",
        }
    )
    shop.dbt("run")
    first = shop.dbt("test", ok=False)
    no_spark()
    again = shop.dbt("test", ok=False)
    assert again.nodes == first.nodes


def test_external_files_count_by_what_they_are(make_project):
    shop = make_project(
        {
            "models/sources.yml": """
                sources:
                  - name: files
                    config: {meta: {external_location: "data/{name}.csv"}}
                    tables: [{name: names}]
            """,
            "models/m.sql": TABLE + "select * from {{ source('files', 'names') }}",
            "data/names.csv": "id,name\n1,one\n",
        }
    )
    shop.dbt("run")
    assert "m" in reused(shop.dbt("run"))
    shop.write({"data/names.csv": "id,name\n1,one\n2,two\n"})
    assert "m" not in reused(shop.dbt("run"))
    assert shop.rows("m") == [(1, "one"), (2, "two")]


READERS = {
    "pd": "pd.read_csv('ext/a.txt', header=None, names=['a'])",
    "java": "session.range(1).select("
    "F.reflect(F.lit('java.lang.System'), F.lit('nanoTime')).alias('a'))",
}
FOLLOWING = {
    "script": "select transform(id) using 'cat ext/a.txt; cat > /dev/null' as (t string)"
    " from range(1)",
    "java_sql": "select java_method('java.lang.System', 'nanoTime') as t",
    "glob": "select * from csv.`ext/[^x]*.txt`",
    "linked": "select * from csv.`ext/dir`",
    "source_glob": "select * from {{ source('raw', 'g') }}",
    "source_linked": "select * from {{ source('raw', 'd') }}",
}


def test_nothing_is_taken_whose_files_or_moment_changed(make_project, tmp_path):
    """Python models only if somebody says so, and then `verify` finds each."""
    python = {
        f"{said}{name}": "import pandas as pd\n"
        "from pyspark.sql import functions as F\n\ndef model(dbt, session):\n"
        f"    dbt.config(materialized='table'{config})\n    return {text}\n"
        for name, text in READERS.items()
        for said, config in (("", ""), ("said_", ", reuse=True"))
    }
    files = {"a.txt": "1\n", "real/b.csv": "1\n", "dir/c.csv": "1\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "dir/p=1").symlink_to(tmp_path / "real")
    models = {
        **{f"models/{name}.py": text for name, text in python.items()},
        **{f"models/{name}.sql": TABLE + text for name, text in FOLLOWING.items()},
        "models/sources.yml": """
            sources:
              - name: raw
                tables:
                  - {name: g, meta: {external_location: "ext/[^x]*.txt", format: csv}}
                  - {name: d, meta: {external_location: "ext/dir", format: csv}}
        """,
    }
    shop = make_project(
        {name: text.replace("ext/", f"{tmp_path}/") for name, text in models.items()}
    )
    shop.dbt("run")
    said = {name for name in python if name.startswith("said_")}
    for name in ("a.txt", "real/b.csv"):
        file = tmp_path / name
        file.write_text(file.read_text().replace("1", "2"))
    assert reused(shop.dbt("run")) == said
    assert {shop.rows(name)[0][0] for name in ("script", "glob", "linked", "pd")} == {"2", 2}
    assert "set the config reuse: true" in why(shop, "pd")[0]
    ran = shop.dbt("run", "--vars", "{vcs_reuse: verify}", "--select", " ".join(said), ok=False)
    assert {name for name in said if "remembered only: [(" in ran.nodes[name][1]} == said


COUNTED = {
    "seeds/rates.csv": "id,at\n1,2026-01-01\n",
    "models/one.sql": TABLE + "select id, cast(at as timestamp) as at from {{ ref('rates') }}",
    "models/one.yml": """
        models:
          - {name: one, config: {event_time: at}}
          - name: days
            time_spine: {standard_granularity_column: day}
            columns: [{name: day, granularity: day}]
        semantic_models:
          - name: ones
            model: ref('one')
            defaults: {agg_time_dimension: at}
            entities: [{name: id, type: primary}]
            dimensions: [{name: at, type: time, type_params: {time_granularity: day}}]
            measures: [{name: number, agg: count, expr: id}]
        metrics:
          - {name: number_of, label: N, type: simple, type_params: {measure: number}}
        saved_queries:
          - name: asked
            query_params: {metrics: [number_of], group_by: ["TimeDimension('id__at', 'day')"]}
        exposures:
          - {name: board, type: dashboard, owner: {email: a@b.c}, depends_on: [ref('one')]}
    """,
    "models/days.sql": TABLE + "select cast('2026-01-01' as date) as day",
    "models/twin.sql": TABLE + "select id, cast(at as timestamp) as at from {{ ref('rates') }}",
    "models/daily.sql": config(
        materialized="incremental",
        incremental_strategy="microbatch",
        event_time="at",
        batch_size="day",
        begin="2026-01-01",
    )
    + "select * from {{ ref('one') }}",
}


def test_run_log_and_show_count_the_same(make_project):
    shop = make_project(COUNTED)
    window = ["--event-time-start", "2026-01-01", "--event-time-end", "2026-01-05"]
    ran = shop.dbt("build", "--threads", "1", *window)
    assert "Reused: 1 of 5 nodes, " in ran.said
    assert ran.nodes["twin"][1].startswith("REUSED from this run, ")
    first = next(read_log(shop.repository, "main"))
    assert (first.nodes, first.reused) == (5, 1)
    nodes = {node.id: node for node in show_commit(shop.repository, "main").run.nodes}
    assert nodes["model.shop.twin"].reused == "this run"
    assert nodes["model.shop.daily"].rows == 1
    assert len(nodes) == 7
    ran = shop.dbt("build", "--threads", "1", "--exclude", "daily")
    assert "Reused: 4 of 4 nodes, " in ran.said
    assert ran.nodes["one"][1].startswith("REUSED from a run for main, ")


def test_settings_that_change_answers_count(make_project):
    shop = make_project(
        {"models/m.sql": TABLE + "select date_format(timestamp_seconds(0), 'HH') as hour"}
    )
    shop.dbt("run")
    shop.output["spark_config"]["spark.sql.shuffle.partitions"] = 3
    shop.configure()
    assert "m" in reused(shop.dbt("run"))
    shop.output["spark_config"]["spark.sql.session.timeZone"] = "Asia/Tokyo"
    shop.configure()
    assert "m" not in reused(shop.dbt("run"))
    assert shop.rows("m") == [("09",)]


def test_a_version_that_was_made_elsewhere_keeps_the_history_of_the_branch(make_project):
    shop = make_project({"models/m.sql": TABLE + "select id, 1 as n from range(3)"})
    shop.dbt("run")
    shop.output["branch"] = "dev"
    shop.configure()
    shop.write({"models/m.sql": TABLE + "select id, 2 as n from range(3)"})
    shop.dbt("run")
    made = shop.entry("m", "dev").snapshot
    # The table moves on main in the meantime, so the version made on dev isn't its child.
    shop.output["branch"] = "main"
    shop.configure()
    shop.write({"models/m.sql": TABLE + "select id, 3 as n from range(3)"})
    shop.dbt("run")
    before = shop.entry("m").snapshot
    shop.write({"models/m.sql": TABLE + "select id, 2 as n from range(3)"})
    ran = shop.dbt("run")
    assert "m" in reused(ran)
    assert shop.snapshot("m").parents == (before, made)
    assert shop.rows("m") == [(0, 2), (1, 2), (2, 2)]
    assert shop.snapshot("m").segments == shop.repository.objects.snapshot(made).segments


def test_rows_that_stayed_the_same_are_a_result_for_other_tables(make_project):
    text = config(materialized="table") + "select id from range(3)"
    shop = make_project({"models/m.sql": text})
    shop.dbt("run")
    shop.write({"models/m.sql": TABLE + "select id + 0 as id from range(3)"})
    shop.dbt("run")
    # The version was kept when this text was computed, and there is nothing to keep for others.
    shop.write({"models/twin.sql": TABLE + "select id + 0 as id from range(3)"})
    assert reused(shop.dbt("run")) == {"m", "twin"}
    assert shop.rows("twin") == shop.rows("m") == [(0,), (1,), (2,)]
    shop.output["branch"] = "dev"
    shop.configure()
    shop.write({"models/m.sql": TABLE + "select id * 2 as id from range(3)"})
    shop.dbt("run")
    shop.write({"models/m.sql": TABLE + "select id + 0 as id from range(3)"})
    assert "m" in reused(shop.dbt("run"))
    assert shop.rows("m", "dev") == [(0,), (1,), (2,)]


def test_snapshots_and_python_models_and_functions_are_taken(make_project, no_spark):
    shop = make_project(
        {
            "models/orders.sql": TABLE + "select id, 'new' as status from range(3)",
            "models/doubled.py": """
                import pyspark.sql.functions as F

                def model(dbt, session):
                    dbt.config(materialized="table", reuse=True)
                    return dbt.ref("orders").select((F.col("id") * 2).alias("id"))
            """,
            "snapshots/kept.yml": """
                snapshots:
                  - name: kept
                    relation: ref('orders')
                    config: {unique_key: id, strategy: check, check_cols: all}
            """,
        }
    )
    shop.dbt("build")
    shop.dbt("build")
    rows = shop.rows("select * except (dbt_valid_from, dbt_updated_at, dbt_scd_id) from kept")
    no_spark()
    ran = shop.dbt("build")
    assert "doubled" in reused(ran)
    assert ran.status("kept") in BUILT
    assert len(rows) == 3


def test_models_of_one_text_come_to_rest(make_project):
    shop = make_project(
        {
            "models/base.sql": TABLE + "select id from range(3)",
            "models/one.sql": TABLE + "select id + 1 as id from {{ ref('base') }}",
            "models/two.sql": TABLE + "select id + 1 as id from {{ ref('base') }}",
        }
    )
    # With one thread the second takes what the first computed.
    ran = shop.dbt("run", "--threads", "1")
    assert reused(ran) == {"two"}
    for name in ("one", "two"):
        origin = shop.snapshot(name).origin
        assert [item.relation for item in origin.inputs] == ["analytics.base"]
        assert origin.node.endswith(f".{name}")
    head = shop.head()
    shop.dbt("run")
    assert shop.head() == head
