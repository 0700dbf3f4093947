"""Failures: an error as one message on stderr and an exit code."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

import click

from dbt.adapters.vcs.commands.layout import printable
from dbt.adapters.vcs.core.errors import ConflictError, NotFoundError, VcsError
from dbt.adapters.vcs.core.failures import without_secrets

NOT_DONE: Final = 1
"""Something was not found, or there is a conflict."""

FAILED: Final = 2
"""The command line is wrong, or the command failed."""

STOPPED: Final = 130
"""Stopped by Ctrl-C."""


class Failure(click.ClickException):
    """An error message for a person."""

    exit_code = FAILED

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message on stderr."""
        text = "\n".join(printable(line) for line in self.message.split("\n"))
        click.echo(f"{click.style('Error:', fg='red')} {text}", file=file, err=True)


class NotDone(Failure):
    """An error message about something that was not found, or about a conflict."""

    exit_code = NOT_DONE


class ShownFailure(click.exceptions.Exit):
    """Ends a command whose output already shows what is wrong.

    Attributes:
        kind: The equivalent error, for callers that don't get an exit code.
    """

    def __init__(self, kind: type[VcsError]) -> None:
        super().__init__(NOT_DONE if issubclass(kind, ConflictError) else FAILED)
        self.kind = kind


def told_of(error: VcsError, failure: click.ClickException) -> dict[str, Any]:
    """Return an error as JSON values: `error` (its kind), `message`, `exit_code`."""
    # A subclass that another room defines is of the kind of its ancestor in core.errors.
    kind = next(item for item in type(error).__mro__ if item.__module__ == VcsError.__module__)
    name = kind.__name__.removesuffix("Error").lower()
    return {"error": name, "message": failure.message, "exit_code": failure.exit_code}


@contextmanager
def failing_plainly() -> Iterator[None]:
    """Turn exceptions raised inside the block into ones that click prints without a traceback."""
    try:
        yield
    except (NotFoundError, ConflictError) as error:
        raise NotDone(str(error)) from error
    except VcsError as error:
        raise Failure(str(error)) from error
    except KeyboardInterrupt:
        # A terminal has shown "^C" where the cursor was: write over it.
        click.echo("\rStopped." if sys.stderr.isatty() else "Stopped.", err=True)
        raise click.exceptions.Exit(STOPPED) from None
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            # The reader, such as `head`, has gone: click exits quietly.
            raise
        raise Failure(
            f"dbt-vcs failed unexpectedly: {type(error).__name__}: {without_secrets(str(error))}. "
            "Nothing is known to be damaged. Run it again with --debug to see where, and report "
            "that."
        ) from error
