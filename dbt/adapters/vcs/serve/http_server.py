"""The server: where it listens, and how it starts and stops."""

from __future__ import annotations

import ipaddress
import signal
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from dbt.adapters.vcs.core.errors import InputError

_GRACE: Final = 30
"""Seconds that requests at work are given once the server is to stop."""

_ANY: Final = frozenset({"", "0.0.0.0", "::"})
_BACKLOG: Final = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What the server shows to prove who it is: PEM files of a chain and its private key."""

    chain: Path
    key: Path

    def check(self) -> None:
        """Check that the files can be read, and belong together.

        Raises:
            InputError: They don't.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            # Nobody is there to ask for a password.
            context.load_cert_chain(self.chain, self.key, password=lambda: "")
        except (OSError, ValueError) as error:
            reason = error.strerror or type(error).__name__ if isinstance(error, OSError) else ""
            raise InputError(
                f"The certificate {self.chain} and the key {self.key} can't be used"
                f"{f': {reason}' if reason else ''}. Give PEM files that belong together, the "
                "key without a password."
            ) from None


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 picks a free one.

    Raises:
        InputError: The address can't be used.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
        # Connections inherit it. Otherwise an answer's body waits 40 ms for the client to have
        # acknowledged its head: asyncio sees to that only for sockets that name their protocol.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"Can't listen on {host}, port {port}: {reason}. Choose another --host or --port; "
            "port 0 picks a free one."
        ) from None


def url_of(host: str, port: int, *, is_secure: bool) -> str:
    """Return the address that clients are given; by its name, if all of a machine's are meant."""
    name = socket.gethostname() if host in _ANY else host
    shown = f"[{name}]" if ":" in name else name
    return f"{'https' if is_secure else 'http'}://{shown}:{port}"


def run(app: ASGIApp, listener: socket.socket, certificate: Certificate | None = None) -> None:
    """Answer requests until SIGTERM or SIGINT, and finish those at work then."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # The log shows who connected, not who somebody says has.
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=None if certificate is None else str(certificate.chain),
        ssl_keyfile=None if certificate is None else str(certificate.key),
    )
    server = uvicorn.Server(config)
    with _stopping(server):
        server.run(sockets=[listener])


@contextmanager
def _stopping(server: uvicorn.Server) -> Iterator[None]:
    """Let signals stop the server, and do no more than that.

    It has handlers of its own while it runs, and raises what they caught again once it has ended:
    that is to end nothing else.
    """

    def stop(*_: object) -> None:
        server.should_exit = True

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
