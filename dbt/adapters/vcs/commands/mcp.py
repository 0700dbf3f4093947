"""`dbt-vcs mcp`: a repository for programs that speak the Model Context Protocol."""

from __future__ import annotations

import signal
from typing import Final

from dbt.adapters.vcs.commands.serve import check_installed
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import verb

# The second is of version 2, without which the first is too old.
_MODULES: Final = ("mcp", "mcp_types")


@verb(prints_json=False)
def mcp_command(session: CommandSession) -> None:
    """Let AI assistants read the repository, by the Model Context Protocol.

    A client starts the command, and speaks to it by standard input and output. It offers status,
    branches, log, diff, review, tables and rows, with limits. Nothing can be changed. Columns that
    vcs.yml or the columns' meta keep out of reviews are left out. Neither Java nor Spark is
    needed.
    """
    check_installed("mcp", *_MODULES, extra="mcp")
    from dbt.adapters.vcs.commands.mcp_tools import mcp_server

    # Opened now: a client shows why a server did not start, if at all, only then.
    server = mcp_server(session.settings, session.repository)
    # Standard error is the client's log from here on.
    session.progress.end()
    # The library's own thread waits for input, and would keep Ctrl-C waiting, too. Whatever a tool
    # is doing then, it writes nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server.run("stdio")
