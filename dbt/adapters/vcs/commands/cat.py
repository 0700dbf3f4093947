"""`dbt-vcs cat`: the rows of a version of a table, without Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import IO, Annotated, Literal

import click

from dbt.adapters.vcs.commands.output import whole_file
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb


@verb(prints_json=False, pages=True)
def cat_command(
    session: CommandSession,
    relation: str,
    *,
    at: Annotated[
        str | None, Option("Which version.  [default: the branch's]", metavar="REVISION")
    ] = None,
    columns: Annotated[
        str | None, Option("Only these columns, in this order.", metavar="A,B")
    ] = None,
    where: Annotated[
        str | None, Option("Only rows that meet it: id = 7 and day > '…'.", metavar="CONDITION")
    ] = None,
    limit: Annotated[
        int | None, Option("At most so many rows.", "-n", type=click.IntRange(min=1))
    ] = None,
    format: Annotated[
        Literal["csv", "json", "arrow", "parquet"], "json is one object a line."
    ] = "csv",
    output: Annotated[
        str | None, Option("Write a file instead of standard output.", "-o", metavar="FILE")
    ] = None,
) -> None:
    """Write the rows of RELATION, a table, as they are read.

    Neither Spark nor Java is needed. CONDITION is comparisons of columns with constants, joined
    by `and`, `or`, `not`. A view can't be read: use `dbt-vcs sql`.
    """
    from dbt.adapters.vcs.client.frames import write_output
    from dbt.adapters.vcs.client.lazy_table import open_table, relation_of_text
    from dbt.adapters.vcs.sql.syntax.names import names_in

    if output is None and format in ("arrow", "parquet") and sys.stdout.isatty():
        raise click.UsageError(f"--format {format} is not for terminals. Add --output FILE.")
    repository = session.repository
    if at is None and ":" in relation and "`" not in relation:
        # Git has `main:file`, and no name has a colon outside backquotes.
        at, _, relation = relation.rpartition(":")
    table = open_table(
        repository,
        relation_of_text(relation, session.schema),
        repository.resolve(session.shown),
        at,
    )
    table = table.scan(None if columns is None else names_in(columns), where)
    # The rows come to the terminal that shows the progress.
    is_shown = output is None and sys.stdout.isatty()
    with session.output() if is_shown else nullcontext(), _sink(output) as sink:
        write_output(table, format, sink, limit=limit)


@contextmanager
def _sink(output: str | None) -> Iterator[IO[bytes]]:
    """Yield standard output, or a file."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with whole_file(output) as file:
            yield file
