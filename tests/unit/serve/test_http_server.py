"""Where a server listens."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.request import urlopen

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.iceberg.serve.http_server import (
    Certificate,
    ServerLimits,
    is_loopback,
    listen,
    run,
    url_of,
)
from dbt.adapters.vcs.iceberg.serve.observed import ServerLog


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_at_work_is_answered_after_the_signal_that_stops_the_server(
    number: int,
) -> None:
    def slow(request: Request) -> Response:
        os.kill(os.getpid(), number)
        # By then nobody new is let in.
        while True:
            try:
                listen("127.0.0.1", port).close()
                return PlainTextResponse("answered")
            except InputError:
                continue

    answers: list[bytes] = []

    def ask() -> None:
        with urlopen(f"http://127.0.0.1:{port}/slow", timeout=30) as found:
            answers.append(found.read())

    before = signal.getsignal(number)
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        client = Thread(target=ask)
        client.start()
        run(Starlette(routes=[Route("/slow", slow)]), listener)
    client.join(30)
    assert answers == [b"answered"]
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.3.2.1", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_only_this_machine_reaches_a_loopback_address(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_port_zero_is_a_free_one_and_a_taken_one_is_refused() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        assert port
        with pytest.raises(InputError, match=f"port {port}.*another address or port"):
            listen("127.0.0.1", port)


def test_an_address_of_ipv6_is_shown_in_brackets() -> None:
    assert url_of("::1", 8181, is_secure=False) == "http://[::1]:8181"
    assert url_of("catalog.example", 443, is_secure=True) == "https://catalog.example:443"


def test_a_certificate_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.pem").write_text("no certificate")
    for chain in ("c.pem", "nix.pem"):
        with pytest.raises(InputError, match="can't be used"):
            Certificate(chain=tmp_path / chain, key=tmp_path / "c.pem").check()


def test_the_body_of_an_answer_does_not_wait_for_its_head_to_be_acknowledged() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


Address = tuple[str, int]


@contextmanager
def running(
    monkeypatch: pytest.MonkeyPatch, app: Any, limits: ServerLimits, log: Callable[[str], None]
) -> Iterator[Address]:
    """Run a server in a thread of this process."""
    servers: list[uvicorn.Server] = []
    made = uvicorn.Server.__init__

    def init(self: uvicorn.Server, config: uvicorn.Config) -> None:
        made(self, config)
        servers.append(self)

    monkeypatch.setattr(uvicorn.Server, "__init__", init)
    with listen("127.0.0.1", 0) as listener:
        address = listener.getsockname()
        thread = Thread(target=lambda: run(app, listener, limits=limits, log=log))
        thread.start()
        try:
            yield address
        finally:
            servers[0].should_exit = True
            thread.join(30)


def plain(request: Request) -> Response:
    return PlainTextResponse("ok")


async def reading(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


def large(request: Request) -> Response:
    return PlainTextResponse("x" * 20_000_000)


APP = Starlette(
    routes=[
        Route("/", plain),
        Route("/read", reading, methods=["POST"]),
        Route("/large", large),
    ]
)


def status(address: Address) -> bytes:
    with socket.create_connection(address, timeout=10) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        return client.recv(100)[9:12]


def ends(client: socket.socket) -> float:
    """Return the seconds until a server has ended a connection, and read what it says."""
    start = time.monotonic()
    try:
        while client.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    return time.monotonic() - start


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: ",
        b"POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf",
        # A head that follows an answer has a time, too.
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT",
    ],
    ids=["nothing", "head", "body", "second head"],
)
def test_a_connection_whose_request_does_not_arrive_is_closed(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    limits = ServerLimits(head_seconds=0.2, body_seconds=0.2)
    with (
        running(monkeypatch, APP, limits, lambda _: None) as address,
        socket.create_connection(address, timeout=10) as client,
    ):
        client.sendall(sent)
        assert ends(client) < 5
        assert status(address) == b"200"


def test_bytes_one_by_one_gain_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = ServerLimits(head_seconds=0.3)
    with (
        running(monkeypatch, APP, limits, lambda _: None) as address,
        socket.create_connection(address, timeout=10) as client,
    ):
        client.sendall(b"GET / HTTP/1.1\r\nX: ")
        start = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - start < 10:
                client.sendall(b"x")
                time.sleep(0.02)
        assert time.monotonic() - start < 5


def test_a_client_that_leaves_its_answer_unread_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = ServerLimits(body_seconds=0.3)
    with (
        running(monkeypatch, APP, limits, lambda _: None) as address,
        socket.create_connection(address, timeout=10) as client,
    ):
        client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(1)
        read = 0
        with pytest.raises(ConnectionResetError):
            while found := client.recv(1 << 20):
                read += len(found)
            raise ConnectionResetError
        assert read < 20_000_000


def test_a_slow_but_whole_request_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = ServerLimits(head_seconds=2, body_seconds=2)
    with (
        running(monkeypatch, APP, limits, lambda _: None) as address,
        socket.create_connection(address, timeout=10) as client,
    ):
        for part in (b"POST /read HTTP/1.1\r\nHo", b"st: a\r\nContent-Length: 4\r\n\r\nab", b"cd"):
            client.sendall(part)
            time.sleep(0.1)
        assert client.recv(1000).endswith(b"4")


def test_connections_beyond_the_limits_are_refused_and_others_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []
    limits = ServerLimits(connections=20, per_address=5, head_seconds=30)
    with running(monkeypatch, APP, limits, lines.append) as address, ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(address)) for _ in range(5)]
        assert status_of(address) != b"200"
        # Another address of this machine.
        with socket.create_connection(address, 10, source_address=("127.0.0.2", 0)) as other:
            other.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert other.recv(100)[9:12] == b"200"
        assert "127.0.0.1 has 5 connections" in lines[0]
        held[0].close()
        eventually(lambda: status_of(address) == b"200")


def status_of(address: Address) -> bytes:
    try:
        return status(address)
    except OSError:
        return b""


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_there_are_fewer_connections_than_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    found = ServerLimits().fitted()
    assert (found.connections, found.per_address) == (128, 64)
    raised: list[Any] = []
    monkeypatch.setattr(resource, "setrlimit", lambda *given: raised.append(given[1]))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4096))
    assert ServerLimits().fitted() == ServerLimits()
    assert raised == [(1_128, 4096)]


def test_a_system_that_limits_no_files_takes_the_limits_as_given() -> None:
    """Where Python has no module `resource`: Windows, and WebAssembly."""
    code = (
        "import sys; sys.modules['resource'] = None\n"
        "from dbt.adapters.vcs.iceberg.serve.http_server import ServerLimits, run, listen\n"
        "assert ServerLimits(connections=7).fitted().connections == 7\n"
        "said = []\n"
        "import threading, os, signal\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()\n"
        "run(lambda *_: None, listen('127.0.0.1', 0), log=said.append)\n"
        "assert 'how many files' in said[0], said\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_the_server_s_libraries_say_goes_to_the_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []
    with (
        running(monkeypatch, APP, ServerLimits(), lines.append) as address,
        socket.create_connection(address, timeout=10) as client,
    ):
        client.sendall(b"no HTTP\r\n\r\n")
        assert client.recv(100)[9:12] == b"400"
    assert any("Invalid HTTP request" in line for line in lines)
    assert capfd.readouterr().err == ""


def test_a_log_that_nobody_reads_stops_nobody() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as stream, os.fdopen(reader) as back:
        log = ServerLog(stream, waiting=50)
        start = time.monotonic()
        for number in range(5_000):
            log(f"{number} {'x' * 100}")
        assert time.monotonic() - start < 5
        stopped = Event()
        lines: list[str] = []

        def read() -> None:
            for line in back:
                lines.append(line)
                if line.startswith("last"):
                    stopped.set()
                    return

        thread = Thread(target=read)
        thread.start()
        while not stopped.is_set():
            log("last")
            time.sleep(0.01)
        thread.join(10)
        log.end()
    counts = [int(line.split()[0]) for line in lines if "left out" in line]
    kept = [line for line in lines if line.endswith("xxx\n")]
    assert sum(counts) + len(kept) >= 5_000
    assert len(kept) < 5_000


def test_strangers_write_few_lines_a_second(tmp_path: Path) -> None:
    now = [0.0]
    path = tmp_path / "log"
    with path.open("w") as stream:
        log = ServerLog(stream, strangers=3, seconds=lambda: now[0])
        for _ in range(100):
            log.stranger("who")
        log("bearer")
        now[0] = 1.0
        log.stranger("again")
        log.end(10)
    assert path.read_text().splitlines() == [
        "who",
        "who",
        "who",
        "97 lines were left out here.",
        "bearer",
        "again",
    ]
