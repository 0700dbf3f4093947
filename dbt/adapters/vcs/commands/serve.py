"""`dbt-vcs serve`: an Iceberg REST catalog over the repository."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final, Literal

import click

from dbt.adapters.vcs.commands.layout import Span, line
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import InputError

_FILE = click.Path(path_type=Path, dir_okay=False)
SERVING: Final = ("fastavro", "prometheus_client", "pyroaring", "starlette", "uvicorn")
"""Modules that the server needs, as Python imports them, not as pip installs them."""


def check_installed(command: str, *modules: str, extra: str = "serve") -> None:
    """Check that a server's modules are there, before an import fails that says only their names.

    Args:
        command: Who needs them, for the message.
        modules: Their names, as Python imports them.
        extra: The extra of this package that installs them.

    Raises:
        InputError: Some are not installed.
    """
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise InputError(
            f"{command} needs packages that are not installed: {', '.join(missing)}. Install "
            f"them: pip install 'dbt-vcs[{extra}]'"
        )


@verb()
def serve_command(
    session: CommandSession,
    *,
    host: Annotated[str, "Address to listen on."] = "127.0.0.1",
    port: Annotated[
        int, Option("Port to listen on; 0 picks a free one.", type=click.IntRange(0, 65535))
    ] = 8181,
    tokens: Annotated[
        Path | None, Option("YAML file of who may use it.", type=_FILE, metavar="FILE")
    ] = None,
    certificate: Annotated[
        Path | None, Option("PEM file of a chain, for TLS.", type=_FILE, metavar="FILE")
    ] = None,
    key: Annotated[
        Path | None, Option("PEM file of its private key.", type=_FILE, metavar="FILE")
    ] = None,
    vended: Annotated[bool, "Hand the credentials of the object store on to clients."] = False,
    format_version: Annotated[
        Literal["2", "3"],
        "Iceberg's format version of tables whose property format-version is not set.",
    ] = "2",
    max_connections: Annotated[
        int, Option("Connections at once.", type=click.IntRange(2))
    ] = 1_000,
    max_per_address: Annotated[
        int,
        Option(
            "Connections at once from one address; half of all at most.", type=click.IntRange(1)
        ),
    ] = 250,
    check: Annotated[bool, "Show what clients need to type, and stop."] = False,
) -> None:
    """Serve the repository as an Iceberg REST catalog.

    Spark, Trino, DuckDB, PyIceberg and others read any branch, tag or commit: the warehouse that a
    client asks for is a revision; without one all branches are namespaces. Clients whose warehouse
    is a branch write to it, too. The server listens on this machine alone unless it has --tokens.
    It stops on Ctrl-C or SIGTERM, when the requests at work are answered.
    """
    check_installed("serve", *SERVING)
    from dbt.adapters.vcs.iceberg.serve.http_server import ServerLimits
    from dbt.adapters.vcs.iceberg.serve.start import Listening, Serving

    serving = Serving(
        session.repository,
        Listening(host=host, port=port, tokens=tokens, certificate=certificate, key=key),
        vended=vended,
        format_version=int(format_version),
        storage_options=session.storage_options,
        environment=os.environ,
        limits=ServerLimits(connections=max_connections, per_address=max_per_address),
    )
    if not check:
        # The server writes to stderr itself from now on.
        session.progress.end()
        serving.run(sys.stderr)
        return
    found = serving.help(session.branch)
    blocks = [
        block
        for item in found
        for block in (
            line(Span(item.client, "heading")),
            *map(line, item.lines),
            *map(line, item.writes),
            line(),
        )
    ]
    session.show(found, blocks[:-1])
