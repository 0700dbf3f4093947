"""Merge bases and ancestors of random histories, against an oracle that follows the definition."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dbt.adapters.vcs.core.graph import (
    ancestors,
    descends_from,
    is_ancestor,
    merge_bases,
    only_reached,
    reaches_alone,
)

Graph = dict[str, tuple[str, ...]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Commits "0", "1", ... whose parents are older ones; merges and several roots happen."""
    count = draw(st.integers(1, 14))
    graph: Graph = {"0": ()}
    for number in range(1, count):
        older = st.integers(max(0, number - draw(st.sampled_from([1, 3, 14]))), number - 1)
        parents = draw(st.lists(older, unique=True, max_size=3))
        graph[str(number)] = tuple(str(parent) for parent in parents)
    return graph


def criss_cross(height: int) -> Graph:
    graph: Graph = {"0": (), "1": ("0",), "2": ("0",)}
    for level in range(height):
        left, right = str(2 * level + 1), str(2 * level + 2)
        graph[str(2 * level + 3)] = (left, right)
        graph[str(2 * level + 4)] = (right, left)
    return graph


def reach(graph: Graph, node: str) -> set[str]:
    """The node and all its ancestors, by the definition."""
    return {node}.union(*(reach(graph, parent) for parent in graph[node]))


def best(graph: Graph, left: str, right: str) -> list[str]:
    """Common ancestors that are no ancestor of another common one, by the definition."""
    common = reach(graph, left) & reach(graph, right)
    below = {low for node in common for low in reach(graph, node) if low != node}
    return sorted(common - below)


@given(graphs(), st.data())
def test_merge_bases_are_the_best_common_ancestors(graph: Graph, data: st.DataObject) -> None:
    left, right = (data.draw(st.sampled_from(sorted(graph))) for _ in range(2))
    # Ages decide how much is visited, never what is found: clocks may be wrong.
    wrong = data.draw(st.fixed_dictionaries({node: st.integers(0, 5) for node in graph}))
    for age_of in (int, wrong.__getitem__, lambda node: 0, lambda node: -int(node)):
        assert merge_bases(left, right, graph.__getitem__, age_of) == best(graph, left, right)
        assert merge_bases(right, left, graph.__getitem__, age_of) == best(graph, left, right)


@given(graphs(), st.data())
def test_what_one_reaches_alone_is_what_the_other_does_not(
    graph: Graph, data: st.DataObject
) -> None:
    node, other = (data.draw(st.sampled_from(sorted(graph))) for _ in range(2))
    wanted, ends = (data.draw(st.sets(st.sampled_from(sorted(graph)))) for _ in range(2))
    wrong = data.draw(st.fixed_dictionaries({node: st.integers(0, 5) for node in graph}))
    alone = reach(graph, node) - reach(graph, other)
    near = reach({**graph, **dict.fromkeys(ends, ())}, node)
    expected = bool(wanted & alone)
    for age_of in (int, wrong.__getitem__, lambda node: 0, lambda node: -int(node)):
        found = reaches_alone(node, other, wanted.__contains__, graph.__getitem__, age_of)
        assert found == expected
        is_below = other in reach(graph, node)
        assert descends_from(node, other, graph.__getitem__, age_of) == is_below
        listed = only_reached(node, [other], graph.__getitem__, age_of, ends.__contains__)
        assert len(listed) == len(set(listed))
        assert near & alone <= set(listed) <= near
        if age_of is int:
            assert listed == sorted(near & alone, key=int, reverse=True)


@given(graphs(), st.data())
def test_ancestors_are_what_is_reached_children_first(graph: Graph, data: st.DataObject) -> None:
    node, other = (data.draw(st.sampled_from(sorted(graph))) for _ in range(2))
    found = list(ancestors([node], graph.__getitem__, int))
    assert len(found) == len(set(found))
    assert set(found) == reach(graph, node)
    for child in found:
        assert all(found.index(child) < found.index(parent) for parent in graph[child])
    assert is_ancestor(other, node, graph.__getitem__, int) == (other in reach(graph, node))


@settings(max_examples=10)
@given(st.integers(1, 8))
def test_criss_cross_merges_have_two_bases(height: int) -> None:
    graph = criss_cross(height)
    left, right = sorted(graph, key=int)[-2:]
    assert merge_bases(left, right, graph.__getitem__, int) == best(graph, left, right)
    assert len(best(graph, left, right)) == 2
