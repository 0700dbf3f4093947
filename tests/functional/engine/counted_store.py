"""A file system that counts what it is asked: a folder behind Hadoop's HTTP protocol."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PREFIX = "/webhdfs/v1"


class CountedStore(ThreadingHTTPServer):
    """A server for `webhdfs://`; `counts` has the number of requests by operation."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.counts: Counter[str] = Counter()
        self.root = f"webhdfs://127.0.0.1:{self.server_address[1]}"

    def asked(self) -> dict[str, int]:
        """Return the counts since the last call."""
        counts, self.counts = self.counts, Counter()
        return dict(counts)


class Answers(BaseHTTPRequestHandler):
    """Answers requests with files of this machine."""

    server: CountedStore

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = Path(unquote(parts.path.removeprefix(PREFIX)))
        operation = query["op"]
        if "sent" not in query:
            self.server.counts[operation] += 1
        if not path.exists():
            words = {"exception": "FileNotFoundException", "message": str(path)}
            words["javaClassName"] = "java.io.FileNotFoundException"
            self._send(404, {"RemoteException": words})
        elif operation == "GETFILESTATUS":
            self._send(200, {"FileStatus": _status(path, "")})
        elif operation == "LISTSTATUS":
            inside = [path] if path.is_file() else sorted(path.iterdir())
            shown = [_status(item, "" if path.is_file() else item.name) for item in inside]
            self._send(200, {"FileStatuses": {"FileStatus": shown}})
        elif operation == "OPEN" and "sent" not in query:
            # The protocol has the bytes come from another address.
            self.send_response(307)
            self.send_header("Location", f"http://{self.headers['Host']}{self.path}&sent=true")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif operation == "OPEN":
            start = int(query.get("offset", 0))
            end = start + int(query["length"]) if "length" in query else None
            self._send(200, path.read_bytes()[start:end])
        else:
            self._send(400, {})

    def _send(self, status: int, body: Any) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        # No type is said: to read one, Hadoop's client needs a class that Spark's jars lack.
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _status(path: Path, name: str) -> dict[str, Any]:
    stat = path.stat()
    return {
        "pathSuffix": name,
        "type": "DIRECTORY" if path.is_dir() else "FILE",
        "length": 0 if path.is_dir() else stat.st_size,
        "owner": "someone",
        "group": "someone",
        "permission": "755",
        "accessTime": int(stat.st_mtime * 1000),
        "modificationTime": int(stat.st_mtime * 1000),
        "blockSize": 128 * 1024**2,
        "replication": 1,
        "fileId": stat.st_ino,
        "childrenNum": 0,
        "storagePolicy": 0,
    }


@contextmanager
def counted_store() -> Iterator[CountedStore]:
    """Serve this machine's files within the block."""
    with CountedStore() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
