"""The law of verbs: command and operation with the same arguments do and refuse the same."""

from __future__ import annotations

import random
import shlex
import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from dbt.adapters.vcs.changes.merges.project_rules import BranchRule, Rules
from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.commands.log import log_command as log
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.options import Settings
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.snapshot import create_snapshot
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import ConflictError, VcsError
from dbt.adapters.vcs.project.operations import OPERATIONS, Caller, prepare_operation
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.tables import Tables
from tests.unit.warehouse import Warehouse

PROTECTED = Rules(
    branches=(
        BranchRule(pattern="main", protection=Protection()),
        BranchRule(pattern="late", protection=Protection(("tests",))),
    )
)

# A verb, its arguments by name, and the same as a command line.
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("status", {}, ""),
    ("status", {"branch": "dev"}, "dev"),
    ("branch", {}, ""),
    ("branch", {"action": "list", "with_runs": True}, "list --all"),
    ("branch", {"action": "create", "name": "x"}, "create x"),
    ("branch", {"action": "create", "name": "x", "at": "dev"}, "create x dev"),
    ("branch", {"action": "create", "name": "x", "at": "runs/r2"}, "create x runs/r2"),
    (
        "branch",
        {"action": "create", "name": "x", "at": "runs/r2", "force": True},
        "create x runs/r2 --force",
    ),
    ("branch", {"action": "create"}, "create"),
    ("branch", {"action": "rename", "name": "dev", "to": "new"}, "rename dev new"),
    ("branch", {"action": "rename", "name": "late", "to": "new"}, "rename late new"),
    ("branch", {"action": "rename", "name": "dev"}, "rename dev"),
    ("branch", {"action": "delete", "name": "dev"}, "delete dev"),
    ("branch", {"action": "delete", "name": "late"}, "delete late"),
    ("branch", {"action": "delete", "name": "dev", "merged": True}, "-d dev"),
    ("branch", {"action": "delete", "name": "free"}, "-D free"),
    ("show", {"revision": "HEAD~1"}, "HEAD~1"),
    ("branch", {"action": "delete", "name": ["dev", "nix"]}, "delete dev nix"),
    ("branch", {"action": "undelete", "name": "gone"}, "undelete gone"),
    ("branch", {"action": "protect", "name": "dev"}, "protect dev"),
    (
        "branch",
        {"action": "protect", "name": "dev", "require": ["tests"]},
        "protect dev --require tests",
    ),
    (
        "branch",
        {"action": "protect", "name": "dev", "require": "luck"},
        "protect dev --require luck",
    ),
    ("branch", {"action": "unprotect", "name": "dev"}, "unprotect dev"),
    ("branch", {"action": "create", "name": "moved"}, "moved"),
    ("tag", {}, ""),
    ("tag", {"action": "create", "name": "v2", "note": "n"}, "create v2 -m n"),
    ("tag", {"action": "create", "name": "v1", "at": "dev"}, "create v1 dev"),
    ("tag", {"action": "rename", "name": "v1", "to": "v2"}, "rename v1 v2"),
    ("tag", {"action": "delete", "name": "v1"}, "delete v1"),
    ("tag", {"action": "delete"}, "delete"),
    ("tag", {"action": "protect", "name": "v1"}, "protect v1"),
    ("tag", {"action": "unprotect", "name": "v1"}, "unprotect v1"),
    ("tag", {"action": "protect", "name": "v9"}, "protect v9"),
    ("snapshot", {"relation": "shop.a"}, "list shop.a"),
    (
        "snapshot",
        {"action": "create", "relation": "shop.a", "name": "s2", "at": "dev", "note": "n"},
        "create shop.a s2 dev -m n",
    ),
    ("snapshot", {"action": "delete", "relation": "shop.a", "name": "s1"}, "delete shop.a s1"),
    ("snapshot", {"action": "delete", "relation": "shop.a"}, "delete shop.a"),
    ("snapshot", {"action": "protect", "relation": "shop.a", "name": "s1"}, "protect shop.a s1"),
    (
        "snapshot",
        {"action": "unprotect", "relation": "shop.a", "name": "s1"},
        "unprotect shop.a s1",
    ),
    ("clone", {"source": "shop.a", "target": "shop.n", "at": "s1"}, "shop.a shop.n s1"),
    ("clone", {"source": "shop.a", "target": "shop.b"}, "shop.a shop.b"),
    (
        "clone",
        {"source": "shop.a", "target": "shop.b", "branch": "dev", "replace": True},
        "shop.a shop.b -b dev --replace",
    ),
    ("clone", {"source": "shop.a"}, "shop.a"),
    ("restore", {"relation": "shop.a", "to": "s1"}, "shop.a --to s1"),
    ("restore", {"relation": "shop.a", "to": "s1", "dry_run": True}, "shop.a --to s1 --dry-run"),
    (
        "restore",
        {"all": True, "to": "v1", "branch": "dev", "message": "back"},
        "--all --to v1 -b dev -m back",
    ),
    ("restore", {"all": True}, "--all"),
    ("restore", {"relation": "shop.a", "all": True}, "shop.a --all"),
    ("revert", {"revision": "main"}, "main"),
    ("revert", {"revision": "dev", "branch": "dev", "message": "no"}, "dev -b dev -m no"),
    ("revert", {"revision": "main", "mainline": 2}, "main --mainline 2"),
    ("revert", {"revision": "main", "mainline": 0}, "main --mainline 0"),
    ("revert", {}, ""),
    ("cherry-pick", {"commits": "dev", "branch": "free"}, "dev -b free"),
    (
        "cherry-pick",
        {"commits": ["dev"], "branch": "free", "dry_run": True},
        "dev -b free --dry-run",
    ),
    ("cherry-pick", {"commits": ["main..dev"], "branch": "free"}, "main..dev -b free"),
    ("cherry-pick", {"commits": "dev"}, "dev"),
    ("cherry-pick", {"commits": "main", "branch": "other"}, "main -b other"),
    (
        "cherry-pick",
        {"commits": "main", "branch": "other", "on_conflict": "accept", "message": "m"},
        "main -b other --on-conflict accept -m m",
    ),
    ("cherry-pick", {"commits": ["dev", "main"], "mainline": 2}, "dev main --mainline 2"),
    ("cherry-pick", {"commits": "dev", "message": "1"}, "dev -m 1"),
    ("cherry-pick", {}, ""),
    ("log", {}, ""),
    ("log", {"revision": "dev", "limit": 1, "relation": "shop.a"}, "dev -n 1 --relation shop.a"),
    ("log", {"limit": 0}, "-n 0"),
    ("log", {"relation": "shop.a", "stat": True}, "shop.a --stat"),
    (
        "log",
        {"graph": True, "oneline": True, "first_parent": True},
        "--graph --oneline --first-parent",
    ),
    ("log", {"graph": True, "relation": "shop.a"}, "shop.a --graph"),
    ("log", {"limit": 2}, "-2"),
    ("log", {"limit": -1}, "-n -1"),
    ("log", {"limit": "many"}, "-n many"),
    ("du", {}, ""),
    ("du", {"revision": "dev"}, "dev"),
    ("du", {"revision": "nix"}, "nix"),
    ("approve", {"branch": "dev", "note": "fine"}, "dev -m fine"),
    ("approve", {"branch": "dev", "at": "main"}, "dev --at main"),
    ("approve", {"branch": "dev", "withdraw": True}, "dev --withdraw"),
    ("approve", {}, ""),
    ("forecast", {}, ""),
    ("forecast", {"branch": "dev", "into": "main"}, "dev --into main"),
    ("forecast", {"all": True}, "--all"),
    ("forecast", {"branch": "nix"}, "nix"),
    ("reflog", {}, ""),
    ("reflog", {"name": "gone", "limit": 1}, "gone -n 1"),
    ("reflog", {"name": "v1"}, "v1"),
    ("reflog", {"name": "nix"}, "nix"),
    ("show", {"revision": "v1"}, "v1"),
    ("show", {"revision": 12345678}, "12345678"),
    ("diff", {"revisions": "main..dev"}, "main..dev"),
    ("diff", {"revisions": "main dev", "output": "stat"}, "main dev --stat"),
    ("diff", {"revisions": "main dev", "output": "schema"}, "main dev --schema"),
    ("diff", {"revisions": "main dev", "output": "summary"}, "main dev --summary"),
    (
        "diff",
        {
            "revisions": "main..dev",
            "relation": "shop.t",
            "columns": ["name"],
            "shape": "wide",
            "limit": 1,
        },
        "main..dev shop.t --columns name --shape wide -n 1",
    ),
    ("diff", {"revisions": "main..dev", "columns": "name"}, "main..dev --columns name"),
    ("diff", {"revisions": "main..dev", "shape": "round"}, "main..dev --shape round"),
    ("diff", {"revisions": "main..dev", "limit": 3}, "main..dev -n 3"),
    ("merge", {"source": "dev"}, "dev"),
    (
        "merge",
        {"source": "dev", "target": "free", "message": "m", "force": True},
        "dev free -m m --force",
    ),
    ("merge", {"source": "dev", "target": "free", "ff_only": True}, "dev free --ff-only"),
    ("merge", {"source": "dev", "target": "free", "dry_run": True}, "dev free --dry-run"),
    ("merge", {"source": "main", "target": "other"}, "main other"),
    ("merge", {"source": "main", "target": "other", "dry_run": True}, "main other --dry-run"),
    (
        "merge",
        {"source": "main", "target": "other", "on_conflict": "accept"},
        "main other --on-conflict accept",
    ),
    ("merge", {"source": "main", "on_conflict": "hope"}, "main --on-conflict hope"),
    ("merge", {}, ""),
    ("merge", {"action": "continue", "target": "late"}, "--continue late"),
    (
        "merge",
        {"action": "continue", "target": "late", "dry_run": True},
        "--continue late --dry-run",
    ),
    ("merge", {"action": "abort", "target": "late"}, "--abort late"),
    ("merge", {"action": "abort", "target": "late", "dry_run": True}, "--abort late --dry-run"),
    ("merge", {"action": "abort", "source": "x", "target": "late"}, "--abort x late"),
    ("conflicts", {"target": "late"}, "late"),
    (
        "conflicts",
        {"target": "late", "relation": "shop.t", "limit": 1},
        "late --relation shop.t -n 1",
    ),
    ("conflicts", {"target": "late", "limit": 1}, "late -n 1"),
    ("resolve", {"target": "late", "choice": "ours"}, "--all late --with ours"),
    (
        "resolve",
        {"target": "late", "relation": "shop.t", "choice": "theirs", "again": True},
        "shop.t late --with theirs --again",
    ),
    (
        "resolve",
        {"target": "late", "relation": "shop.t", "key": {"id": 1}, "set": {"name": "x"}},
        "shop.t late --key id=1 --set name=x",
    ),
    (
        "resolve",
        {"target": "late", "relation": "shop.t", "key": {"id": "1"}, "set": {"name": None}},
        "shop.t late --key id=1 --set-null name",
    ),
    ("resolve", {"target": "late", "choice": "luck"}, "--all late --with luck"),
    ("resolve", {"choice": "ours"}, "--all --with ours"),
    ("promote", {"source": "dev"}, "dev"),
    (
        "promote",
        {"source": "dev", "target": "free", "message": "m", "metadata": {"ticket": 7}},
        "dev free -m m --metadata ticket=7",
    ),
    ("promote", {"source": "dev", "dry_run": True}, "dev --dry-run"),
    ("promote", {"source": "late", "target": "main"}, "late main"),
    ("optimize", {"all": True}, "--all"),
    ("optimize", {"relation": "shop.a, shop.b"}, "shop.a shop.b"),
    ("optimize", {"relation": ["shop.a"], "target_size": "1KB"}, "shop.a --target-size 1KB"),
    ("optimize", {"schema": "shop", "branch": "dev"}, "--schema shop --branch dev"),
    ("optimize", {"schema": "shop", "all": True}, "--schema shop --all"),
    ("lineage", {"relation": "shop.t"}, "shop.t"),
    (
        "lineage",
        {"relation": "shop.t", "forward": True, "depth": 1, "branch": "dev"},
        "shop.t -f --depth 1 -b dev",
    ),
    ("stale", {}, ""),
    ("stale", {"revision": "dev", "select": True}, "dev --select"),
    ("stale", {"revision": "nope"}, "nope"),
    (
        "bisect",
        {"good": "v1", "sql": "select * from shop.t where id = 9"},
        "v1 --sql 'select * from shop.t where id = 9'",
    ),
    (
        "bisect",
        {"good": "main~1", "bad": "main", "sql": "select * from shop.a where v = '2'"},
        "main~1 main --sql \"select * from shop.a where v = '2'\"",
    ),
    ("bisect", {"good": "main", "bad": "v1", "sql": "1 = 1"}, "main v1 --sql '1 = 1'"),
    ("bisect", {"good": "v1", "test": "nope", "bad": "dev"}, "v1 dev --test nope"),
    ("bisect", {"good": "v1"}, "v1"),
    ("bisect", {"good": "nope", "sql": "1 = 1"}, "nope --sql '1 = 1'"),
    ("blame", {"relation": "shop.t", "key": {"id": 1}}, "shop.t -k id=1"),
    ("blame", {"relation": "shop.t", "key": {"id": "1"}, "at": "dev"}, "shop.t -k id=1 --at dev"),
    ("blame", {"relation": "shop.t"}, "shop.t"),
    ("runs", {}, ""),
    ("runs", {"action": "discard", "id": "r2"}, "discard r2"),
    ("runs", {"action": "discard", "expired": True}, "discard --expired"),
    ("runs", {"action": "discard"}, "discard"),
    ("runs", {"action": "publish", "id": "r1"}, "publish r1"),
    ("runs", {"action": "publish", "id": "r2"}, "publish r2"),
    ("runs", {"action": "publish", "id": "r2", "force": True}, "publish r2 --force"),
    ("export", {}, ""),
    ("export", {"branch": "dev"}, "--branch dev"),
    ("export", {"branch": "nix"}, "--branch nix"),
    ("export", {"all": True}, "--all"),
    ("export", {"format_version": "3"}, "--format-version 3"),
    ("export", {"format_version": "4"}, "--format-version 4"),
    ("gc", {}, ""),
    ("gc", {"dry_run": True}, "--dry-run"),
    ("gc", {"retention": 30}, "--retention 30"),
    ("gc", {"retention": 0.5}, "--retention 0.5"),
    ("gc", {"retention": 0.5, "force": True}, "--retention 0.5 --force"),
    ("gc", {"retention": 0.5, "dry_run": True}, "--retention 0.5 --dry-run"),
    ("gc", {"retention": "long"}, "--retention long"),
    ("gc", {"force": True}, "--force"),
    ("reuse", {}, ""),
    ("reuse", {"action": "list", "node": "a"}, "list --node a"),
    ("reuse", {"action": "stats"}, "stats"),
    ("reuse", {"action": "stats", "days": 7}, "stats --days 7"),
    ("reuse", {"action": "stats", "days": -1}, "stats --days -1"),
    ("reuse", {"action": "why", "node": "a"}, "why a"),
    ("reuse", {"action": "why"}, "why"),
    ("reuse", {"action": "drop"}, "drop"),
    ("reuse", {"action": "drop", "node": "a"}, "drop --node a"),
    ("reuse", {"action": "drop", "key": "00aa"}, "drop --key 00aa"),
    ("reuse", {"action": "drop", "all": True}, "drop --all"),
    ("purge", {"relation": "shop.t", "where": "id = 1"}, "shop.t --where 'id = 1'"),
    (
        "purge",
        {"relation": "shop.t", "where": "id = 1", "dry_run": True},
        "shop.t --where 'id = 1' --dry-run",
    ),
    (
        "purge",
        {"relation": "shop.t", "where": "id = 1", "redact": ["On", "dev"]},
        "shop.t --where 'id = 1' --redact On --redact dev",
    ),
    ("purge", {"relation": "shop.t", "where": "nope = 1"}, "shop.t --where 'nope = 1'"),
    ("purge", {"relation": "shop.t"}, "shop.t"),
    ("fsck", {}, ""),
    ("fsck", {"data": True}, "--data"),
    ("fsck", {"data": True, "sample": "20%", "seed": 7}, "--data --sample 20% --seed 7"),
    ("fsck", {"sample": "20%"}, "--sample 20%"),
    ("fsck", {"data": True, "seed": 7}, "--data --seed 7"),
    ("fsck", {"data": True, "sample": "much"}, "--data --sample much"),
    ("fsck", {"data": True, "sample": "0%"}, "--data --sample 0%"),
    ("repair", {}, ""),
    ("repair", {"data": True}, "--data"),
    ("repair", {"data": True, "to_last_whole": "dev"}, "--data --to-last-whole dev"),
    ("repair", {"to_last_whole": "dev"}, "--to-last-whole dev"),
    ("repair", {"to_last_whole": "dev", "dry_run": True}, "--to-last-whole dev --dry-run"),
    ("repair", {"to_last_whole": "nope"}, "--to-last-whole nope"),
    ("repair", {"from_copy": "/no/copy/here"}, "--from-copy /no/copy/here"),
    ("repair", {"dry_run": True}, "--dry-run"),
    (
        "repair",
        {"from_copy": "/no/copy", "to_last_whole": "dev"},
        "--from-copy /no/copy --to-last-whole dev",
    ),
]


def stocked() -> Warehouse:
    """A repository in which every verb finds something to do."""
    warehouse = Warehouse()
    repository, tables = warehouse.repository, Tables(warehouse)
    base = tables.entry([tables.block({1: "a", 2: "b"})], key=True)
    tables.put("main", t=base)
    warehouse.put(a="1", b="1")
    repository.create_tag("v1", warehouse.head(), author="ann")
    create_snapshot(repository, "shop.a", "s1", "main", author="ann")
    for name in ("dev", "free", "late", "other", "gone"):
        warehouse.branch(name)
    repository.delete_branch("gone", author="ann")
    warehouse.put("dev", c="1", message="On dev")
    for branch, text in (("main", "theirs"), ("late", "ours"), ("other", "others")):
        block = tables.block({1: text, 2: text})
        tables.put(branch, t=tables.entry([block], parents=[base], key=True))
    warehouse.put(a="2", message="On main")
    with pytest.raises(ConflictError):
        merge(repository, "main", "late", author="ann")
    warehouse.run("r1", Status.PASSED, d="1")
    warehouse.run("r2", Status.FAILED, e="1", note="model e failed")
    return warehouse


def by_command(warehouse: Warehouse, rules: Rules, verb: str, line: str) -> tuple[bool, str]:
    """Run the command; return whether it was refused, and what it said."""
    session = CommandSession(Settings())
    session.repository, session.rules = warehouse.repository, rules
    session.branch, session.author, session.target = "main", "bob", None
    done = CliRunner().invoke(main, [verb, *shlex.split(line)], obj=session)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    is_refused = done.exit_code != 0 and (verb, done.exit_code) != ("diff", 1)
    return is_refused, done.output.strip("\n")


def by_operation(
    warehouse: Warehouse, rules: Rules, verb: str, arguments: dict[str, Any]
) -> tuple[bool, str]:
    caller = Caller(repository=warehouse.repository, author="bob", branch="main", rules=rules)
    try:
        return False, "\n".join(prepare_operation(caller, verb, arguments)())
    except VcsError as error:
        return True, str(error)


def files(warehouse: Warehouse, *folders: str) -> dict[str, bytes]:
    return {
        blob.path: warehouse.blobs.get(blob.path)
        for folder in folders or ("refs", "objects", "data")
        for blob in warehouse.blobs.walk(folder)
    }


def test_every_verb_is_held_to_the_law() -> None:
    assert {verb for verb, _, _ in CASES} == set(OPERATIONS)


@pytest.mark.parametrize("rules", [Rules(), PROTECTED], ids=["free", "protected"])
@pytest.mark.parametrize(
    ("verb", "arguments", "line"), CASES, ids=[f"{verb} {line}".strip() for verb, _, line in CASES]
)
def test_command_and_operation_do_and_refuse_the_same(
    monkeypatch: pytest.MonkeyPatch, rules: Rules, verb: str, arguments: dict[str, Any], line: str
) -> None:
    def run(call: Callable[[Warehouse], tuple[bool, str]]) -> tuple[bool, str, dict[str, bytes]]:
        numbers = random.Random(7)
        monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=numbers.getrandbits(128)))
        warehouse = stocked()
        refused, said = call(warehouse)
        return refused, said, files(warehouse)

    command = run(lambda warehouse: by_command(warehouse, rules, verb, line))
    operation = run(lambda warehouse: by_operation(warehouse, rules, verb, arguments))
    assert operation[0] == command[0], (operation[1], command[1])
    assert operation[2] == command[2]
    if not command[1].startswith("Usage:") and "--" not in command[1]:
        assert operation[1] == command[1].replace("Error: ", "")


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("revert", {"revision": "main"}),
        ("cherry-pick", {"commits": "dev"}),
        ("restore", {"relation": "shop.a", "to": "s1"}),
        ("clone", {"source": "shop.a", "target": "shop.n"}),
        ("merge", {"source": "dev"}),
    ],
)
def test_an_operation_does_not_change_a_branch_that_the_project_protects(
    verb: str, arguments: dict[str, Any]
) -> None:
    warehouse = stocked()
    head = warehouse.head()
    refused, said = by_operation(warehouse, PROTECTED, verb, arguments)
    assert refused and "protected" in said
    assert warehouse.head() == head


@pytest.mark.parametrize("by", ["command", "operation"])
def test_a_purge_does_not_wait_for_itself_to_store_what_the_project_asks(by: str) -> None:
    warehouse = stocked()
    warehouse.repository.maintenance.patience = 0
    before, row = files(warehouse, "objects", "data"), {"relation": "shop.t", "where": "id = 1"}
    if by == "command":
        refused, said = by_command(warehouse, PROTECTED, "purge", "shop.t --where 'id = 1'")
    else:
        refused, said = by_operation(warehouse, PROTECTED, "purge", row)
    assert refused and "is protected" in said
    assert files(warehouse, "objects", "data") == before


@pytest.mark.parametrize(
    ("verb", "arguments", "is_refused"),
    [
        ("merge", {"source": "dev"}, True),
        ("merge", {"source": "dev", "target": "free"}, False),
        ("promote", {"source": "dev"}, False),
        ("promote", {"source": "dev", "target": "late"}, True),
        ("cherry-pick", {"commits": "dev"}, True),
        ("cherry-pick", {"commits": "dev", "branch": "free"}, False),
        ("restore", {"relation": "shop.a", "to": "s1"}, True),
        ("restore", {"all": True, "to": "v1"}, True),
        ("restore", {"all": True, "to": "v1", "branch": "dev"}, False),
    ],
)
def test_a_dry_run_refuses_what_the_rules_will_and_changes_nothing(
    verb: str, arguments: dict[str, Any], is_refused: bool
) -> None:
    warehouse = stocked()
    before = files(warehouse, "refs")
    dry, why = by_operation(warehouse, PROTECTED, verb, {**arguments, "dry_run": True})
    assert files(warehouse, "refs") == before
    refused, said = by_operation(warehouse, PROTECTED, verb, arguments)
    assert (dry, refused) == (is_refused, is_refused), (why, said)
    if is_refused:
        assert why == said


def test_an_operation_leaves_the_help_of_the_command_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warehouse = stocked()
    # Whichever door comes first makes the option, and the command keeps it.
    monkeypatch.setattr(log, "_help_option", None)
    assert not by_operation(warehouse, Rules(), "log", {})[0]
    refused, said = by_command(warehouse, Rules(), "log", "-h")
    assert not refused and "--repository" in said


@pytest.mark.parametrize("door", ["command", "operation"])
def test_a_compaction_puts_the_rules_of_the_project_on_the_branch(door: str) -> None:
    warehouse = stocked()
    if door == "command":
        refused, _ = by_command(warehouse, PROTECTED, "optimize", "--all")
    else:
        refused, _ = by_operation(warehouse, PROTECTED, "optimize", {"all": True})
    assert not refused
    assert warehouse.repository.branch("main").protection == Protection()


@pytest.mark.parametrize(
    ("text", "is_bound"),
    [
        ("select 1", False),
        ("show tables", False),
        ("insert into shop.a values (1)", True),
        ("select 1; drop table shop.a", True),
        ("insert into identifier('shop.a') values (1)", True),
    ],
)
def test_sql_that_may_change_a_branch_puts_the_rules_of_the_project_on_it(
    monkeypatch: pytest.MonkeyPatch, text: str, is_bound: bool
) -> None:
    class Client:
        """A client whose statements do nothing."""

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def sql(self, text: str) -> pa.Table:
            return pa.table({"x": [1]})

    monkeypatch.setattr("dbt.adapters.vcs.api.Client.on", lambda *_, **__: Client())
    monkeypatch.setenv("DBT_VCS_REPOSITORY", "memory")
    warehouse = stocked()
    refused, said = by_command(warehouse, PROTECTED, "sql", shlex.quote(text))
    assert not refused, said
    assert (warehouse.repository.branch("main").protection is not None) is is_bound
