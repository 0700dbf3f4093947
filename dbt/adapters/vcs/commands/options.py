"""Options that several commands share: settings, forms, special values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import click

from dbt.adapters.vcs.commands import COMMANDS
from dbt.adapters.vcs.core.failures import without_secrets

# In the meta of a context, which a group shares with its commands: an option may stand before
# the name of either or after it.
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
        no_pager: True to print long output without a pager.
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
    no_pager: bool = False


def current_settings(ctx: click.Context) -> Settings:
    """Return the options seen so far, before and after the command's name."""
    found = ctx.meta.get(_KEY, Settings())
    assert isinstance(found, Settings)
    return found


_VERB: Final = re.compile(rf"\bdbt-vcs (?=(?:{'|'.join(COMMANDS)})\b)")
# A sentence may speak of a dbt run; what is to be typed stands behind a colon. "Nothing can be
# changed here: dbt compile only reads" is no command.
_DBT: Final = re.compile(
    r"(?<=: )dbt (?:build|compile|docs generate|parse|retry|run(?:-operation)?|seed|show|snapshot"
    r"|source freshness|test)\b"
    r"(?! --(?:pro|target)| only reads)"
)


def with_options(text: str, settings: Settings) -> str:
    """Return a message whose commands have the options that chose repository and target.

    So a command works as it is printed, wherever the caller was told of it. Secrets among the
    options are left out.
    """
    text, more = with_words(text, chosen_options(settings)), _words(_target_options(settings))
    return _DBT.sub(lambda found: f"{found[0]} {more}" if more else found[0], text)


def with_words(text: str, own: str) -> str:
    """Return a message whose dbt-vcs commands have these options; a second time adds nothing."""
    # A function, since a folder's name may have a backslash.
    return _VERB.sub(lambda found: f"{found[0]}{own} " if own else found[0], text)


def chosen_options(settings: Settings) -> str:
    """Return the options that chose repository and target, without secrets; may be empty."""
    pairs = [f"{name}={value}" for name, value in settings.storage_options]
    store = [("--storage-option", pair) for pair in pairs if pair == without_secrets(pair)]
    return _words([("-r", settings.repository), *store, *_target_options(settings)])


def _target_options(settings: Settings) -> list[tuple[str, str | None]]:
    return [
        ("--project-dir", settings.project_dir),
        ("--profiles-dir", settings.profiles_dir),
        ("--profile", settings.profile),
        ("--target", settings.profile_target),
    ]


def _words(options: Iterable[tuple[str, str | None]]) -> str:
    return " ".join(f"{name} {shlex.quote(value)}" for name, value in options if value)


def json_options() -> list[click.Parameter]:
    """Return the options --json and --jsonl."""
    return [
        _setting("--json", is_flag=True, help="Print JSON."),
        _setting("--jsonl", is_flag=True, help="Print JSON, one line per row or item."),
    ]


def _keep_setting(ctx: click.Context, param: click.Parameter, value: Any) -> None:
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


def _setting(*names: str, callback: Any = _keep_setting, **more: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=callback, **more)


def common_options() -> list[click.Parameter]:
    """Return the options that select the repository, which every command has."""
    return [
        _setting(
            "--repository",
            "-r",
            metavar="LOCATION",
            help="Folder or URI of the repository.  [default: DBT_VCS_REPOSITORY, else the dbt "
            "project's profile]",
        ),
        _setting(
            "--storage-option",
            multiple=True,
            metavar="KEY=VALUE",
            help="Setting of the object store; can be repeated.",
            callback=_keep_storage_options,
        ),
        _setting(
            "--project-dir",
            metavar="FOLDER",
            help="Folder of the dbt project.  [default: the current one or a parent]",
        ),
        _setting(
            "--profiles-dir",
            metavar="FOLDER",
            help="Folder of profiles.yml.  [default: the current one, else ~/.dbt]",
        ),
        _setting(
            "--profile", metavar="NAME", help="Profile, if not the one named in the project."
        ),
        _setting(
            "--target",
            "-t",
            "profile_target",
            metavar="NAME",
            help="Target, if not the profile's default.",
        ),
        _setting("--no-pager", is_flag=True, help="Print long output without a pager."),
        _setting("--debug", is_flag=True, help="Show the traceback of an error."),
    ]


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
    """Names separated by commas, as a tuple of strings; a tuple is accepted as it is.

    A name of one part loses its backquotes, in which it may have a comma.
    """

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names, without the white space around them."""
        if isinstance(value, tuple):
            return value
        # Few commands have such an option, and its import is slow for help.
        from dbt.adapters.vcs.sql.syntax.names import names_in

        return tuple(filter(None, names_in(str(value))))


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
