"""A campaign finds a diff that says something else than the rows of both commits."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from chaos.compare import wrong_diffs
from chaos.ground import Ground
from chaos.shop import ROW_TABLE, Shop
from chaos.worker import beyond_limits
from chaos.worlds import Worlds
from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.commands import diff
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.table.compare.comparison import Counts


@pytest.fixture
def commits() -> tuple[Repository, CommitId, CommitId]:
    blobs = MemoryBlobs()
    ground = Ground(lambda: blobs, workers=("w0",))
    ground.found()
    repository = ground.repository()
    shop = Shop(repository, "main", "w0")
    shop.insert("w0.1.1")
    before = shop.write(ROW_TABLE, {"w0.main-0": 1, "w0.main-1": 1}, "append").commit
    shop.delete("w0.1.1")
    shop.insert("w0.1.2")
    after = shop.write(ROW_TABLE, {"w0.main-1": 2, "w0.main-2": 2}, "merge").commit
    return repository, before, after


def compared(repository: Repository, before: CommitId, after: CommitId) -> list[str]:
    return [
        text
        for seed in range(8)
        for text in wrong_diffs(
            repository, repository, before, after, random.Random(seed), beyond_limits
        )
    ]


def test_a_right_diff_is_not_reported(commits: tuple[Repository, CommitId, CommitId]) -> None:
    repository, before, after = commits
    assert compared(repository, before, after) == []
    assert compared(repository, after, before) == []


WRONG: Callable[..., Counts] = lambda *arguments, **options: Counts(1, 2, 3)  # noqa: E731


@pytest.mark.parametrize(
    "changed",
    [
        (Difference, "counts_by_engine", WRONG),
        (Difference, "counts", WRONG),
        (Difference, "counts_here", WRONG),
        (diff, "resolved", lambda repository, ends: (repository.branch("main").head,) * 2),
    ],
    ids=lambda changed: changed[1],
)
def test_a_wrong_diff_is_found(
    commits: tuple[Repository, CommitId, CommitId],
    changed: tuple[Any, str, Callable[..., object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(*changed)
    assert any(text.startswith("silent: ") for text in compared(*commits))


def test_rows_that_differ_from_what_a_diff_shows_are_found(
    commits: tuple[Repository, CommitId, CommitId], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.compare.stored_rows", lambda *arguments: [(1, "w0.main-0", 1)])
    assert any("shows too much" in text for text in compared(*commits))


def test_a_write_changes_rows_as_its_journal_says() -> None:
    nothing = {"main": [], "work": [], "lab": [], "old": [], "sign": []}
    write = {"event": "intended", "op": "write", "place": "lab", "gone": ["x=1"], "come": ["x=2"]}
    revert = {"event": "intended", "op": "revert", "place": "lab", "then": ["x=2"], "before": []}
    worlds = Worlds()
    for line in (write, {"event": "done"}):
        worlds.follow(line)
    assert worlds.narrow({**nothing, "lab": ["x=2"]}) == []
    for line in (revert, {"event": "done"}):
        worlds.follow(line)
    (wrong,) = worlds.narrow({**nothing, "lab": ["x=2"]})
    assert wrong.startswith("risen: x=2")
