import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.table.compare.located import Part, PlaceGrid

BLOCKS = st.sampled_from(["a", "b", "c"])


def parts_of(positions: st.SearchStrategy[int]) -> st.SearchStrategy[list[Part]]:
    rows = st.lists(positions, unique=True, max_size=5).map(lambda n: np.array(n, np.int64))
    return st.lists(st.tuples(BLOCKS, rows), max_size=4)


def places(parts: list[Part]) -> list[tuple[str, int]]:
    return [(block, position) for block, part in parts for position in part.tolist()]


@pytest.mark.parametrize("farthest", [6, 10**6], ids=["close together", "far apart"])
def test_rows_of_many_blocks_are_found_as_block_by_block(farthest: int) -> None:
    positions = st.integers(0, farthest)

    @given(parts_of(positions), parts_of(positions))
    def holds(parts: list[Part], others: list[Part]) -> None:
        # What others have is of use only if both can name the same places.
        others = [*others, *parts[:1]]
        grid, mine, theirs = PlaceGrid(parts), places(parts), places(others)
        assert grid.among(others).tolist() == [place in theirs for place in mine]
        assert grid.first().tolist() == [mine.index(place) == n for n, place in enumerate(mine)]
        assert grid.blocks == {block for block, _ in parts}
        of_a = grid.spread([block == "a" for block, _ in parts])
        assert of_a.tolist() == [block == "a" for block, _ in mine]

    holds()


def test_a_grid_of_nothing_has_no_row() -> None:
    grid = PlaceGrid([])
    assert not len(grid.first())
    assert not len(grid.among([("a", np.array([1]))]))
    assert not len(grid.spread([]))
