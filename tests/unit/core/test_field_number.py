"""A column's number is the same everywhere, because nothing but its id decides."""

from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.ids import field_number

PATHS = st.lists(st.text(max_size=40), min_size=1, max_size=4)


def test_files_that_were_written_once_keep_their_numbers() -> None:
    assert field_number("f1") == 1_561_845_109
    assert field_number("f1", "element") == 671_114_434


@given(PATHS)
def test_a_number_is_one_that_iceberg_leaves_to_tables(path: list[str]) -> None:
    assert 1_000 <= field_number(*path) < 2_147_483_447 - 200


@given(st.sets(st.text(max_size=8), max_size=50))
def test_columns_of_one_table_have_numbers_of_their_own(ids: set[str]) -> None:
    assert len({field_number(each) for each in ids}) == len(ids)
