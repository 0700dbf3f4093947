from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.graph import DIVERGENCE_LIMIT, divergence
from dbt.adapters.vcs.core.ids import CommitId

Graph = dict[CommitId, tuple[CommitId, ...]]


def node(number: int) -> CommitId:
    return CommitId(f"{number:04}")


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Commits numbered so that parents come before children."""
    size = draw(st.integers(1, 12))
    found: Graph = {}
    for number in range(size):
        count = draw(st.integers(0, min(2, number)))
        picks = st.lists(st.integers(0, number - 1), min_size=count, max_size=count, unique=True)
        found[node(number)] = tuple(map(node, draw(picks))) if number else ()
    return found


def reached(graph: Graph, start: CommitId) -> set[CommitId]:
    return {start}.union(*(reached(graph, parent) for parent in graph[start]))


@given(graphs(), st.data())
def test_counts_are_the_sizes_of_the_set_differences(graph: Graph, data: st.DataObject) -> None:
    left, right = (data.draw(st.sampled_from(sorted(graph))) for _ in range(2))
    ours, theirs = reached(graph, left), reached(graph, right)
    expected = (len(ours - theirs), len(theirs - ours))
    assert divergence(left, right, graph.__getitem__, int) == expected


def test_counting_is_given_up_when_it_takes_too_long() -> None:
    def parents(id: CommitId) -> tuple[CommitId, ...]:
        return (node(int(id) - 1),) if int(id) else ()

    assert divergence(node(DIVERGENCE_LIMIT - 1), node(0), parents, int) == (
        DIVERGENCE_LIMIT - 1,
        0,
    )
    assert divergence(node(DIVERGENCE_LIMIT + 1), node(0), parents, int) is None
