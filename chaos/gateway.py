"""A real S3 server on this machine: versitygw over a folder, built from its Go module."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MODULE: Final = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
TOOLS: Final = Path(__file__).resolve().parents[1] / ".s3" / "bin"
PROGRAM: Final = TOOLS / "versitygw"
KEY: Final = "testing"
SECRET: Final = "not-a-secret"

_SECONDS: Final = 20.0


def built() -> Path:
    """Build the server unless it is there, and return the program.

    Raises:
        SystemExit: There is no Go, or it could not build the server.
    """
    if PROGRAM.exists():
        return PROGRAM
    go = shutil.which("go")
    if go is None:
        raise SystemExit(
            "A real S3 server is built with Go, and there is none: install Go 1.24 or newer "
            "(https://go.dev/dl), or put versitygw at " + str(PROGRAM)
        )
    TOOLS.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [go, "install", MODULE], env={**os.environ, "GOBIN": str(TOOLS)}, capture_output=True
    )
    if done.returncode or not PROGRAM.exists():
        raise SystemExit(f"go install {MODULE} failed:\n{done.stderr.decode()}")
    return PROGRAM


@contextmanager
def gateway(folder: Path, *buckets: str) -> Iterator[str]:
    """Serve a folder as buckets on a free port of the loopback address; yields the endpoint."""
    program = built()
    for bucket in buckets:
        (folder / bucket).mkdir(parents=True, exist_ok=True)
    port = _free_port()
    command = [str(program), "--port", f"127.0.0.1:{port}", "--quiet", "posix", str(folder)]
    secrets = {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, env={**os.environ, **secrets}, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            _wait_for(port, server, folder)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(port: int, server: subprocess.Popen[bytes], folder: Path) -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as found:
            if found.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"{PROGRAM.name} did not start:\n{(folder / 'server.log').read_text()}")
