"""Writers that wait are landed together: each once, each with a commit of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

import msgspec
import pytest

from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core import turns
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import (
    ConflictError,
    NotFoundError,
    ProtectedError,
    StorageError,
)
from dbt.adapters.vcs.core.groups import WITHDRAWN, Landed
from dbt.adapters.vcs.core.ids import CommitId, Micros, TableId, ViewId, system_clock
from dbt.adapters.vcs.core.maintenance import ReplacedError
from dbt.adapters.vcs.core.model import (
    Absent,
    Block,
    Field,
    Forwarding,
    RefMove,
    RelationName,
    Schema,
    Snapshot,
    TableEntry,
    View,
)
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.moves import Forwards
from dbt.adapters.vcs.core.store.opening import HEADER_PATH
from dbt.adapters.vcs.core.store.refs import RefStore
from dbt.adapters.vcs.core.turns import FOLDER, Turn
from dbt.adapters.vcs.table.manifests import joined_segments, put_segments
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.overlay import Overlay
from tests.contract.faulty import Crash

ONE, OTHER = RelationName("shop", "one"), RelationName("shop", "other")
FIRST = f"{FOLDER}/main/{1:020d}-first"
"""The ticket of somebody who goes first, so that all others wait."""


@pytest.fixture
def blobs() -> MemoryBlobs:
    """Return a store with two empty tables."""
    blobs = MemoryBlobs()
    repository = Repository.create(blobs, author="test")
    overlay = begin(repository)
    overlay.put_schema("shop", comment=None, properties={})
    schema = Schema.of([Field(id="", name="n", type="int")])
    for name in (ONE, OTHER):
        overlay.put_table(
            name,
            Snapshot(
                table=TableId(name.identifier),
                schema=schema,
                segments=(),
                created_at=Micros(0),
                operation="create",
            ),
        )
    line(repository).land(overlay, "create")
    return blobs


def line(repository: Repository, author: str = "test") -> BranchLine:
    return BranchLine(repository, "main", author)


def begin(repository: Repository) -> Overlay:
    head = repository.branch("main").head
    return Overlay(repository=repository, base=head, tree=repository.tree(head))


def added(repository: Repository, path: str, name: RelationName = ONE) -> Overlay:
    """Return the work of an insert."""
    overlay = begin(repository)
    entry = overlay.require(name)
    assert isinstance(entry, TableEntry)
    before = overlay.snapshot(entry.snapshot)
    repository.blobs.create(path, b"1")
    segments = put_segments(repository.objects, [Block(path=path, rows=1, bytes=1)])
    overlay.put_table(
        name,
        msgspec.structs.replace(
            before,
            segments=joined_segments(repository.objects, (*before.segments, *segments)),
            parents=(entry.snapshot,),
            operation="append",
        ),
    )
    return overlay


def dropped(repository: Repository, name: RelationName = ONE) -> Overlay:
    overlay = begin(repository)
    overlay.put(name, Absent)
    return overlay


def land(
    blobs: MemoryBlobs, who: str, work: Callable[[Repository], Overlay] | None = None
) -> Landed:
    """Land as a process of one's own; by default an insert of one's own block."""
    repository = Repository.open(blobs)
    overlay = added(repository, who) if work is None else work(repository)
    return line(repository, who).land(overlay, f"by {who}")


def tickets(blobs: MemoryBlobs) -> list[str]:
    return [info.path for info in blobs.walk(FOLDER)]


def plans(blobs: MemoryBlobs) -> list[str]:
    return [path for path in tickets(blobs) if path.endswith(".1")]


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "this should have happened"
        time.sleep(0.002)


@contextmanager
def waiting(blobs: MemoryBlobs, *work: Callable[[], Landed]) -> Iterator[list[Future[Landed]]]:
    """Let writers begin, in this order, and wait with their plans; they go on at the end."""
    blobs.create(FIRST, b"")
    with ThreadPoolExecutor(len(work)) as pool:
        found = []
        for number, each in enumerate(work, 1):
            found.append(pool.submit(each))
            until(lambda number=number: len(plans(blobs)) == number)
        yield found
        blobs.delete(FIRST)


def paths(blobs: MemoryBlobs, name: RelationName = ONE) -> list[str]:
    repository = Repository.open(blobs)
    snapshot = begin(repository).require_table(name)
    segments = [repository.objects.segment(ref.id) for ref in snapshot.segments]
    return [block.path for segment in segments for block in segment.blocks]


def moves(blobs: MemoryBlobs) -> int:
    return Repository.open(blobs).branch("main").ref.seq


def messages(blobs: MemoryBlobs, count: int) -> list[str]:
    """Return the messages of the last commits, each the only parent of the one after it."""
    repository = Repository.open(blobs)
    found = []
    id = repository.branch("main").head
    for _ in range(count):
        commit = repository.objects.commit(id)
        assert len(commit.parents) == 1
        found.append(commit.message)
        id = commit.parents[0]
    return found[::-1]


def test_those_who_wait_land_with_one_move_each_with_a_commit(blobs: MemoryBlobs) -> None:
    before = moves(blobs)
    names = ["ann", "bob", "cas", "dee"]
    with waiting(blobs, *(partial(land, blobs, name) for name in names)) as found:  # type: ignore[misc]
        pass
    landed = [each.result() for each in found]

    assert moves(blobs) == before + 1
    assert paths(blobs) == names
    assert messages(blobs, 4) == [f"by {name}" for name in names]
    repository = Repository.open(blobs)
    commits = [repository.objects.commit(each.commit) for each in landed]
    assert [commit.author for commit in commits] == names
    assert [each.before for each in landed[1:]] == [each.commit for each in landed[:-1]]
    assert [each.how for each in landed] == ["fast_forward", "merge", "merge", "merge"]
    assert landed[-1].commit == repository.branch("main").head
    assert tickets(blobs) == []


class Advances:
    """Sees who moves the branch, and lets others work before some of the moves."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, before: Mapping[int, Callable[[], object]]
    ) -> None:
        self.by: list[RefStore] = []
        self.fails: set[int] = set()
        real = RefStore.advance

        def advance(store: RefStore, space: str, move: RefMove, **given: Any) -> RefMove | None:
            if space == "heads":
                self.by.append(store)
                number = len(self.by)
                before.get(number, int)()
                if number in self.fails:
                    raise StorageError("the store is away")
            return real(store, space, move, **given)

        monkeypatch.setattr(RefStore, "advance", advance)


@pytest.mark.parametrize("what", ["", "somebody without a plan is next", "enough", "a failure"])
def test_whoever_lands_goes_on_with_those_who_came_meanwhile(
    blobs: MemoryBlobs, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    late: list[Future[Landed]] = []
    planless: list[str] = []

    def come() -> None:
        if what == "somebody without a plan is next":
            planless.append(f"{FOLDER}/main/{system_clock():020d}-planless")
            blobs.create(planless[0], b"")
        late.append(pool.submit(land, blobs, "dee"))
        until(lambda: len(plans(blobs)) == 3)

    advances = Advances(monkeypatch, {1: come})
    if what == "enough":
        monkeypatch.setattr(turns, "_MORE", 0)
    if what == "a failure":
        advances.fails = {2}
    before = moves(blobs)
    with ThreadPoolExecutor(1) as pool:
        with waiting(blobs, partial(land, blobs, "ann"), partial(land, blobs, "bob")) as found:
            pass
        assert [each.result().moved for each in found] == [True, True]
        for path in planless:
            blobs.delete(path)
        assert late[0].result().moved
    assert paths(blobs) == ["ann", "bob", "dee"]
    assert messages(blobs, 3) == ["by ann", "by bob", "by dee"]
    assert moves(blobs) == before + 2
    assert tickets(blobs) == []
    last = Repository.open(blobs).branch("main").ref.move
    assert (last.by, last.note) == ("dee", "by dee")
    # Who came late moves the branch only where nobody went on.
    assert len({*advances.by}) == (2 if what else 1)


def dee_comes(blobs: MemoryBlobs, pool: ThreadPoolExecutor, late: list[Future[Landed]]) -> None:
    """Let a third writer wait, beside two whose plans are not taken down yet."""
    late.append(pool.submit(land, blobs, "dee"))
    until(lambda: len(plans(blobs)) == 3)


def test_who_comes_meanwhile_is_refused_on_a_branch_that_was_protected(
    blobs: MemoryBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    late: list[Future[Landed]] = []

    def protect() -> None:
        Repository.open(blobs).protect("main", Protection(), author="test")

    with ThreadPoolExecutor(1) as pool:
        Advances(monkeypatch, {1: lambda: dee_comes(blobs, pool, late), 2: protect})
        with waiting(blobs, partial(land, blobs, "ann"), partial(land, blobs, "bob")) as found:
            pass
        assert [each.result().moved for each in found] == [True, True]
        with pytest.raises(ProtectedError, match="takes changes by promotion alone"):
            late[0].result()
    assert paths(blobs) == ["ann", "bob"]
    assert tickets(blobs) == []


def test_who_comes_meanwhile_lands_beside_a_collection(
    blobs: MemoryBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    late: list[Future[Landed]] = []

    def gc() -> None:
        collect(Repository.open(blobs))

    with ThreadPoolExecutor(1) as pool:
        Advances(monkeypatch, {1: lambda: dee_comes(blobs, pool, late), 2: gc})
        with waiting(blobs, partial(land, blobs, "ann"), partial(land, blobs, "bob")):
            pass
        assert late[0].result().moved
    assert paths(blobs) == ["ann", "bob", "dee"]
    assert messages(blobs, 3) == ["by ann", "by bob", "by dee"]


def test_a_writer_whose_plan_is_gone_is_not_in_turn_also_where_nobody_waits(
    blobs: MemoryBlobs,
) -> None:
    class Plan:
        is_new = True

        def open(self, name: str) -> bytes:
            self.is_new = False
            return b"plan"

    blobs.create(FIRST, b"")
    turn = Turn(blobs, "main", {})
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(next, turn.attempts("land", offer=Plan()))
        until(lambda: len(plans(blobs)) == 1)
        blobs.delete(plans(blobs)[0])
        blobs.delete(FIRST)
        assert begun.result() == 1
    assert turn.is_plan_gone


def test_with_a_plan_goes_the_ticket_that_kept_a_place_for_it(blobs: MemoryBlobs) -> None:
    turn = Turn(blobs, "main", {})
    later = f"{FOLDER}/main/{system_clock() + 1_000_000:020d}"
    for name in ("-kept", "-kept.1", "-other"):
        blobs.create(f"{later}{name}", b"")
    next(turn.attempts("land"))
    assert turn.behind == [f"{later}-kept.1"]
    turn.landed([f"{later}-kept.1".rpartition("/")[2]])
    turn.end()
    assert tickets(blobs) == [f"{later}-other"]


def test_manifests_are_stored_by_whoever_lands_them(blobs: MemoryBlobs) -> None:
    owner = Repository.open(blobs)

    def stored() -> set[str]:
        return {info.path for info in blobs.walk("objects")}

    before = stored()
    with waiting(
        blobs,
        lambda: land(blobs, "ann"),
        lambda: line(owner, "bob").land(added(owner, "bob", OTHER), "by bob"),
    ):
        assert stored() == before
    after = stored()
    assert (paths(blobs), paths(blobs, OTHER)) == (["ann"], ["bob"])
    owner.objects.flush()
    assert stored() == after


def test_manifests_that_a_plan_does_not_bring_are_stored_by_its_owner(blobs: MemoryBlobs) -> None:
    repository = Repository.open(blobs)
    # As if another thread worked beside it.
    view = View(text="select 1", columns=())
    id = repository.objects.put(view)
    with waiting(blobs, lambda: line(repository).land(added(repository, "ann"), "by ann")):
        assert Repository.open(blobs).objects.view(ViewId(id)) == view
    assert paths(blobs) == ["ann"]


def test_plans_for_other_tables_and_new_ones_follow(blobs: MemoryBlobs) -> None:
    def copied(repository: Repository) -> Overlay:
        overlay = begin(repository)
        overlay.put(RelationName("shop", "copy"), overlay.require(OTHER))
        return overlay

    before = moves(blobs)
    with waiting(
        blobs,
        lambda: land(blobs, "ann"),
        lambda: land(blobs, "bob", lambda it: added(it, "bob", OTHER)),
        lambda: land(blobs, "cas", copied),
    ):
        pass
    assert moves(blobs) == before + 1
    assert (paths(blobs), paths(blobs, OTHER)) == (["ann"], ["bob"])
    assert paths(blobs, RelationName("shop", "copy")) == []


@pytest.mark.parametrize("comes_back", [True, False])
def test_plans_for_a_branch_that_is_deleted_land_only_if_it_comes_back(
    blobs: MemoryBlobs, comes_back: bool
) -> None:
    repository = Repository.open(blobs)
    head = repository.branch("main").head
    repository.create_branch("dev", head, author="test")

    def land_on_dev(who: str) -> Landed:
        own = Repository.open(blobs)
        return BranchLine(own, "dev", who).land(added(own, who), f"by {who}")

    first = FIRST.replace("main", "dev")
    blobs.create(first, b"")
    with ThreadPoolExecutor(2) as pool:
        found = []
        for number, who in enumerate(["ann", "bob"], 1):
            found.append(pool.submit(land_on_dev, who))
            until(lambda number=number: len(plans(blobs)) == number)  # type: ignore[misc]
        repository.delete_branch("dev", author="test")
        if comes_back:
            repository.create_branch("dev", head, author="test")
        blobs.delete(first)
    assert tickets(blobs) == []
    if comes_back:
        assert [each.result().before for each in found] == [head, found[0].result().commit]
    else:
        for each in found:
            with pytest.raises(NotFoundError, match=r"was deleted .* branch undelete dev"):
                each.result()
        assert repository.find_branch("dev") is None


@pytest.mark.parametrize("name", [ONE, OTHER])
def test_a_merge_takes_those_along_who_wait_behind_it(
    blobs: MemoryBlobs, name: RelationName
) -> None:
    repository = Repository.open(blobs)
    repository.create_branch("dev", repository.branch("main").head, author="test")
    BranchLine(repository, "dev", "test").land(added(repository, "dev", OTHER), "by dev")
    land(blobs, "main")
    before = moves(blobs)
    blobs.create(FIRST, b"")
    with ThreadPoolExecutor(2) as pool:
        merged = pool.submit(merge, Repository.open(blobs), "dev", "main", author="test")
        until(lambda: len(tickets(blobs)) == 2)
        followed = pool.submit(land, blobs, "ann", lambda it: added(it, "ann", name))
        until(lambda: len(plans(blobs)) == 1)
        blobs.delete(FIRST)
    assert moves(blobs) == before + 1
    assert followed.result().before == merged.result().after
    assert repository.branch("main").head == followed.result().commit
    found = paths(blobs), paths(blobs, OTHER)
    assert found == ((["main", "ann"], ["dev"]) if name == ONE else (["main"], ["dev", "ann"]))
    assert tickets(blobs) == []


def test_a_plan_that_conflicts_is_left_to_its_owner(blobs: MemoryBlobs) -> None:
    with waiting(
        blobs,
        lambda: land(blobs, "ann"),
        lambda: land(blobs, "bob", dropped),
        lambda: land(blobs, "cas"),
    ) as found:
        pass
    assert found[0].result().moved
    assert found[2].result().moved
    with pytest.raises(ConflictError, match=r"shop\.one"):
        found[1].result()
    assert paths(blobs) == ["ann", "cas"]
    # Nobody lands it any more, although its ticket may still arrive.
    settled = [move.move.plans for move in Repository.open(blobs).refs.log("heads", "main")]
    assert [name for each in settled for name, id in each.items() if id == WITHDRAWN]


def test_a_plan_that_landed_is_not_landed_again_when_its_ticket_comes_back(
    blobs: MemoryBlobs,
) -> None:
    repository = Repository.open(blobs)
    # This writer's work began first, so that tickets of the others are behind its own.
    with repository.turns.on("main"):
        with waiting(blobs, lambda: land(blobs, "ann"), lambda: land(blobs, "bob")):
            kept = {path: blobs.get(path) for path in plans(blobs)}
        for path, data in kept.items():
            assert blobs.create(path, data)
        line(repository).land(added(repository, "cas"), "by cas")
    assert paths(blobs) == ["ann", "bob", "cas"]
    assert tickets(blobs) == []


class Restless(MemoryBlobs):
    """A store where somebody's listings fail, and where something happens before a move."""

    def __init__(self) -> None:
        super().__init__()
        self.is_deaf = False
        self.is_blind = False
        self.before_move: Callable[[], object] | None = None

    def later(self, path: str) -> list[str]:
        if self.is_deaf and path.startswith(FOLDER):
            raise StorageError("Could not list.")
        return super().later(path)

    def exists(self, path: str) -> bool:
        if self.is_blind:
            raise StorageError("Could not look.")
        return super().exists(path)

    def create(self, path: str, data: bytes) -> bool:
        hook, self.before_move = self.before_move, None
        if hook is not None and path.startswith("refs/heads/"):
            hook()
        else:
            self.before_move = hook
        return super().create(path, data)


def restless(blobs: MemoryBlobs) -> Restless:
    store = Restless()
    for folder in ("objects", "refs"):
        for info in blobs.walk(folder):
            store.create(info.path, blobs.get(info.path))
    store.create(HEADER_PATH, blobs.get(HEADER_PATH))
    return store


def given_up(store: Restless) -> dict[str, bytes]:
    """Let a writer put a plan up, and give up; return the tickets that it had."""
    with waiting(store, lambda: land(store, "ann")) as found:
        kept = {path: store.get(path) for path in plans(store)}
        store.is_deaf = True
        with pytest.raises(StorageError, match="Could not list"):
            found[0].result()
        store.is_deaf = False
    return kept


def test_a_plan_that_was_withdrawn_never_lands(blobs: MemoryBlobs) -> None:
    store = restless(blobs)
    repository = Repository.open(store)
    with repository.turns.on("main"):
        kept = given_up(store)
        assert tickets(store) == []
        for path, data in kept.items():
            assert store.create(path, data)
        line(repository).land(added(repository, "cas"), "by cas")
    assert paths(store) == ["cas"]


def test_a_plan_that_is_withdrawn_while_it_is_landed_does_not_land(blobs: MemoryBlobs) -> None:
    store = restless(blobs)
    repository = Repository.open(store)
    blocker = f"{FOLDER}/main/{2:020d}-first"
    with repository.turns.on("main") as turn:
        # Ahead of the other one only.
        turn._ticket = f"{FOLDER}/main/{1:020d}-leader"
        store.create(blocker, b"")
        with ThreadPoolExecutor(1) as pool:
            ann = pool.submit(land, store, "ann")
            until(lambda: bool(plans(store)))

            def give_up() -> None:
                store.is_deaf = True
                with pytest.raises(StorageError, match="Could not list"):
                    ann.result()
                store.is_deaf = False

            store.before_move = give_up
            line(repository).land(added(repository, "cas"), "by cas")
        assert store.before_move is None
    assert paths(store) == ["cas"]


def test_whoever_can_not_withdraw_says_that_the_outcome_is_unknown(blobs: MemoryBlobs) -> None:
    store = restless(blobs)
    with waiting(store, lambda: land(store, "ann")) as found:
        store.is_deaf = store.is_blind = True
        with pytest.raises(StorageError, match="not known whether this landed"):
            found[0].result()
        store.is_deaf = store.is_blind = False


class Mortal:
    """A store as a process sees it that dies before one of its writes."""

    def __init__(self, blobs: MemoryBlobs, writes: int) -> None:
        self._blobs = blobs
        self.left = writes

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._blobs, name)
        if not callable(found):
            return found

        def act(*given: Any) -> Any:
            if name == "create_all":
                return {path for path, data in given[0].items() if not self.create(path, data)}
            if name in ("create", "delete"):
                self.left -= 1
            if self.left < 0:
                raise Crash
            return found(*given)

        return act


def test_whoever_lands_others_may_die_at_any_write(
    blobs: MemoryBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Those that are left wait for the ticket of the dead.
    monkeypatch.setattr("dbt.adapters.vcs.core.turns.PATIENCE", 0.3)
    number, is_dead = 0, True
    while is_dead:
        store = restless(blobs)
        before = moves(store)
        is_dead, landed = killed(store, number)
        order = paths(store)
        assert {*order} - {"cas"} == {"ann", "bob"}
        assert len(order) == len({*order}) == commits_since(store, before)
        assert messages(store, len(order)) == [f"by {name}" for name in order]
        assert landed[0].commit != landed[1].commit
        number += 1
    assert number > 10
    assert order == ["cas", "ann", "bob"]
    assert moves(store) == before + 1


def killed(store: MemoryBlobs, writes: int) -> tuple[bool, list[Landed]]:
    """Let a process land others, and die after some writes; return whether it did."""
    mortal: Any = Mortal(store, 1_000)
    leader = Repository.open(mortal)
    overlay = added(leader, "cas")
    is_dead = False
    with ExitStack() as stack:
        stack.enter_context(suppress(Crash))
        turn = stack.enter_context(leader.turns.on("main"))
        turn._ticket = f"{FOLDER}/main/{0:020d}-leader"
        names = ("ann", "bob")
        with waiting(store, *(partial(land, store, name) for name in names)) as found:
            mortal.left = writes
            try:
                line(leader).land(overlay, "by cas")
                turn.end()
            except Crash:
                is_dead = True
    return is_dead, [each.result() for each in found]


def commits_since(store: MemoryBlobs, before: int) -> int:
    """Return how many commits were landed since a move."""
    repository = Repository.open(store)
    start = repository.refs.at("heads", "main", before).move.commit
    count, id = 0, repository.branch("main").head
    while id != start:
        id, count = repository.objects.commit(id).parents[0], count + 1
    return count


def test_writers_of_an_earlier_version_land_beside_groups(blobs: MemoryBlobs) -> None:
    def earlier(number: int) -> None:
        repository = Repository.open(blobs)
        for turn in range(6):
            overlay = begin(repository)
            overlay.put(RelationName("shop", f"old{number}{turn}"), overlay.require(OTHER))
            repository.land(
                Proposal(
                    branch="main",
                    base=overlay.base,
                    tree=repository.edit(overlay.tree.id, overlay.changes),
                    author="old",
                    message="by old",
                )
            )

    def now(number: int) -> list[CommitId]:
        return [land(blobs, f"{number}-{turn}").commit for turn in range(6)]

    with ThreadPoolExecutor(6) as pool:
        olds = [pool.submit(earlier, number) for number in range(2)]
        news = [pool.submit(now, number) for number in range(4)]
        commits = [commit for each in news for commit in each.result()]
        for each in olds:
            each.result()
    assert sorted(paths(blobs)) == sorted(f"{n}-{turn}" for n in range(4) for turn in range(6))
    assert len({*commits}) == len(commits) == 24
    repository = Repository.open(blobs)
    shown = [commit.message for _, commit in repository.log(repository.branch("main").head)]
    assert shown.count("by old") == 12
    assert len(shown) == 24 + 12 + 2
    assert tickets(blobs) == []


def test_an_old_plan_is_left_to_its_owner(blobs: MemoryBlobs) -> None:
    before = moves(blobs)

    def slow() -> Landed:
        repository = Repository.open(blobs, clock=lambda: Micros(1_000))
        return line(repository, "bob").land(added(repository, "bob"), "by bob")

    with waiting(blobs, lambda: land(blobs, "ann"), slow):
        pass
    assert paths(blobs) == ["ann", "bob"]
    assert moves(blobs) == before + 2


def test_a_plan_that_can_not_be_read_holds_nobody_up(blobs: MemoryBlobs) -> None:
    with waiting(blobs, lambda: land(blobs, "ann")):
        blobs.create(f"{FOLDER}/main/{'9' * 20}-later.1", b"{}")
    assert paths(blobs) == ["ann"]


def test_a_move_names_the_plans_that_it_lands(blobs: MemoryBlobs) -> None:
    with waiting(blobs, lambda: land(blobs, "ann"), lambda: land(blobs, "bob")) as found:
        pass
    branch = Repository.open(blobs).branch("main")
    assert list(branch.ref.move.plans.values()) == [each.result().commit for each in found]
    assert branch.ref.move.note == "by ann (and 1 of others)"


def test_a_plan_that_needs_what_a_purge_replaced_lands_with_nobody(blobs: MemoryBlobs) -> None:
    read = land(blobs, "main")

    def copied(repository: Repository) -> Overlay:
        overlay = added(repository, "bob", OTHER)
        overlay.read_versions.add(read.commit)
        return overlay

    def late() -> Landed:
        repository = Repository.open(blobs)
        with repository.turns.on("main") as turn:
            for _ in turn.attempts("begin when it is its turn"):
                return line(repository, "ann").land(added(repository, "ann"), "by ann")
        raise AssertionError

    blobs.create(FIRST, b"")
    with ThreadPoolExecutor(2) as pool:
        ann = pool.submit(late)
        until(lambda: len(tickets(blobs)) == 2)
        bob = pool.submit(land, blobs, "bob", copied)
        until(lambda: len(plans(blobs)) == 1)
        repository = Repository.open(blobs)
        commit = repository.objects.commit(read.commit)
        new = CommitId(repository.objects.put(msgspec.structs.replace(commit, message="purged")))
        repository.objects.flush()
        with repository.maintenance.alone("shop.one", author="test") as purging:
            file = Forwards(blobs).put(Forwarding(commits={read.commit: new}))
            purging.finish(file, tables=(), folders=())
        blobs.delete(FIRST)
    assert ann.result().before == new
    assert paths(blobs) == ["main", "ann"]
    with pytest.raises(ReplacedError):
        bob.result()
    assert paths(blobs, OTHER) == []
    assert tickets(blobs) == []


def test_an_owner_hears_of_a_landing_that_a_purge_has_rewritten(
    blobs: MemoryBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository.open(blobs)
    landed = land(blobs, "ann")
    gone = CommitId("0" * 64)
    current = {gone: landed.commit}
    monkeypatch.setattr(repository.groups, "_current", lambda id: current.get(id, id))
    with repository.turns.on("main") as turn:
        offer = repository.groups.offer("main", lambda _: None, turn)
        monkeypatch.setattr(offer, "landed", lambda last: gone)
        found = repository.groups.landed_by_others(offer, landed.before)
    assert found == landed


def test_an_owner_looks_for_its_plan_before_it_does_the_same_again(
    blobs: MemoryBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lead(overlay: Overlay) -> None:
        with overlay.repository.turns.on("main") as turn:
            turn._ticket = f"{FOLDER}/main/{0:020d}-leader"
            # As if it died before it took the tickets of the others down.
            monkeypatch.setattr(turn, "landed", lambda plans: None)
            line(overlay.repository).land(overlay, "by leader")

    repository = Repository.open(blobs)
    there = begin(repository).require(OTHER)
    with waiting(blobs, partial(land, blobs, "ann", lambda it: dropped(it, OTHER))) as found:
        lead(added(repository, "cas"))
        restored = begin(repository)
        assert restored.entry(OTHER) is None
        restored.put(OTHER, there)
        lead(restored)
    assert found[0].result().moved
    assert begin(repository).entry(OTHER) == there
