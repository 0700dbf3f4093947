"""Trap 10: models of one alias in several schemas, at once, never mix rows."""

from __future__ import annotations

import pytest

from .models import config, incremental

pytestmark = pytest.mark.spark

SCHEMAS = [f"s{number}" for number in range(4)]
ROWS = 50


def models(schema: str) -> dict[str, str]:
    rows = f"select '{schema}' as origin, id from range({ROWS})"
    more = f"select '{schema}' as origin, id from range({ROWS}, {2 * ROWS})"
    placed = {"schema": schema}
    return {
        f"models/orders_{schema}.sql": incremental("append", rows, more, alias="orders", **placed),
        f"models/days_{schema}.sql": incremental(
            "insert_overwrite", rows, more, alias="days", partition_by="origin", **placed
        ),
        f"models/totals_{schema}.sql": config(materialized="table", alias="totals", **placed)
        + f"select origin, count(*) as n from {{{{ ref('orders_{schema}') }}}} group by origin",
    }


@pytest.fixture(scope="module")
def shop(make_project):
    files: dict[str, str] = {}
    for schema in SCHEMAS:
        files |= models(schema)
    return make_project(files, output={"threads": 8})


def test_one_alias_in_many_schemas_at_once(shop):
    shop.dbt("run")
    shop.dbt("run")
    union = " union all ".join(
        f"select '{schema}', 'orders', origin, count(*), min(id), max(id) "
        f"from analytics_{schema}.orders group by origin "
        f"union all select '{schema}', 'days', origin, count(*), min(id), max(id) "
        f"from analytics_{schema}.days group by origin "
        f"union all select '{schema}', 'totals', origin, n, 0, 0 from analytics_{schema}.totals"
        for schema in SCHEMAS
    )
    wanted = [
        row
        for schema in SCHEMAS
        for row in (
            (schema, "orders", schema, 2 * ROWS, 0, 2 * ROWS - 1),
            (schema, "days", schema, ROWS, ROWS, 2 * ROWS - 1),
            (schema, "totals", schema, 2 * ROWS, 0, 0),
        )
    ]
    assert shop.rows(union) == sorted(wanted)
