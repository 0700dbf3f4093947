"""The graph of a log: each line leads from a commit to its parent without a gap."""

from __future__ import annotations

import random

import pytest

from dbt.adapters.vcs.commands.ui_pages import CommitLine, commit_lines, graph_drawings
from dbt.adapters.vcs.core.ids import CommitId

Commits = list[tuple[CommitId, list[CommitId]]]


def history(seed: int) -> Commits:
    """Return random commits, children before parents; some have no child, some two parents."""
    chance = random.Random(seed)
    ids = [CommitId(f"c{number}") for number in range(chance.randrange(1, 40))]
    return [
        (
            id,
            chance.sample(
                ids[place + 1 :], min(chance.choice((0, 1, 1, 1, 2, 3)), len(ids) - place - 1)
            ),
        )
        for place, id in enumerate(ids)
    ]


@pytest.mark.parametrize("seed", range(200))
def test_each_line_leads_from_a_commit_to_its_parent(seed: int) -> None:
    commits = history(seed)
    rows = [id for id, _ in commits]
    lines = list(commit_lines(commits))
    for line, (id, parents) in zip(lines, commits, strict=True):
        assert len(line.leaving) == len(parents)
        # Nothing else is drawn where the commit is.
        assert line.column not in line.passing
        for column, parent in zip(line.leaving, parents, strict=True):
            start, end = rows.index(id), rows.index(parent)
            assert all(column in between.passing for between in lines[start + 1 : end])
            assert column in lines[end].joining


def test_a_line_of_commits_is_one_column() -> None:
    ids = [CommitId(f"c{number}") for number in range(5)]
    lines = list(commit_lines(zip(ids, [[id] for id in ids[1:]] + [[]], strict=True)))
    assert {line.column for line in lines} == {0}
    assert lines[0] == CommitLine(column=0, passing=(), joining=(), leaving=(0,))
    assert lines[-1] == CommitLine(column=0, passing=(), joining=(0,), leaving=())


def test_many_branches_are_drawn_no_wider_than_a_page() -> None:
    tips: Commits = [(CommitId(f"c{n}"), [CommitId(f"p{n}")]) for n in range(300)]
    parents: Commits = [(parent, []) for _, (parent,) in tips]
    drawings = graph_drawings(list(commit_lines([*tips, *parents])))
    assert all('width="340"' in drawing for drawing in drawings)
    assert graph_drawings([]) == []
