import pytest

from dbt.adapters.vcs.engines.dataframes.repeatable import is_repeatable

READ = "+- SubqueryAlias t\n   +- Relation s.t[id#1,ts#2] parquet"


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        (f"Project [id#1]\n{READ}", True),
        (f"Project [id#1, current_timestamp() AS loaded#3]\n{READ}", True),
        (
            "SubqueryAlias s\n+- View (`s`, [id#1])\n   +- Project [now() AS at#3]\n"
            f"      +- Filter (id#1 > 3)\n{READ}",
            True,
        ),
        (f"Project [id#1]\n+- Filter (ts#2 < current_timestamp())\n{READ}", False),
        (f"Project [id#1]\n+- Filter (ts#2 < now())\n{READ}", False),
        (f"GlobalLimit 3\n+- LocalLimit 3\n{READ}", False),
        (f"Project [id#1]\n+- Sample 0.0, 0.5, false, 7\n{READ}", False),
    ],
)
def test_what_may_differ_the_second_time(plan: str, wanted: bool) -> None:
    assert is_repeatable(plan, deterministic=True) is wanted


def test_what_spark_knows_to_differ() -> None:
    assert not is_repeatable(f"Project [rand(3) AS r#3]\n{READ}", deterministic=False)
