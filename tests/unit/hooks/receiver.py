"""A receiver of posts on loopback, which answers as it is told to."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """Posts that arrived, oldest first, and the codes of the answers to come; then 204."""

    url: str = ""
    codes: list[int] = field(default_factory=list)
    posts: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)
    hangs: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.posts]

    def is_signed(self, number: int, key: bytes) -> bool:
        """Whether a post is signed as Standard Webhooks says, written out once more."""
        headers, body = self.posts[number]
        text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
        return headers["webhook-signature"] == f"v1,{digest}"


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.posts.append((headers, body))
            if receiver.hangs:
                # A byte of a header now and then: no read ever waits for long.
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
                while not receiver.ended.wait(0.05):
                    self.wfile.write(b"x")
                return
            code = receiver.codes.pop(0) if receiver.codes else 204
            self.send_response(code)
            if code in (302, 307, 308):
                self.send_header("Location", f"{receiver.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
