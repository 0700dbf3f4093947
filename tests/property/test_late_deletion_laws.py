"""The law of collections: a request to delete removes nothing alive, however late it arrives."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.shop import Shop, look
from dbt.adapters.vcs.commands.branch import create_branch
from dbt.adapters.vcs.commands.fsck import DataCheck, check_repository
from dbt.adapters.vcs.commands.gc import collect, set_retention
from dbt.adapters.vcs.commands.restore import restore_branch
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import DAY
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.objects import Condemned
from tests.unit.warehouse import Clock


class Slow(MemoryBlobs):
    """A store whose deletions are done at any later time, and more than once."""

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        super().__init__(clock)
        self.chance = chance
        self.sent: list[str] = []

    def delete(self, path: str) -> None:
        if not path.startswith(("objects/", "data/")):
            super().delete(path)
            return
        self.sent.append(path)
        if self.chance.random() < 0.5:
            super().delete(path)

    def arrive(self, share: float) -> None:
        for path in self.sent:
            if self.chance.random() < share:
                super().delete(path)


class Life:
    """A repository that a few people work on, each with what they remember of it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.clock = chance, Clock()
        self.blobs = Slow(self.clock, chance)
        repository = Repository.create(self.blobs, author="ann", clock=self.clock)
        set_retention(repository, 0, author="ann")
        Shop(repository, "main", "ann").found()
        self.known: list[CommitId] = [repository.branch("main").head]
        self.expected: dict[str, frozenset[str]] = {"main": frozenset()}
        self.number = 0

    def opened(self) -> Repository:
        return Repository.open(self.blobs, clock=self.clock)

    def step(self) -> None:
        self.number += 1
        repository = self.opened()
        branch = self.chance.choice(sorted(self.expected))
        shop = Shop(repository, branch, "ann")
        match self.chance.randrange(9):
            case 0 | 1:
                shop.sign(self.chance.choice(["open", "closed", None]))
            case 2:
                shop.insert(f"b{self.number}")
                self.expected[branch] |= {f"b{self.number}"}
            case 3 if self.expected[branch]:
                batch = self.chance.choice(sorted(self.expected[branch]))
                shop.delete(batch)
                self.expected[branch] -= {batch}
            case 4 if branch != "main":
                repository.delete_branch(branch, author="ann")
                del self.expected[branch]
                return
            case 5:
                self.bring_back(repository, branch)
            case 6 | 7:
                self.clock.now += int(self.chance.choice([0.1, 1, 3]) * DAY)
                collect(repository, author="gc")
            case _:
                self.blobs.arrive(0.5)
        self.known.append(repository.branch(branch).head)

    def bring_back(self, repository: Repository, branch: str) -> None:
        """Put an old commit on a branch, or on a new one, if its rows are not let go of."""
        old, name = self.chance.choice(self.known), f"n{self.number}"
        try:
            batches = look(repository, old).batches
        except (DamagedError, NotFoundError):
            # Collected, as it may be: no branch has shown it for days.
            batches = None
        try:
            if self.chance.random() < 0.5:
                create_branch(repository, name, old, author="ann")
            else:
                name = branch
                restore_branch(repository, old, branch=branch, author="ann")
        except (DamagedError, NotFoundError):
            return
        assert batches is not None
        self.expected[name] = batches

    def check(self) -> None:
        repository = self.opened()
        assert check_repository(repository, data=DataCheck()).problems == ()
        for name, batches in self.expected.items():
            seen = look(repository, repository.branch(name).head)
            assert (seen.batches, seen.wrong) == (batches, ())


@given(st.randoms(use_true_random=False))
def test_a_late_request_to_delete_removes_nothing_alive(chance: random.Random) -> None:
    life = Life(chance)
    for _ in range(40):
        life.step()
    life.blobs.arrive(1)
    life.check()


@pytest.mark.parametrize("rule", ["refresh", "__contains__"])
def test_the_law_finds_what_is_lost_without_the_lists(
    monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    # As if nobody read them.
    monkeypatch.setattr(Condemned, rule, lambda self, *_: False)
    with pytest.raises(AssertionError):
        for seed in range(200):
            test_a_late_request_to_delete_removes_nothing_alive.hypothesis.inner_test(
                random.Random(seed)
            )
