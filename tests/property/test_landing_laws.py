"""Writers at once on one branch: all that does not conflict lands, and nothing is lost."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.groups import Landed
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges


def put(repository: Repository, base: CommitId, tables: dict[str, int]) -> Landed:
    tree = repository.tree(base)
    changes = TreeChanges(
        schemas={} if tree.has_schema("s") else {"s": SchemaInfo()},
        relations={
            RelationName("s", key): TableEntry(snapshot=SnapshotId(f"{value:064x}"))
            for key, value in tables.items()
        },
    )
    return repository.land(
        Proposal(
            branch="main",
            base=base,
            tree=repository.edit(tree.id, changes),
            author="ann",
            message=f"Put {tables}",
        )
    )


def shown(repository: Repository, at: CommitId) -> dict[str, int]:
    entries = repository.tree(at).relations("s")
    return {key: int(entry.snapshot, 16) for key, entry in entries.items()}


@pytest.fixture(params=["memory", "local"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    return open_blobs("memory://" if request.param == "memory" else str(tmp_path / "r"))


def test_writers_of_different_relations_all_land(blobs: Blobs) -> None:
    writers, each = 8, 6
    base = Repository.create(blobs, author="ann").branch("main").head
    start = threading.Barrier(writers)

    def write(writer: int) -> list[CommitId]:
        # A repository of its own, as another process has.
        repository = Repository.open(blobs)
        start.wait()
        return [
            put(repository, base, {f"t_{writer}_{number}": number}).commit
            for number in range(each)
        ]

    with ThreadPoolExecutor(writers) as pool:
        landed = [commit for commits in pool.map(write, range(writers)) for commit in commits]
    repository = Repository.open(blobs)
    head = repository.branch("main").head
    expected = {
        f"t_{writer}_{number}": number for writer in range(writers) for number in range(each)
    }
    assert shown(repository, head) == expected
    history = [id for id, _ in repository.log(head)]
    assert len(history) == writers * each + 1
    assert set(landed) <= set(history)
    assert repository.branch("main").ref.seq == writers * each + 1


def test_one_of_the_writers_of_one_relation_lands(blobs: Blobs) -> None:
    writers = 6
    base = Repository.create(blobs, author="ann").branch("main").head
    start = threading.Barrier(writers)

    def write(writer: int) -> bool:
        repository = Repository.open(blobs)
        start.wait()
        try:
            return put(repository, base, {"t": writer, f"own_{writer}": writer}).moved
        except ConflictError:
            return False

    with ThreadPoolExecutor(writers) as pool:
        won = list(pool.map(write, range(writers)))
    assert won.count(True) == 1
    winner = won.index(True)
    repository = Repository.open(blobs)
    head = repository.branch("main").head
    assert shown(repository, head) == {"t": winner, f"own_{winner}": winner}


def test_a_reader_sees_whole_commits_only(blobs: Blobs) -> None:
    repository = Repository.create(blobs, author="ann")
    put(repository, repository.branch("main").head, {"a": 0, "b": 0})
    done = threading.Event()
    seen: set[tuple[int, int]] = set()
    order: list[int] = []

    def read() -> None:
        reader = Repository.open(blobs)
        while not done.is_set():
            now = shown(reader, reader.branch("main").head)
            seen.add((now["a"], now["b"]))
            order.append(now["a"])

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        for number in range(1, 60):
            put(repository, repository.branch("main").head, {"a": number, "b": number})
        done.set()
        reading.result()
    assert all(a == b for a, b in seen)
    assert order == sorted(order)


tables = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3), min_size=1)


@given(st.lists(st.tuples(st.integers(0, 5), tables), min_size=1, max_size=8))
def test_landings_in_any_order_follow_the_rule(steps: list[tuple[int, dict[str, int]]]) -> None:
    """Each step starts from some earlier commit; the oracle merges plain dicts."""
    repository = Repository.create(open_blobs("memory://"), author="ann")
    history: list[tuple[CommitId, dict[str, int]]] = [(repository.branch("main").head, {})]
    for back, change in steps:
        base, before = history[max(0, len(history) - 1 - back)]
        head, now = history[-1]
        wanted = {k for k, v in change.items() if before.get(k) != v}
        clash = {k for k in wanted if now.get(k) not in (before.get(k), change[k])}
        if clash:
            with pytest.raises(ConflictError) as caught:
                put(repository, base, change)
            assert all(f"s.{key} " in str(caught.value) for key in clash)
            assert repository.branch("main").head == head
            continue
        landed = put(repository, base, change)
        after = now | {key: change[key] for key in wanted}
        assert shown(repository, landed.commit) == after
        assert landed.moved == (landed.commit != head)
        assert landed.before == head
        if landed.moved:
            history.append((landed.commit, after))
    log = [id for id, _ in repository.log(repository.branch("main").head)]
    assert log == [id for id, _ in reversed(history)]


def land_many(root: str, process: int, count: int) -> None:
    """What each process of the test below does."""
    repository = Repository.open(open_blobs(root))
    for number in range(count):
        put(repository, repository.branch("main").head, {f"p_{process}_{number}": number})


def test_processes_at_once_all_land(tmp_path: Path) -> None:
    processes, each = 3, 10
    root = str(tmp_path / "r")
    Repository.create(open_blobs(root), author="ann")
    context = multiprocessing.get_context("spawn")
    running = [
        context.Process(target=land_many, args=(root, process, each))
        for process in range(processes)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join()
        assert process.exitcode == 0
    repository = Repository.open(open_blobs(root))
    head = repository.branch("main").head
    expected = {f"p_{process}_{n}": n for process in range(processes) for n in range(each)}
    assert shown(repository, head) == expected
    assert len(list(repository.log(head))) == processes * each + 1
