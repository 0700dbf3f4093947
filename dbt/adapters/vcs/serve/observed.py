"""What is observed of requests: one line each, and figures for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dbt.adapters.vcs.serve.documents import Documents

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

ROUTE: Final = "dbt_vcs.route"
"""Where a request's scope has the pattern of its path, which is a label."""

_BUCKETS: Final = (0.001, 0.002, 0.005, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


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

    def __init__(self, app: ASGIApp, figures: Figures, log: Callable[[str], None]) -> None:
        self._app = app
        self._figures = figures
        self._log = log

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
        path = str(scope.get(ROUTE, "other"))
        self._figures.requests.labels(scope["method"], path, str(status)).inc()
        self._figures.seconds.labels(path).observe(seconds)
        client = scope.get("client") or ("-", 0)
        bearer = scope.get("bearer")
        now = datetime.now(timezone.utc)
        # Queries and headers are left out: whatever secret a client sends is there.
        self._log(
            f"{now:%Y-%m-%dT%H:%M:%SZ} {client[0]} {bearer.name if bearer else '-'} "
            f"{scope['method']} {_plain(scope['path'])} {status or '-'} {seconds * 1000:.1f}ms"
        )


def _plain(path: str) -> str:
    """Return a path on one line."""
    return "".join(char if "!" <= char <= "~" else "?" for char in path)
