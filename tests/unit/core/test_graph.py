"""History algorithms on a plain dict."""

import tracemalloc
from collections.abc import Callable, Mapping
from itertools import chain, combinations
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.graph import (
    all_merge_bases,
    ancestors,
    generations,
    is_ancestor,
    merge_bases,
    outer_merge_bases,
    reaches_alone,
)

# child: parents, as drawn in the comments; letters grow with time.
LINE = {"a": "", "b": "a", "c": "b", "d": "c"}
# a - b - d - f      (d merges b and c; f, g merge d, e across each other)
#   \ c - e - g
CRISS_CROSS = {"a": "", "b": "a", "c": "a", "d": "bc", "e": "cb", "f": "d", "g": "e"}
# main merged into the branch, then the branch continues: b is the base, not a.
MERGED_BACK = {"a": "", "b": "a", "x": "a", "y": "xb", "c": "b", "z": "y"}
UNRELATED = {"a": "", "b": "a", "x": "", "y": "x"}


def bases(graph: dict[str, str], left: str, right: str) -> str:
    found = merge_bases(left, right, graph.__getitem__, ord)
    assert found == merge_bases(right, left, graph.__getitem__, ord)
    assert found == merge_bases(left, right, graph.__getitem__)
    assert found == merge_bases(left, right, graph.__getitem__, lambda n: -ord(n))
    return "".join(found)


def watched(graph: Mapping[str, list[str]]) -> tuple[Callable[[str], list[str]], list[str]]:
    """Return the parents of nodes, and the nodes that were asked for."""
    visited = []

    def parents_of(node: str) -> list[str]:
        visited.append(node)
        return graph[node]

    return parents_of, visited


@pytest.mark.parametrize(
    ("graph", "left", "right", "expected"),
    [
        (LINE, "d", "d", "d"),
        (LINE, "d", "b", "b"),
        (LINE, "a", "d", "a"),
        (CRISS_CROSS, "b", "c", "a"),
        (CRISS_CROSS, "d", "e", "bc"),
        (CRISS_CROSS, "f", "g", "bc"),
        (CRISS_CROSS, "d", "c", "c"),
        (MERGED_BACK, "c", "z", "b"),
        (MERGED_BACK, "c", "x", "a"),
        (UNRELATED, "b", "y", ""),
    ],
)
def test_merge_bases(graph: dict[str, str], left: str, right: str, expected: str) -> None:
    assert bases(graph, left, right) == expected


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, list[str]], list[str]]:
    """A graph whose nodes are letters that grow with time, and some of its nodes."""
    graph: dict[str, list[str]] = {}
    for letter in ascii_lowercase[: draw(st.integers(1, 14))]:
        older = sorted(graph)
        some = st.lists(st.sampled_from(older), max_size=3, unique=True) if older else st.just([])
        graph[letter] = draw(some)
    return graph, draw(st.lists(st.sampled_from(sorted(graph)), unique=True))


@given(graphs())
def test_the_bases_of_all_pairs_are_those_of_each_pair(
    drawn: tuple[dict[str, list[str]], list[str]],
) -> None:
    graph, nodes = drawn
    pairs = combinations(nodes, 2)
    each = (merge_bases(left, right, graph.__getitem__, ord) for left, right in pairs)
    assert all_merge_bases(nodes, graph.__getitem__, ord) == set(chain.from_iterable(each))


@given(graphs())
def test_bases_outside_are_those_of_all_pairs_and_of_their_bases(
    drawn: tuple[dict[str, list[str]], list[str]],
) -> None:
    graph, nodes = drawn
    closed = set(nodes)
    while True:
        pairs = combinations(sorted(closed), 2)
        bases = {base for pair in pairs for base in merge_bases(*pair, graph.__getitem__, ord)}
        if bases <= closed:
            break
        closed |= bases
    assert outer_merge_bases(set(nodes), graph.__getitem__, ord) == closed - set(nodes)


def test_a_line_and_its_merges_have_a_base_outside_where_others_forked() -> None:
    graph: dict[int, list[int]] = {0: []}
    for n in range(2, 20_000, 2):
        graph[n - 1], graph[n] = [n - 2], [n - 2, n - 1]
    graph[30_000] = [4_000]
    young = {n for n in graph if n >= 10_000}
    assert outer_merge_bases(young - {30_000}, graph.__getitem__, int) == set()
    assert outer_merge_bases(young, graph.__getitem__, int) == {4_000}


def test_the_bases_of_many_branches_take_one_walk() -> None:
    graph = {n: [n - 1] if n else [] for n in range(10_000)}
    tips = [graph.setdefault(20_000 + n, [9_000 + n]) and 20_000 + n for n in range(500)]
    named = {str(node): list(map(str, parents)) for node, parents in graph.items()}
    visited: list[str] = []

    def parents_of(node: str) -> list[str]:
        visited.append(node)
        return named[node]

    found = all_merge_bases(list(map(str, tips)), parents_of, int)
    assert found == {str(9_000 + n) for n in range(499)}
    assert len(visited) == len(set(visited)) < 1_100


@pytest.mark.parametrize("forks", [1, 20_000])
def test_what_many_branches_take_grows_with_their_number(forks: int) -> None:
    line, tips = 20_000, range(100_000, 120_000)
    graph = {n: [n - 1] if n else [] for n in range(line)}
    graph |= {tip: [line - 1 - tip % forks] for tip in tips}
    tracemalloc.start()
    try:
        found = all_merge_bases(tips, graph.__getitem__, int)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The newest commit of the line has one branch, or all of them.
    assert found == set(range(line - forks, line - (forks > 1)))
    assert peak < 1_000 * len(tips)


@given(graphs())
def test_a_generation_is_above_those_of_the_parents(
    drawn: tuple[dict[str, list[str]], list[str]],
) -> None:
    graph, nodes = drawn
    found = generations(nodes, graph.__getitem__)
    assert set(found) == set(ancestors(nodes, graph.__getitem__))
    assert all(found[node] > found[parent] for node in found for parent in graph[node])


def test_ancestors_come_once_and_children_first() -> None:
    assert "".join(ancestors(["g"], CRISS_CROSS.__getitem__, ord)) == "gecba"
    assert "".join(ancestors(["f", "g", "g"], CRISS_CROSS.__getitem__, ord)) == "gfedcba"
    assert list(ancestors([], CRISS_CROSS.__getitem__)) == []


def test_a_commit_is_its_own_ancestor() -> None:
    assert is_ancestor("b", "b", LINE.__getitem__)
    assert is_ancestor("a", "d", LINE.__getitem__, ord)
    assert not is_ancestor("d", "a", LINE.__getitem__)


def test_a_merge_base_near_the_tips_visits_nothing_below() -> None:
    graph = {str(n): [str(n - 1)] if n else [] for n in range(10_000)}
    graph |= {"x": ["9990"], "y": ["9995"]}
    parents_of, visited = watched(graph)

    age = {"x": 20_000, "y": 20_001}
    assert merge_bases("x", "y", parents_of, lambda n: age.get(n) or int(n)) == ["9990"]
    assert len(visited) < 20


@pytest.mark.parametrize(("wanted", "expected"), [("0", False), ("9999", True)])
def test_what_was_done_since_visits_little_below(wanted: str, expected: bool) -> None:
    # Every tenth node merges one that went its own way since before the base.
    graph = {str(n): [str(n - 1)] if n else [] for n in range(10_000)}
    for n in range(50, 10_000, 10):
        graph[str(n)].append(f"{n - 5}.5")
        graph[f"{n - 5}.5"] = [str(n - 45)]
    parents_of, visited = watched(graph)

    def age_of(node: str) -> int:
        return int(10 * float(node))

    found = reaches_alone("9999", "9985", wanted.__eq__, parents_of, age_of)
    assert found is expected
    assert len(set(visited)) < 150


def test_the_bases_of_a_criss_cross_visit_nothing_below() -> None:
    graph = {str(n): [str(n - 1)] if n else [] for n in range(10_000)}
    graph |= {"b": ["9998"], "c": ["9999"], "d": ["b", "c"], "e": ["c", "b"]}
    parents_of, visited = watched(graph)

    ages = {name: 10_000 + number for number, name in enumerate("bcde")}
    found = merge_bases("d", "e", parents_of, lambda n: ages.get(n) or int(n))
    assert found == ["b", "c"]
    assert len(visited) < 50


def test_ten_thousand_commits_are_walked_without_recursion() -> None:
    graph = {str(n): [str(n - 1)] if n else [] for n in range(10_000)}
    assert sum(1 for _ in ancestors(["9999"], graph.__getitem__, int)) == 10_000
    assert merge_bases("9999", "0", graph.__getitem__) == ["0"]


def test_what_is_older_than_a_commit_is_not_searched_for_it() -> None:
    graph = {str(n): [str(n - 1)] if n else [] for n in range(10_000)}
    graph |= {"9990.5": ["9980"]}
    parents_of, visited = watched(graph)

    def age_of(node: str) -> int:
        return int(10 * float(node))

    assert not is_ancestor("9990.5", "9999", parents_of, age_of)
    assert is_ancestor("9990", "9999", parents_of, age_of)
    assert len(visited) < 25
