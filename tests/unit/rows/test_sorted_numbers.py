"""Distinct numbers and members, near each other and far apart, as Python's sets have them."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.table.row_numbers import are_among, distinct

FAR = 2**62


def numbers(most: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(-3, most) | st.integers(-FAR, FAR), max_size=40)


def array(values: list[int]) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)


@given(numbers(9))
def test_distinct_numbers_ascend_and_are_those_of_a_set(values: list[int]) -> None:
    assert distinct(array(values)).tolist() == sorted(set(values))


@given(st.lists(st.integers(0, 99), max_size=40))
def test_numbers_near_each_other_are_marked(values: list[int]) -> None:
    before = array(values)
    found = distinct(before)
    assert found.tolist() == sorted(set(values))
    assert before.tolist() == values, "the given array is as it was"


@given(numbers(9), numbers(9))
def test_numbers_are_among_others_as_in_a_set(values: list[int], some: list[int]) -> None:
    assert are_among(array(values), array(some)).tolist() == [one in some for one in values]


@given(st.lists(st.integers(0, 99), max_size=40), st.lists(st.integers(0, 99), max_size=40))
def test_numbers_are_among_others_near_them(values: list[int], some: list[int]) -> None:
    assert are_among(array(values), array(some)).tolist() == [one in some for one in values]


@pytest.mark.parametrize("one", [126, 127, 128, 129])
@pytest.mark.parametrize("other", [126, 127, 128, 129])
def test_members_at_the_edge_of_the_marks_are_found(one: int, other: int) -> None:
    assert are_among(array([one]), array([other])).tolist() == [one == other]


@pytest.mark.parametrize("most", [7, 8, 9])
def test_a_number_at_the_edge_of_the_marks_is_found(most: int) -> None:
    assert distinct(array([most])).tolist() == [most]
