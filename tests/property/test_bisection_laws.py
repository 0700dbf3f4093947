"""Bisection of random histories, against a scan of every node."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.graph import Mark, first_bad, only_reached

Graph = dict[str, tuple[str, ...]]


@st.composite
def graphs(draw: st.DrawFn, most: int = 24) -> Graph:
    """Commits "0", "1", ... from one root; lines, branches and merges of two or three."""
    graph: Graph = {"0": ()}
    for number in range(1, draw(st.integers(2, most))):
        older = st.integers(max(0, number - draw(st.sampled_from([1, 2, 5, 24]))), number - 1)
        parents = draw(st.lists(older, unique=True, min_size=1, max_size=3))
        graph[str(number)] = tuple(str(parent) for parent in parents)
    return graph


def reach(graph: Graph, node: str) -> set[str]:
    """The node and all its ancestors, by the definition."""
    return {node}.union(*(reach(graph, parent) for parent in graph[node]))


def scan(graph: Graph, suspects: list[str], bad: set[str]) -> list[str]:
    """The oracle: nodes that are bad and have no bad parent."""
    return [node for node in suspects if node in bad and not bad.intersection(graph[node])]


class Fake:
    """Looks at nodes by a table, and counts."""

    def __init__(self, bad: set[str], skipped: set[str] | None = None) -> None:
        self.bad, self.skipped, self.seen = bad, skipped or set(), list[str]()

    def __call__(self, node: str, left: int) -> Mark:
        assert left > 1
        self.seen.append(node)
        if node in self.skipped:
            return Mark.SKIPPED
        return Mark.BAD if node in self.bad else Mark.GOOD


@given(graphs(), st.data())
def test_what_one_node_reaches_and_another_does_not(graph: Graph, data: st.DataObject) -> None:
    node, other = (data.draw(st.sampled_from(sorted(graph))) for _ in range(2))
    found = only_reached(node, [other], graph.__getitem__, int)
    assert sorted(found) == sorted(reach(graph, node) - reach(graph, other))
    for child in found:
        assert all(found.index(child) < found.index(p) for p in graph[child] if p in found)


@given(graphs(), st.data())
def test_the_first_bad_node_is_what_a_scan_finds(graph: Graph, data: st.DataObject) -> None:
    """Versions are inherited at random, as long as a node is as good as the one it has them of."""
    last = max(graph, key=int)
    good = data.draw(st.sampled_from(sorted(set(graph) - {last})))
    suspects = only_reached(last, [good], graph.__getitem__, int)
    culprit = data.draw(st.sampled_from(suspects))
    bad = {node for node in suspects if culprit in reach(graph, node)}
    twins: dict[str, str] = {}
    for node in suspects:
        is_bad = node in bad
        same = [p for p in graph[node] if p in suspects and (p in bad) == is_bad]
        if same and data.draw(st.booleans()):
            twins[node] = data.draw(st.sampled_from(same))
    look = Fake(bad)
    assert first_bad(suspects, graph.__getitem__, twins, look) == [culprit]
    assert scan(graph, suspects, bad) == [culprit]
    assert not set(look.seen) & set(twins)
    assert len(look.seen) == len(set(look.seen))


@given(graphs(), st.data())
def test_skipped_nodes_leave_a_range_that_holds_the_first_bad_one(
    graph: Graph, data: st.DataObject
) -> None:
    last = max(graph, key=int)
    suspects = only_reached(last, ["0"], graph.__getitem__, int)
    culprit = data.draw(st.sampled_from(suspects))
    bad = {node for node in suspects if culprit in reach(graph, node)}
    skipped = data.draw(st.sets(st.sampled_from(suspects))) - {last}
    look = Fake(bad, skipped)
    found = first_bad(suspects, graph.__getitem__, {}, look)
    assert culprit in found
    # Whatever else is in the range was skipped, besides the node that is known to be bad.
    assert len(set(found) - skipped) <= 1
    assert len(look.seen) == len(set(look.seen))
    if not skipped:
        assert found == [culprit]


@given(st.integers(1, 300), st.data())
def test_a_line_takes_the_logarithm(count: int, data: st.DataObject) -> None:
    graph: Graph = {"0": ()} | {str(n): (str(n - 1),) for n in range(1, count + 1)}
    suspects = [str(n) for n in range(count, 0, -1)]
    culprit = data.draw(st.integers(1, count))
    look = Fake({str(n) for n in range(culprit, count + 1)})
    assert first_bad(suspects, graph.__getitem__, {}, look) == [str(culprit)]
    assert len(look.seen) <= math.ceil(math.log2(count))


@given(st.integers(1, 64), st.data())
def test_on_a_line_it_finds_a_change_from_good_to_bad_whatever_else_is(
    count: int, data: st.DataObject
) -> None:
    graph: Graph = {"0": ()} | {str(n): (str(n - 1),) for n in range(1, count + 1)}
    suspects = [str(n) for n in range(count, 0, -1)]
    bad = {node for node in suspects[1:] if data.draw(st.booleans())} | {suspects[0]}
    (found,) = first_bad(suspects, graph.__getitem__, {}, Fake(bad))
    assert found in scan(graph, suspects, bad)


@given(st.integers(2, 100), st.integers(1, 8), st.data())
def test_nodes_that_change_nothing_take_no_look(
    count: int, changes: int, data: st.DataObject
) -> None:
    graph: Graph = {"0": ()} | {str(n): (str(n - 1),) for n in range(1, count + 1)}
    suspects = [str(n) for n in range(count, 0, -1)]
    at = data.draw(st.sets(st.integers(1, count), min_size=1, max_size=changes))
    twins = {str(n): str(n - 1) for n in range(min(at) + 1, count + 1) if n not in at}
    # What is before the first change is as good as the good node.
    suspects = [node for node in suspects if int(node) >= min(at)]
    culprit = data.draw(st.sampled_from(sorted(at)))
    look = Fake({node for node in suspects if int(node) >= culprit})
    assert first_bad(suspects, graph.__getitem__, twins, look) == [str(culprit)]
    assert len(look.seen) <= math.ceil(math.log2(len(at)))
