"""`dbt-vcs ui`: branches, history, rows and reviews in a browser."""

from __future__ import annotations

import os
import secrets
import sys
from typing import TYPE_CHECKING, Annotated, Final

import click

from dbt.adapters.vcs.commands.serve import SERVING, check_installed
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.failures import shown_location

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from dbt.adapters.vcs.iceberg.serve.observed import ServerLog

_HOST: Final = "127.0.0.1"


def site_app(session: CommandSession, *, token: str, port: int, ticket: str = "") -> ASGIApp:
    """Return the application of all pages, which answers at a port of this machine.

    Each request needs the token; a ticket, if there is one, gets it once.
    """
    # Starlette and the templates are slow to import, and help doesn't need them.
    from dbt.adapters.vcs.commands.ui_conflicts import ConflictPages, ReviewPages
    from dbt.adapters.vcs.commands.ui_pages import HistoryPages
    from dbt.adapters.vcs.commands.ui_site import UiSite, ui_app
    from dbt.adapters.vcs.commands.ui_tables import TablePages

    site = UiSite(session, token=token, port=port, ticket=ticket)
    kinds = (HistoryPages, TablePages, ReviewPages, ConflictPages)
    return ui_app(site, [route for pages in kinds for route in pages(site).routes()])


@verb(prints_json=False)
def ui_command(
    session: CommandSession,
    *,
    port: Annotated[
        int, Option("Port to listen on; 0 picks a free one.", type=click.IntRange(0, 65535))
    ] = 0,
    open: Annotated[bool, "Open the browser, too."] = False,
    serve: Annotated[
        bool, "Also serve the Iceberg REST catalog at the address, to all of this machine."
    ] = False,
) -> None:
    """Show branches, history, rows and reviews in a browser.

    The server listens on this machine alone, and answers only whoever has the token that is in the
    address it prints. Reading needs no Java; what a page changes is held to the same rules as the
    command. It stops on Ctrl-C.
    """
    check_installed("ui", *(SERVING if serve else ("starlette", "uvicorn")))
    from dbt.adapters.vcs.iceberg.serve.http_server import listen, run, url_of
    from dbt.adapters.vcs.iceberg.serve.observed import ServerLog

    repository = session.repository
    # The server writes to stderr itself from now on.
    session.progress.end()
    log = ServerLog(sys.stderr)
    try:
        with listen(_HOST, port) as listener:
            place = listener.getsockname()[1]
            token = secrets.token_urlsafe(32)
            # The command line of a browser is for all users of the machine to read.
            ticket = secrets.token_urlsafe(32) if open else ""
            app = site_app(session, token=token, port=place, ticket=ticket)
            address = url_of(_HOST, place, is_secure=False)
            log(f"Showing {shown_location(repository.uri)} at {address}/?token={token}")
            if serve:
                app = _beside_catalog(app, session, log, place)
                log(f"Serving Iceberg's clients at {address}")
            log("Ctrl-C stops it.")
            if open:
                click.launch(f"{address}/?token={ticket}")
            run(app, listener, log=log.stranger)
        log("Stopped.")
    finally:
        log.end()


def _beside_catalog(app: ASGIApp, session: CommandSession, log: ServerLog, port: int) -> ASGIApp:
    """Return an application that also answers what `dbt-vcs serve` does by default."""
    from dbt.adapters.vcs.iceberg.serve.start import Listening, Serving

    catalog = Serving(
        session.repository,
        Listening(host=_HOST, port=port),
        storage_options=session.storage_options,
        environment=os.environ,
    ).app(log)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        is_catalog = path.startswith("/v1/") or path in ("/health", "/metrics")
        await (catalog if is_catalog else app)(scope, receive, send)

    return answer
