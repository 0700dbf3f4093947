"""What a message says to type next is typed as it is printed, and does what it says."""

from __future__ import annotations

import re
import shlex

import pytest

from dbt.adapters.vcs.commands.options import Settings, with_options
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.cli.conftest import Call
from tests.unit.warehouse import Warehouse

AWKWARD = "fix;a&b'c"
"""A name that git's rules allow, and that a shell takes for several commands."""
STEP = re.compile(r": (dbt-vcs .*?)(?=\.(?: |$)|, or | \(| and |$)", re.MULTILINE)


def steps_of(text: str) -> list[str]:
    return STEP.findall(text)


def test_a_merge_with_conflicts_is_finished_by_what_it_says(
    chosen: Call, call: Call, warehouse: Warehouse
) -> None:
    warehouse.put(a="1", dropped="1")
    warehouse.branch(AWKWARD)
    warehouse.put(a="2", dropped="2")
    warehouse.put(AWKWARD, a="3", dropped=None)
    said = chosen("merge", "main", AWKWARD, code=1).stderr
    show, choose, finish, _ = steps_of(said)
    for step in steps_of(call(*shlex.split(show)[1:]).output):
        call(*shlex.split(step)[1:])
    assert steps_of(call(*shlex.split(choose)[1:], "--again").output) == [finish]
    assert steps_of(chosen("status").output) == [finish]
    assert "Merged" in call(*shlex.split(finish)[1:]).output
    assert warehouse.repository.find_branch(f"merges/{AWKWARD}") is None


def test_a_merge_with_conflicts_is_given_up_by_what_it_says(
    chosen: Call, call: Call, warehouse: Warehouse
) -> None:
    warehouse.put(a="1")
    warehouse.branch(AWKWARD)
    warehouse.put(a="2")
    warehouse.put(AWKWARD, a="3")
    *_, abort = steps_of(chosen("merge", "main", AWKWARD, code=1).stderr)
    assert "Aborted" in call(*shlex.split(abort)[1:]).output


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (("branch", "delete", AWKWARD), 0),
        (("show", "gone"), 1),
        (("branch", "delete", "kept"), 2),
        (("restore", "shop.a", "--to", "main~1"), 0),
        (("restore", "shop.never"), 1),
        (("reuse", "why", "never"), 1),
        (("merge", "--abort", "--dry-run"), 2),
        (("merge", "--continue", "main"), 1),
        (("merge", "dev", "v1"), 2),
        (("gc", "--retention", "0"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_step_is_a_command(
    chosen: Call, call: Call, warehouse: Warehouse, line: tuple[str, ...], code: int
) -> None:
    warehouse.put(a="1", b="1")
    warehouse.put(a="1 2", b="1 2")
    for name in (AWKWARD, "gone", "kept", "dev"):
        warehouse.branch(name)
    warehouse.put("dev", c="1")
    repository = warehouse.repository
    repository.create_tag("v1", warehouse.head(), author="ann")
    repository.delete_branch("gone", author="ann")
    call("-r", warehouse.blobs.uri, "branch", "protect", "kept")
    said = chosen(*line, code=code).output
    steps = [step for step in steps_of(said) if not re.search(r"\b[A-Z]{4,}\b", step)]
    for step in steps:
        call(*shlex.split(step)[1:])
    assert "dbt-vcs " in said or "dbt build --" in said


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (("diff", "main...dev"), 0),
        (("diff", "dev", "--summary"), 0),
        (("merge", "dev"), 0),
        (("branch", "delete", "dev"), 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_run_that_never_reached_its_branch_is_named(
    chosen: Call, call: Call, warehouse: Warehouse, line: tuple[str, ...], code: int
) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    warehouse.run("r1", Status.PUBLISHED, target="dev", a="2")
    warehouse.run("r2", Status.FAILED, target="dev", note="test.shop.x failed", a="2")
    said = chosen(*line, code=code).stderr
    assert "The last run for 'dev', dbt build, is failed (test.shop.x failed)" in said
    (step,) = steps_of(said)
    assert "runs/r2" in step and "test.shop.x failed" in call(*shlex.split(step)[1:]).output


def test_a_run_that_was_followed_by_a_published_one_is_not_named(
    vcs: Call, warehouse: Warehouse
) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    warehouse.run("r1", Status.FAILED, target="dev", a="2")
    warehouse.run("r2", Status.PUBLISHED, target="dev", a="2")
    assert vcs("diff", "main...dev").stderr == ""


def test_the_options_of_the_call_are_printed_and_no_secret() -> None:
    settings = Settings(
        repository="s3://shop/ware house",
        storage_options=(("region", "eu"), ("secret_access_key", "hidden")),
    )
    said = with_options("See dbt-vcs stale dev. Next: dbt test", settings)
    assert said == (
        "See dbt-vcs -r 's3://shop/ware house' --storage-option region=eu stale dev. "
        "Next: dbt test"
    )
    target = Settings(profile="shop", profile_target="dev")
    said = with_options("the branch of a dbt run. Next: dbt test", target)
    assert said == "the branch of a dbt run. Next: dbt test --profile shop --target dev"
    assert with_options(said, target) == said
    assert with_options("dbt-vcs needs Java", target) == "dbt-vcs needs Java"
    for verb in ("compile --select t", "parse", 'show --inline "select 1"'):
        name, *rest = verb.split(" ", 1)
        words = " ".join([f"dbt {name} --profile shop --target dev", *rest])
        assert with_options(f"Run: dbt {verb}", target) == f"Run: {words}"
    no_command = "Nothing can be changed here: dbt compile only reads."
    assert with_options(no_command, target) == no_command


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("merg dev", "There is no command 'merg'. Did you mean merge?"),
        ("xyzzy", "There is no command 'xyzzy'. To list them: dbt-vcs"),
        ("checkout dev", "dbt-vcs -r warehouse branch create NAME"),
        ("switch dev", "dbt-vcs -r warehouse branch create NAME"),
        ("commit", "Nothing waits to be committed"),
        ("add .", "Nothing is staged"),
        ("push", "dbt-vcs -r warehouse promote SOURCE TARGET"),
        ("pull", "dbt-vcs -r warehouse merge SOURCE TARGET"),
        ("reset --hard", "dbt-vcs -r warehouse restore --all --to REVISION"),
        ("stash", "dbt-vcs -r warehouse tag create NAME"),
        ("rebase main", "dbt-vcs -r warehouse merge SOURCE TARGET"),
        ("ls", "dbt-vcs -r warehouse du"),
        ("rm shop.a", "dbt-vcs -r warehouse sql 'drop table a'"),
        ("remote -v", "A repository is shared"),
        ("help merg", "There is no command 'merg'. Did you mean merge?"),
        ("branch delte dev", "branch has no command 'delte'. Did you mean delete?"),
        ("tag lsit", "tag has no command 'lsit'. Did you mean list?"),
        ("runs explode", "runs has no command 'explode'."),
    ],
)
def test_a_word_that_is_no_command_says_what_to_type(
    vcs: Call, warehouse: Warehouse, line: str, said: str
) -> None:
    before = [branch.name for branch in warehouse.repository.branches()]
    assert said in vcs(*line.split(), code=2).stderr
    assert [branch.name for branch in warehouse.repository.branches()] == before


def test_a_branch_is_created_by_its_name(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    vcs("branch", "dev", "main~1")
    assert warehouse.head("dev") == warehouse.repository.resolve("main~1")


def test_git_s_flags_of_branch_and_tag_are_commands(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    for name in ("dev", "merged", "old"):
        vcs("branch", name)
    head = warehouse.put("dev", a="2")
    assert "dbt-vcs -r warehouse branch delete dev" in vcs("branch", "-d", "dev", code=1).stderr
    # Nothing goes if one of them has to stay.
    vcs("branch", "-d", "merged", "dev", code=1)
    assert warehouse.head("merged") == warehouse.head()
    vcs("branch", "-d", "merged")
    vcs("branch", "-m", "old", "new")
    vcs("branch", "-D", "dev")
    assert [branch.name for branch in warehouse.repository.branches()] == ["main", "new"]
    vcs("branch", "undelete", "dev")
    assert warehouse.head("dev") == head
    assert vcs("branch", "-v").output == vcs("branch", "--list").output == vcs("branch").output
    vcs("tag", "-a", "v1", "-m", "first")
    assert "v1" in vcs("tag", "-l").output
    vcs("tag", "-d", "v1")
    assert list(warehouse.repository.tags()) == []
    assert "'nix'" in vcs("branch", "-d", "nix", code=1).stderr


def test_head_is_the_branch_that_is_shown_or_changed(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1", message="One")
    warehouse.branch("dev")
    warehouse.put("dev", a="2", message="On dev")
    warehouse.put(a="3", message="Two")
    assert "Two" in vcs("show", "HEAD").output
    assert "One" in vcs("show", "HEAD~1").output
    assert vcs("cat", "HEAD~1:shop.a").output == vcs("cat", "shop.a", "--at", "main~1").output
    assert vcs("cat", "dev:shop.a").output == vcs("cat", "shop.a", "--at", "dev").output
    assert len(vcs("log", "HEAD~1..HEAD").output.splitlines()) == 1
    assert "shop.a" in vcs("diff", "HEAD...dev", code=1).output
    vcs("branch", "here", "HEAD~1")
    assert warehouse.head("here") == warehouse.repository.resolve("main~1")
    vcs("revert", "HEAD", "-b", "dev", "-m", "HEAD goes back")
    commit = warehouse.repository.objects.commit(warehouse.head("dev"))
    assert commit.summary == "HEAD goes back"
    assert {row["v"] for row in warehouse.rows("a", "dev")} == {"1"}
    # A branch of that name, as an earlier version allowed, is that branch.
    warehouse.repository.create_branch("HEAD", warehouse.head("dev"), author="ann", check=False)
    assert "HEAD goes back" in vcs("show", "HEAD").output


def test_a_state_to_restore_is_spelled_as_elsewhere(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    for option in ("--to", "--at", "--source", "-s"):
        warehouse.put(a="2")
        vcs("restore", "shop.a", option, "HEAD~1")
        assert {row["v"] for row in warehouse.rows("a")} == {"1"}


def test_a_branch_beside_itself_is_said_to_be_that(vcs: Call, warehouse: Warehouse) -> None:
    warehouse.put(a="1")
    for words in (["diff"], ["diff", "main"], ["diff", "--summary"], ["diff", "shop.a"]):
        said = vcs(*words).output
        assert "main is compared with itself" in said
        assert "dbt-vcs -r warehouse show main" in said


def test_help_is_a_word_too(vcs: Call) -> None:
    assert "Usage: main merge" in vcs("help", "merge").output
    assert vcs("help").output == vcs("--help").output
