"""What dbt-core has from 1.12 on, and what a run makes of it; `make dbt-versions` runs this."""

import json
from pathlib import Path

import pytest
from dbt.artifacts import resources
from dbt.artifacts.schemas.results import RunStatus

from tests.functional.life.shop import MODELS, Shop, make_shop

newer = pytest.mark.skipif(
    not hasattr(resources, "ModelOnErrorOptions"), reason="dbt-core has it from 1.12 on"
)

CONTINUED = {
    "models/a.sql": (
        "{{ config(materialized='table', on_error='continue') }}"
        " select {{ var('n', 1) }} + {{ var('more', '0') }} as n"
    ),
    "models/b.sql": "{{ config(materialized='incremental') }} select n from {{ ref('a') }}",
    "models/b.yml": "models: [{name: b, columns: [{name: n, data_tests: [not_null]}]}]",
    "models/c.sql": "{{ config(materialized='table') }} select {{ var('n', 1) }} as n",
}
CATALOGS = {
    "v1": (
        "{}",
        "catalogs: [{name: lake, active_write_integration: it, write_integrations: ["
        "{name: it, catalog_type: iceberg_rest, table_format: iceberg}]}]",
    ),
    "v2": (
        "{use_catalogs_v2: true}",
        "catalogs: [{name: lake, type: iceberg_rest, table_format: iceberg, config: {}}]",
    ),
}


def recorded(shop: Shop) -> dict[str, str]:
    """Return the status of each node in run_results.json, by its kind and name."""
    record = json.loads((shop.root / "target/run_results.json").read_text())
    return {".".join(r["unique_id"].split(".")[::2][:2]): r["status"] for r in record["results"]}


@newer
@pytest.mark.parametrize("publish", ["on_success", "always"])
def test_what_follows_from_a_failed_model_is_left_to_retry(tmp_path: Path, publish: str) -> None:
    shop = make_shop(tmp_path, CONTINUED, publish=publish)
    assert shop.dbt("build").success
    before = shop.head()

    failed = shop.dbt("build", n=2, more="nope")

    told = {item.node.name.partition("_")[0]: str(item.status) for item in failed.result}
    assert told == {"a": "error", "b": "skipped", "c": "success", "not": "skipped"}
    assert recorded(shop) == {
        "model.a": "error",
        "model.b": "skipped",
        "model.c": "success",
        "test.not_null_b_n": "skipped",
    }
    assert (shop.head() == before) == (publish == "on_success")
    rows = "select a.n * 100 + count(b.n) * 10 + c.n from a, b, c group by a.n, c.n"
    assert shop.value(rows) == (111 if publish == "on_success" else 112)
    retried = shop.dbt("retry", n=2)
    assert retried.success
    assert len(retried.result) == 3
    # The incremental model has the rows of two builds: those built on the old `a` are dropped.
    assert shop.value(rows) == 222


@newer
def test_nodes_whose_results_are_known_count_as_reused(tmp_path: Path) -> None:
    shop = make_shop(tmp_path, MODELS)
    assert set(map(str, (r.status for r in shop.dbt("run").result))) == {"success"}
    shop.write_profile(branch="dev")
    again = shop.dbt("run")
    assert again.success
    assert {item.status for item in again.result} == {RunStatus.Reused}
    assert recorded(shop) == {"model.a": "reused", "model.b": "reused"}
    run = shop.repository.objects.commit(shop.head("dev")).run
    assert run is not None
    assert {node.status for node in run.nodes} == {"success"}


@pytest.mark.parametrize("form", ["v1", pytest.param("v2", marks=newer)])
def test_catalogs_of_dbt_are_refused_in_one_message(tmp_path: Path, form: str) -> None:
    shop = make_shop(tmp_path, MODELS)
    flags, catalogs = CATALOGS[form]
    project = (tmp_path / "dbt_project.yml").read_text().partition("flags")[0]
    shop.write({"catalogs.yml": catalogs, "dbt_project.yml": f"{project}flags: {flags}\n"})
    parsed = shop.dbt("parse")
    assert not parsed.success
    assert "catalogs.yml names the catalog 'lake'" in str(parsed.exception)
