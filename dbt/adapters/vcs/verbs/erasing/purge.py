"""Purge: erase rows from all versions of a table, by rewriting the history that has them.

`core.maintenance` keeps everybody else from landing meanwhile, and completes a purge that died.
Here it is planned: which files hold such rows, what takes their place, and which history shows
the new ones. New files are written first, then new manifests, then what tells which object took
the place of which (`core.store.forwards`). From then on the new history counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from dbt.adapters.vcs.commands.revisions import parse_relation
from dbt.adapters.vcs.commands.session import sessions_of
from dbt.adapters.vcs.core.branches import is_protected
from dbt.adapters.vcs.core.errors import NotFoundError, ProtectedError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, new_write_id
from dbt.adapters.vcs.core.maintenance import Purging, Swept
from dbt.adapters.vcs.core.model import RelationName, Snapshot
from dbt.adapters.vcs.core.origins.results import FOLDER as RESULTS
from dbt.adapters.vcs.core.origins.results import Results
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.forwards import Forwards
from dbt.adapters.vcs.core.store.refs import PURGE
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.iceberg.export_folder import EXPORTS
from dbt.adapters.vcs.iceberg.metadata_place import FOLDER
from dbt.adapters.vcs.verbs.erasing.erased_files import FileEraser, Replacements, ToErase
from dbt.adapters.vcs.verbs.erasing.left_mentions import left_mentions
from dbt.adapters.vcs.verbs.erasing.matching_rows import Condition, Matcher
from dbt.adapters.vcs.verbs.erasing.purge_report import (
    PurgedTable,
    PurgeReport,
    unused_files,
    with_unused,
)
from dbt.adapters.vcs.verbs.erasing.reached import ID, Named, Reached, reach, related
from dbt.adapters.vcs.verbs.erasing.redacted_logs import (
    LogRedaction,
    apply_redaction,
    plan_redaction,
)
from dbt.adapters.vcs.verbs.erasing.rewritten_history import History
from dbt.adapters.vcs.verbs.erasing.rows_to_erase import find_rows


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
    old files are deleted, and so is everything that is remembered of statements. Whoever wants to
    land meanwhile waits. What can't be reached: copies of the repository, and what readers hold.

    Args:
        repository: The repository.
        request: What to erase.
        author: Who does it.
        engine: Creates the engine, for conditions that are more than comparisons; a local Spark
            if None.
        guard: Called with each branch that is to move; raises if the project's rules forbid it.
            It must move no name: nobody lands beside a purge.

    Raises:
        NotFoundError: No version of such a table is in the repository.
        InputError: The condition can't be used.
        ProtectedError: A name that would have to move is protected; nothing was changed.
        RetryError: A collection or another purge is running, or this process stood still for so
            long that others took the purge for dead.
        DamagedError: A file or manifest of the history is damaged.
    """
    condition, name = Condition(request.where), parse_relation(request.relation)
    condition.check()
    with sessions_of(engine, repository.blobs, PURGE) as sessions:
        work = _Work(
            repository, request, name, condition, Matcher(repository.blobs, condition, sessions)
        )
        if request.dry_run:
            planned = work.plan()
            _check_open(repository, planned.moves, guard)
            return replace(planned.report, results=Results(repository.blobs).count())
        repository.check_upgraded("purge")
        with repository.maintenance.alone(f"purge {name}", author=author) as purging:
            planned = work.plan()
            _check_open(repository, planned.moves, guard)
            purging.check()
            # Answers and the texts of statements hold values, and what is lost is computed again.
            results = Results(repository.blobs).count()
            swept = Swept()
            if planned.is_needed:
                planned, swept = work.carry_out(planned, purging)
            Results(repository.blobs).drop_all()
        report = replace(
            planned.report,
            results=results,
            deleted_files=swept.files,
            deleted_objects=swept.objects,
        )
        return with_unused(report, unused_files(repository, planned.history, planned.versions))


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


@dataclass(frozen=True, slots=True)
class _Work:
    """One purge, planned and carried out."""

    repository: Repository
    request: PurgeRequest
    name: RelationName
    condition: Condition
    matcher: Matcher

    @property
    def _texts(self) -> tuple[str, ...]:
        """The texts that messages should not mention."""
        return tuple(dict.fromkeys((*self.condition.texts, *self.request.redact)))

    def plan(self) -> _Plan:
        """Rewrite the history as it is now, and store nothing of it."""
        reached = reach(self.repository)
        versions = related(self.repository.objects, reached, self.name)
        if not versions:
            raise NotFoundError(
                f"No branch, tag or named snapshot ever showed a table {self.name}, as far as "
                "the history is kept."
            )
        erase, unread = find_rows(self.repository, versions, self.condition, self.matcher)
        plan = self._rewritten(reached, versions, erase, dry_run=True)
        return replace(plan, report=replace(plan.report, unread_versions=unread))

    def carry_out(self, plan: _Plan, purging: Purging) -> tuple[_Plan, Swept]:
        """Store the new history, and let it take the place of the old one."""
        unread = plan.report.unread_versions
        repository = self.repository
        plan = self._rewritten(plan.reached, plan.versions, plan.erase, dry_run=False)
        repository.objects.flush()
        changes = msgspec.structs.replace(plan.history.changes(), moves=plan.notes.digests)
        forwards = Forwards(repository.blobs).put(changes)
        apply_redaction(repository.blobs, plan.notes)
        tables = {snapshot.table for snapshot in plan.versions.values()}
        # What was made for other engines has bounds of old rows, or names old versions.
        metadata = (f"{FOLDER}/tables/{table}" for table in sorted(tables))
        folders = (*metadata, EXPORTS, RESULTS)
        swept = purging.finish(forwards, tables=tables, folders=folders)
        return replace(plan, report=replace(plan.report, unread_versions=unread)), swept

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
        history = History(objects, files.segment, self.request.redact)
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
            branch = repository.find_branch(named.ref.name)
            if branch is not None:
                branch.check_open(promotes=False)
        elif is_protected(named.ref):
            raise ProtectedError(
                f"The {named.title} is protected and shows rows that are to be erased. Nothing "
                "was changed. Lift its protection first."
            )
