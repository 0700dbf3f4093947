"""`dbt-vcs serve`: an Iceberg REST catalog over the repository."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from dbt.adapters.vcs.commands.layout.styled import Span, line
from dbt.adapters.vcs.commands.options import json_option
from dbt.adapters.vcs.commands.session import CommandSession, with_session
from dbt.adapters.vcs.core.errors import InputError

_FILE = click.Path(path_type=Path, dir_okay=False)
_EXTRA = ("fastavro", "prometheus_client", "starlette", "uvicorn")


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8181,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option("--tokens", type=_FILE, metavar="FILE", help="YAML file of who may use it.")
@click.option("--certificate", type=_FILE, metavar="FILE", help="PEM file of a chain, for TLS.")
@click.option("--key", type=_FILE, metavar="FILE", help="PEM file of its private key.")
@click.option(
    "--vended", is_flag=True, help="Hand the credentials of the object store on to clients."
)
@click.option(
    "--format-version",
    type=click.Choice(["2", "3"]),
    default="2",
    show_default=True,
    help="Iceberg's format version of tables whose property format-version is not set.",
)
@click.option(
    "--max-connections",
    type=click.IntRange(2),
    default=1_000,
    show_default=True,
    help="Connections at once.",
)
@click.option(
    "--max-per-address",
    type=click.IntRange(1),
    default=250,
    show_default=True,
    help="Connections at once from one address; half of all at most.",
)
@click.option("--check", is_flag=True, help="Show what clients need to type, and stop.")
@json_option
@with_session
def serve_command(
    session: CommandSession,
    host: str,
    port: int,
    tokens: Path | None,
    certificate: Path | None,
    key: Path | None,
    vended: bool,
    format_version: str,
    max_connections: int,
    max_per_address: int,
    check: bool,
) -> None:
    """Serve the repository as an Iceberg REST catalog.

    Spark, Trino, DuckDB, PyIceberg and others read any branch, tag or commit: the warehouse that a
    client asks for is a revision; without one all branches are namespaces. Clients whose warehouse
    is a branch write to it, too. The server listens on this machine alone unless it has --tokens.
    It stops on Ctrl-C or SIGTERM, when the requests at work are answered.
    """
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        raise InputError(
            f"dbt-vcs serve needs packages that are not installed: {', '.join(missing)}. Install "
            "them: pip install 'dbt-vcs[serve]'"
        )
    from dbt.adapters.vcs.iceberg.serve.http_server import ServerLimits
    from dbt.adapters.vcs.iceberg.serve.start import Listening, Serving

    serving = Serving.of(
        session.repository,
        Listening(
            host=host,
            port=port,
            tokens=tokens,
            certificate=certificate,
            key=key,
        ),
        vended=vended,
        format_version=int(format_version),
        storage_options=session.storage_options,
        environment=os.environ,
        limits=ServerLimits(connections=max_connections, per_address=max_per_address),
    )
    if not check:
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
