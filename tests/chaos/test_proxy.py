"""The proxy does to requests what it says, and our stores get over it."""

from __future__ import annotations

import random
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from chaos.proxy import KINDS, Proxy, counts, proxy

BODY = b"0123456789"
LIES = {"stale", "missing"}


class Chosen(random.Random):
    """Dice that choose one kind of trouble."""

    def __init__(self, kind: str) -> None:
        super().__init__(0)
        self.kind = kind

    def choice(self, seq: Any) -> Any:
        return self.kind


class Upstream(ThreadingHTTPServer):
    """A server that counts what reaches it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Echo)
        self.seen: list[tuple[str, bytes]] = []


class Echo(BaseHTTPRequestHandler):
    """Answers everything with the same body."""

    server: Upstream

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.headers["Host"], body))
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def do_GET(self) -> None:
        self.server.seen.append((self.headers["Host"], b""))
        body = BODY + str(len(self.server.seen)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def front(upstream: Upstream) -> Iterator[Proxy]:
    server = Proxy(f"http://127.0.0.1:{upstream.server_port}", 1.0, 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def put(front: Proxy) -> bytes | str:
    """Return the answer to a request, or the kind of error."""
    url = f"http://127.0.0.1:{front.server_port}/bucket/object"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, b"data", method="PUT")) as answer:
            found: bytes = answer.read()
            return found
    except urllib.error.HTTPError as error:
        return str(error.code)
    except (HTTPException, OSError) as error:
        return type(error).__name__


def read(front: Proxy, name: str) -> bytes | str:
    """Return the answer to a GET, or its status if that is an error."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{front.server_port}/b/{name}") as answer:
            found: bytes = answer.read()
            return found
    except urllib.error.HTTPError as error:
        return str(error.code)


@pytest.mark.parametrize(
    "kind, answer, arrived",
    [
        ("dropped", "RemoteDisconnected", 0),
        ("unanswered", "RemoteDisconnected", 1),
        ("truncated", "IncompleteRead", 1),
        ("late", BODY, 1),
        ("twice", BODY, 2),
        ("busy", "503", 0),
        ("failed", "500", 1),
    ],
)
def test_each_kind_of_trouble_happens(
    front: Proxy, upstream: Upstream, kind: str, answer: bytes | str, arrived: int
) -> None:
    front._dice = Chosen(kind)
    assert put(front) == answer
    assert upstream.seen == [(f"127.0.0.1:{front.server_port}", b"data")] * arrived
    assert front.counts == {"requests": 1, kind: 1}


def test_all_kinds_are_tested() -> None:
    marks = test_each_kind_of_trouble_happens.pytestmark  # type: ignore[attr-defined]
    assert {case[0] for case in marks[0].args[1]} == set(KINDS) - LIES


def test_a_file_that_is_there_is_answered_as_missing(front: Proxy, upstream: Upstream) -> None:
    front._dice = Chosen("missing")
    assert read(front, "object") == "404"
    assert upstream.seen == []
    assert front.counts == {"requests": 1, "missing": 1}
    front.rate = 0.0
    assert read(front, "object") == BODY + b"1"


def test_a_listing_is_answered_as_it_was_for_a_while(
    front: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    front.rate = 0.0
    assert read(front, "?list-type=2") == BODY + b"1"
    front._dice, front.rate = Chosen("stale"), 1.0
    assert read(front, "?list-type=2") == BODY + b"1"
    assert read(front, "?list-type=2&prefix=other") == BODY + b"3"
    monkeypatch.setattr("chaos.proxy._OLD", 0.0)
    assert read(front, "?list-type=2") == BODY + b"4"
    assert front.counts == {"requests": 4, "stale": 1}


@pytest.mark.parametrize(
    "command, path, lies",
    [("PUT", "object", set()), ("GET", "object", {"missing"}), ("GET", "?list-type=2", {"stale"})],
)
def test_only_what_reads_is_lied_to(front: Proxy, command: str, path: str, lies: set[str]) -> None:
    assert {front.trouble(command, path) for _ in range(300)} == set(KINDS) - LIES | lies


def test_a_request_without_trouble_is_passed_on(front: Proxy, upstream: Upstream) -> None:
    front.rate = 0.0
    assert put(front) == BODY
    assert len(upstream.seen) == 1


def test_it_runs_in_a_process_of_its_own_and_tells_its_counts(upstream: Upstream) -> None:
    with proxy(f"http://127.0.0.1:{upstream.server_port}", 0.0, 1) as endpoint:
        request = urllib.request.Request(f"{endpoint}/bucket/object", b"data", method="PUT")
        with urllib.request.urlopen(request) as answer:
            assert answer.read() == BODY
        assert counts(endpoint) == {"requests": 1}
