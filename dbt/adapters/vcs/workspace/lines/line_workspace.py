"""A workspace: one line of history, one engine, the connections to them, and upkeep."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from shlex import quote
from typing import Final, TypeVar

from dbt.adapters.vcs.changes.writes.compaction import is_table_due, put_optimized, rewrite_table
from dbt.adapters.vcs.core.errors import ConflictError, EngineError, VcsError, listed
from dbt.adapters.vcs.core.groups import Landed
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Origin, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine, Session, Sessions
from dbt.adapters.vcs.reuse.attempt import Reusing, SessionState
from dbt.adapters.vcs.reuse.cache_key import KeyContext
from dbt.adapters.vcs.reuse.reuser import Reuse
from dbt.adapters.vcs.sql.diff import diff_in_view
from dbt.adapters.vcs.sql.properties import AUTO_OPTIMIZE
from dbt.adapters.vcs.sql.syntax.excerpts import excerpt
from dbt.adapters.vcs.sql.syntax.lexer import Kind, tokenize
from dbt.adapters.vcs.workspace.lines.dispatch import execute
from dbt.adapters.vcs.workspace.lines.lines import Line
from dbt.adapters.vcs.workspace.mounts import Externals, Mounts
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.statement_scope import Outcome, Scope
from dbt.adapters.vcs.workspace.temporary_names import Temporaries

_LOG: Final = logging.getLogger(__name__)
_A_MOMENT: Final = 0.1
"""Seconds between two looks at whether an engine that starts is still needed."""

_TIMESTAMP: Final = "spark.sql.timestampType"


class Workspace:
    """One process's view of one branch.

    The engine is made when a statement first needs it, so work on manifests only (seeds,
    clones, drops, listings) starts no engine.
    """

    def __init__(
        self,
        repository: Repository,
        line: Line,
        engine: Callable[[], Engine],
        *,
        schema: str,
        externals: Callable[[], Externals] = dict,
        context: KeyContext | None = None,
    ) -> None:
        """Take a line, a function that makes the engine, and the schema of unqualified names.

        `context` is what results depend on besides the branch; None if no results are taken, and
        if new sessions are as Spark's own.
        """
        self.repository = repository
        self.line = line
        self.schema = schema.lower()
        # Decision 4: a name means one branch's relation, so each workspace has its own catalog.
        self.mounts = Mounts(diff_in_view)
        self.externals = externals
        self.context = context
        self._make_engine = engine
        self._engine: Engine | None = None
        self._start: threading.Event | None = None
        self._lock = threading.Lock()

    def begin(self, at: CommitId | None = None) -> Overlay:
        """Return an empty overlay on the line's head, or on a commit."""
        base = at or self.line.head()
        tree = self.repository.tree(base)
        return Overlay(
            repository=self.repository,
            base=base,
            tree=tree,
            branch=self.line.branch,
            author=self.line.author,
        )

    def connect(self, label: str) -> Connection:
        """Return a connection; `label` names it in the engine's own displays."""
        return Connection(self, label)

    def open_session(self, label: str, is_over: Callable[[], bool] = lambda: False) -> Session:
        """Return a session of the engine, making the engine if needed.

        `is_over` says that nobody needs it any more; it is asked while the engine starts.

        Raises:
            EngineError: The engine doesn't start, or it is over.
        """
        # The main thread hears Ctrl-C by itself. Another one is only told, and can't leave what
        # starts a process: dbt would wait for it to the end.
        if threading.current_thread() is not threading.main_thread():
            started = self._begin_start()
            while not started.wait(_A_MOMENT):
                if is_over():
                    raise EngineError("The statement was cancelled.")
        with self._lock:
            return self._made_engine().session(label)

    def _begin_start(self) -> threading.Event:
        """Let the engine start, once; return what is set when it has, or failed."""
        with self._lock:
            if self._start is None:
                self._start = threading.Event()
                begin = partial(_start, self._made_engine(), self._start)
                # A daemon: the process that it starts ends with this one.
                threading.Thread(target=begin, name="vcs-start", daemon=True).start()
            return self._start

    def _made_engine(self) -> Engine:
        # Threads of a run ask at the same time, and there is one engine.
        if self._engine is None:
            self._engine = self._make_engine()
        return self._engine

    @property
    def has_engine(self) -> bool:
        """True once a session of the engine has been asked for."""
        return self._engine is not None

    def close(self) -> None:
        """Release the engine."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
                self._engine = self._start = None
                # A new engine's catalog is empty.
                self.mounts = Mounts(diff_in_view)


def _start(engine: Engine, started: threading.Event) -> None:
    try:
        engine.start()
    except Exception as error:
        # Whoever waits asks for a session next, and gets the error, whichever it is.
        _LOG.debug("The engine did not start: %s", error)
    finally:
        started.set()


class Connection:
    """One user of a workspace: its session settings, temporary views and current schema.

    Attributes:
        workspace: Where it works.
        schema: The schema of unqualified names now, lower case.
        frames: Temporary views not made by SQL, and what each was made from.
        temporaries: All temporary views and functions of its session.
    """

    def __init__(self, workspace: Workspace, label: str) -> None:
        """Take the workspace; the engine's session is opened when it is first needed."""
        self.workspace = workspace
        self._label = label
        self._session: Session | None = None
        self._is_cancelled = False
        self._is_stopped = False
        self.schema = workspace.schema
        self.frames: dict[str, tuple[RelationName, ...]] = {}
        self._state = SessionState()
        self.temporaries = Temporaries(
            self.session, self._has_session, self.frames, self._state.deferred
        )

    def session(self, opened: Callable[[Session], None] | None = None) -> Session:
        """Return the engine's session of this connection.

        `opened` is called with a session that is opened now, before anything is asked of it.

        Raises:
            EngineError: The statement was cancelled, or the connection was stopped.
        """
        if self._is_stopped or self._is_cancelled:
            raise EngineError("The statement was cancelled.")
        if self._session is None:
            self._session = self.workspace.open_session(
                self._label, lambda: self._is_stopped or self._is_cancelled
            )
            if opened is not None:
                opened(self._session)
            # Where a new session of Spark's begins.
            if self.schema != "default":
                self._session.use(self.schema)
            self._catch_up()
            # Catching up may have taken long enough to be cancelled.
            return self.session()
        return self._session

    def scope(
        self, text: str, overlay: Overlay, origin: Origin, sessions: Sessions | None = None
    ) -> Scope:
        """Return the scope for a statement, with the session that `sessions` returns if given."""
        return Scope(
            overlay=overlay,
            engine=sessions or self.session,
            mounts=self.workspace.mounts,
            externals=self.workspace.externals(),
            schema=self.schema,
            temporaries=self.temporaries,
            origin=origin,
            text=text,
            timestamp=self._timestamp,
        )

    def execute(
        self,
        text: str,
        overlay: Overlay,
        *,
        origin: Origin,
        read_only: bool = False,
        reuse: Reuse | None = None,
    ) -> Outcome:
        """Carry out one statement, and put its changes into the overlay.

        `reuse` has the results that may be taken instead; None to compute.

        Raises:
            InputError: The statement can't be carried out as written.
            ReadOnlyError: It would change something and `read_only` is set, or write rows to a
                line that takes no changes.
            EngineError: The engine refused or failed.
            ReplacedError: A purge deleted what it reads meanwhile; nothing was changed.
        """
        # A cancel was of an earlier statement; a stop is for ever.
        self._is_cancelled = False
        if self._session is not None and not self._is_stopped:
            self._session.begin_statement()
        # Spark may miss a file that a purge deleted, and the error has to say so.
        with overlay.repository.maintenance.told(overlay.base), self._statement() as sessions:
            scope = self.scope(text, overlay, origin, sessions)
            outcome = execute(
                scope,
                read_only=read_only,
                before_rows=self.workspace.line.check_open,
                # Only a line on which nothing can land has no author.
                pinned=not self.workspace.line.author,
                reusing=self.reusing(reuse),
            )
        # Not reached after an error: a `use` that failed leaves the schema as it was.
        self.schema = scope.schema
        return replace(outcome, inputs=scope.made_by().inputs, warnings=tuple(scope.warnings))

    @contextmanager
    def _statement(self) -> Iterator[Sessions]:
        """Yield what gives the session: the first call begins a statement, the block ends it.

        Rows that are computed later ask for the session after the block, each for itself.
        """
        begins = True

        def begin(session: Session) -> None:
            nonlocal begins
            if begins:
                begins = False
                running.enter_context(session.statement())

        def session() -> Session:
            found = self.session(begin)
            begin(found)
            return found

        with ExitStack() as running:
            try:
                yield session
            finally:
                begins = False

    def reusing(self, reuse: Reuse | None) -> Reusing | None:
        """Return what takes results on this connection; None if none are taken."""
        context = self.workspace.context
        if reuse is None or context is None:
            return None
        return Reusing(
            reuse=reuse,
            state=self._state,
            context=replace(
                context,
                facts=self._state.facts,
                is_always=reuse.is_always,
                own_text=reuse.own_text,
            ),
            has_session=self._has_session,
        )

    def doubt(self, why: str) -> None:
        """Take no more results in this session: something in it isn't known."""
        self._state.facts.doubt = self._state.facts.doubt or why

    def _timestamp(self) -> str:
        """Return the type that the session means by `timestamp`.

        No session is opened for that, except on a server, which may have settings of its own.
        """
        known = None if self.workspace.context is None else self.workspace.context.engine
        if self._session is not None or (known is not None and known.server):
            value = self.session().setting(_TIMESTAMP)
        else:
            value = self._state.facts.changed.get(_TIMESTAMP)
            value = value or (None if known is None else known.setting(_TIMESTAMP))
        is_clock = value is not None and value.upper() == "TIMESTAMP_NTZ"
        return "timestamp_ntz" if is_clock else "timestamp"

    def _has_session(self) -> bool:
        return self._session is not None

    def _catch_up(self) -> None:
        """Send the session what it has not been sent before it was open."""
        # Temporary views and settings change no branch, so nothing is refused here.
        for waiting in self._state.deferred.take():
            scope = self.scope(waiting.text, waiting.overlay, waiting.origin)
            execute(scope, read_only=False, before_rows=lambda: None)

    def open(self) -> None:
        """Open the session now, and not with the first statement that needs it."""
        self.session()

    def cancel(self) -> None:
        """Cancel the running statement; may be called from another thread."""
        self._is_cancelled = True
        if self._session is not None:
            self._session.cancel()

    def stop(self) -> None:
        """Cancel the running statement and refuse further ones, from any thread."""
        self._is_stopped = True
        if self._session is not None:
            self._session.close()

    def close(self) -> None:
        """Release the session."""
        if self._session is not None:
            self._session.close()
            self._session = None
        self._state.clear()
        self.frames.clear()


_T = TypeVar("_T")


_CHANGES_ROWS: Final = ("update", "delete", "merge")


def depends_on_others(text: str) -> bool:
    """Return whether a statement's work is sure to be repeated if others changed its table."""
    # A guess is enough: it decides only what is done before this writer's turn.
    words = (token.text.lower() for token in tokenize(text) if token.kind is Kind.WORD)
    return next(words, "") in _CHANGES_ROWS


def landed(
    workspace: Workspace, work: Callable[[Overlay], _T], message: str, *, waits: bool = False
) -> _T:
    """Do what `landed_commit` does, and return the work's result alone."""
    return landed_commit(workspace, work, message, waits=waits)[0]


def landed_commit(
    workspace: Workspace, work: Callable[[Overlay], _T], message: str, *, waits: bool = False
) -> tuple[_T, Landed | None]:
    """Do work on an overlay of the line's head, and commit its changes.

    If another writer changed the same relation meanwhile, the work is repeated on the new
    head. With `waits` it begins when it is this writer's turn.

    Returns:
        The work's result, and the landing; None if nothing changed.

    Raises:
        RetryError: Other writers won every time; nothing was changed.
        VcsError: Whatever the work raises.
    """
    branch = workspace.line.branch
    if branch is None:
        # A fixed commit: there are no other writers, and nothing lands.
        result, landing, _ = _attempt(workspace, work, message)
        return result, landing
    with workspace.repository.turns.on(branch) as turn:
        # Whoever lost a race goes before others, so that long work lands among short statements.
        # Else the first attempt waits only when it lands: a query never does, and what an insert
        # wrote follows on whatever is the head by then.
        what = f"run the statement on the branch {branch!r}"
        for _ in turn.attempts(what, at_once=not waits):
            result, landing, is_done = _attempt(workspace, work, message)
            if is_done:
                return result, landing
    raise AssertionError("attempts raises when it ends")


def _attempt(
    workspace: Workspace, work: Callable[[Overlay], _T], message: str
) -> tuple[_T, Landed | None, bool]:
    """Do work and commit its changes; False if another writer changed the same meanwhile."""
    overlay = workspace.begin()
    result = work(overlay)
    if overlay.is_empty:
        return result, None, True
    try:
        return result, workspace.line.land(overlay, excerpt(message, 200)), True
    except ConflictError:
        # Nothing landed: what the overlay stored is garbage, as no commit names it.
        return result, None, False


_SHOWN: Final = 5


class Upkeep:
    """Checks the tables that a run changed; its errors never fail the run."""

    def __init__(
        self, workspace: Workspace, line: Line, *, auto: bool, warn: Callable[[str], None]
    ) -> None:
        """Take where to work; `auto` is the default for tables without the setting."""
        self._workspace = workspace
        self._line = line
        self._auto = auto
        self._warn = warn
        self._lock = threading.Lock()
        self._due: set[RelationName] = set()

    def look(self, overlay: Overlay) -> None:
        """Check the tables that a committed overlay changed."""
        # dbt's threads come here with the nodes that they have finished.
        for name, entry in overlay.relations.items():
            if not isinstance(entry, TableEntry):
                continue
            snapshot = overlay.snapshot(entry.snapshot)
            if not is_table_due(overlay.repository, snapshot):
                with self._lock:
                    self._due.discard(name)
            elif snapshot.properties.get(AUTO_OPTIMIZE, str(self._auto).lower()) == "true":
                self._compact(name)
            else:
                with self._lock:
                    self._due.add(name)

    def tell(self) -> None:
        """Warn about tables that are due for compaction."""
        if not self._due:
            return
        names = sorted(map(str, self._due))
        self._warn(
            f"Many small files or deleted rows make these tables slow to read: "
            f"{listed(names, _SHOWN)}. Compact them: dbt-vcs optimize {quote(names[0])}, or set "
            "auto_optimize: true."
        )

    def _compact(self, name: RelationName) -> None:
        # A commit of its own: the node's is made, and stays if the compaction loses a race.
        overlay = self._workspace.begin()
        try:
            rewrites = rewrite_table(
                overlay.repository,
                overlay.require_table(name),
                lambda: self._workspace.open_session("optimize"),
            )
            if put_optimized(overlay, name, rewrites, Origin()) is not None:
                self._line.land(overlay, f"Optimize {name}")
        except VcsError as error:
            # A table that stays as it is remains readable, and is due again when it next changes.
            self._warn(f"{name} was not compacted: {error}")
