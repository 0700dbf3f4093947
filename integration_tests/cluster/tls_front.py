"""TLS in front of a server of this machine, as a company's proxy ends it."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

HOST = "127.0.0.1"
CHUNK = 65_536


class Front(NamedTuple):
    """Where clients connect.

    Attributes:
        port: The port on the loopback interface.
        certificate: The file of the certificate, which nobody has signed but itself.
    """

    port: int
    certificate: Path


@contextmanager
def tls_front(folder: Path, behind: int) -> Iterator[Front]:
    """Take TLS connections for HTTP/2, and hand their bytes to a port of this machine.

    Args:
        folder: Where the certificate is made.
        behind: The port of a server that speaks HTTP/2 without TLS.
    """
    certificate, key = _certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    # A client of gRPC hangs up on a server that doesn't agree to HTTP/2.
    context.set_alpn_protocols(["h2"])
    loop = asyncio.new_event_loop()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            to_reader, to_writer = await asyncio.open_connection(HOST, behind)
            await asyncio.gather(_hand_over(reader, to_writer), _hand_over(to_reader, writer))

    server = loop.run_until_complete(asyncio.start_server(serve, HOST, 0, ssl=context))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield Front(server.sockets[0].getsockname()[1], certificate)
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _hand_over(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()


def _certificate(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "server.crt", folder / "server.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=spark", "-addext", f"subjectAltName=IP:{HOST}"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key
