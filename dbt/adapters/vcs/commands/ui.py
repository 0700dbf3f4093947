"""`dbt-vcs ui`: branches, history, rows and reviews in a browser."""

from __future__ import annotations

import secrets
import sys
from typing import TYPE_CHECKING, Annotated

import click

from dbt.adapters.vcs.commands.serve import check_installed
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.failures import shown_location

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def site_app(session: CommandSession, *, token: str, port: int) -> ASGIApp:
    """Return the application of all pages, which answers at a port of this machine."""
    # Starlette and the templates are slow to import, and help doesn't need them.
    from dbt.adapters.vcs.commands.ui_pages import HistoryPages
    from dbt.adapters.vcs.commands.ui_review import ReviewPages
    from dbt.adapters.vcs.commands.ui_site import UiSite, ui_app
    from dbt.adapters.vcs.commands.ui_tables import TablePages

    site = UiSite(session, token=token, port=port)
    kinds = (HistoryPages, TablePages, ReviewPages)
    return ui_app(site, [route for pages in kinds for route in pages(site).routes()])


@verb(prints_json=False)
def ui_command(
    session: CommandSession,
    *,
    port: Annotated[
        int, Option("Port to listen on; 0 picks a free one.", type=click.IntRange(0, 65535))
    ] = 0,
    open: Annotated[bool, "Open the browser, too."] = False,
) -> None:
    """Show branches, history, rows and reviews in a browser.

    The server listens on this machine alone, and answers only whoever has the token that is in the
    address it prints. Reading needs no Java; what a page changes is held to the same rules as the
    command. It stops on Ctrl-C.
    """
    check_installed("dbt-vcs ui", "starlette", "uvicorn")
    from dbt.adapters.vcs.iceberg.serve.http_server import listen, run, url_of
    from dbt.adapters.vcs.iceberg.serve.observed import ServerLog

    repository = session.repository
    # The server writes to stderr itself from now on.
    session.progress.end()
    log = ServerLog(sys.stderr)
    try:
        with listen("127.0.0.1", port) as listener:
            place = listener.getsockname()[1]
            token = secrets.token_urlsafe(32)
            app = site_app(session, token=token, port=place)
            address = f"{url_of('127.0.0.1', place, is_secure=False)}/?token={token}"
            log(f"Showing {shown_location(repository.uri)} at {address}")
            log("Ctrl-C stops it.")
            if open:
                click.launch(address)
            run(app, listener, log=log.stranger)
        log("Stopped.")
    finally:
        log.end()
