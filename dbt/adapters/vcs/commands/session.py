"""A command's session: repository, profile, author, engine, output and progress."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import cache, cached_property
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

import click

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.commands.layout import Block, Span, TextLine, counted, line, printable, size
from dbt.adapters.vcs.commands.options import Settings, with_options
from dbt.adapters.vcs.commands.output import is_listing, print_blocks, print_json, print_jsonl
from dbt.adapters.vcs.core.errors import ConflictError, EngineError
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import LATER, BlobInfo, Blobs
from dbt.adapters.vcs.core.store.opening import open_blobs

if TYPE_CHECKING:
    from rich.text import Text

    from dbt.adapters.vcs.changes.merges.conflicts.policy import Policy
    from dbt.adapters.vcs.changes.merges.project_rules import Rules
    from dbt.adapters.vcs.commands.profile import ProfileTarget
    from dbt.adapters.vcs.engines.port import Engine, Session, Sessions
    from dbt.adapters.vcs.hooks.hook_calls import HookQueue


class CommandSession:
    """The environment of a command.

    Attributes:
        pages: True if long output is for a pager.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.pages = False
        self._exported: dict[str, CommitId | None] = {}
        self._counts: Counter[str] = Counter()

    @cached_property
    def target(self) -> ProfileTarget | None:
        """The target of the dbt profile; None if the repository is given in another way.

        Raises:
            click.UsageError: It is given in another way, but options also choose a target.
            VcsError: The profile has no such target.
        """
        # A profile is read only if it has to say where the repository is: `log -r …` needs no
        # project.
        if not self._given_location:
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
    def _given_location(self) -> str | None:
        return self.settings.repository or os.environ.get(variables.REPOSITORY)

    def blobs(self) -> Blobs:
        """Return the store; there may be no repository in it yet."""
        return self.watched(open_blobs(self.location, self.storage_options))

    def watched(self, blobs: Blobs) -> Blobs:
        """Return a store whose files count in the progress of the command, if that is shown."""
        if not self.progress.is_live:
            return blobs
        # It answers by `__getattr__`, which type checkers don't see.
        return cast("Blobs", WatchedBlobs(blobs, self._counts))

    @property
    def location(self) -> str:
        """Location of the repository, which may not exist yet."""
        return self._given_location or (self.target.repository if self.target else "")

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
    def shown(self) -> str:
        """The branch to read if none is given: the profile's, or what it would be created from."""
        if self.target is None or self.repository.is_known(self.branch):
            return self.branch
        known = self.repository.find_branch(self.target.base) is not None
        base = self.target.base if known else self.repository.default_branch
        self.warn([f"The profile's branch {self.branch!r} does not exist: {base!r} is shown."])
        return base

    @cached_property
    def own_schema(self) -> str | None:
        """The profile's schema, which completes names of tables; None without a profile."""
        return self.target.schema if self.target else None

    @property
    def schema(self) -> str:
        """The schema of names without one in SQL."""
        return self.own_schema or "default"

    @cached_property
    def rules(self) -> Rules:
        """The rules in the project's vcs.yml; none if only the repository was given."""
        from dbt.adapters.vcs.changes.merges.project_rules import Rules, read_rules

        return read_rules(self.target.project) if self.target else Rules()

    def policy(self, on_conflict: str | None) -> Policy:
        """Return the project's policy, with the given mode for every relation."""
        from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode

        # What is typed wins over vcs.yml, and over the setting of each table.
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
            # None: the branch was deleted by the command, and shows nothing to export.
            if rule is not None and head not in (None, before):
                from dbt.adapters.vcs.iceberg.exports import export_after

                export_after(self.repository, branch, rule, lambda text: self.warn([text]))

    def note_landed(
        self, branch: str, before: CommitId, after: CommitId, *, source: str, action: str
    ) -> None:
        """Note for the project's hooks that changes of a source landed on a branch, if any did."""
        if before != after and self.rules.hooks:
            from dbt.adapters.vcs.hooks.branch_event import BranchMove

            self._hook_queue.add(
                BranchMove(
                    repository=self.repository,
                    branch=branch,
                    before=before,
                    after=after,
                    source=source,
                    action=action,
                )
            )

    @contextmanager
    def noting_stop(self, branch: str, *, source: str, action: str) -> Iterator[None]:
        """Note for the project's hooks that a merge into a branch stops within the block."""
        try:
            yield
        except ConflictError:
            if self.rules.hooks:
                from dbt.adapters.vcs.hooks.branch_event import MergeStop

                self._hook_queue.add(
                    MergeStop(
                        repository=self.repository,
                        branch=branch,
                        source=source,
                        action=action,
                        author=self.author,
                    )
                )
            raise

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Do after the block what the project asks for: exports, and hooks of what was noted."""
        try:
            yield
            self.export_moved()
        finally:
            # Also if the block failed: that a merge stopped is an event.
            if "_hook_queue" in vars(self):
                self._hook_queue.call()

    @cached_property
    def _hook_queue(self) -> HookQueue:
        from dbt.adapters.vcs.hooks.hook_calls import HookQueue

        return HookQueue(self.rules.hooks, lambda text: self.warn([text]))

    def _head_of(self, branch: str) -> CommitId | None:
        found = self.repository.find_branch(branch)
        return None if found is None else found.head

    def engine(self) -> Engine:
        """Return an engine for work too large for this process; it starts on first use.

        Raises:
            InputError: There is no engine for the method that the profile names.
        """
        from dbt.adapters.vcs.engines.factory import make_engine

        return make_engine(self.repository.blobs, **self._of_engine())

    def launch_engine(self) -> None:
        """Let what the engine needs begin to start, without waiting for it.

        Whoever needs the engine gets the error if it can't.
        """
        from dbt.adapters.vcs.engines.factory import launch_process

        with suppress(EngineError):
            launch_process(self.repository.blobs, **self._of_engine())

    def _of_engine(self) -> dict[str, Any]:
        """Return the arguments of the engine that the profile names."""
        target = self.target
        named = (
            {} if target is None else {"method": target.method, "settings": target.spark_config}
        )
        return {**named, "storage_options": self.storage_options}

    @cached_property
    def author(self) -> str:
        """The author of changes: DBT_VCS_AUTHOR, else the user name, as for dbt runs."""
        return variables.author()

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
        with self.output():
            if self.settings.jsonl:
                print_jsonl(
                    items if items is not None else value if is_listing(value) else [value]
                )
            elif self.settings.json:
                print_json(value)
            else:
                print_blocks(self.typed(blocks))

    def output(self) -> AbstractContextManager[None]:
        """Return a context in which a result is printed, by a pager if the verb has one."""
        self.progress.end()
        if not self.pages or self.settings.no_pager:
            return nullcontext()
        from dbt.adapters.vcs.commands.pager import paged

        return paged()

    def show_first(
        self,
        items: Iterator[Any],
        limit: int,
        text: Callable[[Iterator[Any]], Iterable[Block]],
        more: str,
    ) -> None:
        """Show the first items, or all if the limit is 0; `more` says that there are others."""
        shown = islice(items, limit or None)

        def blocks() -> Iterator[Block]:
            yield from text(shown)
            # Read only now, so that the lines before are shown early.
            if next(items, None) is not None:
                option = self.spelled("--limit")
                hint = f"{more}: use {option} to show more, or {option} 0 for all."
                yield line(Span(hint, "faint"))

        self.show(shown, blocks())

    def say(self, blocks: Iterable[Block]) -> None:
        """Print what was done."""
        self.progress.clear()
        print_blocks(self.typed(blocks))

    def warn(self, lines: Iterable[str]) -> None:
        """Print warnings, separate from the result."""
        self.progress.clear()
        for text in lines:
            # Names of columns and the last words of a hook must not control the terminal.
            shown = map(printable, with_options(text, self.settings).split("\n"))
            click.echo("\n".join(shown), err=True)

    def typed(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield blocks, with the options of this call in the commands that sentences name."""
        for block in blocks:
            # Cells and listings are what others wrote, such as messages of commits.
            if isinstance(block, TextLine) and not block.is_entry:
                yield line(
                    *(
                        span._replace(text=with_options(span.text, self.settings))
                        for span in block.spans
                    )
                )
            else:
                yield block

    @cached_property
    def progress(self) -> ProgressLine:
        """Where a terminal shows how far a long command is, unless it prints JSON."""
        return ProgressLine(self._activity, is_quiet=sys.stderr.isatty() and self.prints_json)

    def _activity(self, seconds: float) -> str:
        from dbt.adapters.vcs.engines.factory import running_tasks

        return activity_text(seconds, self._counts, running_tasks())

    @property
    def can_ask(self) -> bool:
        """True if somebody can answer a question."""
        return sys.stdin.isatty() and not self.prints_json

    def spelled(self, text: str) -> str:
        """Return a sentence with its options written the way the caller passes them."""
        # An operation of dbt replaces this method: there, options are arguments.
        return text


@contextmanager
def sessions_of(
    engine: Callable[[], Engine] | None, blobs: Blobs, label: str
) -> Iterator[Sessions]:
    """Yield a function that returns one session of an engine, created on first use.

    Args:
        engine: Creates the engine; None for the default one, with no settings.
        label: A description of the session's jobs for people.
    """
    from dbt.adapters.vcs.engines.factory import make_engine

    with ExitStack() as opened:

        @cache
        def found() -> Session:
            # Java takes seconds to start, and most verbs never need it.
            made = engine() if engine is not None else make_engine(blobs)
            opened.callback(made.close)
            return made.session(label)

        yield found


_AFTER: Final = 2.0
"""Seconds that a command may take without a word."""

_REFRESH: Final = 0.25
"""Seconds between two looks at how far it is."""

_SECONDS: Final = 10.0
"""Seconds between two lines where nobody watches."""

# Such a terminal can't take a line back.
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
        is_terminal = sys.stderr.isatty() and os.environ.get("TERM") not in _DUMB
        self.is_live = is_terminal and not is_quiet
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
            # A new one, since `clear` begins again after the last one was set.
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


def _written(blobs: Mapping[str, bytes]) -> dict[str, int]:
    return {"written": len(blobs), "bytes_written": sum(map(len, blobs.values()))}


_COUNTED: Final[Mapping[str, Callable[..., dict[str, int]]]] = {
    # A file that is read in parts begins once.
    "range": lambda data, path, start, length: {"read": start == 0, "bytes_read": len(data)},
    "get": lambda data, path: {"read": 1, "bytes_read": len(data)},
    "create": lambda is_new, path, data: _written({path: data} if is_new else {}),
    "create_all": lambda there, blobs: _written(blobs),
    "replace_all": lambda nothing, blobs: _written(blobs),
    "delete": lambda nothing, path: {"deleted": 1},
    "size": lambda size, path: {"checked": 1},
    "exists": lambda is_there, path: {"checked": 1},
    "ends": lambda found, folder: {"listed": sum(end.blobs or LATER for end in found)},
    "modified_at": lambda moment, path: {"checked": 1},
}
"""What methods of a store count, from their result and arguments; the others count nothing."""


class WatchedBlobs:
    """Does what another store does, and counts it; any number of them share the counts.

    Attributes:
        counts: `listed`: files found in listings; `checked`: files whose size, age or existence
            was looked up; `read` and `bytes_read`; `written` and `bytes_written`, renewed files
            among them; `deleted`.
    """

    # One for all stores, since several share their counts.
    _lock = threading.Lock()

    def __init__(self, blobs: Blobs, counts: Counter[str]) -> None:
        self._blobs = blobs
        self.counts = counts

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._blobs, name)
        counted = _COUNTED.get(name)
        if counted is None:
            return own

        def call(*given: Any) -> Any:
            found = own(*given)
            self._add(counted(found, *given))
            return found

        return call

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        """Yield every blob below a folder."""
        for info in self._blobs.walk(folder):
            self._add({"listed": 1})
            yield info

    def _add(self, more: Mapping[str, int]) -> None:
        # Threads read and write files at the same time.
        with self._lock:
            self.counts.update(more)


def activity_text(seconds: float, counts: Mapping[str, int], tasks: tuple[int, int] | None) -> str:
    """Return what a command has done so far, as one line.

    Args:
        seconds: Since it began.
        counts: What was done with files, as `WatchedBlobs` counts it.
        tasks: Spark's tasks that are done, and all of the stages that run; None if none do.
    """
    parts = [f"{seconds:.0f} s"]
    for what in ("read", "written", "deleted", "listed", "checked"):
        if counts.get(f"bytes_{what}", counts.get(what)):
            verb = "wrote" if what == "written" else what
            some = f", {size(counts[f'bytes_{what}'])}" if f"bytes_{what}" in counts else ""
            parts.append(f"{verb} {counted(counts[what], 'file')}{some}")
    if tasks is not None:
        parts.append(f"Spark: {tasks[0]:,} of {counted(tasks[1], 'task')}")
    return " · ".join(parts)
