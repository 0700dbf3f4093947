"""Purge: erase rows from all versions of a table, by rewriting the history that has them.

New files are written first, then new manifests, then what tells which object took the place of
which (`core.store.forwards`), then names are moved, one step each, and their logs redacted. A
process that dies in between leaves each name in the old history or the new one, and purging again
does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import msgspec

from dbt.adapters.vcs.core.branches import Names, is_protected
from dbt.adapters.vcs.core.errors import NotFoundError, ProtectedError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, new_write_id
from dbt.adapters.vcs.core.model import (
    Forwarding,
    RelationName,
    Snapshot,
)
from dbt.adapters.vcs.core.origins.results import Results
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retry import attempts
from dbt.adapters.vcs.core.store.forwards import Forwards
from dbt.adapters.vcs.core.store.lease import Lease
from dbt.adapters.vcs.core.store.objects import object_key
from dbt.adapters.vcs.core.store.refs import PURGE
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.verbs.erasing.erased_files import FileEraser, Replacements, ToErase
from dbt.adapters.vcs.verbs.erasing.left_mentions import left_mentions
from dbt.adapters.vcs.verbs.erasing.matching_rows import Condition, Matcher
from dbt.adapters.vcs.verbs.erasing.old_history import sweep
from dbt.adapters.vcs.verbs.erasing.purge_report import PurgedTable, PurgeReport, added, with_swept
from dbt.adapters.vcs.verbs.erasing.reached import ID, Named, Reached, reach, related
from dbt.adapters.vcs.verbs.erasing.redacted_logs import (
    LogRedaction,
    apply_redaction,
    plan_redaction,
)
from dbt.adapters.vcs.verbs.erasing.rewritten_history import EMPTY, History
from dbt.adapters.vcs.verbs.erasing.rows_to_erase import find_rows
from dbt.adapters.vcs.verbs.reading.log import parse_relation
from dbt.adapters.vcs.verbs.sessions import sessions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeRequest:
    """What to erase.

    Attributes:
        relation: The table, `schema.identifier`.
        where: A SQL condition over its columns; rows for which it is true are erased.
        redact: Texts to take out of commit messages, what is stored with them, and logs.
        dry_run: True to change nothing.
    """

    relation: str
    where: str
    redact: Sequence[str] = ()
    dry_run: bool = False


def purge(
    repository: Repository,
    request: PurgeRequest,
    *,
    author: str,
    engine: Callable[[], Engine] | None = None,
    guard: Callable[[str], object] = lambda branch: None,
) -> PurgeReport:
    """Erase rows from every version of a table on every branch, tag and named snapshot.

    Every commit from the first that changes gets another id. Names move to the new commits. The
    old files are deleted, and so is everything that is remembered of statements. A name that
    somebody else moves meanwhile is taken up again. What can't be reached: copies of the
    repository, and what readers hold.

    Args:
        repository: The repository.
        request: What to erase.
        author: Who does it.
        engine: Creates the engine, for conditions that are more than comparisons; a local Spark
            if None.
        guard: Called with each branch that is to move; raises if the project's rules forbid it.

    Raises:
        NotFoundError: No version of such a table is in the repository.
        InputError: The condition can't be used.
        ProtectedError: A name that would have to move is protected; nothing was changed.
        RetryError: A collection is at work, or others moved names on every attempt.
        DamagedError: A file or manifest of the history is damaged.
    """
    condition, name = Condition(request.where), parse_relation(request.relation)
    condition.check()
    forwards = Forwards(repository.blobs)
    forwards.load()
    forwards.keep({EMPTY, *(object_key(i.path)[1] for i in repository.blobs.walk("objects"))})
    with (
        sessions_of(engine, repository.blobs, PURGE) as sessions,
        _at_work(repository, request.dry_run) as stay,
    ):
        matcher = Matcher(repository.blobs, condition, sessions)
        work = _Work(repository, request, name, condition, matcher, forwards)
        for _ in attempts(f"purge {name}"):
            stay()
            planned = work.plan()
            _check_open(repository, planned.moves, guard)
            if request.dry_run:
                return replace(planned.report, results=Results(repository.blobs).count())
            if not planned.is_needed:
                break
            work.carry_out(planned, author)
        stay()
        # Answers and the texts of statements hold values, and what is lost is computed again.
        results = Results(repository.blobs).drop_all()
        swept = sweep(repository, planned.reached, planned.versions, forwards)
    last = planned.report
    done = replace(work.done, mentions=last.mentions, unread_versions=last.unread_versions)
    return with_swept(replace(done, results=results), swept)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """A rewritten history, and how names move to it."""

    reached: Reached
    versions: Mapping[SnapshotId, Snapshot]
    erase: ToErase
    history: History
    notes: LogRedaction
    moves: tuple[tuple[Named, CommitId | None, dict[str, str]], ...]
    report: PurgeReport

    @property
    def is_needed(self) -> bool:
        found = self.history.changes()
        return bool(self.moves or found.commits or found.snapshots or self.notes.files)


@dataclass(slots=True)
class _Work:
    """Rounds of one purge: the history is planned again if names moved meanwhile."""

    repository: Repository
    request: PurgeRequest
    name: RelationName
    condition: Condition
    matcher: Matcher
    forwards: Forwards
    done: PurgeReport = field(init=False)

    def __post_init__(self) -> None:
        self.done = PurgeReport(relation=str(self.name), dry_run=False)

    @property
    def _texts(self) -> tuple[str, ...]:
        """The texts that messages should not mention."""
        return tuple(dict.fromkeys((*self.condition.texts, *self.request.redact)))

    def plan(self) -> _Plan:
        """Rewrite the history as it is now, and store nothing of it."""
        reached = reach(self.repository, self.forwards)
        versions = related(self.repository.objects, reached, self.name, self.forwards)
        if not versions:
            raise NotFoundError(
                f"No branch, tag or named snapshot ever showed a table {self.name}, as far as "
                "the history is kept."
            )
        erase, unread = find_rows(self.repository, versions, self.condition, self.matcher)
        plan = self._rewritten(reached, versions, erase, dry_run=True)
        return replace(plan, report=replace(plan.report, unread_versions=unread))

    def carry_out(self, plan: _Plan, author: str) -> None:
        """Store the new history, and move names to it."""
        report, repository = plan.report, self.repository
        plan = self._rewritten(plan.reached, plan.versions, plan.erase, dry_run=False)
        repository.objects.flush()
        changes = msgspec.structs.replace(plan.history.changes(), moves=plan.notes.digests)
        if changes != Forwarding():
            self.forwards.put(changes)
        moved = []
        for named, commit, state in plan.moves:
            names = Names(
                repository.objects, repository.refs, repository.clock, named.space, word="name"
            )
            name = named.ref.name
            # If somebody else was first, the next round takes their commits up.
            if names.follow(named.ref, name, commit, author=author, action=PURGE, state=state):
                moved.append(named.title)
        apply_redaction(repository.blobs, plan.notes)
        self.done = added(self.done, replace(report, moved=tuple(moved)))

    def _rewritten(
        self,
        reached: Reached,
        versions: Mapping[SnapshotId, Snapshot],
        erase: ToErase,
        *,
        dry_run: bool,
    ) -> _Plan:
        objects = self.repository.objects
        eraser = FileEraser(self.repository.blobs, new_write_id(), dry_run=dry_run)
        files = eraser.replaced(erase)
        history = History(objects, files.segment, self.forwards.of, self.request.redact)
        if not dry_run:
            history.put = objects.put
        for id in reached.snapshots:
            history.rewrite_snapshot(id, has_files=id in versions)
        for commit in reached.commits:
            history.rewrite_commit(commit)
        moves = tuple(_moves(reached, history))
        notes = plan_redaction(self.repository.blobs, "refs", history.redacted)
        report = self._report(reached, versions, history, files, erase)
        return _Plan(
            reached=reached,
            versions=versions,
            erase=erase,
            history=history,
            notes=notes,
            moves=moves,
            report=replace(report, moved=tuple(named.title for named, *_ in moves)),
        )

    def _report(
        self,
        reached: Reached,
        versions: Mapping[SnapshotId, Snapshot],
        history: History,
        files: Replacements,
        erase: ToErase,
    ) -> PurgeReport:
        tables: dict[str, int] = {}
        for id in versions:
            if history.snapshots[id] != id:
                names = sorted(map(str, reached.names.get(id, ()))) or [str(self.name)]
                tables[", ".join(names)] = tables.get(", ".join(names), 0) + 1
        changes = history.changes()
        return PurgeReport(
            relation=str(self.name),
            dry_run=self.request.dry_run,
            tables=tuple(
                PurgedTable(relation=name, versions=count)
                for name, count in sorted(tables.items())
            ),
            rows=files.rows,
            before_images=files.images,
            rewritten_files=len(erase.blocks) + len(erase.stones),
            commits=len(changes.commits),
            mentions=tuple(
                left_mentions(self.repository.objects, reached, versions, history, self._texts)
            ),
        )


def _moves(
    reached: Reached, history: History
) -> Iterator[tuple[Named, CommitId | None, dict[str, str]]]:
    """Yield the names that move, with their new commit and state."""
    for named in reached.named:
        move = named.ref.move
        commit = None if move.commit is None else CommitId(history.of(move.commit))
        state = {
            key: history.redacted(ID.sub(lambda found: history.of(found[0]), value))
            for key, value in move.state.items()
        }
        if (commit, state) != (move.commit, move.state):
            yield named, commit, state


def _check_open(
    repository: Repository,
    moves: Sequence[tuple[Named, CommitId | None, dict[str, str]]],
    guard: Callable[[str], object],
) -> None:
    """Check that every name that is to move may be moved.

    Raises:
        ProtectedError: One is protected.
    """
    for named, *_ in moves:
        if named.space == "heads":
            guard(named.ref.name)
            # Read again: the rules of the project may just have been stored on it.
            branch = repository.find_branch(named.ref.name)
            if branch is not None:
                branch.check_open(promotes=False)
        elif is_protected(named.ref):
            raise ProtectedError(
                f"The {named.title} is protected and shows rows that are to be erased. Nothing "
                "was changed. Lift its protection first."
            )


@contextmanager
def _at_work(repository: Repository, dry_run: bool) -> Iterator[Callable[[], None]]:
    """Keep collections and restores away within the block; yields what checks that."""
    if dry_run:
        yield lambda: None
        return
    repository.check_upgraded("purge")
    lease = Lease(repository.blobs)
    lease.begin()
    try:
        yield lease.check
    finally:
        lease.end()
