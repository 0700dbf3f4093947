"""A command's session: repository, profile, author, engine, output and progress."""

from __future__ import annotations

import getpass
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.commands.layout import Block, counted, size
from dbt.adapters.vcs.commands.options import Settings
from dbt.adapters.vcs.commands.output import is_listing, print_blocks, print_json, print_jsonl
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.ids import CommitId, Micros, datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs
from dbt.adapters.vcs.core.store.opening import open_blobs

if TYPE_CHECKING:
    from rich.text import Text

    from dbt.adapters.vcs.changes.merges.conflicts.policy import Policy
    from dbt.adapters.vcs.changes.merges.protection import Rules
    from dbt.adapters.vcs.commands.profile import ProfileTarget
    from dbt.adapters.vcs.engines.port import Engine, Session, Sessions


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
        # A profile is read only if it has to say where the repository is: `log -r …` needs no
        # project.
        if not self._given:
            from dbt.adapters.vcs.commands.profile import read_target

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
        # What is typed wins over the profile.
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
        from dbt.adapters.vcs.changes.merges.protection import Rules, read_rules

        return read_rules(self.target.project) if self.target else Rules()

    def policy(self, on_conflict: str | None) -> Policy:
        """Return the project's policy, with the given mode for every relation."""
        from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode

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
        # Stored on the branch, so that clients without this project are held to it, too.
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
            # The head before the first move counts: a command can move a branch several times.
            self._exported.setdefault(branch, self._head_of(branch))

    def export_moved(self) -> None:
        """Export the branches that the command moved, if the project says so."""
        for branch, before in self._exported.items():
            head = self._head_of(branch)
            rule = self.rules.export_of(branch)
            if rule is not None and head not in (None, before):
                from dbt.adapters.vcs.commands.exports import export_after

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
        from dbt.adapters.vcs.engines.factory import running_tasks

        return activity_text(seconds, self._files.counts, running_tasks())

    @property
    def can_ask(self) -> bool:
        """True if somebody can answer a question."""
        return sys.stdin.isatty() and not self.prints_json

    def spelled(self, text: str) -> str:
        """Return a sentence with its options written the way the caller passes them."""
        return text


def _find_author() -> str:
    """Return DBT_VCS_AUTHOR or else the user name, as for dbt runs."""
    return os.environ.get(variables.AUTHOR) or _user()


def _user() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        # A container can run as a user without a name.
        return "unknown"


@contextmanager
def sessions_of(
    engine: Callable[[], Engine] | None, blobs: Blobs, label: str
) -> Iterator[Sessions]:
    """Yield a function that returns one session of an engine, created on first use.

    Args:
        engine: Creates the engine; None for the default one, with no settings.
        blobs: The repository's store.
        label: A description of the session's jobs for people.
    """
    from dbt.adapters.vcs.engines.factory import make_engine

    made: Engine | None = None
    session: Session | None = None

    def found() -> Session:
        nonlocal made, session
        if session is None:
            # Java takes seconds to start, and most verbs never need it.
            made = engine() if engine is not None else make_engine(blobs)
            session = made.session(label)
        return session

    try:
        yield found
    finally:
        if made is not None:
            made.close()


_AFTER: Final = 2.0
"""Seconds that a command may take without a word."""

_REFRESH: Final = 0.25
"""Seconds between two looks at how far it is."""

_SECONDS: Final = 10.0
"""Seconds between two lines where nobody watches."""

_DUMB: Final = frozenset({"dumb", "unknown"})


class ProgressLine:
    """One line of a terminal while a command takes long; elsewhere a line now and then.

    In a terminal it appears after two seconds, and is taken away at the end. Elsewhere only
    commands that say themselves how far they are write lines, and none if they end soon.
    """

    def __init__(
        self,
        describe: Callable[[float], str] | None = None,
        *,
        after: float = _AFTER,
        seconds: float = _SECONDS,
        is_quiet: bool = False,
    ) -> None:
        """Prepare a line, which `begin` shows.

        Args:
            describe: Says how far a command is that doesn't do it itself, from the seconds since
                it began: a short text without line breaks. It is called by another thread.
            after: Seconds before a terminal shows it.
            seconds: The time between two lines where stderr is no terminal.
            is_quiet: Show nothing.
        """
        self.is_live = _is_terminal() and not is_quiet
        self._is_quiet = is_quiet
        self._describe = describe or (lambda seconds: f"{seconds:.0f} s")
        self._after = after
        self._seconds = seconds
        self._began = self._last = monotonic()
        self._text = ""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Show the line in a terminal, once the command takes long."""
        if self.is_live and self._thread is None:
            self._ended = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(self._ended,), daemon=True)
            self._thread.start()

    def show(self, text: str) -> None:
        """Say how far the command is, a short text without line breaks."""
        self._text = text
        if not (self.is_live or self._is_quiet) and monotonic() - self._last >= self._seconds:
            self._last = monotonic()
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away before something else is printed; it comes back some time later."""
        if self._thread is not None:
            self.end()
            self.begin()

    def end(self) -> None:
        """Take the line away."""
        if self._thread is not None:
            self._ended.set()
            # Waited for, so that the line is gone before anything else is printed.
            self._thread.join()
            self._thread = None

    def _run(self, ended: threading.Event) -> None:
        if ended.wait(self._after):
            return
        # Imported here because it is slow to import, and most commands end before.
        from rich.console import Console
        from rich.live import Live

        with Live(
            get_renderable=self._line,
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as live:
            live.refresh()
            while not ended.wait(_REFRESH):
                live.refresh()

    def _line(self) -> Text:
        from rich.text import Text

        text = self._text or self._describe(monotonic() - self._began)
        return Text(text, style="dim", no_wrap=True, overflow="ellipsis")


def _is_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") not in _DUMB


class FileCounts(NamedTuple):
    """What was done with files so far.

    Attributes:
        listed: Files that were found in listings.
        checked: Files whose size, age or existence was looked up.
        read: Files read from their beginning, whole or in part.
        bytes_read: Bytes read.
        written: Files stored, replaced or renewed.
        bytes_written: Their size.
        deleted: Files removed.
    """

    listed: int = 0
    checked: int = 0
    read: int = 0
    bytes_read: int = 0
    written: int = 0
    bytes_written: int = 0
    deleted: int = 0


class FileWatch:
    """Counts for any number of stores; shared by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = FileCounts()

    @property
    def counts(self) -> FileCounts:
        """What was done so far."""
        return self._counts

    def add(self, more: FileCounts) -> None:
        """Add what was just done."""
        with self._lock:
            pairs = zip(self._counts, more, strict=True)
            self._counts = FileCounts(*(one + other for one, other in pairs))


class WatchedBlobs:
    """Does what another store does, and counts it; see `Blobs` for the methods."""

    def __init__(self, blobs: Blobs, watch: FileWatch) -> None:
        self._blobs = blobs
        self._watch = watch

    @property
    def uri(self) -> str:
        """Where the store is."""
        return self._blobs.uri

    def get(self, path: str) -> bytes:
        """Return all bytes of a blob."""
        data = self._blobs.get(path)
        self._watch.add(FileCounts(read=1, bytes_read=len(data)))
        return data

    def range(self, path: str, start: int, length: int) -> bytes:
        """Return a part of a blob."""
        data = self._blobs.range(path, start, length)
        self._watch.add(FileCounts(read=int(start == 0), bytes_read=len(data)))
        return data

    def size(self, path: str) -> int:
        """Return the size of a blob in bytes."""
        self._watch.add(FileCounts(checked=1))
        return self._blobs.size(path)

    def create(self, path: str, data: bytes) -> bool:
        """Store a blob if there is none."""
        is_new = self._blobs.create(path, data)
        self._watch.add(FileCounts(written=int(is_new), bytes_written=len(data) * is_new))
        return is_new

    def create_all(self, blobs: Mapping[str, bytes]) -> set[str]:
        """Store blobs, and renew those that exist."""
        there = self._blobs.create_all(blobs)
        self._watch.add(_counts_of(blobs))
        return there

    def replace_all(self, blobs: Mapping[str, bytes]) -> None:
        """Store blobs in the place of those that exist."""
        self._blobs.replace_all(blobs)
        self._watch.add(_counts_of(blobs))

    def modified_at(self, path: str) -> Micros | None:
        """Return when a blob was written or renewed."""
        self._watch.add(FileCounts(checked=1))
        return self._blobs.modified_at(path)

    def exists(self, path: str) -> bool:
        """Return whether there is a blob with this path."""
        self._watch.add(FileCounts(checked=1))
        return self._blobs.exists(path)

    def folders(self, folder: str) -> list[str]:
        """Return the names of the direct sub-folders."""
        return self._blobs.folders(folder)

    def top(self) -> list[str]:
        """Return the names of the files and folders at the top."""
        return self._blobs.top()

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        """Yield every blob below a folder."""
        for info in self._blobs.walk(folder):
            self._watch.add(FileCounts(listed=1))
            yield info

    def next_after(self, path: str) -> str | None:
        """Return the first blob in the path's folder with a later name."""
        return self._blobs.next_after(path)

    def unfinished(self, folder: str) -> Iterator[BlobInfo]:
        """Yield the incomplete files below a folder."""
        return self._blobs.unfinished(folder)

    def delete(self, path: str) -> None:
        """Remove a blob."""
        self._blobs.delete(path)
        self._watch.add(FileCounts(deleted=1))

    def sync(self, paths: Iterable[str]) -> None:
        """Make blobs written by another program survive a power loss."""
        self._blobs.sync(paths)


def activity_text(seconds: float, counts: FileCounts, tasks: tuple[int, int] | None) -> str:
    """Return what a command has done so far, as one line.

    Args:
        seconds: Since it began.
        counts: What was done with files.
        tasks: Spark's tasks that are done, and all of the stages that run; None if none do.
    """
    parts = [
        f"read {_files(counts.read)}, {size(counts.bytes_read)}" if counts.bytes_read else "",
        f"wrote {_files(counts.written)}, {size(counts.bytes_written)}" if counts.written else "",
        f"deleted {_files(counts.deleted)}" if counts.deleted else "",
        f"listed {_files(counts.listed)}" if counts.listed else "",
        f"checked {_files(counts.checked)}" if counts.checked else "",
        f"Spark: {tasks[0]:,} of {counted(tasks[1], 'task')}" if tasks is not None else "",
    ]
    return " · ".join([f"{seconds:.0f} s", *filter(None, parts)])


def _files(number: int) -> str:
    return counted(number, "file")


def _counts_of(blobs: Mapping[str, bytes]) -> FileCounts:
    return FileCounts(written=len(blobs), bytes_written=sum(map(len, blobs.values())))
