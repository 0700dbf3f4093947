"""Options that a form of a command doesn't know are refused, never ignored."""

from __future__ import annotations

import shlex

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.project.operations import Caller, prepare_operation
from tests.unit.cli.conftest import Call
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse


def conflict(warehouse: Warehouse) -> None:
    """A merge of main into dev that waits, with every conflict resolved."""
    tables = Tables(warehouse)
    base = tables.entry([tables.block({1: "a"})], key=True)
    tables.put("main", t=base)
    warehouse.branch("dev")
    for branch, name in (("main", "theirs"), ("dev", "ours")):
        block = tables.block({1: name})
        tables.put(branch, t=tables.entry([block], parents=[base], key=True))


@pytest.mark.parametrize("form", ["--continue", "--abort"])
@pytest.mark.parametrize(
    "option", ["--dry-run", "--ff-only", "--force", "--message x", "--on-conflict skip"]
)
def test_a_merge_that_waits_is_not_touched_with_options_that_do_not_fit(
    vcs: Call, warehouse: Warehouse, form: str, option: str
) -> None:
    conflict(warehouse)
    vcs("merge", "main", "dev", code=1)
    vcs("resolve", "--all", "--with", "ours", "dev")
    refs = {branch.name: branch.head for branch in warehouse.repository.branches()}
    said = vcs("merge", form, "dev", *shlex.split(option), code=2).output
    assert f"{option.split()[0]} can't be used with {form}" in said
    assert refs == {branch.name: branch.head for branch in warehouse.repository.branches()}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("merge --continue --abort dev", "--continue can't be used with --abort"),
        ("merge --continue main dev", "--continue takes only the target"),
        ("gc --force", "--force can only be used with --retention"),
        ("merge --continue dev --dry-run", "dbt-vcs -r warehouse conflicts TARGET"),
        ("lineage shop.a@main --branch dev", "--branch can't be used with shop.a@main"),
        ("gc --retention 3 --dry-run --force", "with --retention, without --dry-run"),
        ("runs discard --expired --force", "--force can't be used with --expired"),
        ("conflicts dev --limit 3", "--limit can't be used with conflicts without --relation"),
        ("diff --stat --summary", "--summary can't be used with --stat"),
        ("diff --schema --limit 3", "--limit can't be used with --schema"),
        ("diff --stat --shape wide main shop.a", "--shape can't be used with --stat"),
        ("diff main dev --limit 3", "--limit can't be used with a diff without rows"),
        ("branch --all create x", "--all can't be used with create"),
        ("branch --all list", "Put --all after list"),
        ("branch --json create x", "--json can't be used with create"),
        ("tag --json v1", "--json can't be used with create"),
        ("tag --jsonl delete v1", "--jsonl can't be used with delete"),
        ("snapshot --json delete shop.a s", "--json can't be used with delete"),
        ("runs --json discard r1", "--json can't be used with discard"),
        ("status --json --jsonl", "Give either --json or --jsonl"),
        ("branch --jsonl list --json", "Give either --json or --jsonl"),
        ("status --target prod", "--target can't be used with --repository"),
        ("log --profile shop", "--profile can't be used with --repository"),
        ("init elsewhere", "Give either LOCATION or --repository"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    vcs: Call, warehouse: Warehouse, line: str, said: str
) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    assert said in vcs(*line.split(), code=2).output


def test_json_before_the_name_of_a_command_that_prints_it_is_taken(
    vcs: Call, warehouse: Warehouse
) -> None:
    assert vcs("branch", "--json", "list").output.startswith("[")
    assert vcs("tag", "--jsonl", "list").output == ""


@pytest.mark.parametrize(
    ("verb", "arguments", "said"),
    [
        (
            "merge",
            {"action": "continue", "target": "dev", "dry_run": True},
            "dry_run: true can't be used with action: continue",
        ),
        ("gc", {"force": True}, "force: true can only be used with retention"),
        ("diff", {"output": "stat", "limit": 3}, "limit can't be used with output: stat"),
        ("branch", {"action": "list", "name": "x"}, "branch list has no argument 'name'"),
        ("branch", {"action": "rename", "name": "x", "at": "y"}, "it takes name, to"),
        ("resolve", {"relation": "shop.a", "all": True}, "resolve has no argument 'all'"),
        ("restore", {"relation": "shop.a", "all": True, "to": "main~1"}, "Give either a relation"),
        ("forecast", {"branch": "dev", "all": True}, "Give either BRANCH, or all: true for each"),
        ("branch", {"action": ["list"]}, r"branch has no action \['list'\]; expected one of"),
        ("diff", {"output": ["stat"]}, r"diff has no output \['stat'\]; expected one of rows"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    warehouse: Warehouse, verb: str, arguments: dict[str, object], said: str
) -> None:
    warehouse.put(a="1")
    warehouse.branch("dev")
    caller = Caller(repository=warehouse.repository, author="bob", branch="main")
    # Before it is known whether a run makes statements of it.
    with pytest.raises(InputError, match=said):
        prepare_operation(caller, verb, arguments)


def test_what_macros_pass_on_by_default_counts_as_not_given(warehouse: Warehouse) -> None:
    caller = Caller(repository=warehouse.repository, author="bob", branch="main")
    flags = {"action": "list", "name": None, "force": False}
    assert prepare_operation(caller, "branch", flags)()[0].split()[0] == "BRANCH"
    passed = {"target": None, "relation": None, "limit": 20}
    assert prepare_operation(caller, "conflicts", passed)() == [
        "No merge into main is waiting for conflicts to be resolved."
    ]


def test_a_target_is_not_ignored_for_a_variable(
    call: Call, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBT_VCS_REPOSITORY", "warehouse")
    assert (
        "--target can't be used with DBT_VCS_REPOSITORY" in call("log", "-t", "x", code=2).output
    )
