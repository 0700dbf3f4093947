import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.model import ColumnStats
from dbt.adapters.vcs.table.files.footers import TEXT_LENGTH, raised, shortened, stats_of_partition

TEXTS = st.text(min_size=0, max_size=TEXT_LENGTH * 2)


@given(TEXTS)
def test_short_bounds_still_bound(text: str) -> None:
    low, high = shortened(text), raised(text)
    assert len(low) <= TEXT_LENGTH
    assert low.encode() <= text.encode()
    assert high is None or (len(high) <= TEXT_LENGTH and high.encode() >= text.encode())


def test_no_upper_bound_of_the_highest_text() -> None:
    assert raised("\U0010ffff" * 65) is None


def test_an_upper_bound_steps_over_surrogates() -> None:
    assert raised("\ud7ff" * 65) == "\ud7ff" * 63 + "\ue000"


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("bigint", "-9223372036854775808", -(2**63)),
        ("date", "1969-12-31", -1),
        ("timestamp", "1970-01-01 00:00:01.5", 1_500_000),
        ("timestamp_ntz", "1970-01-01 00:00:00", 0),
        ("decimal(38,18)", "-1E-18", "-0.000000000000000001"),
        ("boolean", "false", False),
        ("string", "01", "01"),
        ("double", "NaN", None),
        ("date", "+10000-01-01", None),
        ("interval day", "INTERVAL '1' DAY", None),
    ],
)
def test_partition_values(type_: str, text: str, value: object) -> None:
    assert stats_of_partition(type_, text, 7) == ColumnStats(value, value, 0)


def test_a_null_partition() -> None:
    assert stats_of_partition("int", None, 7) == ColumnStats(None, None, 7)
