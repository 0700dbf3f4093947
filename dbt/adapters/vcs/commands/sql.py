"""`dbt-vcs sql`: statements on a branch."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Final

from dbt.adapters.vcs.commands.output import RowSet, rows_text
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, rows_limit, verb
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines.methods import named_server
from dbt.adapters.vcs.sql.syntax.lexer import tokenize
from dbt.adapters.vcs.sql.syntax.parser import split

# What begins so is for Spark, but for errors and what doesn't change anything.
_FOR_ENGINE: Final = {"select", "with", "values", "from", "insert", "update", "delete", "merge"}


@verb()
def sql_command(
    session: CommandSession,
    statement: str,
    *,
    branch: Annotated[
        str | None, Option("Branch or revision.  [default: the profile's]", "-b", metavar="NAME")
    ] = None,
    schema: Annotated[str | None, Option("Schema for unqualified names.", metavar="NAME")] = None,
    limit: Annotated[int, rows_limit()] = 100,
) -> None:
    """Run SQL on a branch, with Spark.

    STATEMENT is one or more statements, separated by semicolons; `-` reads them from standard
    input. Each statement that changes something is a commit. Prints the result of the last one.
    """
    texts = split(sys.stdin.read() if statement == "-" else statement)
    if not texts:
        raise InputError("Expected a statement, found only white space and comments.")
    if asks_engine(texts[0]):
        session.launch_engine()
    # Imported meanwhile.
    from dbt.adapters.vcs.api import Client
    from dbt.adapters.vcs.reuse.cache_key import KeyContext
    from dbt.adapters.vcs.reuse.engine_context import EngineContext
    from dbt.adapters.vcs.workspace.lines.dispatch import may_change

    target_branch = branch or session.branch
    settings = session.target.spark_config if session.target else {}
    is_there = session.target is not None and session.target.method == "connect"
    server = named_server(settings) if is_there else ""
    with Client.on(
        session.repository,
        target_branch,
        lambda _: session.engine(),
        schema=schema or session.schema,
        author=session.author,
        context=KeyContext(engine=EngineContext.of(settings, server)),
    ) as client:
        for text in texts:
            # Only then: a query must not write the project's rules to the branch.
            if may_change(text):
                session.bound(target_branch)
            # Python would show the line of our code at which a warning was raised.
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", UserWarning)
                rows = client.sql(text)
            for item in told:
                session.warn([f"Warning: {item.message}"])
    shown = RowSet.of(rows, limit or None)
    session.show(shown, rows_text(shown, rows.num_rows))


def asks_engine(text: str) -> bool:
    """Return whether a statement is sure to be for Spark, by its first word."""
    return tokenize(text)[0].word in _FOR_ENGINE
