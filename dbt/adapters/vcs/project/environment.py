"""The environment of one dbt invocation: its repository, its workspace, its run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from dbt.adapters.contracts.connection import AdapterRequiredConfig
from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.vcs import variables
from dbt.adapters.vcs.changes.merges.hook_rules import HookRules
from dbt.adapters.vcs.changes.merges.project_rules import Rules, read_rules
from dbt.adapters.vcs.commands.options import with_options
from dbt.adapters.vcs.commands.revisions import check_free
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import EngineError, InputError, NotFoundError, ReadOnlyError
from dbt.adapters.vcs.core.model import Origin, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs, MemoryBlobs
from dbt.adapters.vcs.core.store.opening import check_vacant, located, open_blobs
from dbt.adapters.vcs.credentials import VcsCredentials
from dbt.adapters.vcs.engines.factory import make_engine
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.project.early_start import EarlyStart, starts_early
from dbt.adapters.vcs.project.invocation import Invocation, current_invocation
from dbt.adapters.vcs.project.manifest import Project, check_storage, externals_of
from dbt.adapters.vcs.project.node_steps import Work
from dbt.adapters.vcs.project.operations import READING, command_of, only_reads, statements_of
from dbt.adapters.vcs.project.reuse_modes import credentials_context
from dbt.adapters.vcs.project.run import RunLife, is_hook, is_node
from dbt.adapters.vcs.project.run_record import outdated_warning
from dbt.adapters.vcs.reuse.reuser import Reuse
from dbt.adapters.vcs.sql.show import columns_of
from dbt.adapters.vcs.workspace.lines.line_workspace import (
    Connection,
    Workspace,
    depends_on_others,
    landed,
)
from dbt.adapters.vcs.workspace.lines.lines import BranchLine, Line, PinnedLine, RunLine
from dbt.adapters.vcs.workspace.mounts import Externals
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import (
    PREFIX,
    RunBranch,
    Status,
    check_mergeable,
    run_of,
    runs,
    steps_of,
)
from dbt.adapters.vcs.workspace.shared_run import joined_run
from dbt.adapters.vcs.workspace.statement_scope import Outcome

logger = AdapterLogger("Vcs")

# `main`, and the branch of this very run, if it has begun.
_BRANCHES_OF_NEW: Final = 2


class Environment:
    """The resources of one invocation; created by the adapter, opened by the first statement.

    A command that only reads sees one commit throughout. A command that may write gets a run. If
    no command is running, a program uses the adapter directly: each statement sees the current
    branch, and its changes are committed at once.

    Attributes:
        life: The run, if the command may write and has started.
    """

    def __init__(
        self,
        config: AdapterRequiredConfig,
        *,
        manifest: Callable[[], Any],
        say: Callable[[str], None],
    ) -> None:
        """Take the profile; `manifest` gives dbt's, once it is parsed."""
        self._config = config
        self._project = Project(manifest)
        self._say: Callable[[str], None] = lambda line: say(self.typed(line))
        self._lock = threading.RLock()
        # Here, on the main thread: other threads can't see which command was called.
        self.invocation = current_invocation(config)
        self._workspace: Workspace | None = None
        self.life: RunLife | None = None
        self._reading: Overlay | None = None
        self._tried: dict[str, Overlay] = {}
        self._externals: Externals | None = None
        self._early: EarlyStart | None = None
        if starts_early(self.invocation, self.credentials.method):
            self._early = EarlyStart(config, self.invocation, self._prepare, self._is_new)

    def typed(self, text: str) -> str:
        """Return a message whose commands have the options that this one was called with."""
        return with_options(text, self.invocation.options)

    @property
    def credentials(self) -> VcsCredentials:
        """The profile's output; in a shared run, with the branch of that run as its target."""
        credentials = self._config.credentials
        assert isinstance(credentials, VcsCredentials)
        if not self._joins:
            return credentials
        # The run's branch takes what succeeded at once: its publication decides.
        return replace(credentials, branch=PREFIX + self._joins, publish="always")

    @property
    def _joins(self) -> str:
        """The id of the shared run that the command is a part of; empty if it is of none."""
        # A program that uses the adapter is no command, so nothing would end its part.
        return "" if self.invocation.is_direct else variables.joined_run()

    @property
    def workspace(self) -> Workspace:
        """The branch as this invocation sees it; the first use opens the repository.

        Raises:
            VcsError: The repository or the branch can't be opened.
        """
        with self._lock:
            if self._workspace is None:
                self._workspace = self._open()
            return self._workspace

    def execute(self, connection: Connection, name: str, text: str) -> Outcome:
        """Execute a statement that dbt sends over the named connection."""
        life, origin = self._begun(name), self._project.origin(name, self.invocation.id)
        if life is not None:
            return life.execute(connection, name, text, origin)
        if self.invocation.is_direct:
            return landed(
                self.workspace,
                lambda overlay: connection.execute(text, overlay, origin=origin),
                text,
                waits=depends_on_others(text),
            )
        if self.invocation.is_compiling:
            return self._try(connection, name, text, origin)
        return connection.execute(text, self.overlay(name), origin=origin, read_only=True)

    def change(
        self,
        connection: Connection,
        name: str,
        work: Work,
        *,
        repeatable: bool,
    ) -> Outcome:
        """Do work that is not a statement, such as loading a seed, in the way of `execute`.

        `repeatable` work may be done again on a target that has moved.
        """
        life, origin = self._begun(name), self._project.origin(name, self.invocation.id)
        if life is None and self.invocation.is_direct:
            return landed(self.workspace, lambda overlay: work(connection, overlay, origin), name)
        if life is None:
            return work(connection, self.overlay(name), origin)
        return life.change(connection, name, work, origin, repeatable=repeatable)

    def operate(
        self,
        handle: Callable[[], Any],
        verb: str,
        arguments: Mapping[str, Any],
        prepare: Callable[[str], Callable[[], list[str]]],
    ) -> list[str]:
        """Run an operation, or make it part of the run that calls it; return its lines.

        Args:
            handle: Returns the connection of this thread.
            arguments: Its arguments; those that are None or false count as not given.
            prepare: Checks the call, for the branch to use if it names none.

        Raises:
            ReadOnlyError: The command only reads, and this would change something.
            VcsError: The call is wrong, or it failed.
        """
        given = {name: value for name, value in arguments.items() if value not in (None, False)}
        target, life = self.credentials.branch, self.life
        # An operation sees what the run did before it was called.
        is_ahead = life is not None and life.line.has_changes
        if only_reads(verb, given):
            # These read a revision, and what the run did so far is on its own branch only.
            shows = life.line.run.name if life is not None and is_ahead else target
            return prepare(shows if verb in READING else target)()
        work = prepare(target)
        invocation = self.invocation
        # An operation by itself has no run to be part of, or to wait for.
        if invocation.is_direct or (invocation.is_operation and not is_ahead):
            return work()
        if self._only_reads:
            raise ReadOnlyError(
                f"dbt {invocation.command} only reads, and {verb} changes the repository. Call "
                f"it from a hook, or as: {command_of(verb, given)}"
            )
        connection = handle()
        life = self._begun(connection.name)
        assert life is not None
        # As a statement it is part of what the run lands. Anything else waits for the run to be
        # published, since nothing could take it back.
        statements = statements_of(verb, given, target)
        for text in statements:
            self.execute(connection.inner, connection.name, text)
        if statements:
            return [f"Part of this run: {statements[-1]}"]
        life.postponed.add(connection.name, command_of(verb, given), work)
        return [f"Waits until this run is published: {command_of(verb, given)}"]

    def reuse(self, name: str) -> Reuse | None:
        """Return the results that the named connection may take; None if it takes none."""
        life = self._begun(name)
        return None if life is None else life.reuse(name)

    def columns(
        self, connection: Connection, name: str, relation: RelationName
    ) -> list[tuple[str, str, str | None]]:
        """Return name, type and comment of a relation's columns, as the named connection sees it.

        Raises:
            NotFoundError: There is no such relation.
        """
        overlay = self.overlay(name)
        scope = connection.scope("", overlay, Origin())
        entry = overlay.entry(relation)
        reusing = connection.reusing(self.reuse(name))
        # The manifest has the columns of a table; those of a view may take Spark.
        if reusing is None or isinstance(entry, TableEntry):
            return columns_of(scope, relation)
        return reusing.columns(scope, relation, lambda: columns_of(scope, relation))

    def overlay(self, name: str) -> Overlay:
        """Return what the named connection sees; not for changes."""
        life = self._begun(name)
        if life is not None:
            return life.overlay(name)
        if self.invocation.is_direct:
            return self.workspace.begin()
        with self._lock:
            if name in self._tried:
                return self._tried[name]
            # One state for the whole command, so that what it shows fits together.
            if self._reading is None:
                self._reading = self.workspace.begin()
            return self._reading

    def close(self) -> None:
        """End the command and release the engine; later callers are treated as programs."""
        with self._lock:
            if self._early is not None:
                has_engine = self._workspace is not None and self._workspace.has_engine
                self._early.end(computed=has_engine)
                self._early = None
            if self._workspace is not None:
                self._workspace.close()
            self._workspace = self.life = self._reading = None
            self._tried.clear()
            # A program that called dbtRunner may go on using the adapter.
            self.invocation = replace(self.invocation, command="", retry_of=None)

    def before_nodes(self, nodes: Sequence[Any]) -> None:
        """Announce the nodes that a command will build, and check their configs.

        Raises:
            UnsupportedError: Some request a kind of storage that versioned tables don't support.
            VcsError: The shared run can't be joined.
        """
        if self._joins and (life := self._begun("")) is not None:
            # An ephemeral model is nothing that is built, and dbt may say nothing of it.
            ids = [node.unique_id for node in nodes if not node.is_ephemeral_model]
            life.announce([id for id in ids if is_node(id)])
        if self.invocation.is_building:
            mode = self.credentials.storage_configs
            check_storage(nodes, mode=mode, warn=logger.warning)

    def open_repository(self) -> Repository:
        """Return the repository; a command that may write creates it if it doesn't exist.

        A command that only reads sees an empty one instead, and leaves no trace.

        Raises:
            VcsError: The location contains something other than a repository, or can't be read.
        """
        try:
            return self.existing_repository()
        except NotFoundError:
            blobs, author = self._blobs(), self.invocation.author
            if not self._only_reads:
                return Repository.create(blobs, author=author)
        check_vacant(blobs)
        return Repository.create(MemoryBlobs(), author=author)

    def existing_repository(self) -> Repository:
        """Return the existing repository.

        Raises:
            NotFoundError: It doesn't exist.
            VcsError: It can't be read.
        """
        return Repository.open(self._blobs())

    def make_engine(self, blobs: Blobs) -> Engine:
        """Return an engine configured by the profile; it starts on first use."""
        return make_engine(
            blobs,
            method=self.credentials.method,
            settings=self.credentials.engine_settings,
            storage_options=self.credentials.storage_options,
        )

    def _prepare(self) -> None:
        self.make_engine(self._blobs()).prepare()

    def _is_new(self) -> bool:
        """Return whether there is no repository, or one whose branches have no relations."""
        try:
            repository = self.existing_repository()
        except NotFoundError:
            return True
        found = list(islice(repository.each_branch(takes_few=True), _BRANCHES_OF_NEW + 1))
        trees = [repository.tree(branch.head) for branch in found]
        return len(found) <= _BRANCHES_OF_NEW and not any(tree.schemas() for tree in trees)

    def _blobs(self) -> Blobs:
        """Return the store; a relative location is in the project's folder, wherever dbt runs."""
        place = located(self.credentials.repository, self.invocation.project_root)
        return open_blobs(place, self.credentials.storage_options)

    def _try(self, connection: Connection, name: str, text: str, origin: Origin) -> Outcome:
        """Execute what a model's Jinja sends while it is compiled.

        Only that model sees its changes, and they are dropped with the command; if they were
        refused, such a project couldn't have docs. Rows are not written: a model's statement is
        refused, and a hook's is skipped, since nobody reads the compiled hook.
        """
        overlay = self._tried.get(name) or self.workspace.begin()
        is_left_out = False
        try:
            outcome = connection.execute(text, overlay, origin=origin)
        except ReadOnlyError:
            if not is_hook(name):
                raise
            outcome, is_left_out = Outcome(), True
        if (is_left_out or not overlay.is_empty) and name not in self._tried:
            logger.warning(
                f"dbt {self.invocation.command} only reads: changes that {name} makes while it is "
                "compiled are dropped."
            )
            with self._lock:
                self._tried[name] = overlay
        return outcome

    def _begun(self, name: str) -> RunLife | None:
        """Return the run, starting it if necessary; None if the command only reads.

        Raises:
            EngineError: The name belongs to a node whose command has ended: it was interrupted,
                and its remains must not be treated as a program.
        """
        with self._lock:
            if self.invocation.is_direct and is_node(name):
                raise EngineError(f"The dbt command has ended, so {name} can't continue.")
            if self._workspace is None:
                self._workspace = self._open()
            return self.life

    def _open(self) -> Workspace:
        invocation, credentials = self.invocation, self.credentials
        repository = self.existing_repository() if self._joins else self.open_repository()
        if self._joins:
            joined = joined_run(repository, self._joins)
            if not self._only_reads:
                self._say(f"Part of the run {joined.invocation} for {joined.target}.")
        line: Line
        run_line: RunLine | None = None
        if self._only_reads:
            shown = shown_branch(repository, credentials)
            why = f"dbt {invocation.command} only reads"
            line = PinnedLine(lambda: shown.head, why, branch=shown.name)
        elif invocation.is_direct:
            make_target(repository, credentials, self.invocation.author, self._say)
            line = BranchLine(repository, credentials.branch, invocation.author)
        else:
            line = run_line = self._run_line(repository)
        workspace = Workspace(
            repository,
            line,
            # Not made yet: a build in which everything is known needs no Spark (decision 34).
            lambda: self.make_engine(repository.blobs),
            schema=credentials.schema,
            externals=self.externals,
            context=credentials_context(credentials),
        )
        if run_line is not None:
            self.life = RunLife(
                workspace,
                run_line,
                invocation,
                self._project,
                credentials=credentials,
                rules=self.rules(),
                say=self._say,
            )
            if invocation.is_operation:
                # Of nodes dbt says before the first statement that it is going to build them.
                self.life.announce([invocation.operation])
        return workspace

    @property
    def _only_reads(self) -> bool:
        """True if nothing that the command runs may change the branch."""
        invocation = self.invocation
        if invocation.is_freshness:
            return not (invocation.runs_hooks and self._project.has_hooks)
        return invocation.is_read_only

    def _run_line(self, repository: Repository) -> RunLine:
        credentials, invocation = self.credentials, self.invocation
        if not self._joins:
            make_target(repository, credentials, self.invocation.author, self._say)
        self.rules().apply(repository, credentials.branch, author=invocation.author)
        resumed = resumed_run(repository, invocation, credentials)
        if resumed is not None:
            self._say(f"Resuming {resumed.name}.")
            outdated = self._project.outdated(steps_of(repository, resumed))
            if outdated and invocation.retry_of:
                logger.warning(self.typed(outdated_warning(outdated)))
        return RunLine(
            repository,
            invocation=invocation.id,
            target=credentials.branch,
            command=invocation.command,
            author=invocation.author,
            resumes=resumed,
            on_error=lambda error: logger.warning(f"The run's lease was not renewed: {error}"),
        )

    def rules(self) -> Rules:
        """Return the rules in the project's vcs.yml for branches and merges."""
        rules = read_rules(self.invocation.project_root)
        if not self._joins:
            return rules
        # Nobody sees what a part of a run lands: these are for the run's own publication.
        return replace(rules, branches=(), contracts=(), exports=(), hooks=HookRules())

    def externals(self) -> Externals:
        """Return the project's sources that are files outside the repository."""
        with self._lock:
            if self._externals is None:
                root = self.invocation.project_root
                self._externals = externals_of(self._project.sources, root)
            return self._externals


def make_target(
    repository: Repository, credentials: VcsCredentials, author: str, say: Callable[[str], None]
) -> None:
    """Create the target branch from its base, unless it exists; `say` tells the user.

    Raises:
        InputError: The name is that of a run's branch, or not allowed.
        NotFoundError: There is no base.
    """
    target, base = credentials.branch, credentials.base
    if target.startswith(PREFIX):
        raise InputError(
            f"branch: {target} is the branch of a run, which dbt manages itself. Use a "
            f"branch of your own; base: {target} starts it from the result of the run."
        )
    if repository.find_branch(target) is not None:
        return
    check_free(repository, "branch", target)
    start = repository.branch(base)
    run = run_of(start)
    if run is not None:
        check_mergeable(repository, run)
    repository.create_branch(target, start.head, author=author, note=f"from {base}")
    say(f"Created branch {target} from {base}.")


def shown_branch(repository: Repository, credentials: VcsCredentials) -> Branch:
    """Return the branch to read: the target, or the branch that it would be created from.

    Raises:
        NotFoundError: There is neither, nor a default branch.
    """
    return (
        repository.find_branch(credentials.branch)
        or repository.find_branch(credentials.base)
        or repository.branch(repository.default_branch)
    )


def resumed_run(
    repository: Repository, invocation: Invocation, credentials: VcsCredentials
) -> RunBranch | None:
    """Return the run to retry, or the one that is waiting for its tests; None if there is none.

    Raises:
        InputError: The run to retry was stopped early, and dbt doesn't know all its nodes.
    """
    # An operation starts from the beginning, so what it did before it failed must not be there.
    retry_of = None if invocation.is_operation else invocation.retry_of
    if not retry_of and credentials.publish != "after_tests":
        return None
    known = [run for run in runs(repository) if run.target == credentials.branch]
    if not retry_of:
        # With `publish: after_tests`, `dbt test` goes on with the run that waits for it.
        return next((run for run in known if run.status is Status.PASSED), None)
    retried = [run for run in known if run.invocation == retry_of]
    # Decision 8: dbt's record lacks nodes that had not started, and couldn't be completed.
    if retried and retried[0].status is Status.INTERRUPTED:
        raise InputError(
            f"{retried[0].name} was stopped early ({retried[0].note}), so dbt "
            "retry would skip nodes. Run the same command again instead."
        )
    return next((run for run in retried if run.status is Status.FAILED), None)
