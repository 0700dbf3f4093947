"""Spark finds rows with NaN, to it the greatest number, whichever writer made their files."""

import pytest

from .shop import Shop

pytestmark = pytest.mark.spark

CONDITIONS = (
    "w = double('nan')",
    "w <=> double('nan')",
    "w > 1e300",
    "w >= 7",
    "not (w <= 1e300)",
    "w in (double('nan'), 3)",
    "v >= float('nan')",
)


def check(shop: Shop, table: str) -> None:
    """Look for rows by a condition that Spark compares with bounds, and count them one by one."""
    for condition in CONDITIONS:
        ((found, there),) = shop.rows(
            f"select (select count(*) from {table} where {condition}), count_if({condition}) "
            f"from {table}"
        )
        assert found == there > 0, condition


@pytest.mark.parametrize("properties", ["", "'primary_key' = 'id'"])
def test_rows_with_nan_are_found_and_deleted(shop: Shop, properties: str) -> None:
    table = shop.make("id int, v float, w double", properties=properties)
    for start in (0, 10, 20):
        shop.sql(
            f"insert into {table} select int(id), float(if(id % 3 = 0, 'NaN', string(id))), "
            f"double(if(id % 5 = 0, 'NaN', string(id))) from range({start}, {start + 10})"
        )
    check(shop, table)
    assert shop.change(f"update {table} set w = 1 where id in (10, 21)") == 2
    assert shop.change(f"update {table} set w = double('nan') where id = 22") == 1
    check(shop, table)
    shop.sql(f"optimize {table}")
    check(shop, table)

    nan = [row for row in shop.rows(f"select * from {table}") if row[2] != row[2]]
    assert shop.change(f"delete from {table} where w = double('nan')") == len(nan) == 6
    ((left,),) = shop.rows(f"select count_if(isnan(w)) from {table}")
    assert left == 0
