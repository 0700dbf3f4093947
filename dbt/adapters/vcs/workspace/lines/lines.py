"""Lines: where a workspace reads and where its changes land, on a head that may have moved."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import msgspec

from dbt.adapters.vcs.changes.writes.checks import checks_of, may_clash
from dbt.adapters.vcs.core.errors import ReadOnlyError, VcsError
from dbt.adapters.vcs.core.ids import CommitId, Micros, SnapshotId, TreeId
from dbt.adapters.vcs.core.model import Entry, RelationName, Run, Snapshot, TableEntry
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.origins.lineage import (
    Consumptions,
    adds_up,
    merged_consumption,
)
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.repository import (
    Landed,
    Proposal,
    Repository,
    TreeConflictError,
)
from dbt.adapters.vcs.core.retention import check_present
from dbt.adapters.vcs.table.manifests import joined_segments, put_segments
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import LEASE, RunBranch, Status, this_process


class Line(Protocol):
    """A position in the history that moves as changes land on it."""

    @property
    def branch(self) -> str | None:
        """The branch whose log resolves times; None for the history of the head."""

    @property
    def author(self) -> str:
        """The author of changes; empty if nothing can land."""

    def head(self) -> CommitId:
        """Return the commit to read now."""

    def check_open(self) -> None:
        """Raise if nothing can land, before rows are computed."""

    def land(self, overlay: Overlay, message: str, run: Run | None = None) -> Landed:
        """Commit an overlay's changes."""


class BranchLine:
    """A branch: each statement reads its current head, and changes are committed to it."""

    def __init__(self, repository: Repository, branch: str, author: str) -> None:
        """Take an existing branch."""
        self._repository = repository
        self.branch = branch
        self.author = author

    def head(self) -> CommitId:
        """Return the branch's head."""
        return self._repository.branch(self.branch).head

    def check_open(self) -> None:
        """Refuse before doing work that can't land.

        Raises:
            ProtectedError: The branch accepts only promotions.
        """
        # A statement's commit is no promotion, which protection would let through.
        self._repository.branch(self.branch).check_open(promotes=False)

    def land(self, overlay: Overlay, message: str, run: Run | None = None) -> Landed:
        """Commit to the branch.

        Rows inserted into a table follow those that others inserted meanwhile.

        Raises:
            ConflictError: Both sides changed a relation other than by inserts.
            NotFoundError: A file of the overlay's tables is missing.
            ReplacedError: A purge deleted what it was made from; nothing was changed.
            RetryError: Others were first every time; nothing was changed.
        """
        lost: TreeConflictError | None = None
        with self._repository.turns.on(self.branch) as turn:
            for _ in turn.attempts(f"land on the branch {self.branch!r}"):
                base, tree = _tree_for(overlay, self.head)
                if lost is not None and base == overlay.base:
                    # Others did more to the table than an insert can follow on.
                    raise lost
                try:
                    return self._repository.land(
                        Proposal(
                            branch=self.branch,
                            base=base,
                            tree=tree,
                            author=self.author,
                            message=message,
                            run=run,
                            # Decision 36: rows copied from a version that a purge replaced must
                            # not land.
                            read=overlay.read_versions,
                        )
                    )
                except TreeConflictError as error:
                    # Others were first in between. Rows that are only added follow on theirs.
                    if not _is_appending(overlay):
                        raise
                    lost = error
        raise AssertionError("attempts raises when it ends")


class PinnedLine:
    """A fixed commit; nothing lands on it."""

    def __init__(
        self, commit: Callable[[], CommitId], why: str, *, branch: str | None = None
    ) -> None:
        """Take a function that finds the commit, why nothing lands (a clause), and the branch."""
        self._commit = commit
        self._why = why
        self.branch = branch
        self.author = ""

    def head(self) -> CommitId:
        """Return the commit."""
        return self._commit()

    def check_open(self) -> None:
        """Refuse before doing work that can't land.

        Raises:
            ReadOnlyError: Always.
        """
        raise self._refusal()

    def land(self, overlay: Overlay, message: str, run: Run | None = None) -> Landed:
        """Refuse.

        Raises:
            ReadOnlyError: Always.
        """
        raise self._refusal()

    def _refusal(self) -> ReadOnlyError:
        return ReadOnlyError(f"Nothing can be changed here: {self._why}.")


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
        self.branch = target
        self.author = author
        self._resumes = resumes
        self._on_error = on_error
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._is_made = False
        # The nodes of a run that is resumed are part of this one, so it forked where that one did.
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
            owner=this_process(),
        )

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
        # Nodes of several threads land one after another, each with its own changes (decision 5).
        with self._lock:
            base, tree = _tree_for(overlay, self.head)
            # After the tree is made, so that an overlay that can't land makes no branch.
            self._make()
            # The state is written with the commit: a renewal here needs no request of its own.
            self._renew()
            landed = self._repository.land(
                Proposal(
                    branch=self.run.name,
                    base=base,
                    tree=tree,
                    author=self.author,
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
                    author=self.author,
                    message=message,
                    run=run,
                    state=self.run.state,
                    # A test changes nothing, and its result is evidence all the same.
                    allow_empty=True,
                )
            )
            self.run = replace(self.run, head=landed.commit)

    def end(self, status: Status, note: str = "", *, tested: bool = False) -> RunBranch:
        """Record the outcome of the run; a run that changed nothing leaves no branch."""
        # First, or the lease of a run that has ended would be renewed once more.
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
            self.run.name, self.run.head, author=self.author, state=self.run.state
        )
        self._is_made = True
        if self._resumes is not None:
            # After the new branch is there: a crash in between leaves the old run to resume.
            old = replace(self._resumes, status=Status.RESUMED)
            self._repository.set_state(old.name, old.state, author=self.author)
        # A daemon: the lease of a run that dies has to expire.
        threading.Thread(target=self._keep_alive, name="dbt-vcs-lease", daemon=True).start()

    def _keep_alive(self) -> None:
        # Two renewals in a row may fail before anybody takes the run for dead.
        while not self._stopped.wait(LEASE / 3 / 1_000_000):
            with self._lock:
                # The run may have ended while this thread waited for the lock.
                if self._stopped.is_set():
                    return
                self._renew()
                try:
                    self._save()
                except VcsError as error:
                    # The next renewal may succeed before anybody takes the run for dead.
                    self._on_error(error)

    def _renew(self) -> None:
        alive_until = Micros(self._repository.clock() + LEASE)
        self.run = replace(self.run, alive_until=alive_until)

    def _save(self) -> None:
        state = self.run.state
        head = self._repository.set_state(self.run.name, state, author=self.author).head
        if head != self.run.head:
            # A purge has rewritten the history: nobody else moves the branch.
            fork = self._repository.maintenance.current(self.run.fork)
            self.run = replace(self.run, head=head, fork=fork)


def _tree_for(overlay: Overlay, head: Callable[[], CommitId]) -> tuple[CommitId, TreeId]:
    """Return the commit that an overlay's changes apply to, and the tree to land."""
    repository = overlay.repository
    # Where something is missing because of a purge, the error has to say so.
    with repository.maintenance.told(overlay.base):
        moved = rebased(overlay, head())
        tree = repository.edit(moved.tree.id, moved.changes)
        # An overlay that was open for long may name files that a collection has deleted.
        check_present(repository, moved.tree.id, tree)
    return moved.base, tree


def rebased(overlay: Overlay, head: CommitId) -> Overlay:
    """Return an overlay on `head` if the overlapping changes are inserts, else the overlay.

    An insert that didn't read the table doesn't depend on its other rows. Where both the overlay
    and the new head changed a table and the overlay only inserted rows, its blocks are appended
    to the head's. Anything else is left to the three-way merge: a `merge into` or an overwrite
    that found nothing to replace only added rows, too, but would find something on the head.
    """
    if head == overlay.base:
        return overlay
    tree = overlay.repository.tree(head)
    moved: dict[RelationName, Entry | AbsentType] = {}
    for name, entry in overlay.relations.items():
        before, now = overlay.before(name), tree.entry(name)
        if before == now:
            continue
        if str(name) in overlay.read:
            # `select max(id) + 1 from t` has another result on the head.
            return overlay
        combined = _appended(overlay, before, now, entry)
        if combined is None:
            return overlay
        moved[name] = combined
    if not moved:
        return overlay
    # A schema that others created or dropped meanwhile stays as they have it.
    schemas = {
        name: change
        for name, change in overlay.schemas.items()
        if tree.has_schema(name) == overlay.tree.has_schema(name)
    }
    return Overlay(
        repository=overlay.repository,
        base=head,
        tree=tree,
        relations={**overlay.relations, **moved},
        schemas=schemas,
    )


def _is_appending(overlay: Overlay) -> bool:
    """Return whether an overlay did nothing but insert into tables that it didn't read."""
    for name, entry in overlay.relations.items():
        before = overlay.before(name)
        if str(name) in overlay.read:
            return False
        if not (isinstance(before, TableEntry) and isinstance(entry, TableEntry)):
            return False
        if not _only_inserts(overlay, before, entry):
            return False
    return True


def _appended(
    overlay: Overlay, before: Entry | None, now: Entry | None, after: Entry | AbsentType
) -> Entry | None:
    """Return the head's table with the rows that the overlay added; None if it did more."""
    if not (
        isinstance(before, TableEntry)
        and isinstance(now, TableEntry)
        and isinstance(after, TableEntry)
    ):
        return None
    if not _only_inserts(overlay, before, after):
        return None
    base, head, ours = (overlay.snapshot(entry.snapshot) for entry in (before, now, after))
    change = delta(base, ours, overlay.repository.objects.segment)
    if change.removed or change.deleted or change.restored:
        return None
    if _facts(ours) != _facts(base) or not _takes(head, base, ours):
        return None
    theirs = delta(base, head, overlay.repository.objects.segment)
    if {block.path for block in change.added} & {block.path for block in theirs.added}:
        # A client's commit that arrived twice: its files count once.
        return None
    added = put_segments(overlay.repository.objects, change.added)
    version = msgspec.structs.replace(
        head,
        segments=joined_segments(overlay.repository.objects, (*head.segments, *added)),
        # As if the rows had been inserted on the head.
        parents=(now.snapshot,),
        operation=ours.operation,
        created_at=ours.created_at,
        origin=ours.origin,
        consumption=merged_consumption(_consumed(base, head, ours)),
    )
    if may_clash(overlay.repository, version, head):
        # The head may have a row with the key of an inserted one: the merge compares them.
        return None
    return TableEntry(snapshot=SnapshotId(overlay.repository.objects.put(version)))


def _takes(head: Snapshot, base: Snapshot, ours: Snapshot) -> bool:
    """Return whether rows that were written and checked for one version fit another."""
    if head.schema != base.schema or head.partition_by != base.partition_by:
        return False
    if not adds_up(_consumed(base, head, ours)):
        # Both built it from changes: the merge takes one of them.
        return False
    # The rows were not checked against a new constraint of the head.
    return checks_of(head.properties).items() <= checks_of(base.properties).items()


def _consumed(base: Snapshot, head: Snapshot, ours: Snapshot) -> Consumptions:
    return base.consumption, head.consumption, ours.consumption


def _only_inserts(overlay: Overlay, before: TableEntry, after: TableEntry) -> bool:
    """Return whether each version that the overlay made of a table was made by an insert."""
    version = after.snapshot
    while version != before.snapshot:
        made = overlay.snapshot(version)
        # Files don't tell: a `merge into` that found no match only added rows, too.
        if made.operation != "append" or not made.parents:
            return False
        version = made.parents[0]
    return True


def _facts(snapshot: Snapshot) -> tuple[object, ...]:
    """Return everything about a table that an insert doesn't change."""
    return (
        snapshot.table,
        snapshot.schema,
        snapshot.primary_key,
        snapshot.partition_by,
        snapshot.cluster_by,
        snapshot.comment,
        snapshot.properties,
    )
