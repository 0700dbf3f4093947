"""Lines: where a workspace reads and where its changes land, on a head that may have moved."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from dbt.adapters.vcs.changes.writes.append import appended, combined
from dbt.adapters.vcs.changes.writes.checks import may_clash
from dbt.adapters.vcs.core.errors import ReadOnlyError, VcsError
from dbt.adapters.vcs.core.groups import Landed, LandingPlan, Offer, PlannedChange
from dbt.adapters.vcs.core.ids import CommitId, Micros, TreeId
from dbt.adapters.vcs.core.model import (
    Absent,
    Entry,
    RelationName,
    Run,
    Segment,
    Snapshot,
    TableEntry,
)
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.plan.collect import files_of
from dbt.adapters.vcs.core.repository import Proposal, Repository, TreeConflictError
from dbt.adapters.vcs.core.retention import check_present, check_stored
from dbt.adapters.vcs.core.turns import Turn
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import LEASE, RunBranch, Status, this_process

_CARRIED: Final = 100
"""Blocks up to which a plan tells those that it adds; whoever lands it reads more by itself."""


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
        repository = self._repository
        with repository.turns.on(self.branch) as turn:
            offer = repository.groups.offer(
                self.branch, partial(_plan, overlay, self.author, message, run), turn
            )
            return repository.groups.land_or_withdraw(
                offer, overlay.base, lambda: self._land(overlay, message, run, turn, offer)
            )

    def _land(
        self, overlay: Overlay, message: str, run: Run | None, turn: Turn, offer: Offer
    ) -> Landed:
        repository = self._repository
        lost: TreeConflictError | None = None
        for _ in turn.attempts(f"land on the branch {self.branch!r}", offer=offer):
            groups = repository.groups
            if turn.is_plan_gone:
                found = groups.landed_by_others(offer, overlay.base)
                if found is not None:
                    return found
            last = groups.look(self.branch, turn)
            found = groups.landed_by_others(offer, overlay.base, last)
            if found is not None:
                return found
            branch = repository.branch_at(self.branch, last)
            base, tree = _tree_for(overlay, branch.head, offer)
            if lost is not None and base == overlay.base:
                # Others did more to the table than an insert can follow on.
                raise lost
            try:
                return repository.land(
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
                        combine=partial(combined, repository),
                        offer=offer,
                    ),
                    branch,
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
            base, tree = _tree_for(overlay, self.run.head)
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


def _tree_for(
    overlay: Overlay, head: CommitId, offer: Offer | None = None
) -> tuple[CommitId, TreeId]:
    """Return the commit that an overlay's changes apply to, and the tree to land."""
    repository = overlay.repository
    # Where something is missing because of a purge, the error has to say so.
    with repository.maintenance.told(overlay.base):
        moved = rebased(overlay, head)
        tree = repository.edit(moved.tree.id, moved.changes)
        # An overlay that was open for long may name files that a collection has deleted. Those of
        # a plan were looked for when it was put up.
        if offer is None or not offer.is_young(repository.clock()):
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
    return all(
        str(name) not in overlay.read and _only_inserts(overlay, overlay.before(name), entry)
        for name, entry in overlay.relations.items()
    )


def _appended(
    overlay: Overlay, before: Entry | None, now: Entry | None, after: Entry | AbsentType
) -> Entry | None:
    """Return the head's table with the rows that the overlay added; None if it did more."""
    if not _only_inserts(overlay, before, after):
        return None
    repository = overlay.repository
    found = appended(repository, before, now, None if after is Absent else after)
    if found is None or not isinstance(now, TableEntry):
        return None
    if may_clash(repository, overlay.snapshot(found.snapshot), overlay.snapshot(now.snapshot)):
        # The head may have a row with the key of an inserted one: the merge compares them.
        return None
    return found


def _plan(overlay: Overlay, author: str, message: str, run: Run | None) -> LandingPlan | None:
    """Return an overlay's changes for others to land; None if nobody else can."""
    # Schemas have a comment and properties, which a plan doesn't tell.
    if overlay.schemas:
        return None
    repository = overlay.repository
    changes: dict[str, PlannedChange] = {}
    snapshots: dict[str, Snapshot] = {}
    segments: dict[str, Segment] = {}
    for name, entry in overlay.relations.items():
        before, new = overlay.before(name), None if entry is Absent else entry
        if before == new:
            continue
        adds = str(name) not in overlay.read and _only_inserts(overlay, before, new)
        changes[str(name)] = PlannedChange(before=before, after=new, adds=adds)
        if isinstance(new, TableEntry):
            snapshots[new.snapshot] = overlay.snapshot(new.snapshot)
            segments |= _new_segments(overlay, before, new)
    if not changes:
        return None
    # As of a landing: blocks are there to last before others can land them.
    check_stored(repository, {path for each in segments.values() for path in files_of(each)})
    is_small = sum(len(segment.blocks) for segment in segments.values()) <= _CARRIED
    plan = LandingPlan(
        at=repository.clock(),
        author=author,
        message=message,
        run=run,
        read=tuple(sorted(overlay.read_versions)),
        changes=changes,
        snapshots=tuple(snapshots.values()) if is_small else (),
        segments=tuple(segments.values()) if is_small else (),
    )
    repository.objects.hand_over(plan.values)
    return plan


def _new_segments(overlay: Overlay, before: Entry | None, after: TableEntry) -> dict[str, Segment]:
    """Return the segments that only the later version of a table has, by id."""
    known: set[str] = set()
    if isinstance(before, TableEntry):
        known = {ref.id for ref in overlay.snapshot(before.snapshot).segments}
    new = (ref.id for ref in overlay.snapshot(after.snapshot).segments if ref.id not in known)
    return {id: overlay.repository.objects.segment(id) for id in new}


def _only_inserts(
    overlay: Overlay, before: Entry | None, after: Entry | AbsentType | None
) -> bool:
    """Return whether each version that the overlay made of a table was made by an insert."""
    if not (isinstance(before, TableEntry) and isinstance(after, TableEntry)):
        return False
    version = after.snapshot
    while version != before.snapshot:
        made = overlay.snapshot(version)
        # Files don't tell: a `merge into` that found no match only added rows, too.
        if made.operation != "append" or not made.parents:
            return False
        version = made.parents[0]
    return True
