"""Lineage: every version says which node made it, from which versions."""

from __future__ import annotations

import hashlib

import pytest

from dbt.adapters.vcs.core.model import Input

from .models import TABLE, VIEW, config, incremental

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "seeds/raw.csv": "id,name\n1,ann\n2,bob\n",
            "files/prices.csv": "id,price\n1,9.5\n2,7.5\n",
            "models/sources.yml": """
                sources:
                  - name: files
                    tables:
                      - name: prices
                        meta: {external_location: files/prices.csv}
            """,
            "models/staged.sql": VIEW + "select * from {{ ref('raw') }}",
            "models/cleaned.sql": VIEW + "select id, upper(name) as name from {{ ref('staged') }}",
            "models/priced.sql": config(materialized="ephemeral")
            + "select * from {{ source('files', 'prices') }}",
            "models/first.sql": TABLE
            + "-- it's the first\nselect name, price from {{ ref('cleaned') }} "
            "join {{ ref('priced') }} using (id)\n\n",
            "models/grown.sql": incremental(
                "append",
                "select name from {{ ref('first') }}",
                "select f.name from {{ ref('first') }} f "
                "left anti join {{ this }} t on f.name = t.name",
            ),
        }
    )
    project.dbt("build")
    return project


def inputs(shop, name: str) -> dict[str, Input]:
    return {item.relation: item for item in shop.snapshot(name).origin.inputs}


def test_origin_says_node_and_invocation(shop):
    run = shop.repository.objects.commit(shop.head()).run
    for name, node in {"raw": "seed.shop.raw", "first": "model.shop.first"}.items():
        origin = shop.snapshot(name).origin
        assert (origin.node, origin.invocation) == (node, run.invocation)
    assert shop.json("run_results.json")["metadata"]["invocation_id"] == run.invocation


def test_origin_holds_the_digest_of_the_compiled_code(shop):
    compiled = {
        result["unique_id"]: result["compiled_code"]
        for result in shop.json("run_results.json")["results"]
        if result["unique_id"].startswith("model.")
    }
    for name in ("first", "grown"):
        digest = hashlib.sha256(compiled[f"model.shop.{name}"].encode()).hexdigest()
        assert shop.snapshot(name).origin.sql_sha256 == digest
        file = shop.folder / f"target/compiled/shop/models/{name}.sql"
        assert hashlib.sha256(file.read_bytes()).hexdigest() == digest


def test_inputs_are_the_exact_versions_through_views(shop):
    found = inputs(shop, "first")
    location = str(shop.folder / "files/prices.csv")
    assert found == {
        "analytics.raw": Input(relation="analytics.raw", snapshot=shop.entry("raw").snapshot),
        "analytics.staged": Input(relation="analytics.staged", view=shop.entry("staged").view),
        "analytics.cleaned": Input(relation="analytics.cleaned", view=shop.entry("cleaned").view),
        "files.prices": Input(relation="files.prices", external=location),
    }


def test_inputs_are_followed_through_temporary_views(shop):
    before = shop.entry("grown").snapshot
    shop.write({"seeds/raw.csv": "id,name\n1,ann\n2,bob\n3,eve\n"})
    shop.write({"files/prices.csv": "id,price\n1,9.5\n2,7.5\n3,1.0\n"})
    shop.dbt("build")
    found = inputs(shop, "grown")
    assert found["analytics.first"].snapshot == shop.entry("first").snapshot
    assert found["analytics.grown"].snapshot == before
    assert shop.snapshot("grown").parents == (before,)
    assert shop.column("grown") == ["ANN", "BOB", "EVE"]
    assert shop.json("run_results.json")["metadata"]["invocation_id"] == (
        shop.snapshot("grown").origin.invocation
    )
