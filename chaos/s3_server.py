"""An S3 server on this machine: a real one if it was built, else a simulated one."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from chaos.gateway import KEY, PROGRAM, SECRET, gateway

OPTIONS: Final = {
    "aws_region": "us-east-1",
    "aws_access_key_id": KEY,
    "aws_secret_access_key": SECRET,
    "allow_http": "true",
}
"""How a campaign reaches it; a server that runs must accept the same keys."""

# One request at a time: the put-if-absent of the simulation takes two steps.
_SERVER: Final = """
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
import logging
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app))
print(server.port, flush=True)
server.serve_forever()
"""


@contextmanager
def serving(endpoint: str | None, folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield the endpoint of a server that has the bucket, and whether it starts empty."""
    if endpoint is not None:
        yield endpoint, False
        return
    if PROGRAM.exists():
        print(f"on the S3 server {PROGRAM.name}")
        with gateway(folder / "s3-server", "chaos") as own:
            yield own, False
        return
    print("on a simulated S3 server; `make s3` builds a real one")
    server = subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        own = f"http://127.0.0.1:{int(server.stdout.readline())}"
        urllib.request.urlopen(urllib.request.Request(f"{own}/chaos", method="PUT")).close()
        yield own, True
    finally:
        server.kill()
        server.wait()
