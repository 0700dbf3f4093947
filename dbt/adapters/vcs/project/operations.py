"""Operations: `dbt run-operation` runs the commands of `dbt-vcs`, with named arguments."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

import click
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.project_rules import Rules
from dbt.adapters.vcs.cli import main
from dbt.adapters.vcs.commands import COMMANDS
from dbt.adapters.vcs.commands.failure import Failure, ShownFailure
from dbt.adapters.vcs.commands.layout import Block, plain_lines
from dbt.adapters.vcs.commands.options import NameList, Pair, Settings, with_options
from dbt.adapters.vcs.commands.session import CommandSession, ProgressLine
from dbt.adapters.vcs.commands.verb import Verb
from dbt.adapters.vcs.core.errors import InputError, VcsError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.sql.syntax.lexer import quote_name, quote_text
from dbt.adapters.vcs.sql.syntax.names import split_list
from dbt.adapters.vcs.table.exact_values import Given

# dbt creates the repository and runs SQL by itself, a copy, a machine or a shell is of no project,
# a server doesn't end with an invocation of dbt, a job of CI and a run of many commands are around
# dbt, and rows or a review on standard output would be mixed with dbt's log.
_NOT_IN_DBT: Final = (
    *("init", "sql", "copy", "pr", "prepare", "completion"),
    *("run", "serve", "cat", "docs", "review", "ui", "mcp", "upgrade"),
)


OPERATIONS: Final = tuple(name for name in COMMANDS if name not in _NOT_IN_DBT)
"""Names of the commands that are also operations."""


_OPTION: Final = re.compile(r"--[a-z][a-z-]*")


# Commands cache the first help option that they create, so it must be the command line's.
_ROOT: Final = click.Context(main, **main.context_settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller of an operation.

    Attributes:
        branch: The branch to use if none is given.
        schema: The schema of names without one.
        engine: Creates the engine; None for one with no settings.
        rules: The project's rules for branches and merges.
        settings: The options that chose the target, which printed commands need again.
    """

    repository: Repository
    author: str
    branch: str
    schema: str = "default"
    engine: Callable[[], Engine] | None = None
    rules: Rules = field(default_factory=Rules)
    settings: Settings = field(default_factory=Settings)


class OperationSession(CommandSession):
    """A session that is created from dbt's environment and collects a command's output.

    Attributes:
        lines: The output, as text.
    """

    def __init__(self, caller: Caller, command: click.Command) -> None:
        super().__init__(caller.settings)
        self.target = None
        self.repository = caller.repository
        self.branch = caller.branch
        self.own_schema = caller.schema
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
        self.lines.extend(plain_lines(self.typed(blocks)))

    def warn(self, lines: Iterable[str]) -> None:
        """Collect warnings."""
        self.lines.extend(with_options(text, self.settings) for text in lines)

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


def prepare_operation(
    caller: Caller, verb: str, arguments: Mapping[str, Any]
) -> Callable[[], list[str]]:
    """Check a command and its named arguments, and return what runs it and returns its lines.

    Arguments that are None and flags that are false count as not given. A group of commands, such
    as `branch`, takes the command as `action`; without one it lists what exists.

    Raises:
        InputError: There is no such verb, it has no such argument, or these can't be combined; the
            message says what can. What is returned raises the command's own errors.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    command, title = _command_of(verb, given)
    values = _values(command, title, _FORMS.get(verb, Form()), given)
    words = _words(command, values)

    @contextmanager
    def called() -> Iterator[tuple[OperationSession, click.Context]]:
        session = OperationSession(caller, command)
        with (
            _failing_as_operation(session),
            # As defaults, values need no spelling as words of a command line. The list is taken
            # apart as it is read.
            command.make_context(title, [*words], _ROOT, obj=session, default_map=values) as ctx,
        ):
            yield session, ctx

    # Now, as a run does some of it by statements, and the rest when it is published.
    with called() as (_, ctx):
        if isinstance(command, Verb):
            command.look_at(ctx)

    def run() -> list[str]:
        with called() as (session, ctx):
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
    if not isinstance(action, str) or action not in found.commands:
        known = ", ".join(found.commands)
        raise InputError(f"{verb} has no action {action!r}; expected one of {known}.")
    return found.commands[action], f"{verb} {action}"


def _values(
    command: click.Command, title: str, form: Form, given: dict[str, Any]
) -> dict[str, Any]:
    params = [param for param in command.params if param.expose_value]
    own = [str(param.name) for param in params if param.name not in form.replaced]
    known = [*form.arguments, *own]
    # Macros also pass flags that were not set, whatever the action.
    unknown = [name for name, value in given.items() if name not in known and value is not False]
    if unknown:
        takes = f"it takes {', '.join(known)}" if known else "it takes none"
        raise InputError(f"{title} has no argument {unknown[0]!r}; {takes}.")
    values: dict[str, Any] = {}
    wanted = given if form.convert is None else form.convert(dict(given))
    for param in params:
        name = str(param.name)
        value = _value_for(param, wanted[name]) if name in wanted else None
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
    # A word that begins with a dash would be taken for an option.
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
    mode = _FORMS.get(str(command.name), Form()).modes.get(str(param.name))
    is_flag = isinstance(param, click.Option) and param.is_flag
    return mode or (f"{param.name}: true" if is_flag else str(param.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How the arguments of an operation become parameters of its command.

    Attributes:
        arguments: Names of the arguments that replace parameters.
        replaced: Names of the parameters that they replace.
        modes: How the operation sets flags without an argument of their own, by parameter.
        convert: Returns the parameters for the arguments; None if they are the same.
    """

    arguments: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    modes: Mapping[str, str] = field(default_factory=dict)
    convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None


def _merge(given: dict[str, Any]) -> dict[str, Any]:
    flags = {"merge": None, "continue": "go_on", "abort": "abort"}
    return _with_flag("merge", "action", given.pop("action", "merge"), flags, given)


def _diff(given: dict[str, Any]) -> dict[str, Any]:
    points = _points(given.pop("revisions", ""), given.pop("relation", ""))
    flags = {"rows": None, "stat": "stat", "summary": "summary", "schema": "schema"}
    return _with_flag(
        "diff", "output", given.pop("output", "rows"), flags, {**given, "points": points}
    )


def _points(revisions: Any, relation: Any) -> list[Any]:
    """Return the revisions, of which one text can hold several, and the relation."""
    points = revisions.split() if isinstance(revisions, str) else [revisions]
    return [*points, relation] if relation != "" else points


def _resolve(given: dict[str, Any]) -> dict[str, Any]:
    # Without a relation, an operation applies to all; the last decision has none of its own.
    return given if "relation" in given or given.get("undo") else {**given, "all": True}


def _with_flag(
    verb: str, name: str, value: Any, flags: Mapping[str, str | None], given: dict[str, Any]
) -> dict[str, Any]:
    if not isinstance(value, str) or value not in flags:
        raise InputError(f"{verb} has no {name} {value!r}; expected one of {', '.join(flags)}.")
    flag = flags[value]
    return given if flag is None else {**given, flag: True}


_FORMS: Final[Mapping[str, Form]] = {
    "merge": Form(
        arguments=("action",),
        replaced=("go_on", "abort"),
        modes={"go_on": "action: continue", "abort": "action: abort"},
        convert=_merge,
    ),
    "diff": Form(
        arguments=("revisions", "relation", "output"),
        replaced=("points", "stat", "summary", "schema"),
        modes={name: f"output: {name}" for name in ("stat", "summary", "schema")},
        convert=_diff,
    ),
    "log": Form(replaced=("table",)),
    "resolve": Form(
        replaced=("all", "nulls", "interactive"),
        modes={"all": "no relation", "nulls": "set"},
        convert=_resolve,
    ),
}
"""By command."""


def _value_for(param: click.Parameter, value: Any) -> Any:
    """Return a value as the command line parser would pass it to a parameter.

    None means not given. So do `false` for a flag, an empty list or mapping, and the parameter's
    default, because macros pass these on.

    Raises:
        InputError: The parameter can't accept the value.
    """
    name = str(param.name)
    if isinstance(param, click.Option) and param.is_flag:
        return _flag(name, value) or None
    if isinstance(param.type, Pair):
        return _pairs(name, param.type, value) or None
    if param.multiple or param.nargs == -1:
        return _words_of_value(name, value) or None
    if isinstance(param.type, NameList):
        return _names(name, value) or None
    is_numeric = isinstance(param.type, click.types.IntParamType | click.types.FloatParamType)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    text = str(value) if is_numeric and is_number else _word(name, value)
    return None if text == str(param.default) else text


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"The argument {name!r} is {value!r}; expected true or false.")
    return value


def _words_of_value(name: str, value: Any) -> tuple[Any, ...]:
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(_word(name, item) for item in items)


def _word(name: str, value: Any) -> str:
    """Return text; YAML reads a commit id that consists only of digits as a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InputError(
        f"The argument {name!r} is {value!r}, which is not text. Put it in quotes: {name}: '...'"
    )


def _names(name: str, value: Any) -> Any:
    """Return names given as a list; text is split by the parameter's own type."""
    if isinstance(value, list | tuple):
        return tuple(_word(name, item).strip() for item in value)
    return _word(name, value)


def _pairs(name: str, type_: Pair, value: Any) -> tuple[tuple[str, Any], ...]:
    """Return the pairs of a mapping; a number or date from YAML stays one if it is exact.

    As text it could differ from what was written: YAML reads `1.50` as 1.5 and `yes` as true.
    """
    if not isinstance(value, Mapping):
        raise InputError(
            f"The argument {name!r} is {value!r}; expected names with values: {name}: {{id: 7}}."
        )
    if not type_.is_exact:
        return tuple((str(key), str(item)) for key, item in value.items())
    return tuple((str(column), _exact(name, column, item)) for column, item in value.items())


def _exact(name: str, column: Any, value: Any) -> Given:
    if value is None:
        return pa.scalar(None)
    if isinstance(value, str):
        return value
    if isinstance(value, bool | float | date) or (
        isinstance(value, int) and abs(value) < 2**63  # what int64 holds
    ):
        return pa.scalar(value)
    # Arrow's whole numbers end there, and a decimal may hold more.
    if isinstance(value, int):
        return str(value)
    raise InputError(
        f"The argument {name!r} has {value!r} for {column}, which is not a single value. Put it "
        f"in quotes: {name}: {{{column}: '...'}}"
    )


# gc and reuse change what is stored, but nothing that a branch, tag or snapshot shows.
READING: Final = frozenset(
    {
        *("bisect", "blame", "conflicts", "diff", "du", "forecast", "fsck", "gc"),
        *("lineage", "log", "reflog", "reuse", "show", "stale", "status"),
    }
)
_LISTING: Final = frozenset({"branch", "runs", "snapshot", "tag"})
_MACROS: Final = {"clone": "clone_from_snapshot", "promote": "promote", "optimize": "optimize"}


def only_reads(verb: str, given: Mapping[str, Any]) -> bool:
    """Return whether an operation with these arguments changes nothing that a ref shows."""
    if given.get("dry_run") or verb in READING:
        return True
    if verb == "repair":
        return not given
    return verb in _LISTING and given.get("action", "list") == "list"


def command_of(verb: str, given: Mapping[str, Any]) -> str:
    """Return the command line that calls an operation."""
    macro = _MACROS.get(verb, f"vcs_{verb}".replace("-", "_"))
    arguments = json.dumps(dict(given), default=str, ensure_ascii=False)
    return f"dbt run-operation {macro} --args {shlex.quote(arguments)}"


def statements_of(verb: str, given: Mapping[str, Any], branch: str) -> tuple[str, ...]:
    """Return the statements for an operation on one relation of a run's branch.

    Returns nothing if the operation is on another branch, or on more than one relation.

    Raises:
        InputError: An argument has no meaning within a run.
    """
    # A run changes its own branch only.
    if given.get("branch", branch) != branch:
        return ()
    if verb == "clone":
        target = _name(given["target"])
        how = "create or replace" if "replace" in given else "create"
        text = f"{how} table {target} clone {_name(given['source'])}{_as_of(given.get('at'))}"
        # The statement creates the schema only of a name without one; the operation any.
        schema = target.rpartition(".")[0]
        return (f"create schema if not exists {schema}", text) if schema else (text,)
    if verb == "restore" and "relation" in given:
        _refuse(verb, given, "message", "a run lands as one commit, which has dbt's message")
        name = _name(given["relation"])
        if "to" not in given:
            return (f"undrop table {name}",)
        return (f"restore table {name} to{_as_of(given['to'])}",)
    if verb == "snapshot" and given.get("action") == "create":
        _refuse(verb, given, "note", "the version that it names may not have a commit yet")
        table = f"{_name(given['relation'])}{_as_of(given.get('at'))}"
        return (f"create snapshot {quote_name(given['name'])} for table {table}",)
    if verb == "optimize" and given.keys() <= {"relation", "branch"} and "relation" in given:
        return tuple(f"optimize {_name(name)}" for name in _relation_names(given["relation"]))
    return ()


def _refuse(verb: str, given: Mapping[str, Any], argument: str, why: str) -> None:
    if argument in given:
        raise InputError(
            f"{verb} takes no {argument} within a run: {why}. Leave it out, or call the operation "
            "after the run."
        )


def _relation_names(value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else [str(item) for item in value]
    return [name for text in texts for name in split_list(text)]


def _name(value: Any) -> str:
    """Return a relation's name in backquotes, part by part."""
    parts = str(value).replace("`", "").split(".")
    return ".".join(quote_name(part) for part in parts)


def _as_of(revision: Any) -> str:
    return "" if revision is None else f" version as of {quote_text(str(revision))}"


class PostponedOperations:
    """Operations that wait until a run is published."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` writes a line to dbt's log."""
        self._say = say
        self._waiting: list[tuple[str, str, Callable[[], list[str]]]] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, caller: str, command: str, work: Callable[[], list[str]]) -> None:
        """Postpone what a node or hook called; `command` does the same outside of a run."""
        self._waiting.append((caller, command, work))

    def drop(self, caller: str) -> None:
        """Drop what a node called that has failed; it calls it again when it is retried."""
        self._waiting = [waiting for waiting in self._waiting if waiting[0] != caller]

    def carry_out(self) -> None:
        """Do all of it, in order, and write what it prints.

        Raises:
            VcsError: Some of it failed; the message says what was not done.
        """
        # Emptied first: `leave_out` is called afterwards in any case.
        waiting, self._waiting = self._waiting, []
        for place, (_, _, work) in enumerate(waiting):
            try:
                lines = work()
            except VcsError as error:
                left = "; ".join(command for _, command, _ in waiting[place:])
                # The same kind, because callers go by it.
                raise type(error)(
                    f"The run is published, but an operation that it called failed: {error} "
                    f"Not carried out: {left}"
                ) from error
            for line in lines:
                self._say(line)

    def leave_out(self) -> None:
        """Write what is not carried out, since the run was not published."""
        for _, command, _ in self._waiting:
            self._say(f"Not carried out, since the run is not published: {command}")
        self._waiting = []
