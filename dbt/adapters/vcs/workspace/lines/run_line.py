"""The line of a run: its own branch, created by the first commit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.ids import CommitId, Micros
from dbt.adapters.vcs.core.landing import Landed, Proposal
from dbt.adapters.vcs.core.model import Run
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import check_present
from dbt.adapters.vcs.workspace.lines.rebase import rebased
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import LEASE, RunBranch, Status, this_process


class RunLine:
    """A run branch that one process works on.

    There is no branch until the first commit, so a run that changes nothing leaves nothing
    behind. From then on the branch has a lease, which the process renews. An expired lease
    means that the run was killed.
    """

    def __init__(
        self,
        repository: Repository,
        *,
        invocation: str,
        target: str,
        command: str,
        author: str,
        resumes: RunBranch | None = None,
        on_error: Callable[[VcsError], None],
    ) -> None:
        """Start at the target's head, or at the end of the run that is resumed.

        `on_error` is called when the lease can't be renewed.
        """
        self._repository = repository
        self._author = author
        self._resumes = resumes
        self._on_error = on_error
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._is_made = False
        fork = resumes.fork if resumes else repository.branch(target).head
        now = repository.clock()
        self.run = RunBranch(
            invocation=invocation,
            status=Status.OPEN,
            target=target,
            fork=fork,
            head=resumes.head if resumes else fork,
            command=command,
            started_at=now,
            alive_until=now,
            tested=False,
            owner=this_process(),
        )

    @property
    def branch(self) -> str:
        """The branch that the run publishes to."""
        return self.run.target

    @property
    def author(self) -> str:
        """The user who runs it."""
        return self._author

    @property
    def has_changes(self) -> bool:
        """True if this run, or the one that it resumes, committed anything."""
        return self.run.head != self.run.fork

    def head(self) -> CommitId:
        """Return the run branch's head."""
        return self.run.head

    def check_open(self) -> None:
        """Do nothing: a run's own branch accepts all of its changes."""

    def land(self, overlay: Overlay, message: str, run: Run | None = None) -> Landed:
        """Commit to the run branch, creating it with the first commit.

        Raises:
            ConflictError: Two nodes of the run changed the same relation other than by
                inserts.
            NotFoundError: A file of the overlay's tables is missing.
            ReplacedError: A purge deleted what it was made from; nothing was changed.
        """
        with self._lock:
            with self._repository.maintenance.told(overlay.base):
                moved = rebased(overlay, self.run.head)
                tree = self._repository.edit(moved.tree.id, moved.changes)
                check_present(self._repository, moved.tree.id, tree)
            self._make()
            self._renew()
            landed = self._repository.land(
                Proposal(
                    branch=self.run.name,
                    base=moved.base,
                    tree=tree,
                    author=self._author,
                    message=message,
                    run=run,
                    read=overlay.read_versions,
                    state=self.run.state,
                )
            )
            self.run = replace(self.run, head=landed.commit)
            return landed

    def record(self, message: str, run: Run) -> None:
        """Commit a result that changed nothing, such as a test's, to the run branch."""
        with self._lock:
            self._make()
            landed = self._repository.land(
                Proposal(
                    branch=self.run.name,
                    base=self.run.head,
                    tree=self._repository.tree(self.run.head).id,
                    author=self._author,
                    message=message,
                    run=run,
                    state=self.run.state,
                    allow_empty=True,
                )
            )
            self.run = replace(self.run, head=landed.commit)

    def end(self, status: Status, note: str = "", *, tested: bool = False) -> RunBranch:
        """Record the outcome of the run; a run that changed nothing leaves no branch."""
        self._stopped.set()
        with self._lock:
            ended_at = self._repository.clock()
            self.run = replace(
                self.run, status=status, note=note, tested=tested, ended_at=ended_at
            )
            if self.has_changes:
                self._make()
                self._save()
            return self.run

    def _make(self) -> None:
        if self._is_made:
            return
        self._renew()
        self._repository.create_branch(
            self.run.name, self.run.head, author=self._author, state=self.run.state
        )
        self._is_made = True
        if self._resumes is not None:
            old = replace(self._resumes, status=Status.RESUMED)
            self._repository.set_state(old.name, old.state, author=self._author)
        threading.Thread(target=self._keep_alive, name="dbt-vcs-lease", daemon=True).start()

    def _keep_alive(self) -> None:
        while not self._stopped.wait(LEASE / 3 / 1_000_000):
            with self._lock:
                if self._stopped.is_set():
                    return
                self._renew()
                try:
                    self._save()
                except VcsError as error:
                    self._on_error(error)

    def _renew(self) -> None:
        alive_until = Micros(self._repository.clock() + LEASE)
        self.run = replace(self.run, alive_until=alive_until)

    def _save(self) -> None:
        state = self.run.state
        head = self._repository.set_state(self.run.name, state, author=self._author).head
        if head != self.run.head:
            # A purge has rewritten the history: nobody else moves the branch.
            fork = self._repository.maintenance.current(self.run.fork)
            self.run = replace(self.run, head=head, fork=fork)
