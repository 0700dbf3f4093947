"""Operations: `dbt run-operation` runs the commands of `dbt-vcs`, with named arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import click

from dbt.adapters.vcs.cli.command_session import CommandSession
from dbt.adapters.vcs.cli.failure import Failure, ShownFailure
from dbt.adapters.vcs.cli.operation_forms import FORMS, Form
from dbt.adapters.vcs.cli.operation_values import value_for
from dbt.adapters.vcs.cli.options import Settings
from dbt.adapters.vcs.cli.progress_line import ProgressLine
from dbt.adapters.vcs.cli.root import COMMANDS, main
from dbt.adapters.vcs.core.errors import InputError, VcsError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.layout.styled import Block, plain_lines
from dbt.adapters.vcs.merges.protection import Rules

# dbt creates the repository and runs SQL by itself, a copy is of no project nor is a machine, a
# server doesn't end with an invocation of dbt, and rows on standard output would be mixed with
# dbt's log.
_NOT_IN_DBT: Final = frozenset({"init", "sql", "copy", "prepare", "serve", "cat", "upgrade"})

OPERATIONS: Final = tuple(name for name in COMMANDS if name not in _NOT_IN_DBT)
"""Names of the commands that are also operations."""

_OPTION: Final = re.compile(r"--[a-z][a-z-]*")

# Commands cache the first help option that they create, so it must be the command line's.
_ROOT: Final = click.Context(main, **main.context_settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller of an operation.

    Attributes:
        repository: The repository.
        author: The author of changes.
        branch: The branch to use if none is given.
        schema: The schema of names without one.
        engine: Creates the engine; None for one with no settings.
        rules: The project's rules for branches and merges.
    """

    repository: Repository
    author: str
    branch: str
    schema: str = "default"
    engine: Callable[[], Engine] | None = None
    rules: Rules = field(default_factory=Rules)


class OperationSession(CommandSession):
    """A session that is created from dbt's environment and collects a command's output.

    Attributes:
        lines: The output, as text.
    """

    def __init__(self, caller: Caller, command: click.Command) -> None:
        super().__init__(Settings())
        self.target = None
        self.repository = caller.repository
        self.branch = caller.branch
        self.schema = caller.schema
        self.author = caller.author
        self.rules = caller.rules
        self.lines: list[str] = []
        self._engine = caller.engine
        self._options = {
            option: _spelling(command, param)
            for param in command.params
            if param.expose_value
            for option in param.opts
        }

    @property
    def location(self) -> str:
        """Location of the repository."""
        return self.repository.uri

    def engine(self) -> Engine:
        """Return dbt's engine."""
        return super().engine() if self._engine is None else self._engine()

    def show(
        self, value: Any, blocks: Iterable[Block], items: Iterable[Any] | None = None
    ) -> None:
        """Collect a result as text."""
        self.say(blocks)

    def say(self, blocks: Iterable[Block]) -> None:
        """Collect what was done as text."""
        self.lines.extend(plain_lines(blocks))

    def warn(self, lines: Iterable[str]) -> None:
        """Collect warnings."""
        self.lines.extend(lines)

    @property
    def progress(self) -> ProgressLine:
        """A quiet one: dbt shows what it does itself."""
        return ProgressLine(is_quiet=True)

    @property
    def can_ask(self) -> bool:
        """False: nobody can answer while dbt runs."""
        return False

    def spelled(self, text: str) -> str:
        """Return a sentence with arguments instead of options: `all: true` for `--all`."""
        return _OPTION.sub(lambda found: self._options.get(found[0], found[0]), text)


def run_operation(caller: Caller, verb: str, arguments: Mapping[str, Any]) -> list[str]:
    """Run a command with named arguments and return its output lines.

    Arguments that are None and flags that are false count as not given. A group of commands, such
    as `branch`, takes the command as `action`; without one it lists what exists.

    Raises:
        InputError: There is no such verb, or it has no such argument; the message names those that
            exist.
        VcsError: The command failed.
    """
    return prepare_operation(caller, verb, arguments)()


def prepare_operation(
    caller: Caller, verb: str, arguments: Mapping[str, Any]
) -> Callable[[], list[str]]:
    """Check a command and its arguments, and return what runs it.

    Raises what `run_operation` raises, the command's own errors when it runs.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    command, title = _command_of(verb, given)
    values = _values(command, title, FORMS.get(verb, Form()), given)
    words = _words(command, values)

    def run() -> list[str]:
        session = OperationSession(caller, command)
        with (
            _failing_as_operation(session),
            command.make_context(title, words, _ROOT, obj=session, default_map=values) as ctx,
        ):
            command.invoke(ctx)
        return session.lines

    return run


def _command_of(verb: str, given: dict[str, Any]) -> tuple[click.Command, str]:
    """Return the command and its name for messages; removes the argument that selects it."""
    found = main.get_command(_ROOT, verb) if verb in OPERATIONS else None
    if found is None:
        raise InputError(f"There is no verb {verb!r}; expected one of {', '.join(OPERATIONS)}.")
    if not isinstance(found, click.Group):
        return found, verb
    action = given.pop("action", "list")
    if action not in found.commands:
        known = ", ".join(found.commands)
        raise InputError(f"{verb} has no action {action!r}; expected one of {known}.")
    return found.commands[action], f"{verb} {action}"


def _values(
    command: click.Command, title: str, form: Form, given: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments as values of the command's parameters, by name."""
    params = [param for param in command.params if param.expose_value]
    known = form.arguments_of([str(param.name) for param in params])
    # Macros also pass flags that were not set, whatever the action.
    unknown = [name for name, value in given.items() if name not in known and value is not False]
    if unknown:
        takes = f"it takes {', '.join(known)}" if known else "it takes none"
        raise InputError(f"{title} has no argument {unknown[0]!r}; {takes}.")
    values: dict[str, Any] = {}
    wanted = form.parameters_of(given)
    for param in params:
        name = str(param.name)
        value = value_for(param, wanted[name]) if name in wanted else None
        if value is not None:
            values[name] = value
        elif param.required:
            raise InputError(f"{title} needs the argument {name!r}.")
    return values


def _words(command: click.Command, values: dict[str, Any]) -> list[str]:
    """Return the words of a command line that ends in a list; empty if no list is given.

    Click before 8.3 takes lists of words from the command line only, and no default for them.
    """
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    if not arguments or arguments[-1].nargs != -1 or arguments[-1].name not in values:
        return []
    *single, last = (values.pop(str(param.name)) for param in arguments)
    return ["--", *single, *last]


@contextmanager
def _failing_as_operation(session: OperationSession) -> Iterator[None]:
    """Turn the ways in which a command exits into errors for Python callers."""
    try:
        yield
    except ShownFailure as failure:
        raise failure.kind("\n".join(session.lines)) from None
    except click.exceptions.Exit:
        # The exit code of `diff` says that something differs, which is not an error.
        pass
    except click.BadParameter as error:
        name = error.param.name if error.param else "?"
        raise InputError(f"The argument {name!r}: {error.message}") from error
    except click.UsageError as error:
        raise InputError(session.spelled(error.format_message())) from error
    except Failure as failure:
        if isinstance(failure.__cause__, VcsError):
            raise failure.__cause__ from None
        raise
    except VcsError as error:
        # Also show what was done before the failure, such as the first of two branches deleted.
        error.args = ("\n".join([*session.lines, str(error)]), *error.args[1:])
        raise


def _spelling(command: click.Command, param: click.Parameter) -> str:
    """Return how an option is written as an argument of an operation."""
    mode = FORMS.get(str(command.name), Form()).modes.get(str(param.name))
    is_flag = isinstance(param, click.Option) and param.is_flag
    return mode or (f"{param.name}: true" if is_flag else str(param.name))
