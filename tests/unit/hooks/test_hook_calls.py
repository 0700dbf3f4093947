"""Calls of hooks: what arrives, what fails and what it says, and that nobody waits for long."""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.changes.merges.hook_rules import Hook, HookRules
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.hooks import hook_calls
from dbt.adapters.vcs.hooks.branch_event import BranchEvent, BranchMove
from dbt.adapters.vcs.hooks.hook_calls import HookQueue, call_hooks
from tests.unit.hooks.receiver import Receiver, receiving
from tests.unit.warehouse import Warehouse

EVENT = BranchEvent(
    type="publish",
    branch="main",
    at=Micros(1_795_000_000_000_000),
    data={"source": "runs/a", "before": "b" * 64, "after": "c" * 64},
    step="dbt-vcs show cccccccccccc",
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_calls, "_PAUSE", 0.01)
    monkeypatch.delenv("DBT_VCS_EVENT", raising=False)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def called(*hooks: dict[str, Any], folder: Path | None = None) -> list[str]:
    """Call hooks for the event, and return the warnings."""
    warned: list[str] = []
    rules = HookRules(
        hooks=tuple(
            Hook(event="publish", place=f"on.publish[{number}]", **hook)
            for number, hook in enumerate(hooks, 1)
        ),
        folder=folder or Path(),
    )
    call_hooks(rules, "publish", "main", lambda: EVENT, warned.append)
    return warned


def test_a_post_is_signed_and_can_be_told_from_a_replay(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "a plain key")
    monkeypatch.setenv("ENCODED", "whsec_" + base64.b64encode(b"\x00key").decode())
    hooks = [{"url": receiver.url, "secret_env": name} for name in ("KEY", "ENCODED")]
    assert called(*hooks, {"url": receiver.url}) == []
    assert receiver.is_signed(0, b"a plain key") and receiver.is_signed(1, b"\x00key")
    assert "webhook-signature" not in receiver.posts[2][0]
    assert {headers["webhook-id"] for headers, _ in receiver.posts} == {EVENT.id}
    assert abs(int(receiver.posts[0][0]["webhook-timestamp"]) - time.time()) < 60
    assert receiver.events[0] == json.loads(EVENT.payload)


def test_a_post_is_repeated_with_the_same_id_until_it_is_accepted(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "key")
    receiver.codes = [503, 429]
    assert called({"url": receiver.url, "secret_env": "KEY"}) == []
    assert len(receiver.posts) == 3
    assert len({headers["webhook-id"] for headers, _ in receiver.posts}) == 1
    assert all(receiver.is_signed(number, b"key") for number in range(3))


def test_a_post_is_not_repeated_for_ever(receiver: Receiver) -> None:
    receiver.codes = [500] * 100
    (warning,) = called({"url": receiver.url})
    assert "it answered 500. " in warning and "dbt-vcs show cccccccccccc" in warning
    assert "on.publish[1] (127.0.0.1)" in warning
    assert len(receiver.posts) == hook_calls.TRIES


def test_a_refused_post_is_not_repeated(receiver: Receiver) -> None:
    receiver.codes = [403]
    (warning,) = called({"url": receiver.url})
    assert "it answered 403" in warning and len(receiver.posts) == 1


@pytest.mark.parametrize("code", [302, 307, 308])
def test_a_redirect_is_not_followed(receiver: Receiver, code: int) -> None:
    receiver.codes = [code]
    (warning,) = called({"url": receiver.url})
    assert f"it answered {code}, and redirects are not followed" in warning
    assert len(receiver.posts) == 1


def test_a_receiver_that_answers_byte_by_byte_holds_nobody_up(receiver: Receiver) -> None:
    receiver.hangs = True
    began = time.monotonic()
    (warning,) = called({"url": receiver.url, "timeout": 0.5})
    assert "no answer within 0." in warning
    assert time.monotonic() - began < 3


def test_nobody_at_the_address_is_a_warning() -> None:
    (warning,) = called({"url": "http://127.0.0.1:9/x"})
    assert "it can't be reached (Connection refused)" in warning


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "is not set"),
        ("ftp://example.org/T0KEN", "no http or https address"),
        ("http://127.0.0.1:99999/T0KEN", "no address"),
        ("http://127.0.0.1:9/T0KEN\x01", "it can't be reached (InvalidURL)"),
        ("http://127.0.0.1:9/T0KEN\N{SNOWMAN}", "it can't be reached (UnicodeEncodeError)"),
    ],
)
def test_an_address_that_is_a_secret_is_never_repeated(
    monkeypatch: pytest.MonkeyPatch, value: str, said: str
) -> None:
    monkeypatch.setenv("ADDRESS", value)
    (warning,) = called({"url_env": "ADDRESS"})
    assert said in warning and "($ADDRESS)" in warning
    assert "T0KEN" not in warning


@pytest.mark.parametrize(
    ("value", "said"), [("", "KEY is not set"), ("whsec_!!", "KEY has no base64 after whsec_")]
)
def test_nothing_is_posted_without_the_signature(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, value: str, said: str
) -> None:
    monkeypatch.setenv("KEY", value)
    (warning,) = called({"url": receiver.url, "secret_env": "KEY"})
    assert said in warning and "!!" not in warning
    assert receiver.posts == []


def test_a_command_gets_the_event(tmp_path: Path) -> None:
    script = "import json, os, sys; print(json.dumps([json.load(sys.stdin), dict(os.environ)]))"
    (tmp_path / "script.py").write_text(script)
    shell = f"{sys.executable} script.py > by_shell.json"
    words = (
        sys.executable,
        "-c",
        f"import sys; sys.stdout = open('by_words.json', 'w'); {script}",
    )
    assert called({"run": shell}, {"run": words}, folder=tmp_path) == []
    for name in ("by_shell.json", "by_words.json"):
        event, variables = json.loads((tmp_path / name).read_text())
        assert event == json.loads(EVENT.payload)
        shown = {key: variables[key] for key in variables if key.startswith("DBT_VCS_EVENT")}
        assert shown == {
            "DBT_VCS_EVENT": "publish",
            "DBT_VCS_EVENT_ID": EVENT.id,
            "DBT_VCS_EVENT_BRANCH": "main",
            "DBT_VCS_EVENT_SOURCE": "runs/a",
            "DBT_VCS_EVENT_BEFORE": "b" * 64,
            "DBT_VCS_EVENT_AFTER": "c" * 64,
        }


def test_a_command_that_fails_shows_its_last_line() -> None:
    (warning,) = called({"run": "echo first; printf 'no \\033[31mroute\\n\\n'; exit 3"})
    assert "on.publish[1] (run) failed for publish of main: " in warning
    assert "it ended with exit code 3: no \N{REPLACEMENT CHARACTER}[31mroute. " in warning


def test_a_command_that_is_missing_is_a_warning() -> None:
    (warning,) = called({"run": ("/no/such/program", "SECRET")})
    assert "(program)" in warning and "it can't be started (No such file" in warning
    assert "SECRET" not in warning


def test_a_hook_that_fails_does_not_keep_the_next_one_from_being_called(tmp_path: Path) -> None:
    assert len(called({"run": "exit 1"}, {"run": "touch done"}, folder=tmp_path)) == 1
    assert (tmp_path / "done").exists()


def test_a_command_that_takes_too_long_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    began = time.monotonic()
    (warning,) = called(
        {"run": "echo begun; (sleep 2; touch late) & sleep 30", "timeout": 0.5}, folder=tmp_path
    )
    assert "it was stopped after 0.5 seconds: begun. " in warning
    assert time.monotonic() - began < 5
    time.sleep(2.2)
    assert not (tmp_path / "late").exists()


def test_a_process_that_is_left_behind_holds_nobody_up() -> None:
    began = time.monotonic()
    assert called({"run": "sleep 5 &"}) == []
    assert time.monotonic() - began < 3


def test_hooks_of_one_event_share_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_calls, "MOST_SECONDS", 0.3)
    first, second = called({"run": "sleep 9"}, {"run": "true"})
    assert "it was stopped" in first and "the hooks before it took" in second


def test_ctrl_c_stops_the_hook_and_says_which_did_not_end() -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    warned: list[str] = []
    hooks = tuple(
        Hook(event="publish", place=f"on.publish[{number}]", run="sleep 30") for number in (1, 2)
    )
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        call_hooks(HookRules(hooks=hooks), "publish", "main", lambda: EVENT, warned.append)
    assert time.monotonic() - began < 5
    assert warned == [
        "Interrupted. Hooks for publish of main that did not end: on.publish[1], on.publish[2]."
    ]


def test_a_command_of_a_hook_calls_no_hooks(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBT_VCS_EVENT", "publish")
    (warning,) = called({"url": receiver.url})
    assert "a hook called this command" in warning
    assert receiver.posts == []


def test_an_event_that_can_not_be_made_is_a_warning() -> None:
    def make() -> BranchEvent:
        raise DamagedError("The commit is damaged.")

    def fail() -> BranchEvent:
        raise KeyError("x")

    hook = Hook(event="publish", place="on.publish[1]", run="exit 1")
    warned: list[str] = []
    for event in (make, fail):
        call_hooks(HookRules(hooks=(hook,)), "publish", "main", event, warned.append)
    assert warned == [
        "The hooks for publish of main are not called: The commit is damaged.",
        "The hooks for publish of main are not called: KeyError: 'x'",
    ]


def test_a_machine_without_room_for_a_hook_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hook_calls, "TemporaryFile", full)
    (warning,) = called({"run": "true"})
    assert "failed for publish of main: No space left on device. " in warning


def test_hooks_are_for_their_branches_and_events() -> None:
    made: list[BranchEvent] = []

    def make() -> BranchEvent:
        made.append(EVENT)
        return EVENT

    hook = Hook(event="publish", place="on.publish[1]", run="exit 0", branches=("rel/*", "main"))
    for kind, branch in [("publish", "Main"), ("merge", "main"), ("publish", "rel/1")]:
        call_hooks(HookRules(hooks=(hook,)), kind, branch, make, pytest.fail)
        assert bool(made) == (branch == "rel/1")


def test_what_lands_on_a_shared_run_is_no_event_before_that_is_published(tmp_path: Path) -> None:
    warehouse = Warehouse()
    before = warehouse.head()
    after = warehouse.put(a="1")
    hook = Hook(event="publish", place="on.publish[1]", run="echo $DBT_VCS_EVENT_BRANCH >> told")
    queue = HookQueue(HookRules(hooks=(hook,), folder=tmp_path), pytest.fail)
    for branch in ("runs/shared", "main"):
        queue.add(
            BranchMove(
                repository=warehouse.repository,
                branch=branch,
                before=before,
                after=after,
                source="runs/1",
                action="publish",
            )
        )
    queue.call()
    queue.call()
    assert (tmp_path / "told").read_text() == "main\n"
