"""What a repository must do, whatever lies under it."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dbt.adapters.vcs.core.errors import (
    DamagedError,
    FormatError,
    InputError,
    NotFoundError,
)
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Absent, RelationName
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges
from tests.contract.conftest import OpenBlobs
from tests.contract.landings import change, land, name, shown, table

# -- create and open


def test_relations_are_kept_in_order_however_they_came(blobs: Blobs) -> None:
    repository = Repository.create(blobs, author="ann")
    first = land(repository, b=1, d=2, c=3).commit
    second = land(repository, base=first, a=4, b=None).commit
    assert list(repository.tree(first).relations("shop")) == ["b", "c", "d"]
    assert list(repository.tree(second).relations("shop")) == ["a", "c", "d"]


def test_a_new_repository_shows_nothing(repository: Repository) -> None:
    main = repository.branch("main")
    assert [branch.name for branch in repository.branches()] == ["main"]
    assert repository.tree(main.head).schemas() == []
    assert [commit.parents for _, commit in repository.log(main.head)] == [()]


def test_creating_again_opens(reopen: OpenBlobs) -> None:
    first = Repository.create(reopen(), author="ann")
    land(first, a=1)
    second = Repository.create(reopen(), author="bob", default_branch="other")
    assert (second.id, second.default_branch) == (first.id, "main")
    assert shown(second) == {"a": 1}


def test_racing_creators_make_one_repository(reopen: OpenBlobs) -> None:
    start = threading.Barrier(6)

    def create(_: int) -> tuple[str, CommitId]:
        start.wait()
        made = Repository.create(reopen(), author="ann")
        return made.id, made.branch("main").head

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(create, range(6)))) == 1


def test_a_location_with_other_things_is_left_alone(blobs: Blobs) -> None:
    blobs.create("thesis.doc", b"precious")
    with pytest.raises(InputError, match=r"other things lie there \(thesis\.doc\)"):
        Repository.create(blobs, author="ann")
    assert blobs.top() == ["thesis.doc"]


def test_hidden_files_and_leftovers_are_no_obstacle(blobs: Blobs) -> None:
    blobs.create(".gitkeep", b"")
    blobs.create("objects/commit/ab/cd", b"half-made")
    assert Repository.create(blobs, author="ann").branch("main")


def test_a_location_without_a_header_is_no_repository(blobs: Blobs) -> None:
    with pytest.raises(NotFoundError, match=r"is not a repository: there is no vcs\.json"):
        Repository.open(blobs)


def test_a_newer_format_names_both_versions(blobs: Blobs) -> None:
    blobs.create("vcs.json", b'{"format": 7, "id": {"changed": "shape"}}')
    for enter in (Repository.open, lambda b: Repository.create(b, author="ann")):
        with pytest.raises(FormatError, match=r"version 7.*up to version 3.*[Uu]pgrade"):
            enter(blobs)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"format": 0}, "format version 0; expected 1 to 3"),
        ({"format": -1}, "format version -1; expected 1 to 3"),
        ({"features": ["trees by hash"]}, "needs trees by hash, which this dbt-vcs does not know"),
    ],
)
def test_a_format_that_nobody_knows_is_refused(
    blobs: Blobs, change: dict[str, object], found: str
) -> None:
    Repository.create(blobs, author="ann")
    header = {**json.loads(blobs.get("vcs.json")), **change}
    blobs.replace_all({"vcs.json": json.dumps(header).encode()})
    with pytest.raises(FormatError, match=found):
        Repository.open(blobs)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"{}", b'{"format":"1"}', b'{"format":1}', b"\xff\xfe"]
)
def test_a_broken_header_is_damage(blobs: Blobs, data: bytes) -> None:
    blobs.create("vcs.json", data)
    with pytest.raises(DamagedError, match=r"vcs\.json"):
        Repository.open(blobs)


# -- branches


def test_a_branch_is_a_pointer(repository: Repository) -> None:
    land(repository, a=1)
    head = repository.branch("main").head
    before = len(list(repository.blobs.walk("objects")))
    branch = repository.create_branch("feature/tax", head, author="bob", note="why")
    assert (branch.head, branch.ref.move.by, branch.ref.move.note) == (head, "bob", "why")
    assert len(list(repository.blobs.walk("objects"))) == before
    land(repository, "feature/tax", a=2, b=1)
    assert shown(repository) == {"a": 1}
    assert shown(repository, "feature/tax") == {"a": 2, "b": 1}


def test_a_branch_that_is_there_is_not_made_again(repository: Repository) -> None:
    head = repository.branch("main").head
    with pytest.raises(InputError, match="already a branch 'main'"):
        repository.create_branch("main", head, author="ann")


def test_a_branch_needs_a_commit_that_is_there(repository: Repository) -> None:
    with pytest.raises(DamagedError, match="missing"):
        repository.create_branch("x", CommitId("0" * 64), author="ann")
    assert repository.find_branch("x") is None


def test_an_unknown_branch_brings_near_ones(repository: Repository) -> None:
    head = repository.branch("main").head
    repository.create_branch("feature/tax", head, author="ann")
    with pytest.raises(NotFoundError, match="Did you mean 'feature/tax'"):
        repository.branch("feature/tex")
    with pytest.raises(NotFoundError, match="There is: feature/tax, main"):
        repository.branch("zzz")


def test_a_deleted_branch_can_be_had_again(repository: Repository) -> None:
    land(repository, a=1)
    head = repository.branch("main").head
    repository.create_branch("x", head, author="ann", state={"k": "v"})
    repository.delete_branch("x", author="bob")
    assert [branch.name for branch in repository.branches()] == ["main"]
    assert repository.find_branch("x") is None
    for use in (
        repository.branch,
        repository.resolve,
        lambda n: repository.delete_branch(n, author="ann"),
        lambda n: repository.set_state(n, {}, author="ann"),
    ):
        with pytest.raises(NotFoundError, match=r"'x' was deleted on .* by bob.*undelete x"):
            use("x")
    assert repository.create_branch("x", repository.resolve("x@{1}"), author="ann").head == head
    assert [ref.move.action for ref in repository.refs.log("heads", "x")] == [
        "create",
        "delete",
        "create",
    ]


def test_the_default_branch_stays(repository: Repository) -> None:
    with pytest.raises(InputError, match="default branch and can't be deleted"):
        repository.delete_branch("main", author="ann")


def test_state_is_replaced_and_carried_along(repository: Repository) -> None:
    head = repository.branch("main").head
    repository.create_branch("runs/1", head, author="ann", state={"status": "running"})
    land(repository, "runs/1", a=1)
    branch = repository.branch("runs/1")
    assert dict(branch.state) == {"status": "running"}
    after = repository.set_state("runs/1", {"status": "failed"}, author="ann")
    assert after == repository.branch("runs/1")
    assert (after.head, dict(after.state)) == (branch.head, {"status": "failed"})
    at = repository.branch("runs/1").head
    repository.land(
        Proposal(
            branch="runs/1",
            base=at,
            tree=change(repository, at, b=2),
            author="ann",
            message="m",
            state={"status": "done"},
        )
    )
    assert dict(repository.branch("runs/1").state) == {"status": "done"}


def test_racing_state_changes_all_land(reopen: OpenBlobs) -> None:
    Repository.create(reopen(), author="ann")

    def renew(number: int) -> None:
        Repository.open(reopen()).set_state("main", {"by": str(number)}, author="ann")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(renew, range(8)))
    log = Repository.open(reopen()).refs.log("heads", "main")
    assert {ref.move.state.get("by") for ref in log[:-1]} == {str(n) for n in range(8)}


def test_a_branch_moves_only_from_where_it_was_read(repository: Repository) -> None:
    first = repository.branch("main")
    landed = land(repository, a=1)
    assert repository.move_branch(first, first.head, author="ann", action="reset") is None
    here = repository.branch("main")
    moved = repository.move_branch(here, first.head, author="ann", action="reset")
    assert moved is not None
    assert repository.branch("main") == moved
    assert repository.resolve("main@{1}") == landed.commit


def test_times_in_a_log_never_go_down(blobs: Blobs) -> None:
    ticks = iter([50, 40, 30, 60, 20, 10, 5, 4, 3, 2, 1])
    repository = Repository.create(blobs, author="ann", clock=lambda: next(ticks))
    for number in range(3):
        land(repository, a=number)
    moves = [ref.move.at for ref in repository.refs.log("heads", "main")]
    assert moves == sorted(moves, reverse=True)
    times = [commit.committed_at for _, commit in repository.log(repository.resolve("main"))]
    assert times == sorted(set(times), reverse=True)


# -- tags


def test_a_tag_names_a_commit_for_good(repository: Repository) -> None:
    head = repository.branch("main").head
    repository.create_tag("v1", head, author="ann", note="first")
    land(repository, a=1)
    assert repository.resolve("v1") == head
    assert [(tag.name, tag.commit) for tag in repository.tags()] == [("v1", head)]
    with pytest.raises(InputError, match="already a tag 'v1'"):
        repository.create_tag("v1", repository.resolve("main"), author="ann")
    repository.delete_tag("v1", author="ann")
    assert repository.tags() == []
    assert repository.find_tag("v1") is None
    with pytest.raises(NotFoundError, match="tag 'v1' was deleted"):
        repository.delete_tag("v1", author="ann")


# -- trees


def test_schemas_come_and_go(repository: Repository) -> None:
    empty = repository.tree(repository.branch("main").head).id
    one = repository.edit(
        empty,
        TreeChanges(
            schemas={"a": SchemaInfo("comment", {"k": "v"}), "b": SchemaInfo()},
            relations={RelationName("a", "t"): table(1)},
        ),
    )
    landed = repository.land(
        Proposal(
            branch="main", base=repository.resolve("main"), tree=one, author="ann", message="m"
        )
    )
    tree = repository.tree(landed.commit)
    assert tree.schemas() == ["a", "b"]
    assert tree.has_schema("a") and not tree.has_schema("c")
    assert (tree.schema_ref("a").comment, tree.schema_ref("a").properties) == (
        "comment",
        {"k": "v"},
    )
    assert tree.relations("a") == {"t": table(1)}
    assert tree.relations("b") == tree.relations("none") == {}
    assert tree.entry(RelationName("a", "t")) == table(1)
    assert tree.entry(RelationName("a", "none")) is None
    assert tree.entry(RelationName("none", "t")) is None
    with pytest.raises(NotFoundError, match=r"no schema 'c'.*a, b"):
        tree.schema_ref("c")
    commented = repository.edit(one, TreeChanges(schemas={"a": SchemaInfo("new")}))
    assert repository.edit(commented, TreeChanges(schemas={"a": Absent, "b": Absent})) == empty


def test_an_edit_that_changes_nothing_keeps_the_id(repository: Repository) -> None:
    landed = land(repository, a=1)
    id = repository.tree(landed.commit).id
    nothing = [
        TreeChanges(),
        TreeChanges(relations={name("a"): table(1)}),
        TreeChanges(relations={name("none"): Absent, RelationName("none", "t"): Absent}),
        TreeChanges(schemas={"shop": SchemaInfo(), "none": Absent}),
    ]
    assert {repository.edit(id, changes) for changes in nothing} == {id}


def test_a_relation_needs_its_schema(repository: Repository) -> None:
    tree = repository.tree(repository.branch("main").head)
    with pytest.raises(NotFoundError, match=r"no schema 'shop'.*create schema shop"):
        repository.edit(tree.id, TreeChanges(relations={name("a"): table(1)}))


@pytest.mark.parametrize("bad", ["", "a b", "a-b", "a.b", "A", "é", "../x", "a\n", "x" * 256, "'"])
def test_a_name_that_spark_refuses_is_refused_before_anything_is_written(
    repository: Repository, bad: str
) -> None:
    tree = repository.tree(repository.branch("main").head).id
    before = sorted(repository.blobs.walk("objects"))
    for changes in (
        TreeChanges(schemas={bad: SchemaInfo()}),
        TreeChanges(schemas={"s": SchemaInfo()}, relations={RelationName("s", bad): table(1)}),
    ):
        with pytest.raises(InputError, match="name"):
            repository.edit(tree, changes)
    assert sorted(repository.blobs.walk("objects")) == before


# -- land


# -- history


def test_a_log_has_every_ancestor_once_children_first(repository: Repository) -> None:
    base = land(repository, a=1).commit
    repository.create_branch("x", base, author="ann")
    theirs = land(repository, "x", b=1).commit
    ours = land(repository, c=1).commit
    merged = repository.land(
        Proposal(
            branch="main",
            base=base,
            tree=repository.tree(theirs).id,
            author="ann",
            message="m",
            parents=(theirs,),
        )
    ).commit
    log = list(repository.log(merged))
    ids = [id for id, _ in log]
    assert ids == [merged, ours, theirs, base, repository.resolve("main~3")]
    for id, commit in log:
        assert all(ids.index(parent) > ids.index(id) for parent in commit.parents)


def test_diff_tells_relations_and_schemas(repository: Repository) -> None:
    old = land(repository, a=1, b=1, c=1).commit
    new = land(repository, a=2, b=None, d=1).commit
    diff = repository.diff(old, new)
    assert diff.relations == (
        (name("a"), table(1), table(2)),
        (name("b"), table(1), Absent),
        (name("d"), Absent, table(1)),
    )
    assert diff.schemas == ()
    first = repository.diff(repository.resolve("main~2"), old)
    assert first.schemas == (("shop", Absent, SchemaInfo()),)
    assert repository.diff(new, new).relations == ()
