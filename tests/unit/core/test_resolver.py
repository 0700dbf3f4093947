"""Resolving revisions to commits, and the errors for those without one."""

from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, Micros, micros_of
from dbt.adapters.vcs.core.model import Commit
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges

START = micros_of(datetime(2026, 11, 20, 12, tzinfo=timezone.utc))
MINUTE = 60_000_000


class Ticking:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> Micros:
        return self.now


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def repository(clock: Ticking) -> Repository:
    return Repository.create(MemoryBlobs(), author="ann", clock=clock)


@pytest.fixture
def commit(repository: Repository, clock: Ticking) -> Callable[..., CommitId]:
    """Land one more commit, a minute after what came before."""

    def land(branch: str = "main", parents: tuple[CommitId, ...] = ()) -> CommitId:
        clock.now = Micros(clock.now + MINUTE)
        head = repository.branch(branch).head
        schema = f"s{clock.now}"
        tree = repository.edit(
            repository.tree(head).id, TreeChanges(schemas={schema: SchemaInfo()})
        )
        landed = repository.land(
            Proposal(
                branch=branch, base=head, tree=tree, author="ann", message=schema, parents=parents
            )
        )
        return landed.commit

    return land


def test_steps_go_back(repository: Repository, commit: Callable[..., CommitId]) -> None:
    first = repository.branch("main").head
    one, two = commit(), commit()
    assert repository.resolve("main") == repository.resolve("main~0") == two
    assert repository.resolve("main~") == repository.resolve("main^") == one
    assert repository.resolve("main~2") == repository.resolve("main^^") == first
    assert repository.resolve(f"{two}~1") == one
    assert repository.resolve(f"{two[:8]}~1") == one
    assert repository.resolve(f"{two[:8].upper()}^") == one


def test_going_too_far_says_where_it_ended(
    repository: Repository, commit: Callable[..., CommitId]
) -> None:
    first = repository.branch("main").head
    commit()
    with pytest.raises(NotFoundError, match=rf"first commit, {first[:12]}.*after 1 of 99"):
        repository.resolve("main~99")
    with pytest.raises(NotFoundError, match=r"parent 2 of .* has 1"):
        repository.resolve("main^2")


def test_a_merge_has_a_second_parent(
    repository: Repository, commit: Callable[..., CommitId]
) -> None:
    repository.create_branch("x", repository.resolve("main"), author="ann")
    side, ours = commit("x"), commit()
    merged = commit(parents=(side,))
    assert repository.resolve("main^2") == side
    assert repository.resolve("main^1") == repository.resolve("main~1") == ours
    assert repository.resolve("main^2~1") == repository.resolve("main~2")
    assert repository.resolve_range("main...x") == (side, side)
    assert repository.resolve_range("main~1...x") == (repository.resolve("main~2"), side)
    assert repository.resolve_range("x..main") == (side, merged)


def test_an_end_without_the_other_is_no_range(repository: Repository) -> None:
    with pytest.raises(InputError, match="is not a range"):
        repository.resolve_range("main")
    with pytest.raises(InputError, match="both ends"):
        repository.resolve_range("main..")
    with pytest.raises(NotFoundError, match="'nope'"):
        repository.resolve_range("main..nope")


def test_unrelated_ends_have_no_merge_base(repository: Repository) -> None:
    tree = repository.tree(repository.resolve("main")).id
    lone = Commit(tree=tree, parents=(), author="ann", committed_at=Micros(1), message="m")
    id = CommitId(repository.objects.put(lone))
    repository.create_branch("x", id, author="ann")
    assert repository.merge_base(id, repository.resolve("main")) is None
    with pytest.raises(NotFoundError, match=r"no common ancestor.*main\.\.x"):
        repository.resolve_range("main...x")


def test_the_log_of_a_branch_counts_moves_of_its_commit(
    repository: Repository, commit: Callable[..., CommitId]
) -> None:
    first = repository.branch("main").head
    one = commit()
    for number in range(3):
        repository.set_state("main", {"n": str(number)}, author="ann")
    two = commit()
    repository.set_state("main", {}, author="ann")
    assert repository.resolve("main@{0}") == two
    assert repository.resolve("main@{1}") == one
    assert repository.resolve("main@{2}") == first
    with pytest.raises(NotFoundError, match=r"3 positions, the oldest is main@\{2\}"):
        repository.resolve("main@{3}")


def test_a_branch_stood_somewhere_at_a_moment(
    repository: Repository, commit: Callable[..., CommitId], clock: Ticking
) -> None:
    first = repository.branch("main").head
    one, two = commit(), commit()
    assert repository.resolve("main@{2026-11-20 12:00}") == first
    assert repository.resolve("main@{2026-11-20 12:00:59}") == first
    assert repository.resolve("main@{2026-11-20 12:01}") == one
    assert repository.resolve("main@{2026-11-20 13:01+01:00}") == one
    assert repository.resolve("main@{2030-01-01}") == two
    assert repository.resolve("main@{60 seconds ago}") == one
    assert repository.resolve("main@{2030-01-01}~1") == one
    with pytest.raises(NotFoundError, match=r"not there at 2026-11-20 11:59:00 UTC: it was crea"):
        repository.resolve("main@{2026-11-20 11:59}")
    clock.now = Micros(START + 10 * MINUTE)
    repository.create_branch("x", two, author="ann")
    clock.now = Micros(START + 20 * MINUTE)
    repository.delete_branch("x", author="bob")
    assert repository.resolve("x@{2026-11-20 12:15}") == two
    assert repository.resolve("x@{1}") == two
    with pytest.raises(NotFoundError, match="was deleted at 2026-11-20 12:25:00 UTC, by bob"):
        repository.resolve("x@{2026-11-20 12:25}")
    with pytest.raises(NotFoundError, match="was deleted on"):
        repository.resolve("x@{0}")
    repository.create_branch("x", one, author="ann")
    with pytest.raises(NotFoundError, match=r"was deleted at x@\{1\}, by bob\. Give another"):
        repository.resolve("x@{1}")


def test_only_a_branch_has_moments(repository: Repository) -> None:
    repository.create_tag("v1", repository.resolve("main"), author="ann")
    with pytest.raises(NotFoundError, match="no branch 'v1'"):
        repository.resolve("v1@{1}")


def test_a_tag_hides_a_branch_of_its_name(
    repository: Repository, commit: Callable[..., CommitId]
) -> None:
    # gitrevisions(7): refs/tags/<name> comes before refs/heads/<name>.
    first = repository.branch("main").head
    two = commit()
    repository.create_tag("main", first, author="ann")
    assert repository.resolve("main") == repository.resolve("tags/main") == first
    assert repository.resolve("heads/main") == repository.resolve("refs/heads/main") == two
    assert repository.resolve("heads/main~1") == first
    assert repository.branch("main").head == two
    assert repository.resolve_ref("main") == (first, repository.find_tag("main"))
    branch = repository.branch("main")
    assert repository.resolve_ref("heads/main") == (two, branch)
    assert repository.resolve_ref("heads/main~1") == (first, None)
    assert repository.resolve_ref(two) == (two, None)
    assert repository.find_ref("tags/main") == repository.find_tag("main")
    assert repository.find_ref("heads/main") == branch
    assert repository.find_ref("heads/main~1") is repository.find_ref(two) is None
    repository.delete_tag("main", author="ann")
    assert repository.resolve_ref("main") == (two, branch)


def test_damage_behind_a_name_that_hides_it_is_not_met(
    repository: Repository, commit: Callable[..., CommitId]
) -> None:
    commit()
    repository.create_tag("main", repository.resolve("main"), author="ann")
    path = f"refs/heads/main/{2:020d}"
    repository.blobs.delete(path)
    repository.blobs.create(path, b"no move")
    reader = Repository.open(repository.blobs)
    assert reader.resolve("main") == reader.resolve("tags/main")
    with pytest.raises(DamagedError, match="refs/heads/main"):
        reader.resolve("heads/main")


def test_a_name_with_signs_is_that_name(
    repository: Repository, commit: Callable[..., CommitId]
) -> None:
    first = repository.branch("main").head
    two = commit()
    for name in ("main~1", "a..b", "x@{1}", "^", "../x"):
        repository.create_branch(name, two, author="ann", check=False)
        assert repository.resolve(name) == two
    assert repository.resolve("heads/main~1") == two
    assert repository.resolve("a..b~1") == first


def test_a_branch_goes_before_the_start_of_an_id(
    repository: Repository, commit: Callable[..., CommitId]
) -> None:
    first = repository.branch("main").head
    two = commit()
    assert repository.resolve(two[:6]) == two
    repository.create_branch(two[:6], first, author="ann", check=False)
    assert repository.resolve(two[:6]) == first
    repository.create_branch(two, first, author="ann", check=False)
    assert repository.resolve(two) == two


def test_an_id_that_several_commits_share_is_ambiguous(repository: Repository) -> None:
    tree = repository.tree(repository.resolve("main")).id
    found: dict[str, str] = {}
    for number in range(5_000):
        commit = Commit(
            tree=tree, parents=(), author="a", committed_at=Micros(0), message=f"the {number}th"
        )
        id = repository.objects.put(commit)
        if id[:4] in found:
            break
        found[id[:4]] = id
    with pytest.raises(InputError, match=r"'....' is ambiguous, 2 .*the \d+th\).*more digits"):
        repository.resolve(id[:4])
    assert repository.resolve(id[:12]) == id


@pytest.mark.parametrize("text", ["abcd", "0" * 64, "abc", "zzzz"])
def test_what_means_nothing_is_told(repository: Repository, text: str) -> None:
    with pytest.raises(NotFoundError, match=r"There is: main\. No tag and no commit"):
        repository.resolve(text)


def test_near_names_are_offered(repository: Repository) -> None:
    with pytest.raises(NotFoundError, match="Did you mean 'main'"):
        repository.resolve("mian~2")


def test_a_text_that_can_be_no_name_is_told(repository: Repository) -> None:
    with pytest.raises(NotFoundError, match="not a branch, tag or commit"):
        repository.resolve("a\x01b")
    with pytest.raises(InputError, match="names no branch"):
        repository.resolve("")
