"""A proxy between clients and an S3 server that treats requests badly, for some of them.

It runs in a process of its own, on a free port of the loopback address:

    python -m chaos.proxy http://127.0.0.1:9000 --rate 0.02 --seed 7

What it does to a request is what networks and servers do: see `KINDS`. A request without trouble
is passed on as it is, and so is its answer. `GET /-/counts` tells how often it did what.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

KINDS: Final = {
    "dropped": "the connection ends before the server has the request",
    "unanswered": "the server carries it out, and the connection ends before the answer",
    "truncated": "the answer ends in the middle of its body",
    "late": "the answer comes late",
    "twice": "the server gets the same request twice, and the second answer is passed on",
    "busy": "the answer is 503 Slow Down, and the server never has the request",
    "failed": "the server carries it out, and the answer is 500 Internal Error",
    "stale": "a listing is answered as it was some seconds ago",
    "missing": "an object that is there is answered with 404 Not Found",
}
_OLD: Final = 5.0
"""Seconds for which a listing is answered as it was."""

COUNTS: Final = "/-/counts"
_LATE: Final = 0.2
_BY_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})
_ERROR: Final = "<Error><Code>{}</Code><Message>Trouble</Message></Error>"


class Answer(NamedTuple):
    """A server's answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Proxy(ThreadingHTTPServer):
    """The server; each connection has a thread.

    Attributes:
        upstream: Host and port of the server behind it.
        rate: How likely a request is treated badly.
        counts: How often it did what; `requests` is the number of all.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, upstream: str, rate: float, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urlsplit(upstream).netloc
        self.rate = rate
        self.counts: Counter[str] = Counter()
        self._dice = random.Random(seed)
        self._lock = threading.Lock()
        self._listings: dict[str, tuple[float, Answer]] = {}

    def earlier(self, path: str, answer: Answer) -> Answer:
        """Return the answer that a listing had some seconds ago, its present one if it's later."""
        with self._lock:
            at, old = self._listings.get(path, (0.0, answer))
            if time.monotonic() - at < _OLD:
                return old
            self._listings[path] = time.monotonic(), answer
            return answer

    def trouble(self, command: str, path: str) -> str | None:
        """Decide what happens to the next request, and count it."""
        with self._lock:
            self.counts["requests"] += 1
            if self._dice.random() >= self.rate:
                return None
            is_listing = "list-type=" in path
            kinds = set(KINDS) - ({"missing"} if is_listing else {"stale"})
            if command not in ("GET", "HEAD"):
                kinds -= {"missing", "stale"}
            kind = self._dice.choice(sorted(kinds))
            self.counts[kind] += 1
            return kind

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that was killed ends its connection, too."""


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    server: Proxy

    def handle_one_request(self) -> None:
        """Pass a request on, whatever its method is."""
        self.raw_requestline = self.rfile.readline(65_537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        if self.path == COUNTS:
            self._send(Answer(200, (), json.dumps(self.server.counts).encode()))
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = self.server.trouble(self.command, self.path)
        if kind == "dropped":
            self.close_connection = True
            return
        if kind == "busy":
            self._send(_failure(503, "SlowDown"))
            return
        if kind == "missing":
            self._send(_failure(404, "NoSuchKey"))
            return
        answer = self._passed_on(body)
        if "list-type=" in self.path and answer.status == 200:
            earlier = self.server.earlier(self.path, answer)
            if kind == "stale" and earlier.body == answer.body:
                self.server.counts[kind] -= 1  # The same: no fault.
            answer = earlier if kind == "stale" else answer
        if kind == "twice":
            answer = self._passed_on(body)
        if kind == "late":
            time.sleep(_LATE)
        if kind == "unanswered":
            self.close_connection = True
        elif kind == "failed":
            self._send(_failure(500, "InternalError"))
        else:
            self._send(answer, cut=kind == "truncated")

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _passed_on(self, body: bytes) -> Answer:
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=60)
        try:
            # The signature covers the host that the client named.
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _BY_HOP - {"content-length"}:
                    upstream.putheader(name, value)
            upstream.endheaders(body)
            found = upstream.getresponse()
            headers = tuple(found.getheaders())
            return Answer(found.status, headers, found.read())
        finally:
            upstream.close()

    def _send(self, answer: Answer, *, cut: bool = False) -> None:
        body, length = answer.body, len(answer.body)
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if name.lower() not in _BY_HOP:
                self.send_header(name, value)
            elif self.command == "HEAD" and name.lower() == "content-length":
                length = int(value)
        if answer.status not in (204, 304):
            self.send_header("Content-Length", str(length))
        self.end_headers()
        if cut:
            body = body[: len(body) // 2]
            self.close_connection = True
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()


def _failure(status: int, code: str) -> Answer:
    return Answer(status, (("Content-Type", "application/xml"),), _ERROR.format(code).encode())


@contextmanager
def proxy(upstream: str, rate: float, seed: int) -> Iterator[str]:
    """Run a proxy before a server in a process of its own; yields its URL."""
    command = [sys.executable, "-m", "chaos.proxy", upstream]
    command += ["--rate", str(rate), "--seed", str(seed)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


def counts(endpoint: str) -> dict[str, int]:
    """Return how often the proxy at an URL did what."""
    with urllib.request.urlopen(endpoint + COUNTS) as answer:
        found: dict[str, int] = json.load(answer)
    return found


def main() -> None:
    """Serve until killed; print the port first."""
    parser = argparse.ArgumentParser(prog="chaos.proxy", description=__doc__.splitlines()[0])
    parser.add_argument("upstream", help="URL of the server")
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    server = Proxy(given.upstream, given.rate, given.seed)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
