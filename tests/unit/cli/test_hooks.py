"""Hooks of a project: which commands call them, for what, and what they are told."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from dbt.adapters.vcs.changes.merges.hook_rules import read_hooks
from dbt.adapters.vcs.changes.merges.project_rules import read_rules
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.cli.conftest import Call
from tests.unit.hooks.receiver import Receiver, receiving
from tests.unit.warehouse import Warehouse

PAGE = Path(__file__).parents[3] / "docs/hooks.md"
EVENTS = ("publish", "merge", "conflict", "fail")

Write = Callable[..., None]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a project with these rules, whose repository is the warehouse."""
    monkeypatch.delenv("DBT_VCS_EVENT", raising=False)
    (folder / "dbt_project.yml").write_text("{name: shop, profile: shop}")
    output = "{type: vcs, method: session, repository: ./warehouse, schema: shop}"
    (folder / "profiles.yml").write_text(f"shop: {{target: dev, outputs: {{dev: {output}}}}}")

    def write(hook: dict[str, Any] | None = None, **rules: Any) -> None:
        if hook is not None:
            rules["on"] = {event: [hook] for event in EVENTS}
        (folder / "vcs.yml").write_text(yaml.safe_dump(rules))

    return write


def schema() -> dict[str, Any]:
    """The schema of events in the documentation."""
    (text,) = re.findall(r"```json\n(\{\n  \"\$schema\".*?)```", PAGE.read_text(), re.DOTALL)
    found: dict[str, Any] = json.loads(text)
    return found


def checked(receiver: Receiver) -> list[dict[str, Any]]:
    """The events that arrived, which are as the documentation says, each once."""
    validator = jsonschema.Draft202012Validator(schema())
    for event in receiver.events:
        validator.validate(event)
    assert len({event["id"] for event in receiver.events}) == len(receiver.events)
    return receiver.events


def clash(warehouse: Warehouse) -> None:
    """Let main and dev change rows of one table differently."""
    warehouse.put(a=warehouse.table("x"))
    warehouse.branch("dev")
    warehouse.put("dev", a=warehouse.table("y"))
    warehouse.put(a=warehouse.table("z"))


def test_whatever_lands_is_one_event_with_the_versions_that_the_log_shows(
    call: Call, warehouse: Warehouse, write: Write, receiver: Receiver
) -> None:
    write({"url": receiver.url})
    warehouse.put(a="1")
    warehouse.branch("dev")
    warehouse.put("dev", b="1")
    call("merge", "dev", "main", "--dry-run")
    call("merge", "dev", "main")
    call("merge", "dev", "main")
    warehouse.put("dev", b="2", c="1")
    call("promote", "dev", "main", "--metadata", "ticket=1")
    warehouse.run("r1", Status.PASSED, d="1")
    call("merge", "runs/r1", "main")
    warehouse.run("r2", Status.PASSED, e="1")
    call("runs", "publish", "r2")
    call("revert", "main")
    call("revert", "main~1", "--branch", "dev")
    warehouse.put("dev", f="1")
    call("cherry-pick", "dev", "--dry-run")
    call("cherry-pick", "dev")
    call("restore", "--all", "--to", "main~1")
    call("restore", "--all", "--to", "main", "--dry-run")
    events = checked(receiver)
    told = [(event["type"], event["data"]["action"], event["data"]["source"]) for event in events]
    log = json.loads(call("log", "main", "--json").output)
    assert told == [
        ("merge", "merge", "dev"),
        ("merge", "promote", "dev"),
        ("publish", "publish", "runs/r1"),
        ("publish", "publish", "runs/r2"),
        ("merge", "revert", log[2]["parents"][0]),
        ("merge", "cherry-pick", "dev"),
        ("merge", "restore", "main~1"),
    ]
    first_parent = {entry["id"]: [*entry["parents"], None][0] for entry in log}
    shown = [log[0]["id"]]
    while shown[-1] is not None:
        shown.append(first_parent[shown[-1]])
    assert [event["data"]["after"] for event in events][::-1] == shown[:7]
    for event in events:
        data = event["data"]
        before, after = (warehouse.shown(data[side]) for side in ("before", "after"))
        versions = {item["name"]: (item["before"], item["after"]) for item in data["relations"]}
        assert data["relation_count"] == len(versions)
        assert versions == {
            name: (
                before[name].version if name in before else None,
                after[name].version if name in after else None,
            )
            for name in before.keys() | after.keys()
            if before.get(name) != after.get(name)
        }
    # Each begins where the last one ended, so a receiver sees that it missed none.
    ends = [(event["data"]["before"], event["data"]["after"]) for event in events]
    assert all(one[1] == other[0] for one, other in pairwise(ends))


def test_a_merge_that_stops_is_an_event_until_it_lands(
    call: Call, warehouse: Warehouse, write: Write, receiver: Receiver
) -> None:
    write({"url": receiver.url})
    clash(warehouse)
    call("merge", "dev", "main", "--dry-run", code=1)
    assert receiver.events == []
    call("merge", "dev", "main", code=1)
    call("merge", "--continue", "main", code=1)
    call("resolve", "--all", "--with", "theirs", "main")
    call("merge", "--continue", "main")
    first, second, third = checked(receiver)
    assert first["type"] == second["type"] == "conflict"
    assert first["data"]["waiting"] and second["data"]["waiting"]
    assert first["data"]["relations"] == [{"name": "shop.a", "conflicts": 10}]
    assert (third["type"], third["data"]["source"]) == ("merge", "dev")
    assert third["data"]["after"] == warehouse.head()


def test_a_refused_promotion_is_an_event(
    call: Call, warehouse: Warehouse, write: Write, receiver: Receiver
) -> None:
    write({"url": receiver.url}, branches={"main": {"protected": True, "require": ["tests"]}})
    warehouse.branch("dev")
    warehouse.put("dev", b="1")
    call("promote", "dev", "main", code=1)
    (event,) = checked(receiver)
    assert event["type"] == "conflict" and not event["data"]["waiting"]
    assert event["data"]["head"] == warehouse.head()


def test_no_row_is_told(
    call: Call, warehouse: Warehouse, write: Write, receiver: Receiver
) -> None:
    write({"url": receiver.url}, contracts={"shop.*": {"no_removed": True}})
    warehouse.put(a=warehouse.table("secretive"))
    warehouse.branch("dev")
    warehouse.put("dev", a=warehouse.table("other", rows=4))
    assert "id = 4" in call("merge", "dev", "main", code=1).output
    (event,) = checked(receiver)
    warehouse.put("dev", a=warehouse.table("secretive", "more"))
    call("merge", "dev", "main", "-m", "about secretive rows")
    assert not any(word in body for _, body in receiver.posts for word in (b"secretive", b"id = "))
    assert event["type"] == "conflict"


@pytest.mark.parametrize("name", ["a.b", "it's", "a\u202eb", "x; touch pwned", "$(touch pwned)"])
def test_odd_names_arrive_as_they_are(
    call: Call, warehouse: Warehouse, write: Write, receiver: Receiver, folder: Path, name: str
) -> None:
    writes = "import os, sys; open('told', 'w').write(os.environ['DBT_VCS_EVENT_SOURCE'])"
    shell = f'{sys.executable} -c "{writes}"'
    write(on={"merge": [{"url": receiver.url}, {"run": shell}]})
    warehouse.repository.create_branch(name, warehouse.head(), author="ann", check=False)
    warehouse.put(name, a="1")
    assert "failed" not in call("merge", name, "main").output
    (event,) = checked(receiver)
    assert event["data"]["source"] == name == (folder / "told").read_text()
    assert not (folder / "pwned").exists()


def test_hooks_run_once_everything_is_done_and_do_not_undo_it(
    call: Call, warehouse: Warehouse, write: Write, folder: Path
) -> None:
    shows = "from dbt.adapters.vcs.cli import main; main()"
    seen = [sys.executable, "-c", shows, "log", "main", "--json"]
    merges = [sys.executable, "-c", shows, "merge", "main", "copy"]
    write(
        on={
            "merge": [
                {"run": "echo no; exit 7", "branches": ["main"]},
                {"run": ["sh", "-c", '"$@" > log.json', "sh", *seen], "branches": ["main"]},
                {"run": merges, "branches": ["ma*"]},
                {"run": "touch again", "branches": ["copy"]},
            ]
        }
    )
    warehouse.branch("copy")
    warehouse.branch("dev")
    warehouse.put("dev", a="1")
    said = call("merge", "dev", "main").output
    assert "on.merge[1] (run) failed for merge of main: it ended with exit code 7: no." in said
    assert warehouse.head() == warehouse.head("dev") == warehouse.head("copy")
    assert json.loads((folder / "log.json").read_text())[0]["id"] == warehouse.head()
    # The merge that a hook made called none.
    assert not (folder / "again").exists()


def test_a_repository_by_itself_has_no_hooks(
    vcs: Call, warehouse: Warehouse, write: Write, receiver: Receiver
) -> None:
    write({"url": receiver.url})
    warehouse.branch("dev")
    warehouse.put("dev", a="1")
    vcs("merge", "dev", "main")
    assert receiver.events == []


def test_a_status_shows_the_hooks_of_a_branch(
    call: Call, warehouse: Warehouse, write: Write
) -> None:
    hooks = {"publish": [{"run": "true"}], "fail": [{"run": "true", "branches": ["mian"]}]}
    write(on=hooks)
    said = call("status").output
    assert re.search(r"^Hooks +called on publish$", said, re.MULTILINE)
    assert "on.fail[1].mian in vcs.yml matches no branch. Did you mean main?" in said


def test_hooks_are_read_from_the_file(tmp_path: Path) -> None:
    text = """
on:
  publish:
    - run: make refresh
    - run: [python, notify.py]
      timeout: 5
  fail:
    - url_env: ADDRESS
      secret_env: KEY
      branches: main
openlineage: true
"""
    (tmp_path / "vcs.yml").write_text(text)
    rules = read_rules(tmp_path).hooks
    assert [hook.place for hook in rules.hooks] == ["on.publish[1]", "on.publish[2]", "on.fail[1]"]
    assert [hook.run for hook in rules.hooks] == ["make refresh", ("python", "notify.py"), None]
    assert rules.hooks[1].timeout == 5 and rules.hooks[2].branches == ("main",)
    assert rules.openlineage and rules.folder == tmp_path


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"on": {"push": []}}, "Found 'push' in on in vcs.yml; expected one of publish, merge"),
        ({"on": {"merge": {"run": "x"}}}, "on.merge in vcs.yml is no list"),
        ({"on": {"merge": ["x"]}}, r"on.merge\[1\] in vcs.yml has no names"),
        ({"on": {"merge": [{"cmd": "x"}]}}, "Found 'cmd'"),
        ({"on": {"merge": [{"run": "x", "url": "http://x"}]}}, "Found run and url in"),
        ({"on": {"merge": [{"branches": ["x"]}]}}, "Found none in"),
        ({"on": {"merge": [{"run": ["x", 1]}]}}, "Put numbers in quotes"),
        ({"on": {"merge": [{"run": "x", "secret_env": "K"}]}}, "which signs posts"),
        ({"on": {"merge": [{"url": "ftp://x/SECRET"}]}}, "is no http or https address"),
        ({"on": {"merge": [{"url": "https://u:SECRET@x"}]}}, "a user or a password"),
        ({"on": {"merge": [{"url": 7}]}}, "is no text"),
        ({"on": {"merge": [{"url_env": "SE-CRET"}]}}, "url_env in .* is no name"),
        ({"on": {"merge": [{"run": "x", "timeout": 601}]}}, "expected seconds, at most 600"),
        ({"on": {"merge": [{"run": "x", "timeout": True}]}}, "expected seconds"),
        ({"on": {"merge": [{"run": "x", "branches": []}]}}, "expected a list of names"),
        ({"openlineage": "yes"}, "expected true or false"),
    ],
)
def test_what_is_not_understood_of_hooks_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read_hooks(given, Path("vcs.yml"))
    assert "SECRET" not in str(caught.value)
