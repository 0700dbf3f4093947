"""A stand-in for the APIs of GitHub and GitLab: pull request 12 and its comments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

OWN = {"github": "github-actions[bot]", "gitlab": "project_7_bot"}
COMMENTS = ("/repos/acme/shop/issues/12/comments", "/projects/7/merge_requests/12/notes")
PULLS = ("/repos/acme/shop/pulls/12", "/projects/7/merge_requests/12")
COMMENT = "/repos/acme/shop/issues/comments"


class CodeHost(ThreadingHTTPServer):
    """The host.

    Attributes:
        comments: The comments, the oldest first: id, author and text.
        seen: Each request's method and path, in their order.
        tokens: The tokens that were sent.
        failing: Answers to give instead: of a request's method, status and headers; each is used
            once.
        state: `open`, `closed` or `merged`.
        code: The head of the code.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = []
        self.seen: list[tuple[str, str]] = []
        self.tokens: set[str] = set()
        self.failing: list[tuple[str, int, dict[str, str]]] = []
        self.state = "open"
        self.code = "a" * 40

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add(self, author: str, text: str) -> int:
        id = len(self.comments) + 1
        self.comments.append({"id": id, "author": author, "text": text})
        return id

    def texts(self, word: str) -> list[str]:
        """The comments of ours with a key."""
        marker = f"<!-- dbt-vcs {word}"
        own = [item["text"] for item in self.comments if item["author"] in OWN.values()]
        return [text for text in own if text.startswith(marker)]

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        kind = "github" if path.startswith(("/repos", "/graphql")) else "gitlab"
        if path == "/graphql":
            assert body == {"query": "query { viewer { login } }"}
            return {"data": {"viewer": {"login": OWN["github"]}}}
        if path == "/user":
            return {"username": OWN["gitlab"]}
        if path in PULLS:
            if kind == "gitlab":
                state = {"open": "opened"}.get(self.state, self.state)
                return {"sha": self.code, "state": state}
            state = "open" if self.state == "open" else "closed"
            return {"state": state, "merged": self.state == "merged", "head": {"sha": self.code}}
        if path in COMMENTS and method == "GET":
            many, page = int(query["per_page"][0]), int(query["page"][0])
            some = self.comments[(page - 1) * many : page * many]
            who = ("user", "login") if kind == "github" else ("author", "username")
            return [
                {"id": item["id"], "body": item["text"], who[0]: {who[1]: item["author"]}}
                for item in some
            ]
        if path in COMMENTS:
            assert method == "POST"
            return {"id": self.add(OWN[kind], body["body"])}
        place, _, id = path.rpartition("/")
        assert (method, place) in (("PATCH", COMMENT), ("PUT", COMMENTS[1]))
        [item] = [item for item in self.comments if item["id"] == int(id)]
        item["text"] = body["body"]
        return {"id": item["id"]}


class _Handler(BaseHTTPRequestHandler):
    server: CodeHost

    def _answer(self) -> None:
        url = urlsplit(self.path)
        size = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        host = self.server
        host.seen.append((self.command, url.path))
        given = self.headers.get("authorization") or self.headers.get("private-token") or ""
        host.tokens.add(given.removeprefix("Bearer "))
        status, headers = 200, {"content-type": "application/json"}
        fails = [item for item in host.failing if item[0] == self.command][:1]
        answer: Any = {"message": "as asked"}
        if fails:
            host.failing.remove(fails[0])
            status, more = fails[0][1:]
            headers |= more
        # A server may have done what was asked, and then fail to say so.
        if not fails or "x-done" in headers:
            answer = host.answer(self.command, url.path, parse_qs(url.query), body)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    do_GET = do_POST = do_PATCH = do_PUT = _answer

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def code_host() -> Iterator[CodeHost]:
    host = CodeHost()
    thread = Thread(target=host.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield host
    finally:
        host.shutdown()
        thread.join(10)
        host.server_close()
