"""What is observed of requests: one line each in a log, and figures for Prometheus."""

from __future__ import annotations

import queue
import select
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Final, TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dbt.adapters.vcs.iceberg.serve.documents import Documents

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

ROUTE: Final = "dbt_vcs.route"
"""Where a request's scope has the pattern of its path, which is a label."""

_BUCKETS: Final = (0.001, 0.002, 0.005, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

_PATH: Final = 1_000
"""Characters of a path that the log shows."""

# Characters that are written at once. A pipe that can be written to takes 4,096 bytes.
_PART: Final = 4_000


class ServerLog:
    """A log whose writers never wait for whoever reads it.

    Lines are written by a thread. Those that it can't write in time are left out, and so are
    those of strangers that come too fast; a later line says how many. Otherwise a reader of a pipe
    that stands still, or anybody who sends requests without a token, could stop the server or fill
    a disk.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        waiting: int = 10_000,
        strangers: int = 20,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin a log.

        Args:
            stream: Takes the lines.
            waiting: Lines that wait for being written, at most.
            strangers: Lines of strangers in each second, at most.
            seconds: The time.
        """
        self._stream = stream
        self._lines: queue.Queue[str] = queue.Queue(waiting)
        self._strangers = strangers
        self._seconds = seconds
        self._second, self._count, self._left_out = 0, 0, 0
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def __call__(self, text: str) -> None:
        """Log a line."""
        with self._lock:
            # In order: the line about what is missing stands where it is missing.
            if self._left_out:
                told = f"{self._left_out} lines were left out here."
                if not self._put(told):
                    self._left_out += 1
                    return
                self._left_out = 0
            if not self._put(text):
                self._left_out += 1

    def stranger(self, text: str) -> None:
        """Log a line about somebody without a token, unless there are too many of these."""
        now = int(self._seconds())
        with self._lock:
            if now != self._second:
                self._second, self._count = now, 0
            self._count += 1
            if self._count > self._strangers:
                self._left_out += 1
                return
        self(text)

    def end(self, seconds: float = 1.0) -> None:
        """Write what waits, as far as it is read in time."""
        self._is_over.set()
        # Wakes the thread, which looks for the end after each line.
        self._put("")
        self._thread.join(seconds)

    def _put(self, text: str) -> bool:
        try:
            self._lines.put_nowait(text)
        except queue.Full:
            return False
        return True

    def _write_all(self) -> None:
        while not (self._is_over.is_set() and self._lines.empty()):
            text = self._lines.get()
            for line in text.splitlines():
                for start in range(0, len(line), _PART):
                    is_last = start + _PART >= len(line)
                    if not self._write(line[start : start + _PART] + "\n" * is_last):
                        return

    def _write(self, text: str) -> bool:
        """Write a text once that doesn't wait; return whether the log goes on."""
        try:
            while not _takes(self._stream, 0.1):
                if self._is_over.is_set():
                    return False
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # Whoever read the log has gone. There is nowhere else to say so.
            return not self._is_over.is_set()
        return True


def _takes(stream: TextIO, seconds: float) -> bool:
    """Wait until a stream can be written to; return whether it can."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        # A stream in memory.
        return True
    return bool(select.select([], [number], [], seconds)[1])


class Figures:
    """The figures of one server. No label holds a name from the repository or of a token."""

    def __init__(self, documents: Documents) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter(
            "dbt_vcs_requests", "Requests answered.", labels, registry=self._registry
        )
        self.seconds = Histogram(
            "dbt_vcs_request_seconds",
            "Seconds until the answer was sent.",
            ("route",),
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self.running = Gauge(
            "dbt_vcs_requests_running", "Requests at work.", registry=self._registry
        )
        self._gauge("dbt_vcs_cache_hits", "Documents found made.", lambda: documents.hits)
        self._gauge("dbt_vcs_cache_misses", "Documents made.", lambda: documents.misses)
        self._gauge("dbt_vcs_cache_bytes", "Size of kept documents.", lambda: documents.bytes)

    def text(self) -> bytes:
        """Return the figures in Prometheus's text format."""
        text: bytes = generate_latest(self._registry)
        return text

    def _gauge(self, name: str, help: str, value: Callable[[], float]) -> None:
        Gauge(name, help, registry=self._registry).set_function(value)


class Observed:
    """Counts and logs each request once it is answered, whatever came of it."""

    def __init__(
        self,
        app: ASGIApp,
        figures: Figures,
        log: Callable[[str], None],
        stranger: Callable[[str], None],
    ) -> None:
        """Observe an application.

        Args:
            app: The application.
            figures: Counts its requests.
            log: Takes a line about a request.
            stranger: Takes one about a request of somebody without a token.
        """
        self._app = app
        self._figures = figures
        self._log = log
        self._stranger = stranger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        start = time.perf_counter()
        with self._figures.running.track_inprogress():
            try:
                await self._app(scope, receive, watched)
            finally:
                self._note(scope, status, time.perf_counter() - start)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        # The route's pattern: a label for each path would let strangers fill the memory.
        path = str(scope.get(ROUTE, "other"))
        self._figures.requests.labels(scope["method"], path, str(status)).inc()
        self._figures.seconds.labels(path).observe(seconds)
        client = scope.get("client") or ("-", 0)
        bearer = scope.get("bearer")
        now = datetime.now(timezone.utc)
        # Queries and headers are left out: whatever secret a client sends is there.
        tell = self._log if bearer and bearer.grants else self._stranger
        tell(
            f"{now:%Y-%m-%dT%H:%M:%SZ} {client[0]} {bearer.name if bearer else '-'} "
            f"{scope['method']} {_plain(scope['path'])} {status or '-'} {seconds * 1000:.1f}ms"
        )


def _plain(path: str) -> str:
    """Return a path, or its beginning, on one line."""
    # A line end or an escape sequence in a path could forge lines of the log.
    shown = "".join(char if "!" <= char <= "~" else "?" for char in path[:_PATH])
    return shown if len(path) <= _PATH else f"{shown}..."
