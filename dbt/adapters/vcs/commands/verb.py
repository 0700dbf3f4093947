"""Verbs: commands whose options and arguments are taken from a function's signature."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Concatenate,
    Final,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
)

import click
from click.core import ParameterSource

from dbt.adapters.vcs.commands.options import common_options, current_settings, json_options

if TYPE_CHECKING:
    from dbt.adapters.vcs.commands.session import CommandSession

Run: TypeAlias = Callable[Concatenate["CommandSession", ...], None]


class Option:
    """What a signature doesn't say of an option or argument.

    Attributes:
        help: Its help, one sentence.
        names: How it is spelled, if not as the parameter is; short names alone are added to that.
        settings: More, as click takes it: `metavar`, `type`, `show_default`.
    """

    def __init__(self, help: str = "", *names: str, **settings: Any) -> None:
        self.help = help
        self.names = names
        self.settings = settings


def rows_limit(noun: str = "Rows to show") -> Option:
    """Return the option --limit, where 0 means all."""
    return Option(f"{noun}, at most; 0 for all.", "-n", type=click.IntRange(min=0))


DryRun: TypeAlias = Annotated[bool, "Show what would happen, and change nothing."]
Message: TypeAlias = Annotated[str | None, Option("Message of the commit.", "-m")]
Note: TypeAlias = Annotated[str, Option("A note about it.", "--message", "-m")]
ToChange: TypeAlias = Annotated[str | None, Option("The branch to change.", "-b", metavar="NAME")]

OnConflict: TypeAlias = Annotated[
    str | None,
    Option(
        "What to do if both sides changed a row differently.  [default: vcs.yml, else the "
        "table's own setting, else fail]",
        # Those of `Mode`, whose module is slow to load.
        type=click.Choice(("fail", "skip", "accept", "cell", "cell_skip", "cell_accept")),
    ),
]
Mainline: TypeAlias = Annotated[
    int,
    Option(
        "For a merge commit: the number of the parent that its changes are relative to.",
        type=click.IntRange(min=1),
        metavar="N",
    ),
]


def check_message(*, message: str | None, **_: object) -> None:
    """Check that the message of a commit is not the number of a parent, as git's `-m 1` is.

    Raises:
        click.UsageError: It looks like one.
    """
    if message is not None and message.isdecimal():
        raise click.UsageError(
            f"The message is {message!r}, which looks like the number of a parent: to give that, "
            f"use --mainline {message}."
        )


class Verb(click.Command):
    """A command that looks at what it was given before it loads what it runs.

    Attributes:
        check: Raises `click.UsageError` for options that can't be combined. It is called with the
            command's parameters as keywords. None if every combination can.
    """

    def __init__(self, *args: Any, check: Callable[..., None] | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.check = check

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of a command line; `-5` is `-n 5`, as it is for git."""
        takes_value = {
            name
            for param in self.params
            if isinstance(param, click.Option) and not param.is_flag
            for name in param.opts
        }
        # An operation of dbt puts its words behind this mark.
        is_limit = "-n" in takes_value and "--" not in args
        before = ""
        for at, word in enumerate(tuple(args) if is_limit else ()):
            if re.fullmatch(r"-[0-9]+", word) and before not in takes_value:
                args[at] = f"-n{word[1:]}"
            before = word
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Check the parameters, and run the command."""
        self.look_at(ctx)
        return super().invoke(ctx)

    def look_at(self, ctx: click.Context) -> None:
        """Raise `click.UsageError` for what was given if it can't be combined."""
        if self.check is not None:
            # By the context, which adds to an error how the command is used.
            ctx.invoke(self.check, **ctx.params)


def verb(
    group: click.Group | None = None,
    *,
    prints_json: bool = True,
    pages: bool = False,
    hidden: bool = False,
    check: Callable[..., None] | None = None,
) -> Callable[[Run], click.Command]:
    """Return a decorator that makes a command of a function.

    The command is called as the function is, without `_command`, or without the group's name. Its
    first argument is the session; positional parameters become arguments, keywords become
    options. What the annotation doesn't say stands in `Annotated`: the help, or an `Option`.

    | parameter         | on the command line                                  |
    |-------------------|------------------------------------------------------|
    | without a default | required                                             |
    | `bool`            | a flag                                               |
    | `tuple[...]`      | words at the end, or an option that can be repeated  |
    | `Literal[...]`    | one of these                                         |

    Args:
        group: The group that the command is in; None if it stands by itself.
        prints_json: True for the options --json and --jsonl.
        pages: True to show long output in a pager.
        hidden: True to leave it out of the group's help.
        check: Refuses options that can't be combined; see `Verb`.
    """

    def command_of(run: Run) -> click.Command:
        # The name without the suffix is that of the function for Python programs.
        name = run.__name__.removesuffix("_command")
        if group is not None:
            name = name.removeprefix(f"{group.name}_")
        name = name.replace("_", "-")

        def callback(**given: Any) -> None:
            # Opening a repository is not loaded for help.
            from dbt.adapters.vcs.commands.known_names import naming_other_schemas, with_schemas
            from dbt.adapters.vcs.commands.session import CommandSession

            ctx = click.get_current_context()
            # An operation of dbt brings a session of its own, which collects the output.
            session = ctx.find_object(CommandSession) or CommandSession(current_settings(ctx))
            given |= _without_head(session, command, given)
            whole = given | with_schemas(session, ctx, given)
            session.pages = pages
            session.progress.begin()
            try:
                with session.finishing(), naming_other_schemas(session, ctx, given):
                    run(session, **whole)
            finally:
                session.progress.end()

        # Annotations are texts in modules that import them from the future.
        _, *own = inspect.signature(run, eval_str=True).parameters.values()
        params = _params(own, prints_json)
        command = Verb(
            name, callback=callback, params=params, help=run.__doc__, hidden=hidden, check=check
        )
        if group is not None:
            group.add_command(command)
        return command

    return command_of


def verbs(
    fallback: str | None = None,
    flags: Mapping[str, tuple[str, ...]] | None = None,
    kind: type[VerbGroup] | None = None,
) -> Callable[[Callable[..., None]], VerbGroup]:
    """Return a decorator that makes a group of a function, whose body does nothing.

    Without a command, the group runs `list` with the options that the function declares.
    `fallback` and `flags` are as in `VerbGroup`; `kind` is the group's class, if it has one of its
    own.
    """

    def group_of(about: Callable[..., None]) -> VerbGroup:
        @click.pass_context
        def callback(ctx: click.Context, /, **options: Any) -> None:
            if ctx.invoked_subcommand is None:
                ctx.invoke(group.commands["list"], **options)

        own = list(inspect.signature(about, eval_str=True).parameters.values())
        group = (kind or VerbGroup)(
            about.__name__.removesuffix("_command"),
            callback=callback,
            params=_params(own),
            help=about.__doc__,
            fallback=fallback,
            flags=flags,
        )
        return group

    return group_of


_REVISIONS: Final = ("at", "to")
"""Options that take a revision."""
_HEAD: Final = re.compile(r"(?:^|(?<=\.\.))HEAD(?=$|[~^@:]|\.\.)")


def _without_head(
    session: CommandSession, command: click.Command, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the revisions that name git's HEAD, with the branch that is changed or shown."""
    found = {
        str(param.name): given[str(param.name)]
        for param in command.params
        if (isinstance(param, click.Argument) and param.name != "name") or param.name in _REVISIONS
    }
    named = {name: value for name, value in found.items() if _with_head(value, "") != value}
    # An earlier version let somebody name a branch so.
    if not named or session.repository.is_known("HEAD"):
        return {}
    # A branch that is an argument is what the command is about.
    head = (None if "branch" in found else given.get("branch")) or session.shown
    return {name: _with_head(value, head) for name, value in named.items()}


def _with_head(value: Any, head: str) -> Any:
    if isinstance(value, tuple):
        return tuple(_with_head(item, head) for item in value)
    return _HEAD.sub(lambda _: head, value) if isinstance(value, str) else value


def _params(own: list[inspect.Parameter], prints_json: bool = True) -> list[click.Parameter]:
    json = json_options() if prints_json else []
    return [*map(_param, own), *json, *common_options()]


def _param(parameter: inspect.Parameter) -> click.Parameter:
    kind, more = parameter.annotation, Option()
    if get_origin(kind) is Annotated:
        kind, said = get_args(kind)
        more = said if isinstance(said, Option) else Option(said)
    is_list = get_origin(kind) is tuple
    is_required = parameter.default is parameter.empty
    settings: dict[str, Any] = {"required": is_required, "shell_complete": _known_names}
    if get_origin(kind) in (Union, UnionType):
        # `int | None`: None only says that it need not be given.
        kind = next(each for each in get_args(kind) if each is not type(None))
    if get_origin(kind) is Literal:
        settings["type"] = click.Choice(get_args(kind))
    if kind in (int, float):
        settings["type"] = kind
    # A flag that is off by default has nothing to show.
    if isinstance(parameter.default, str | int | float) and parameter.default is not False:
        settings["default"] = parameter.default
    if parameter.kind is not parameter.KEYWORD_ONLY:
        settings["nargs"] = -1 if is_list else 1
        return click.Argument([parameter.name], **{**settings, **more.settings})
    names = more.names
    if not any(name.startswith("--") for name in names):
        names = (f"--{parameter.name.replace('_', '-')}", *names)
    # An empty text as the default is nothing to show.
    settings |= {"multiple": is_list, "show_default": bool(settings.get("default"))}
    if kind is bool:
        settings |= {"is_flag": True, "required": False}
    return click.Option([*names, parameter.name], help=more.help, **{**settings, **more.settings})


def _known_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    # Its module needs a session, which is not loaded for help.
    from dbt.adapters.vcs.commands.known_names import known_names

    return known_names(ctx, param, incomplete)


_SOURCES: Final = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
"""Sources of parameters that the caller gave: a command line, or arguments of an operation."""


def check_only(form: str, *known: str, hint: str = "") -> None:
    """Check that the current command was given no parameters other than these.

    Args:
        form: The form of the command, for the message: `--continue`.
        known: The names of the parameters that this form accepts.
        hint: What to do instead, added to the message.

    Raises:
        click.UsageError: Another parameter was given.
    """
    ctx = click.get_current_context()
    for param in _given_params(ctx):
        if param.expose_value and param.name not in known:
            raise click.UsageError(
                f"{_spelling(param)} can't be used with {form}. Leave it out. {hint}".rstrip(), ctx
            )


def check_before(ctx: click.Context, command: click.Command) -> None:
    """Check that a command of a group accepts the options given before its name.

    Raises:
        click.UsageError: It doesn't, or accepts them only after its name.
    """
    for param in _given_params(ctx):
        takes = any(set(param.opts) & set(own.opts) for own in command.params)
        if not takes:
            raise click.UsageError(
                f"{_spelling(param)} can't be used with {command.name}. Leave it out.", ctx
            )
        if param.expose_value:
            raise click.UsageError(f"Put {_spelling(param)} after {command.name}.", ctx)


def _given_params(ctx: click.Context) -> Iterator[click.Parameter]:
    for param in ctx.command.params:
        name = str(param.name)
        # Click before 8.3 says of a list without words that it was given.
        if ctx.get_parameter_source(name) in _SOURCES and ctx.params.get(name) != ():
            yield param


def _spelling(param: click.Parameter) -> str:
    return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name


class VerbGroup(click.Group):
    """Commands with a default, used if the first argument names none of them.

    Attributes:
        fallback: Name of the default; None to refuse such an argument.
        flags: The words that a first word stands for, such as git's `-d` for `delete`.
    """

    def __init__(
        self,
        *args: Any,
        fallback: str | None = None,
        flags: Mapping[str, tuple[str, ...]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **{"invoke_without_command": True, **kwargs})
        self.fallback = fallback
        self.flags = flags or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of a command line, with git's flags as what they stand for."""
        return super().parse_args(
            ctx, [*self.flags.get(args[0], args[:1]), *args[1:]] if args else args
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command to run, and its arguments.

        Raises:
            click.UsageError: There is none, or it doesn't accept the options given before its
            name.
        """
        if args[0] not in self.commands:
            near = get_close_matches(args[0], self.commands, n=1, cutoff=0.75)
            if near or not self.fallback:
                meant = f" Did you mean {near[0]}?" if near else ""
                raise click.UsageError(f"{self.name} has no command {args[0]!r}.{meant}", ctx)
            # `dbt-vcs tag NAME` creates a tag, as git does.
            args = [self.fallback, *args]
        found = super().resolve_command(ctx, args)
        if found[1] is not None:
            check_before(ctx, found[1])
        return found
