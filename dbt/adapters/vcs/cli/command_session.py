"""A session: the repository that a command works on, opened on first use."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.cli.activity import FileWatch, WatchedBlobs, activity_text
from dbt.adapters.vcs.cli.json_text import is_listing, print_json, print_jsonl
from dbt.adapters.vcs.cli.options import Settings, common_options, current_settings
from dbt.adapters.vcs.cli.output import print_blocks
from dbt.adapters.vcs.cli.progress_line import ProgressLine
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.repository import Protection, Repository
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.layout.styled import Block

# Modules are imported when they are first needed: most commands only read, and start at once.
if TYPE_CHECKING:
    from dbt.adapters.vcs.cli.profile import ProfileTarget
    from dbt.adapters.vcs.engines.port import Engine
    from dbt.adapters.vcs.merges.conflicts.policy import Policy
    from dbt.adapters.vcs.merges.protection import Rules

P = ParamSpec("P")
R = TypeVar("R")


class CommandSession:
    """The environment of a command."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._exported: dict[str, CommitId | None] = {}
        self._files = FileWatch()

    @cached_property
    def target(self) -> ProfileTarget | None:
        """The target of the dbt profile; None if the repository is given in another way.

        Raises:
            click.UsageError: It is given in another way, but options also choose a target.
            VcsError: The profile has no such target.
        """
        if not self._given:
            from dbt.adapters.vcs.cli.profile import read_target

            return read_target(self.settings)
        given = "--repository" if self.settings.repository else variables.REPOSITORY
        for name in ("profile_target", "profile", "project_dir", "profiles_dir"):
            if getattr(self.settings, name) is not None:
                option = "--" + name.removeprefix("profile_").replace("_", "-")
                raise click.UsageError(
                    f"{option} can't be used with {given}, which already gives the repository."
                )
        return None

    @property
    def _given(self) -> str | None:
        return self.settings.repository or os.environ.get(variables.REPOSITORY)

    def blobs(self) -> Blobs:
        """Return the store; there may be no repository in it yet."""
        return self.watched(open_blobs(self.location, self.storage_options))

    def watched(self, blobs: Blobs) -> Blobs:
        """Return a store whose files count in the progress of the command, if that is shown."""
        return WatchedBlobs(blobs, self._files) if self.progress.is_live else blobs

    @property
    def location(self) -> str:
        """Location of the repository, which may not exist yet."""
        return self._given or (self.target.repository if self.target else "")

    @property
    def storage_options(self) -> Mapping[str, str]:
        """Settings of the object store."""
        options = dict(self.target.storage_options) if self.target else {}
        return {**options, **dict(self.settings.storage_options)}

    @cached_property
    def repository(self) -> Repository:
        """The repository.

        Raises:
            VcsError: It does not exist, or it can't be opened.
        """
        return Repository.open(self.blobs())

    @cached_property
    def branch(self) -> str:
        """The branch to use if none is given: the profile's, else the default branch."""
        return self.target.branch if self.target else self.repository.default_branch

    @cached_property
    def schema(self) -> str:
        """The schema of names without one."""
        return self.target.schema if self.target else "default"

    @cached_property
    def rules(self) -> Rules:
        """The rules in the project's vcs.yml; none if only the repository was given."""
        from dbt.adapters.vcs.merges.protection import Rules, read_rules

        return read_rules(self.target.project) if self.target else Rules()

    def policy(self, on_conflict: str | None) -> Policy:
        """Return the project's policy, with the given mode for every relation."""
        from dbt.adapters.vcs.merges.conflicts.policy import Mode

        override = Mode.of(on_conflict, "--on-conflict") if on_conflict else None
        return replace(self.rules.policy, override=override)

    def bound(self, branch: str, *, dry_run: bool = False) -> str:
        """Return a branch to change, after applying the project's rules to it.

        A dry run stores no rules, but is held to them.

        Raises:
            ProtectedError: In a dry run: by the rules the branch only takes promotions.
        """
        if dry_run:
            self.rules.check_open(self.repository, branch)
            return branch
        self.rules.apply(self.repository, branch, author=self.author)
        self.watch(branch)
        return branch

    def protection_of(self, branch: str) -> Protection | None:
        """Return what the project asks of a branch that the command is about to move."""
        self.watch(branch)
        return self.rules.protection_of(branch)

    def watch(self, branch: str) -> None:
        """Export a branch at the end of the command, if it moves and the project asks for it."""
        if self.rules.export_of(branch) is not None:
            self._exported.setdefault(branch, self._head_of(branch))

    def export_moved(self) -> None:
        """Export the branches that the command moved, if the project says so."""
        for branch, before in self._exported.items():
            head = self._head_of(branch)
            rule = self.rules.export_of(branch)
            if rule is not None and head not in (None, before):
                from dbt.adapters.vcs.verbs.upkeep.export import export_after

                export_after(self.repository, branch, rule, lambda text: self.warn([text]))

    def _head_of(self, branch: str) -> CommitId | None:
        found = self.repository.find_branch(branch)
        return None if found is None else found.head

    def engine(self) -> Engine:
        """Return an engine for work too large for this process; it starts on first use.

        Raises:
            InputError: There is no engine for the method that the profile names.
        """
        from dbt.adapters.vcs.engines.factory import make_engine

        blobs, options, target = self.repository.blobs, self.storage_options, self.target
        if target is None:
            return make_engine(blobs, storage_options=options)
        return make_engine(
            blobs, method=target.method, settings=target.spark_config, storage_options=options
        )

    @cached_property
    def author(self) -> str:
        """The author of changes."""
        return _find_author()

    @cached_property
    def now(self) -> datetime:
        """The time that ages are relative to."""
        return datetime_of(self.repository.clock())

    @property
    def prints_json(self) -> bool:
        """True if the output is JSON."""
        return self.settings.json or self.settings.jsonl

    def show(
        self, value: Any, blocks: Iterable[Block], items: Iterable[Any] | None = None
    ) -> None:
        """Print a result: the value as JSON if requested, otherwise the blocks.

        With --jsonl each item of the value is one line; `items` are these if the value is no list.
        """
        self.progress.end()
        if self.settings.jsonl:
            print_jsonl(items if items is not None else value if is_listing(value) else [value])
        elif self.settings.json:
            print_json(value)
        else:
            print_blocks(blocks)

    def say(self, blocks: Iterable[Block]) -> None:
        """Print what was done."""
        self.progress.clear()
        print_blocks(blocks)

    def warn(self, lines: Iterable[str]) -> None:
        """Print warnings, separate from the result."""
        self.progress.clear()
        for text in lines:
            click.echo(text, err=True)

    @cached_property
    def progress(self) -> ProgressLine:
        """Where a terminal shows how far a long command is, unless it prints JSON."""
        is_watched = sys.stderr.isatty()
        return ProgressLine(self._activity, is_quiet=is_watched and self.prints_json)

    def _activity(self, seconds: float) -> str:
        from dbt.adapters.vcs.engines.running_tasks import running_tasks

        return activity_text(seconds, self._files.counts, running_tasks())

    @property
    def can_ask(self) -> bool:
        """True if somebody can answer a question."""
        return sys.stdin.isatty() and not self.prints_json

    def spelled(self, text: str) -> str:
        """Return a sentence with its options written the way the caller passes them."""
        return text


def with_session(command: Callable[Concatenate[CommandSession, P], R]) -> Callable[P, R]:
    """Pass a session as the command's first argument, and add the options that select it.

    A caller other than the command line passes its own session as the object of click's context.
    """

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        ctx = click.get_current_context()
        session = ctx.find_object(CommandSession) or CommandSession(current_settings(ctx))
        session.progress.begin()
        try:
            result = command(session, *args, **kwargs)
            session.export_moved()
        finally:
            session.progress.end()
        return result

    return common_options(update_wrapper(run, command))


def _find_author() -> str:
    """Return DBT_VCS_AUTHOR or else the user name, as for dbt runs."""
    return os.environ.get(variables.AUTHOR) or _user()


def _user() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "unknown"
