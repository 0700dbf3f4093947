"""Contracts: names and types are what was promised, and NULL is refused when it is written."""

from __future__ import annotations

import pytest

from .models import config, incremental

pytestmark = pytest.mark.spark


def promise(name: str, *, id_type: str = "bigint", more: str = "") -> str:
    return f"""
      - name: {name}
        config: {{contract: {{enforced: true}}}}
        columns:
          - name: id
            data_type: {id_type}
            constraints: [{{type: not_null}}]
          - name: name
            data_type: string
        {more}
"""


CHECKED = "constraints: [{type: check, expression: id > 0}, {type: primary_key, columns: [id]}]"
GOOD = "select cast(1 as bigint) as id, 'a' as name"
NULLS = "select cast(null as bigint) as id, 'a' as name"


@pytest.fixture(scope="module")
def shop(make_project):
    names = ["kept", "grown", "swapped", "wrong_type", "wrong_names", "with_nulls", "seen"]
    schema = "models:" + "".join(
        promise(name, more=CHECKED if name == "kept" else "") for name in names
    )
    contract = {"materialized": "table"}
    project = make_project(
        {
            "models/schema.yml": schema.encode(),
            "models/kept.sql": config(**contract) + GOOD,
            "models/swapped.sql": config(**contract)
            + "select 'a' as name, cast(1 as bigint) as id",
            "models/grown.sql": incremental(
                "append", GOOD, NULLS, on_schema_change="append_new_columns"
            ),
            "models/seen.sql": config(materialized="view") + GOOD,
            "models/wrong_type.sql": config(**contract) + "select 'x' as id, 'a' as name",
            "models/wrong_names.sql": config(**contract)
            + "select cast(1 as bigint) as ident, 'a' as name",
            "models/with_nulls.sql": config(**contract) + NULLS,
        }
    )
    project.dbt("run", "--select", "kept", "grown", "swapped", "seen")
    return project


def test_promised_columns_are_kept_in_their_order(shop):
    for name in ("kept", "grown", "swapped"):
        fields = shop.snapshot(name).schema.fields
        assert [(f.name, f.type, f.nullable) for f in fields] == [
            ("id", "bigint", False),
            ("name", "string", True),
        ]
        assert shop.rows(name) == [(1, "a")]
    assert shop.rows("seen") == [(1, "a")]
    assert shop.snapshot("kept").properties["vcs.check.kept_check"] == "id > 0"


def test_broken_promises_are_told(shop):
    head = shop.head()
    ran = shop.dbt("run", "--select", "wrong_type", "wrong_names", "with_nulls", "grown", ok=False)
    assert set(ran.statuses.values()) == {"error"}
    for name in ("wrong_type", "wrong_names"):
        assert "This model has an enforced contract that failed" in ran.message(name)
    assert "data type mismatch" in ran.message("wrong_type")
    assert "missing in contract" in ran.message("wrong_names")
    assert "column id" in ran.message("with_nulls") and "NULL" in ran.message("with_nulls")
    assert "declared NOT NULL: id (1 NULL)" in ran.message("grown")
    assert shop.head() == head
    assert shop.rows("grown") == [(1, "a")]
