"""Hosts of pull requests, GitHub and GitLab: which one a CI job is for, and its comments.

Only what a job's environment names is called: the address of the API comes from the host itself,
so servers of one's own work too. Tokens go into one header, which no redirect is followed with,
and into no message.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from dbt.adapters.vcs.core.errors import InputError, VcsError

State: TypeAlias = Literal["open", "merged", "closed"]

_ATTEMPTS: Final = 5
_SECONDS: Final = 30.0
"""Seconds that the host may take to answer."""

_WAIT: Final = 60.0
"""Seconds to wait at most before the next attempt, whatever the host asks for."""

_PAGE: Final = 100
_PAGES: Final = 100
_BYTES: Final = 64 * 1024 * 1024


class HostError(VcsError):
    """The host of a pull request refused or failed: check the token, or try again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request as its host has it now.

    Attributes:
        code: The newest commit of its code.
        state: What became of it.
    """

    code: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment on a pull request.

    Attributes:
        id: The host's number of it.
        text: Its Markdown.
    """

    id: int
    author: str
    text: str


class Host(Protocol):
    """What a CI job knows of its pull request, and the host's API.

    Attributes:
        code: The commit of the code that the job is for; None where only the API knows it.
        prefix: How branches of data begin by default.
        page: Address of the job for people; empty if not known.
        hint: Why a token may not do what was asked.
    """

    number: int
    code: str | None
    prefix: str
    page: str
    hint: str

    def pull_request(self) -> PullRequest:
        """Return the pull request as it is now.

        Raises:
            HostError: The host refused or failed.
        """

    def comments(self) -> Iterator[Comment]:
        """Yield its comments, the oldest first; raises `HostError`."""

    def own_name(self) -> str:
        """Return whom the token belongs to; raises `HostError`."""

    def write(self, text: str, id: int | None) -> None:
        """Create a comment, or replace the text of the one with an id; raises `HostError`."""


def put_comment(host: Host, key: str, text: str) -> None:
    """Create this program's comment of a key, or edit it in place.

    It is found by a hidden marker, and only among the token's own comments: anybody can write the
    marker, and later change what is edited into their comment.

    Raises:
        HostError: The host refused or failed.
    """
    marker = f"<!-- dbt-vcs {key} -->"
    own = host.own_name()
    for attempt in range(_ATTEMPTS):
        found = next(
            (
                item.id
                for item in host.comments()
                if item.author == own and item.text.startswith(marker)
            ),
            None,
        )
        try:
            host.write(f"{marker}\n{text}", found)
            return
        except _LostError as error:
            # It may have been written all the same: looked for again before the next attempt.
            _wait_after(error, attempt)


class _LostError(HostError):
    """No answer came, or the host failed, or wants to be asked later.

    Attributes:
        wait: Seconds that it asks for; None if it doesn't say.
    """

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


def _wait_after(error: _LostError, attempt: int) -> None:
    """Wait before the next attempt; raise the error after the last one."""
    if attempt + 1 == _ATTEMPTS:
        raise error
    time.sleep(min(2.0**attempt if error.wait is None else error.wait, _WAIT))


class _Unredirected(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        # Another machine must not get the token.
        return None


@dataclass(frozen=True, slots=True)
class _Api:
    """An API over HTTP.

    Attributes:
        base: Its address.
        headers: Sent with each request, the token among them.
    """

    base: str
    headers: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        if urlsplit(self.base).scheme not in ("http", "https"):
            raise InputError(f"The API's address is {self.base!r}; expected https://…")

    def read(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Return what is at a path, or answers a query; tried again if the host is not able to."""
        for attempt in range(_ATTEMPTS):
            try:
                return self.send("GET" if query is None else "POST", path, query)
            except _LostError as error:
                _wait_after(error, attempt)

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        what = f"{method} {path.partition('?')[0]}"
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.base}{path}", data=data, method=method)
        request.add_header("Content-Type", "application/json")
        for name, value in self.headers.items():
            if not (value.isascii() and value.isprintable()):
                # Python's own message would show the value.
                raise HostError("The token has a character that no token has, as a line break is.")
            request.add_unredirected_header(name, value)
        try:
            with build_opener(_Unredirected).open(request, timeout=_SECONDS) as answer:
                return json.loads(answer.read(_BYTES))
        except HTTPError as error:
            with error:
                raise _error_of(what, error) from None
        except (OSError, HTTPException) as error:
            raise _LostError(f"{what} got no answer: {error}.") from None
        except ValueError:
            raise HostError(f"{what} was answered with something else than JSON.") from None

    def pages(self, path: str) -> Iterator[Any]:
        for page in range(1, _PAGES + 1):
            items = self.read(f"{path}{'&' if '?' in path else '?'}per_page={_PAGE}&page={page}")
            yield from items
            if len(items) < _PAGE:
                return


def _error_of(what: str, error: HTTPError) -> HostError:
    said = f"{what} was answered with {error.code} {error.reason}"
    limited = error.code == 429 or (
        # GitHub says of its limits that they are forbidden.
        error.code == 403
        and (error.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in error.headers)
    )
    if limited:
        return _LostError(f"{said}: too many requests.", _asked_wait(error.headers))
    if error.code >= 500:
        return _LostError(f"{said}.")
    return HostError(f"{said}.")


def _asked_wait(headers: Message) -> float | None:
    """Return the seconds that a host asks to wait; None if it doesn't say."""
    after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if after.isdigit():
        return float(after)
    return max(float(reset) - time.time(), 1.0) if reset.isdigit() else None


class _GitHub:
    """A job of GitHub Actions."""

    prefix = "pr/"
    hint = (
        "The token needs the permission pull-requests: write, which a pull request from a fork "
        "doesn't get"
    )

    def __init__(self, env: Mapping[str, str]) -> None:
        event = _event_of(env)
        name = env.get("GITHUB_EVENT_NAME", "")
        self.code: str | None = None
        if name == "pull_request":
            self.number = int(event["pull_request"]["number"])
            self.code = str(event["pull_request"]["head"]["sha"])
        elif name == "merge_group":
            # The queue's branch: gh-readonly-queue/<base>/pr-<number>-<commit of the base>
            ref = str(event["merge_group"]["head_ref"])
            found = re.search(r"/pr-(\d+)-[0-9a-f]{7,64}$", ref)
            if found is None:
                raise InputError(f"Expected …/pr-NUMBER-COMMIT as merge_group.head_ref: {ref!r}")
            self.number = int(found[1])
        else:
            raise InputError(
                f"The job runs on the event {name!r}; expected pull_request or merge_group. With "
                "pull_request_target, code of strangers would see the secrets."
            )
        self._repo = _given(env, "GITHUB_REPOSITORY")
        server, run = env.get("GITHUB_SERVER_URL", ""), env.get("GITHUB_RUN_ID", "")
        self.page = f"{server}/{self._repo}/actions/runs/{run}" if server and run else ""
        token = env.get("GITHUB_TOKEN", "").strip()
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._api = _Api(_given(env, "GITHUB_API_URL"), headers)
        self._graph = _Api(_given(env, "GITHUB_GRAPHQL_URL"), headers)

    @property
    def _comments(self) -> str:
        return f"/repos/{self._repo}/issues/{self.number}/comments"

    def pull_request(self) -> PullRequest:
        found = self._api.read(f"/repos/{self._repo}/pulls/{self.number}")
        state: State = "open" if found["state"] == "open" else "closed"
        return PullRequest(
            code=found["head"]["sha"], state="merged" if found.get("merged") else state
        )

    def comments(self) -> Iterator[Comment]:
        for item in self._api.pages(self._comments):
            # The account of one that was deleted is null.
            author = (item.get("user") or {}).get("login", "")
            yield Comment(id=item["id"], author=author, text=item.get("body") or "")

    def own_name(self) -> str:
        """Return the login of the token's user or app."""
        # The API for users refuses tokens of jobs, and GraphQL answers them, too.
        found = self._graph.read("", {"query": "query { viewer { login } }"})
        viewer = (found.get("data") or {}).get("viewer") or {}
        return str(viewer.get("login") or "github-actions[bot]")

    def write(self, text: str, id: int | None) -> None:
        if id is None:
            self._api.send("POST", self._comments, {"body": text})
        else:
            self._api.send("PATCH", f"/repos/{self._repo}/issues/comments/{id}", {"body": text})


def _given(env: Mapping[str, str], name: str) -> str:
    # Without a default: a token of one server must not go to another one.
    if not env.get(name):
        raise InputError(f"The job has no {name}, which its host sets.")
    return env[name]


def _event_of(env: Mapping[str, str]) -> Any:
    try:
        return json.loads(Path(env["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    except (KeyError, OSError, ValueError) as error:
        raise InputError(
            f"Can't read the event of the job, GITHUB_EVENT_PATH: {error}. This step belongs into "
            "a job of GitHub Actions."
        ) from error


class _GitLab:
    """A job of GitLab CI in a pipeline for merge requests."""

    prefix = "mr/"
    hint = (
        "The variable GITLAB_TOKEN needs a token of the project with the scope api and the role "
        "Reporter, which a merge request from a fork doesn't get"
    )

    def __init__(self, env: Mapping[str, str]) -> None:
        if not env.get("CI_MERGE_REQUEST_IID"):
            raise InputError(
                "The job has no CI_MERGE_REQUEST_IID; expected a pipeline for merge requests: "
                "rules: [{if: $CI_PIPELINE_SOURCE == 'merge_request_event'}]"
            )
        self.number = int(env["CI_MERGE_REQUEST_IID"])
        # A pipeline for merged results, or of a merge train, runs on a commit of its own.
        own = env.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or env.get("CI_COMMIT_SHA")
        self.code: str | None = own or None
        self.page = env.get("CI_JOB_URL", "")
        project = quote(_given(env, "CI_MERGE_REQUEST_PROJECT_ID"), safe="")
        self._path = f"/projects/{project}/merge_requests/{self.number}"
        token = env.get("GITLAB_TOKEN", "").strip()
        self._api = _Api(_given(env, "CI_API_V4_URL"), {"PRIVATE-TOKEN": token} if token else {})

    def pull_request(self) -> PullRequest:
        found = self._api.read(self._path)
        states: dict[str, State] = {"merged": "merged", "closed": "closed"}
        return PullRequest(code=found["sha"], state=states.get(found["state"], "open"))

    def comments(self) -> Iterator[Comment]:
        for item in self._api.pages(f"{self._path}/notes?sort=asc&order_by=created_at"):
            author = (item.get("author") or {}).get("username", "")
            yield Comment(id=item["id"], author=author, text=item.get("body") or "")

    def own_name(self) -> str:
        return str(self._api.read("/user")["username"])

    def write(self, text: str, id: int | None) -> None:
        path = f"{self._path}/notes"
        if id is None:
            self._api.send("POST", path, {"body": text})
        else:
            self._api.send("PUT", f"{path}/{id}", {"body": text})


def host_of(env: Mapping[str, str] = os.environ) -> Host:
    """Return the host whose CI this process runs in.

    Raises:
        InputError: It is neither GitHub's nor GitLab's, or the job is not for a pull request.
    """
    if env.get("GITHUB_ACTIONS") == "true":
        return _GitHub(env)
    if env.get("GITLAB_CI") == "true":
        return _GitLab(env)
    raise InputError(
        "Expected to run in a job of GitHub Actions or GitLab CI, which says what the pull "
        "request is: neither GITHUB_ACTIONS nor GITLAB_CI is true. By hand: dbt-vcs review "
        "BASE...BRANCH; then: dbt-vcs promote BRANCH BASE"
    )
