"""Where a server listens."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.serve.http_server import Certificate, is_loopback, listen, run, url_of


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
        with pytest.raises(InputError, match=f"port {port}.*another --host or --port"):
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
