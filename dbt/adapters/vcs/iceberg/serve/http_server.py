"""The server: where it listens, and how it starts and stops."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from dbt.adapters.vcs.core.errors import InputError

try:
    import resource
except ImportError:
    # Windows doesn't say how many files a process may open.
    resource = None  # type: ignore[assignment]

_GRACE: Final = 30
"""Seconds that requests at work are given once the server is to stop."""

_ANY: Final = frozenset({"", "0.0.0.0", "::"})
_BACKLOG: Final = 1_024
_FILES: Final = 128
"""Files that the server may have open besides connections."""


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
            f"Can't listen on {host}, port {port}: {reason}. Choose another address or port; "
            "--port 0 picks a free one."
        ) from None


def url_of(host: str, port: int, *, is_secure: bool) -> str:
    """Return the address that clients are given; by its name, if all of a machine's are meant."""
    name = socket.gethostname() if host in _ANY else host
    shown = f"[{name}]" if ":" in name else name
    return f"{'https' if is_secure else 'http'}://{shown}:{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """How much of a server others can take, with a token or without.

    Attributes:
        connections: Connections at once, from everywhere. The files that the process may open
            can make it fewer.
        per_address: Connections at once from one address; half of all at most. A proxy before
            the server is one address.
        head_seconds: Until the head of a request has arrived whole.
        body_seconds: Until its body has, and for which a client may leave an answer unread.
    """

    connections: int = 1_000
    per_address: int = 250
    head_seconds: float = 10
    body_seconds: float = 60

    def fitted(self) -> ServerLimits:
        """Return them with as many connections as the process may have open, if that is known."""
        if resource is None:
            return self
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = self.connections + _FILES
        if 0 <= soft < wanted:
            soft = wanted if hard < 0 else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        # A negative limit means that there is none.
        most = self.connections if soft < 0 else min(self.connections, max(soft - _FILES, 2))
        return replace(
            # Half of all at most, so that one address can't keep everybody else out.
            self,
            connections=most,
            per_address=min(self.per_address, max(most // 2, 1)),
        )


def run(
    app: ASGIApp,
    listener: socket.socket,
    certificate: Certificate | None = None,
    *,
    limits: ServerLimits | None = None,
    log: Callable[[str], None] = lambda _: None,
) -> None:
    """Answer requests until SIGTERM or SIGINT, and finish those at work then.

    Args:
        app: Answers them.
        listener: A socket that listens, which is closed then.
        certificate: What the server shows for TLS; None for plain HTTP.
        limits: How many may connect, and for how long they may keep it waiting.
        log: Takes lines about connections, of which strangers may cause many.
    """
    server, sockets = _server(app, listener, certificate, limits, log)
    with _logging(log), _stopping(server):
        server.run(sockets=sockets)


@contextmanager
def answering(app: ASGIApp, listener: socket.socket, log: Callable[[str], None]) -> Iterator[None]:
    """Answer requests in a thread as long as the block runs, and finish those at work then."""
    server, sockets = _server(app, listener, None, None, log)
    thread = threading.Thread(target=server.run, kwargs={"sockets": sockets}, name="dbt-vcs-serve")
    with _logging(log):
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join()


def _server(
    app: ASGIApp,
    listener: socket.socket,
    certificate: Certificate | None,
    limits: ServerLimits | None,
    log: Callable[[str], None],
) -> tuple[uvicorn.Server, list[socket.socket]]:
    limits = (limits or ServerLimits()).fitted()
    if resource is None:
        log(
            "This system doesn't say how many files a process may open, so that the server takes "
            f"{limits.connections} connections whether they fit or not. Set fewer by "
            "--max-connections if connections fail."
        )
    config = uvicorn.Config(
        app,
        # These are the ones that the limits below are made for.
        loop="asyncio",
        http=partial(_Connection, limits=limits),  # type: ignore[arg-type]
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
    return uvicorn.Server(config), [_Listener(listener, limits, log)]


class _Connection(H11Protocol):
    """A connection that is closed if its client keeps the server waiting.

    Uvicorn limits the time between requests, and none within one.
    """

    def __init__(self, *args: Any, limits: ServerLimits, **more: Any) -> None:
        super().__init__(*args, **more)
        self._limits = limits
        self._waits_for: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._timer, self._unread):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        # The client doesn't read. `close` would wait for it to take what is left.
        self._unread = self.loop.call_later(self._limits.body_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def _watch(self) -> None:
        """Give the client time for what is to arrive next, once for each head and body."""
        state = self.conn.their_state
        wanted = {h11.IDLE: "head", h11.SEND_BODY: "body"}.get(state)
        if wanted == self._waits_for:
            return
        self._waits_for = wanted
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wanted is not None:
            limits = self._limits
            seconds = limits.head_seconds if wanted == "head" else limits.body_seconds
            self._timer = self.loop.call_later(seconds, self.transport.abort)


class _Listener(socket.socket):
    """A socket that listens, and refuses connections beyond the limits.

    They are counted here, before TLS, so that they take no files from others. Files that have run
    out would stop everybody, and asyncio would log it a thousand times a second.
    """

    def __init__(
        self, listener: socket.socket, limits: ServerLimits, log: Callable[[str], None]
    ) -> None:
        # The other socket object would close the file when it is collected.
        super().__init__(fileno=listener.detach())
        self._limits = limits
        self._log = log
        self._open: Counter[str] = Counter()

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection.

        Raises:
            ConnectionAbortedError: It is one too many. The caller goes on.
        """
        found, address = super().accept()
        client = _network(address[0])
        limits = self._limits
        if self._open[client] >= limits.per_address:
            refused = f"{address[0]} has {limits.per_address} connections, the most that it may"
        elif self._open.total() >= limits.connections:
            refused = f"there are {limits.connections} connections, the most that there may be"
        else:
            self._open[client] += 1
            return _Counted(found, partial(self._ended, client)), address
        found.close()
        self._log(f"Refused a connection: {refused}.")
        # Asyncio passes over this one: it is what a client causes that leaves before it is
        # accepted.
        raise ConnectionAbortedError(refused)

    def _ended(self, client: str) -> None:
        self._open[client] -= 1
        if not self._open[client]:
            del self._open[client]


class _Counted(socket.socket):
    """A connection that tells once when it is closed."""

    def __init__(self, found: socket.socket, ended: Callable[[], None]) -> None:
        super().__init__(fileno=found.detach())
        self._ended: Callable[[], None] | None = ended

    def close(self) -> None:
        super().close()
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()


def _network(address: str) -> str:
    """Return who has an address; of IPv6 a client has 2^64 of them."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if found.version == 4 or found.ipv4_mapped:
        return str(found)
    return str(ipaddress.ip_network((found, 64), strict=False))


@contextmanager
def _logging(log: Callable[[str], None]) -> Iterator[None]:
    """Let what the server's libraries have to say go to the log, of which strangers cause much."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            log(self.format(record))

    handler = Handler(logging.WARNING)
    loggers = [logging.getLogger(name) for name in ("asyncio", "uvicorn.error")]
    before = [logger.propagate for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, propagates in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.propagate = propagates


@contextmanager
def _stopping(server: uvicorn.Server) -> Iterator[None]:
    """Let signals stop the server, and do no more than that.

    It has handlers of its own while it runs, and raises what they caught again once it has ended:
    that is to end nothing else.
    """

    def stop(*_: object) -> None:
        server.should_exit = True

    # Python lets only the main thread set handlers.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
