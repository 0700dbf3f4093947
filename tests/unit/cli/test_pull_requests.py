"""`dbt-vcs pr`: what becomes of the data of a pull request, step by step."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.vcs.commands import pr_hosts
from dbt.adapters.vcs.commands.branch import protect_branch
from dbt.adapters.vcs.commands.pr_hosts import host_of
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.workspace.run_branch import Status
from tests.unit.cli.code_host import CodeHost, code_host
from tests.unit.cli.conftest import Call
from tests.unit.cli.steps import steps_in
from tests.unit.warehouse import SECOND, Clock, Warehouse

SECRET = "ghs_0123456789secret"
PROFILE = """
shop:
  target: none
  outputs:
    none: {type: duckdb}
    'c i': {type: vcs, schema: shop, repository: warehouse,
            branch: "{{ env_var('WAREHOUSE_BRANCH', 'dev') }}"}
"""
Event = Callable[..., None]

one_host = pytest.mark.parametrize("kind", ["github"], indirect=True)
"""For what is the same whichever host it is; the others try how each of them is spoken to."""


@pytest.fixture
def warehouse(folder: Path) -> Warehouse:
    clock = Clock()
    clock.now = int((time.time() - 3600) * 1_000_000)
    made = Warehouse(open_blobs(str(folder / "warehouse"), {"fsync": "false"}), clock)
    made.put(a="1", b="1")
    return made


@pytest.fixture
def host() -> Iterator[CodeHost]:
    with code_host() as running:
        yield running


@pytest.fixture(params=["github", "gitlab"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited for the host; nobody waits."""
    found: list[float] = []
    # Only there: other threads of this process sleep as well.
    waiting = SimpleNamespace(**{**vars(time), "sleep": found.append})
    monkeypatch.setattr(pr_hosts, "time", waiting)
    return found


@pytest.fixture
def event(
    kind: str, host: CodeHost, folder: Path, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> Event:
    """A job for the head of the code that the host has."""
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (folder / "profiles.yml").write_text(PROFILE)
    (folder / "target").mkdir()
    (folder / "target/manifest.json").write_text("{}")
    prefix = {"github": "pr/", "gitlab": "mr/"}[kind]
    monkeypatch.setenv("WAREHOUSE_BRANCH", f"{prefix}12")
    for name in ("GITHUB_ACTIONS", "GITLAB_CI", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)

    def begin(code: str = "a" * 40) -> None:
        host.code = code
        if kind == "gitlab":
            given = {
                "GITLAB_CI": "true",
                "CI_MERGE_REQUEST_IID": "12",
                "CI_MERGE_REQUEST_PROJECT_ID": "7",
                "CI_COMMIT_SHA": code,
                "CI_API_V4_URL": host.url,
                "CI_JOB_URL": "https://host.example/jobs/5",
                "GITLAB_TOKEN": SECRET,
            }
        else:
            told = {"pull_request": {"number": 12, "head": {"sha": code}}}
            (folder / "event.json").write_text(json.dumps(told))
            given = {
                "GITHUB_ACTIONS": "true",
                "GITHUB_EVENT_NAME": "pull_request",
                "GITHUB_EVENT_PATH": str(folder / "event.json"),
                "GITHUB_REPOSITORY": "acme/shop",
                "GITHUB_API_URL": host.url,
                "GITHUB_GRAPHQL_URL": f"{host.url}/graphql",
                "GITHUB_SERVER_URL": "https://host.example",
                "GITHUB_RUN_ID": "5",
                "GITHUB_TOKEN": SECRET,
                "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            }
        for name, value in given.items():
            monkeypatch.setenv(name, value)

    begin()
    return begin


@pytest.fixture
def name(kind: str) -> str:
    return {"github": "pr/12", "gitlab": "mr/12"}[kind]


@pytest.fixture
def pr(event: Event, call: Call, warehouse: Warehouse) -> Call:
    """Run a step; whatever it says, the token is not in it."""

    def step(*words: str, code: int = 0) -> object:
        result = call("pr", *words, "--target", "c i", code=code)
        assert SECRET not in result.output
        return result

    return step  # type: ignore[return-value]


def commands_in(text: str, *verbs: str) -> list[str]:
    """The lines that are commands, of these verbs if some are given."""
    found = [line for line in text.splitlines() if line.startswith("dbt-vcs ")]
    return [line for line in found if not verbs or set(verbs) & set(shlex.split(line))]


def built(pr: Call, warehouse: Warehouse, name: str, **tables: str) -> None:
    """Begin, build these tables, and review."""
    pr("begin")
    warehouse.put(name, **tables)
    pr("report")


def test_a_pull_request_from_its_first_build_to_its_end(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str, folder: Path
) -> None:
    before = warehouse.head()
    assert f"{name} starts at {before[:12]}" in pr("begin").output
    warehouse.put(name, a="2")
    pr("report")
    [text] = host.texts("review")
    assert "**Can be merged**" in text
    assert "--target &#39;c i&#39;" in text or "--target 'c i'" in text
    assert (folder / "review/review.html").stat().st_size > 10_000
    assert (folder / "review/review.md").read_text().strip() in text
    assert warehouse.head() == before
    said = pr("promote").output
    assert warehouse.shown()["shop.a"] == warehouse.shown(name)["shop.a"]
    [told] = host.texts("data")
    [undo] = commands_in(told, "revert")
    assert shlex.split(undo)[1:3] == ["--target", "c i"]
    assert "undo it" in said
    host.state = "merged"
    assert f"Deleted {name}." in pr("close").output
    assert warehouse.repository.find_branch(name) is None
    assert host.tokens == {SECRET}
    # Again, since jobs are run again.
    assert f"There is no {name}." in pr("close").output


def test_a_comment_is_edited_in_place_among_many_and_only_ones_own(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str
) -> None:
    spoof = f"<!-- dbt-vcs review {name} -->\nAll is fine"
    for number in range(130):
        host.add("stranger", spoof if number % 50 == 0 else "hello")
    host.add("stranger", f"> <!-- dbt-vcs review {name} -->")
    built(pr, warehouse, name, a="2")
    assert len(host.comments) == 132
    [first] = host.texts("review")
    built(pr, warehouse, name, a="3")
    [second] = host.texts("review")
    assert first != second
    assert len(host.comments) == 132
    assert sum(item["text"] == spoof for item in host.comments) == 3


@one_host
def test_two_pull_requests_and_two_projects_have_their_own(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(pr, warehouse, name, a="2")
    monkeypatch.setenv("WAREHOUSE_BRANCH", "tax/12")
    pr("begin", "--prefix", "tax/")
    warehouse.put("tax/12", b="2")
    pr("report", "--prefix", "tax/")
    assert len(host.texts("review")) == 2
    pr("promote", "--prefix", "tax/")
    pr("promote")
    assert warehouse.shown()["shop.a"] == warehouse.shown(name)["shop.a"]
    assert warehouse.shown()["shop.b"] == warehouse.shown("tax/12")["shop.b"]


@one_host
@pytest.mark.parametrize("branch", ["main", "dev"])
def test_a_build_that_would_touch_another_branch_is_refused(
    pr: Call, warehouse: Warehouse, name: str, branch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAREHOUSE_BRANCH", branch)
    said = pr("begin", code=2).stderr
    assert f"The profile's branch is {branch!r}; expected {name!r}" in said
    assert warehouse.repository.find_branch(name) is None


@one_host
def test_the_same_code_again_keeps_its_approval_and_other_code_starts_again(
    pr: Call, call: Call, event: Event, warehouse: Warehouse, host: CodeHost, name: str
) -> None:
    protect_branch(warehouse.repository, "main", Protection(("approval",)), author="ann")
    built(pr, warehouse, name, a="2")
    [text] = host.texts("review")
    [step] = commands_in(text, "approve")
    assert "requires an approval" in pr("promote", code=1).stderr
    call(*shlex.split(step)[1:])
    # The job runs again, and builds nothing new.
    pr("begin")
    pr("report")
    assert "Approved by" in host.texts("review")[0]
    # A push with force: other code, which starts from what main shows.
    event("b" * 40)
    said = pr("begin").output
    assert "starts again at main" in said
    [step] = steps_in(said)
    call(*shlex.split(step)[1:])
    assert warehouse.head(name) == warehouse.head()
    warehouse.put(name, b="2")
    assert "has not been reviewed" in pr("promote", code=1).stderr
    pr("report")
    assert "requires an approval" in pr("promote", code=1).stderr
    assert warehouse.shown()["shop.a"] == warehouse.shown(name)["shop.a"]


def test_only_what_was_reviewed_of_this_code_is_promoted(
    pr: Call, event: Event, warehouse: Warehouse, host: CodeHost, name: str
) -> None:
    built(pr, warehouse, name, a="2")
    before = warehouse.head()
    # The head of the code moved while the job waited.
    host.code = "c" * 40
    assert "by now" in pr("promote", code=1).stderr
    event("b" * 40)
    assert "was reviewed for the code aaa" in pr("promote", code=1).stderr
    event()
    warehouse.put(name, b="3")
    assert "has not been reviewed" in pr("promote", code=1).stderr
    host.state = "closed"
    pr("report")
    assert "is closed" in pr("promote", code=1).stderr
    assert warehouse.head() == before


@one_host
def test_a_failed_build_says_which_nodes_and_shows_what_there_is(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str, folder: Path
) -> None:
    pr("begin")
    warehouse.clock.now = int(time.time() * 1_000_000) - SECOND
    warehouse.run("run-1", Status.FAILED, target=name, note="model.shop.b failed", a="2")
    results = [
        {"unique_id": "model.shop.a", "status": "success", "message": "OK"},
        {"unique_id": "model.shop.b", "status": "error", "message": "row 'ann@example.com'"},
        {"unique_id": "test.shop.c@team", "status": "skipped", "message": None},
    ]
    file = folder / "target/run_results.json"
    file.write_text(json.dumps({"metadata": {"invocation_id": "run-1"}, "results": results}))
    pr("report", "--outcome", "failure")
    [text] = host.texts("review")
    assert "The build ended with <code>failure</code>" in text
    assert "<code>model&#46;shop&#46;b</code>: <code>error</code>" in text
    assert "@team" not in text
    assert "example" not in text.replace("host.example", "")
    assert "https://host.example" in text
    assert "shop&#46;a" in text
    assert "has not been reviewed" in pr("promote", code=1).stderr
    # Another invocation has written the results since: they are not of this build.
    file.write_text(json.dumps({"metadata": {"invocation_id": "run-2"}, "results": results}))
    pr("report", "--outcome", "failure")
    assert "No node is known" in host.texts("review")[0]
    # A part of the build was published, as `publish: always` wants it.
    found = warehouse.run("run-4", Status.PUBLISHED, target=name)
    results[1]["status"] = "fail"
    file.write_text(
        json.dumps({"metadata": {"invocation_id": found.invocation}, "results": results})
    )
    pr("report", "--outcome", "failure")
    assert "shop&#46;b</code>: <code>fail</code>" in host.texts("review")[0]
    assert "has not been reviewed" in pr("promote", code=1).stderr
    # The next build is not held to it.
    pr("begin")
    warehouse.run("run-3", Status.PUBLISHED, target=name)
    warehouse.put(name, a="3")
    pr("report")
    [text] = host.texts("review")
    assert "run-1" not in text
    assert "**Can be merged**" in text
    pr("promote")


@one_host
def test_a_build_that_failed_before_it_began_has_a_comment_too(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str
) -> None:
    pr("report", "--outcome", "skipped")
    [text] = host.texts("review")
    assert "The build ended with <code>skipped</code>" in text
    assert "Nothing was built" in text


@one_host
def test_columns_stay_out_also_after_a_build_that_failed(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str, folder: Path
) -> None:
    column = {"name": "v", "meta": {"vcs": {"review": "hide"}}}
    node = {"name": "a", "schema": "shop", "columns": {"v": column}}
    target = folder / "out"
    target.mkdir()
    (target / "manifest.json").write_text(json.dumps({"nodes": {"model.shop.a": node}}))
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\ntarget-path: out\n")
    pr("begin")
    warehouse.put(name, a="tell-no-one")
    pr("report")
    page = folder / "review/review.html"
    assert "tell-no-one" not in host.texts("review")[0].replace("&#45;", "-") + page.read_text()
    # The same job again, and dbt does not even write what stays out.
    (target / "manifest.json").unlink()
    pr("begin")
    page.unlink()
    pr("report", "--outcome", "failure")
    assert "Nothing was built" in host.texts("review")[0]
    assert not page.exists()
    # What was reviewed before doesn't count any more.
    assert "has not been reviewed" in pr("promote", code=1).stderr


@one_host
def test_nothing_is_shown_where_it_is_not_known_which_columns_stay_out(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str, folder: Path
) -> None:
    pr("begin")
    warehouse.put(name, a="tell-no-one")
    # As after `dbt build --target-path elsewhere`.
    (folder / "target/manifest.json").unlink()
    assert "which columns stay out" in pr("report", code=2).stderr
    [text] = host.texts("review")
    assert "The review failed" in text
    assert "tell" not in text
    assert not (folder / "review/review.html").exists()


@one_host
def test_a_job_that_is_late_reviews_nothing_for_others(
    pr: Call, event: Event, warehouse: Warehouse, host: CodeHost, name: str
) -> None:
    pr("begin")
    event("b" * 40)
    pr("begin")
    event("a" * 40)
    warehouse.put(name, a="2")
    assert "A build of other code began" in pr("report", code=2).stderr
    event("b" * 40)
    assert "has not been reviewed" in pr("promote", code=1).stderr


@one_host
def test_a_comment_has_the_size_that_hosts_take(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str, folder: Path
) -> None:
    pr("begin")
    warehouse.clock.now = int(time.time() * 1_000_000) - SECOND
    tables: dict[str, Any] = {f"table_{number}": "1" for number in range(150)}
    warehouse.run("run-1", Status.FAILED, target=name, note="`" * 500, **tables)
    results = [{"unique_id": f"test.{'_' * 400}.{n}", "status": "error"} for n in range(90)]
    told = {"metadata": {"invocation_id": "run-1"}, "results": results}
    (folder / "target/run_results.json").write_text(json.dumps(told))
    pr("report", "--outcome", "failure")
    [text] = host.texts("review")
    assert "and 70 more" in text
    assert "Reproduce" in text
    assert 30_000 < len(text) < 65_536


@one_host
@pytest.mark.parametrize("is_skewed", [False, True])
def test_a_build_that_waits_can_be_published_as_the_comment_says(
    pr: Call, call: Call, warehouse: Warehouse, host: CodeHost, name: str, is_skewed: bool
) -> None:
    pr("begin")
    warehouse.clock.now = int(time.time() * 1_000_000) - (1 + is_skewed * 600) * SECOND
    warehouse.run("p1", Status.PASSED, target=name, a="2")
    pr("report")
    text = host.texts("review")[0].replace("&#46;", ".").replace("&#39;", "'")
    assert "waits to be published" in text
    [step] = re.findall("<code>dbt-vcs (.*? runs publish .*?)</code>", text)
    assert "has not been reviewed" in pr("promote", code=1).stderr
    call(*shlex.split(step))
    pr("report")
    pr("promote")


@one_host
def test_conflicts_are_resolved_by_the_steps_of_the_comment(
    pr: Call, call: Call, warehouse: Warehouse, host: CodeHost, name: str
) -> None:
    built(pr, warehouse, name, a="2")
    warehouse.put(a="3")
    # Nothing is left waiting on main, where it would be in the way.
    assert "changed the same" in pr("promote", code=1).stderr
    assert warehouse.repository.find_branch("merges/main") is None
    pr("report")
    [text] = host.texts("review")
    merge, show, choose, finish = commands_in(text)[-4:]
    call(*shlex.split(merge)[1:], code=1)
    said = pr("begin", code=1).stderr
    assert "is waiting for its conflicts" in said
    for step in steps_in(said):
        call(*shlex.split(step)[1:])
    # The last one gave the merge up.
    call(*shlex.split(merge)[1:], code=1)
    for step in (show, choose, finish):
        call(*shlex.split(step)[1:])
    # The job again: what was chosen stays.
    pr("begin")
    pr("report")
    assert "**Can be merged**" in host.texts("review")[0]
    pr("promote")


@one_host
@pytest.mark.parametrize("is_protected", [False, True])
def test_data_whose_code_is_not_merged_is_undone_as_it_says(
    pr: Call, call: Call, warehouse: Warehouse, host: CodeHost, name: str, is_protected: bool
) -> None:
    if is_protected:
        protect_branch(warehouse.repository, "main", Protection(("approval",)), author="ann")
    before = warehouse.rows("a")
    built(pr, warehouse, name, a="2")
    for step in commands_in(host.texts("review")[0], "approve"):
        call(*shlex.split(step)[1:])
    pr("promote")
    assert warehouse.rows("a") != before
    host.state = "closed"
    assert "was not merged, but its data was promoted" in pr("close", code=1).output
    assert warehouse.repository.find_branch(name) is None
    [told] = host.texts("data")
    steps = commands_in(told)
    assert len(steps) == (4 if is_protected else 1)
    for step in steps:
        call(*shlex.split(step)[1:])
    assert warehouse.rows("a") == before
    # It is settled, and says so no more.
    assert "promoted" not in pr("close").output


@one_host
def test_what_was_promoted_and_reverted_is_not_taken_for_published(
    pr: Call, call: Call, warehouse: Warehouse, host: CodeHost, name: str
) -> None:
    built(pr, warehouse, name, a="2")
    pr("promote")
    assert "has everything" in pr("promote").output
    call("revert", "main", "--branch", "main", "--target", "c i")
    assert "reverted since" in pr("promote", code=1).stderr
    built(pr, warehouse, name, a="2")
    pr("promote")
    assert warehouse.rows("a") == warehouse.rows("a", name)


@one_host
def test_what_was_undone_before_a_purge_is_not_undone_again(
    pr: Call, call: Call, warehouse: Warehouse, host: CodeHost, name: str
) -> None:
    built(pr, warehouse, name, a="2")
    pr("promote")
    call("revert", "main", "--branch", "main", "--target", "c i")
    promoted = warehouse.repository.resolve("main~1")
    call("purge", "shop.a", "--where", "id = 3", "--target", "c i")
    assert warehouse.repository.resolve("main~1") != promoted
    host.state = "closed"
    assert "promoted" not in pr("close").output


@one_host
def test_closing_keeps_data_whose_code_was_merged_without_it(
    pr: Call, call: Call, warehouse: Warehouse, host: CodeHost, name: str
) -> None:
    built(pr, warehouse, name, a="2")
    assert "is open" in pr("close", code=1).stderr
    host.state = "merged"
    said = pr("close", code=1).output
    steps = commands_in(said)
    assert len(steps) == 2
    for step in steps:
        call(*shlex.split(step)[1:])
    assert warehouse.repository.find_branch(name) is None


def test_closing_takes_runs_and_waiting_merges_along(
    pr: Call, call: Call, warehouse: Warehouse, host: CodeHost, name: str
) -> None:
    built(pr, warehouse, name, a="2")
    warehouse.run("run-1", Status.FAILED, target=name, b="2")
    warehouse.run("p1", Status.PUBLISHED, target=name)
    warehouse.put(a="3")
    call("merge", "main", name, "--target", "c i", code=1)
    host.state = "closed"
    pr("close")
    left = {branch.name for branch in warehouse.repository.branches()}
    assert left == {"main", "runs/p1"}


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_token_that_may_not_comment_is_a_warning(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str, status: int, folder: Path, kind: str
) -> None:
    pr("begin")
    warehouse.put(name, a="2")
    host.failing = [("POST", status, {}), ("POST", status, {})]
    said = pr("report").stderr
    assert "There is no comment" in said
    assert str(status) in said
    assert "fork" in said
    assert not host.comments
    assert "Review of" in (folder / "review/review.md").read_text()
    if kind == "github":
        assert "Review of" in (folder / "summary.md").read_text()


def test_a_host_that_fails_is_asked_again_and_gets_one_comment(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str, waits: list[float], kind: str
) -> None:
    pr("begin")
    warehouse.put(name, a="2")
    limit = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + 20)}
    host.failing = [("GET", 502, {}), ("GET", 403, limit), ("GET", 429, {"retry-after": "9999"})]
    if kind == "gitlab":
        # It did what was asked, and failed to say so.
        host.failing.append(("POST", 500, {"x-done": "yes"}))
    pr("report")
    assert len(host.texts("review")) == 1
    assert waits[0] == 1
    assert 1 <= waits[1] <= 20
    assert waits[2] == 60
    host.failing = [("GET", 503, {})] * 20
    assert "503" in pr("report").stderr
    assert len(waits) < 10


def test_without_the_host_nothing_is_promoted_or_deleted(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str, kind: str
) -> None:
    built(pr, warehouse, name, a="2")
    before = warehouse.head()
    for step in ("promote", "close"):
        host.failing = [("GET", 404, {})]
        said = pr(step, code=2).stderr
        assert "404" in said
        assert {"github": "pull-requests: write", "gitlab": "GITLAB_TOKEN"}[kind] in said
    assert warehouse.head() == before
    assert warehouse.repository.find_branch(name) is not None


def test_a_redirect_gets_no_token(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str
) -> None:
    pr("begin")
    with code_host() as other:
        host.failing = [(method, 302, {"location": other.url}) for method in ("GET", "POST")]
        assert "302" in pr("report").stderr
        assert not other.seen


def test_a_token_that_was_pasted_with_a_line_break_works_and_is_not_shown(
    pr: Call,
    warehouse: Warehouse,
    host: CodeHost,
    name: str,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    variable = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN"}[kind]
    monkeypatch.setenv(variable, f"{SECRET}\r\n")
    built(pr, warehouse, name, a="2")
    assert host.tokens == {SECRET}
    monkeypatch.setenv(variable, f"{SECRET}\n{SECRET}")
    assert "character that no token has" in pr("report").stderr


@one_host
def test_damage_leaves_no_comment_that_is_out_of_date(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str, folder: Path
) -> None:
    built(pr, warehouse, name, a="2")
    (folder / "warehouse").rename(folder / "elsewhere")
    pr("report", code=1)
    [text] = host.texts("review")
    assert "can't be read" in text


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({}, "neither GITHUB_ACTIONS nor GITLAB_CI"),
        ({"GITLAB_CI": "true"}, "CI_MERGE_REQUEST_IID"),
        ({"GITHUB_ACTIONS": "true"}, "GITHUB_EVENT_PATH"),
        (
            {
                "GITHUB_ACTIONS": "true",
                "GITHUB_EVENT_NAME": "pull_request_target",
                "GITHUB_EVENT_PATH": "event.json",
            },
            "strangers would see the secrets",
        ),
    ],
)
def test_a_job_that_is_not_for_a_pull_request_is_refused(
    env: dict[str, str], message: str, folder: Path
) -> None:
    (folder / "event.json").write_text("{}")
    with pytest.raises(InputError, match=message):
        host_of(env)


@one_host
def test_a_merge_queue_promotes_the_pull_request_that_it_is_about_to_merge(
    pr: Call,
    warehouse: Warehouse,
    host: CodeHost,
    name: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built(pr, warehouse, name, a="2")
    ref = f"refs/heads/gh-readonly-queue/main/pr-12-{'d' * 40}"
    told = {"merge_group": {"head_ref": ref, "head_sha": "e" * 40}}
    (folder / "event.json").write_text(json.dumps(told))
    monkeypatch.setenv("GITHUB_EVENT_NAME", "merge_group")
    monkeypatch.delenv("WAREHOUSE_BRANCH")
    assert "Promoted pr/12 to main" in pr("promote").output


@pytest.mark.parametrize("kind", ["gitlab"], indirect=True)
def test_a_merge_train_promotes_what_was_reviewed_of_the_source_branch(
    pr: Call, warehouse: Warehouse, host: CodeHost, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(pr, warehouse, name, a="2")
    monkeypatch.setenv("CI_COMMIT_SHA", "d" * 40)
    monkeypatch.setenv("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", host.code)
    assert "Promoted mr/12 to main" in pr("promote").output
