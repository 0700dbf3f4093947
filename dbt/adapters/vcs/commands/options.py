"""Options that several commands share: settings, forms, special values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

F = TypeVar("F", bound=Callable[..., Any])
_KEY: Final = "dbt.adapters.vcs.commands.options"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values of the options; None if not given.

    Attributes:
        repository: Location of the repository.
        storage_options: Settings of the object store, as names and values.
        project_dir: Folder of the dbt project.
        profiles_dir: Folder of profiles.yml.
        profile: Name of the profile.
        profile_target: Name of the profile's target.
        debug: True to show tracebacks.
        json: True to print JSON.
        jsonl: True to print JSON, one line per item.
    """

    repository: str | None = None
    storage_options: tuple[tuple[str, str], ...] = ()
    project_dir: str | None = None
    profiles_dir: str | None = None
    profile: str | None = None
    profile_target: str | None = None
    debug: bool = False
    json: bool = False
    jsonl: bool = False


def current_settings(ctx: click.Context) -> Settings:
    """Return the options seen so far, before and after the command's name."""
    found = ctx.meta.get(_KEY, Settings())
    assert isinstance(found, Settings)
    return found


def common_options(command: F) -> F:
    """Add the options that select the repository to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def json_option(command: F) -> F:
    """Add the options --json and --jsonl to a command."""
    command = _flag("--jsonl", help="Print JSON, one line per row or item.")(command)
    return _flag("--json", help="Print JSON.")(command)


def limit_option(default: int, noun: str = "Rows to show") -> Callable[[F], F]:
    """Return a decorator that adds the option --limit, where 0 means all."""
    return click.option(
        "--limit",
        "-n",
        type=click.IntRange(min=0),
        default=default,
        show_default=True,
        help=f"{noun}, at most; 0 for all.",
    )


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    # The same option can be given before and after the command's name: the last one wins.
    if value is not None and value is not False and param.name is not None:
        other = {"json": "jsonl", "jsonl": "json"}.get(param.name)
        if other is not None and getattr(current_settings(ctx), other):
            raise click.UsageError("Give either --json or --jsonl.", ctx)
        ctx.meta[_KEY] = replace(current_settings(ctx), **{param.name: value})


def _keep_storage_options(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> None:
    known = current_settings(ctx).storage_options
    for text in value:
        name, equals, setting = text.partition("=")
        if not equals or not name:
            # The text may be a secret in the wrong form, so it is not repeated.
            raise click.BadParameter("expected KEY=VALUE", ctx=ctx, param=param)
        known = (*known, (name, setting))
    ctx.meta[_KEY] = replace(current_settings(ctx), storage_options=known)


def _text(*names: str, metavar: str, help: str) -> Callable[[F], F]:
    return click.option(*names, metavar=metavar, help=help, expose_value=False, callback=_keep)


def _flag(name: str, *, help: str) -> Callable[[F], F]:
    return click.option(name, is_flag=True, help=help, expose_value=False, callback=_keep)


_OPTIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    _text(
        "--repository",
        "-r",
        metavar="LOCATION",
        help="Folder or URI of the repository.  [default: DBT_VCS_REPOSITORY, else the dbt "
        "project's profile]",
    ),
    click.option(
        "--storage-option",
        multiple=True,
        metavar="KEY=VALUE",
        help="Setting of the object store; can be repeated.",
        expose_value=False,
        callback=_keep_storage_options,
    ),
    _text(
        "--project-dir",
        metavar="FOLDER",
        help="Folder of the dbt project.  [default: the current one or a parent]",
    ),
    _text(
        "--profiles-dir",
        metavar="FOLDER",
        help="Folder of profiles.yml.  [default: the current one, else ~/.dbt]",
    ),
    _text("--profile", metavar="NAME", help="Profile, if not the one named in the project."),
    _text(
        "--target",
        "-t",
        "profile_target",
        metavar="NAME",
        help="Target, if not the profile's default.",
    ),
    _flag("--debug", help="Show the traceback of an error."),
)


# Generic from click 8.5 on, which mypy then wants to see.
class Pair(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """`NAME=VALUE` as a pair; if a name is repeated, the last value wins.

    A pair is accepted as it is, so that an operation can pass values that aren't text.

    Attributes:
        name: The form, for messages: `COLUMN=VALUE`.
        is_exact: True if numbers, dates and NULL are kept as such; otherwise all values are text.
    """

    def __init__(self, shape: str, *, is_exact: bool = False) -> None:
        self.name = shape
        self.is_exact = is_exact

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """Return a name and its value.

        Raises:
            click.BadParameter: The name or the `=` is missing.
        """
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not name or not equals:
            self.fail(f"expected {self.name}, found {value!r}", param, ctx)
        return name, text


class NameList(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Names separated by commas, as a tuple of strings; a tuple is accepted as it is."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names, without the white space around them."""
        if isinstance(value, tuple):
            return value
        return tuple(name.strip() for name in str(value).split(",") if name.strip())


class Percent(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A share such as `1%` or `0.5%`, as a number of hundredths: more than 0%, at most 100%."""

    name = "percent"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number before the percent sign.

        Raises:
            click.BadParameter: It is no such share.
        """
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) if text.endswith("%") else 0.0
        except ValueError:
            share = 0.0
        if not 0 < share <= 100:
            self.fail(
                f"expected a share such as 1% or 0.5%, more than 0% and at most 100%; found "
                f"{text!r}",
                param,
                ctx,
            )
        return share


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


class DefaultGroup(click.Group):
    """Commands with a default, used if the first argument names none of them.

    Attributes:
        fallback: Name of the default; None to refuse such an argument.
    """

    def __init__(self, *args: Any, fallback: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **{"invoke_without_command": True, **kwargs})
        self.fallback = fallback

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command to run, and its arguments.

        Raises:
            click.UsageError: There is none, or it doesn't accept the options given before its
            name.
        """
        if self.fallback and args[0] not in self.commands:
            # `dbt-vcs tag NAME` creates a tag, as git does.
            args = [self.fallback, *args]
        found = super().resolve_command(ctx, args)
        if found[1] is not None:
            check_before(ctx, found[1])
        return found
