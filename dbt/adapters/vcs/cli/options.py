"""Settings: the values of the options that all commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import update_wrapper
from typing import Any, Final, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_KEY: Final = "dbt.adapters.vcs.cli.options"

_S = TypeVar("_S")
_T = TypeVar("_T")
_R = TypeVar("_R")


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


def gathered(kind: type[_T]) -> Callable[[Callable[[_S, _T], _R]], Callable[..., _R]]:
    """Return a decorator that passes a command's arguments and options as one value.

    The session still comes first.

    Args:
        kind: A dataclass with a field for each argument and option, by its name.
    """

    def decorate(command: Callable[[_S, _T], _R]) -> Callable[..., _R]:
        def run(session: _S, **given: Any) -> _R:
            return command(session, kind(**given))

        return update_wrapper(run, command)

    return decorate
