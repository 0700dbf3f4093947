"""Trap 12: names of branches and relations, accepted safely or refused clearly."""

from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.branch_names import is_name, quote, unquote
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges
from tests.watched_blobs import RequestBlobs

ACCEPTED = {
    "main": "main",
    "feature/tax": "feature=2Ftax",
    "Main": "=4Dain",
    "a b": "a=20b",
    "v1.0-rc_2": "v1.0-rc_2",
    "..": "=2E=2E",
    ".": "=2E",
    "../x": "..=2Fx",
    "../../etc/passwd": "..=2F..=2Fetc=2Fpasswd",
    "/etc": "=2Fetc",
    "C:\\x": "=43=3A=5Cx",
    "a=2Fb": "a=3D2=46b",
    "é": "=C3=A9",
    "main~2": "main=7E2",
    "'; drop --": "=27=3B=20drop=20--",
    "%2e%2e": "=252e=252e",
    "x" * 200: "x" * 200,
    "HEAD": "=48=45=41=44",
}
REFUSED = ["", "a\nb", "a\x00b", "\x7f", "x" * 201, "X" * 81, "日" * 50, "a\u2028b", "\ud800"]


@pytest.mark.parametrize(("name", "folder"), ACCEPTED.items())
def test_an_accepted_name_is_one_folder(name: str, folder: str) -> None:
    assert quote(name) == folder
    assert unquote(folder) == name
    assert is_name(name)


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_name_says_why(name: str) -> None:
    assert not is_name(name)
    with pytest.raises(InputError, match=r"control character|characters|too long"):
        quote(name)


@pytest.mark.parametrize("folder", ["A", "=2f", "=61", "a b", "..", "", "=FF", "=0A", "=2", "é"])
def test_a_folder_that_no_name_makes_is_named(folder: str) -> None:
    with pytest.raises(DamagedError, match="none that a branch or tag makes"):
        unquote(folder)


def test_a_near_name_is_suggested_without_reading_all_that_were_deleted() -> None:
    blobs = RequestBlobs()
    repository = Repository.create(blobs, author="ann")
    main = repository.branch("main").head
    for number in range(20):
        repository.create_branch(f"a{number}", main, author="ann")
        repository.delete_branch(f"a{number}", author="ann")
    before = blobs.requests
    with pytest.raises(NotFoundError, match="Did you mean 'main'"):
        repository.branch("maim")
    assert blobs.requests - before < 20


def test_no_name_leads_out_of_the_repository(tmp_path: Path) -> None:
    root = tmp_path / "outer" / "repository"
    repository = Repository.create(open_blobs(str(root)), author="ann")
    head = repository.branch("main").head
    for name in ACCEPTED:
        if name != "main":
            repository.create_branch(name, head, author="ann", check=False)
    for name in REFUSED:
        with pytest.raises(InputError):
            repository.create_branch(name, head, author="ann", check=False)
    assert {branch.name for branch in repository.branches()} == set(ACCEPTED)
    assert [path.name for path in tmp_path.iterdir()] == ["outer"]
    assert [path.name for path in root.parent.iterdir()] == ["repository"]
    made = {".gitignore", "vcs.json", "objects", "refs", "creating"}
    assert {path.name for path in root.iterdir()} == made
    assert {path.parent.name for path in (root / "refs").rglob("0*1")} == set(ACCEPTED.values())


def test_every_name_that_an_older_version_took_is_a_revision(tmp_path: Path) -> None:
    repository = Repository.create(open_blobs("memory://"), author="ann")
    head = repository.branch("main").head
    for name in ACCEPTED:
        if name != "main":
            repository.create_branch(name, head, author="ann", check=False)
        assert repository.resolve(name) == head


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("main~1", "the sign ~"),
        ("x^", r"the sign \^"),
        ("x@{1}", "@{"),
        ("a..b", "two dots"),
        ("..", "two dots"),
        (".", "ends in a dot"),
        ("@", "@ means the current commit"),
        ("HEAD", "HEAD means the current commit"),
        ("a b", "a space"),
        ("C:\\x", "the sign :"),
        ("a\tb", "control character"),
        ("/etc", "begins or ends with a slash"),
        ("a/", "begins or ends with a slash"),
        ("a//b", "two slashes"),
        ("a/.b", "'.b' begins with a dot"),
        ("a.lock/b", r"'a\.lock' ends in \.lock"),
        ("-x", "begins with a dash"),
        ("cafe", "start of a commit id"),
        ("20261120", "2026-11-20"),
        ("heads/main", "heads/ begins the full name"),
        ("", "1 to 200"),
    ],
)
def test_a_new_name_that_reads_as_a_revision_is_refused_for_everything(
    name: str, reason: str
) -> None:
    repository = Repository.create(open_blobs("memory://"), author="ann")
    head = repository.branch("main").head
    for make in (repository.create_branch, repository.create_tag):
        with pytest.raises(InputError, match=reason):
            make(name, head, author="ann")
    with pytest.raises(InputError, match=reason):
        repository.rename("heads", "main", name, author="ann")
    with pytest.raises(InputError, match=reason):
        Repository.create(open_blobs("memory://"), default_branch=name, author="ann")
    assert [branch.name for branch in repository.branches()] == ["main"]
    assert repository.tags() == []


@pytest.mark.parametrize(
    "identifier", ["../x", "a/b", "a.b", "Ab", "a b", "", "é", "a\n", "x" * 256, "`a`", "a=b"]
)
def test_a_relation_is_named_as_spark_allows_or_refused(identifier: str) -> None:
    repository = Repository.create(open_blobs("memory://"), author="ann")
    tree = repository.tree(repository.branch("main").head).id
    entry = TableEntry(snapshot=SnapshotId("0" * 64))
    changes = TreeChanges(
        schemas={"s": SchemaInfo()}, relations={RelationName("s", identifier): entry}
    )
    with pytest.raises(InputError, match="table or view"):
        repository.edit(tree, changes)


def test_a_long_relation_name_fits() -> None:
    repository = Repository.create(open_blobs("memory://"), author="ann")
    tree = repository.tree(repository.branch("main").head).id
    name = RelationName("s" * 200, "t" * 255)
    entry = TableEntry(snapshot=SnapshotId("0" * 64))
    edited = repository.edit(
        tree, TreeChanges(schemas={name.schema: SchemaInfo()}, relations={name: entry})
    )
    assert repository.objects.tree(edited).schemas.keys() == {name.schema}
