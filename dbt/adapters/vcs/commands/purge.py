"""`dbt-vcs purge`: erase rows of a table from all versions, by rewriting history that has them.

`core.maintenance` keeps everybody else from landing meanwhile, and completes a purge that died.
Here it is planned: which files hold such rows (`purged_rows`), what takes their place
(`purged_files`), and which history shows the new ones (`purged_history`). New files are written
first, then new manifests, then what tells which object took the place of which
(`core.store.moves`). From then on the new history counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, NamedTuple

import msgspec

from dbt.adapters.vcs.commands.layout import Block, Span, counted, line
from dbt.adapters.vcs.commands.purged_history import ID, History, Named, Reached, reach, related
from dbt.adapters.vcs.commands.purged_rows import (
    NewFiles,
    ToErase,
    check_purge_condition,
    find_rows,
    texts_in,
)
from dbt.adapters.vcs.commands.revisions import parse_relation
from dbt.adapters.vcs.commands.session import CommandSession, sessions_of
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.branches import is_protected
from dbt.adapters.vcs.core.codec import encode_record
from dbt.adapters.vcs.core.errors import NotFoundError, ProtectedError
from dbt.adapters.vcs.core.ids import CommitId, Micros, SnapshotId, datetime_of
from dbt.adapters.vcs.core.maintenance import Purging, Swept
from dbt.adapters.vcs.core.model import Commit, Entry, FunctionEntry, Snapshot, ViewEntry
from dbt.adapters.vcs.core.origins.results import FOLDER as RESULTS
from dbt.adapters.vcs.core.origins.results import Results
from dbt.adapters.vcs.core.plan.collect import Roots, files_of_versions, needed
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import GRACE, OPTIONS
from dbt.adapters.vcs.core.store.blobs import BlobInfo, Blobs
from dbt.adapters.vcs.core.store.moves import PURGE, Forwards, digest_of, opened, redacted
from dbt.adapters.vcs.core.store.objects import ObjectStore, object_key
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.iceberg.export_folder import EXPORTS
from dbt.adapters.vcs.iceberg.metadata_files import FOLDER

_SHOWN: Final = 20
"""Places of texts that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeRequest:
    """What to erase.

    Attributes:
        relation: The table, `schema.identifier`.
        where: A SQL condition over its columns; rows for which it is true are erased.
        redact: Texts to take out of commit messages, what is stored with them, and logs.
        dry_run: True to change nothing.
        protected: True to rewrite protected names, too; they stay protected.
    """

    relation: str
    where: str
    redact: Sequence[str] = ()
    dry_run: bool = False
    protected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgedTable:
    """A table whose history was rewritten.

    Attributes:
        relation: Its name, or its names, separated by commas.
        versions: Number of versions that changed.
    """

    relation: str
    versions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReport:
    """What a purge did, or would do.

    Attributes:
        dry_run: True if nothing was changed.
        tables: The tables whose history changed: the named one, and those that share its history.
        rows: Number of stored rows that were erased; a row in several files counts several times.
        before_images: Number of copies of deleted rows in tombstones that were erased.
        rewritten_files: Number of files that were written again or left out.
        commits: Number of commits that got another id.
        moved: The names that moved to the new history.
        closed: Those among them, of a dry run, that are protected: the purge itself is refused
            unless the request includes them.
        unread_versions: Number of versions that lack a column of the condition.
        mentions: Where texts of the condition are still written: messages, notes, views.
        deleted_files: Number of data files deleted.
        deleted_objects: Number of manifests deleted.
        results: Number of remembered results of statements deleted: all that there are.
        young: Number of files without a use, of writers that are running or have died.
        young_until: When `gc` deletes the last of these, in UTC; None if there are none.
    """

    relation: str
    dry_run: bool
    tables: tuple[PurgedTable, ...] = ()
    rows: int = 0
    before_images: int = 0
    rewritten_files: int = 0
    commits: int = 0
    moved: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    unread_versions: int = 0
    mentions: tuple[str, ...] = ()
    deleted_files: int = 0
    deleted_objects: int = 0
    results: int = 0
    young: int = 0
    young_until: str | None = None


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
        request: What to erase.
        engine: Creates the engine, for conditions that are more than comparisons; a local Spark
            if None.
        guard: Called with each branch that is to move; raises if the project's rules forbid it.
            It must move no name: nobody lands beside a purge.

    Raises:
        NotFoundError: No version of such a table is in the repository.
        InputError: The condition can't be used.
        ProtectedError: A name that would have to move is protected, and the request doesn't
            include protected ones; nothing was changed. A dry run reports it instead.
        RetryError: A collection or another purge is running, or this process stood still for so
            long that others took the purge for dead.
        DamagedError: A file or manifest of the history is damaged.
    """
    check_purge_condition(request.where)
    name = parse_relation(request.relation)
    with sessions_of(engine, repository.blobs, PURGE) as sessions:

        def plan() -> _Plan:
            """Rewrite the history as it is now, and store nothing of it."""
            reached = reach(repository)
            versions = related(repository.objects, reached, name)
            if not versions:
                raise NotFoundError(
                    f"No branch, tag or named snapshot ever showed a table {name}, as far as "
                    "the history is kept."
                )
            erase, unread = find_rows(repository, versions, request.where, sessions)
            found = _plan_of(repository, request, reached, versions, erase, dry_run=True)
            closed = () if request.protected else _closed(repository, found.moves, guard)
            # Before anything is written.
            if closed and not request.dry_run:
                # What a person is entitled to have erased is no change that a promotion could
                # bring.
                raise ProtectedError(
                    f"The {closed[0]} is protected and shows rows that are to be erased. Nothing "
                    "was changed. To erase them there, too, and keep it protected, add "
                    "--protected to the same command."
                )
            results = Results(repository.blobs).count()
            report = replace(found.report, closed=closed, unread_versions=unread, results=results)
            return replace(found, report=report)

        if request.dry_run:
            return plan().report
        # Decision 41: writers of an older format don't know the fence, so they would land beside
        # it.
        repository.check_upgraded("purge")
        with repository.maintenance.alone(f"purge {name}", author=author) as purging:
            # Decision 36: planned behind the fence, where nobody lands any more.
            planned = plan()
            # To plan takes long: others may have taken this process for dead (decision 36).
            purging.check()
            report, history = planned.report, planned.history
            if planned.is_needed:
                history, swept = _carry_out(repository, request, planned, purging)
                report = replace(report, deleted_files=swept.files, deleted_objects=swept.objects)
            # Answers and the texts of statements hold values, and what is lost is computed again.
            Results(repository.blobs).drop_all()
        unused = unused_files(repository, history, planned.versions)
        if not unused:
            return report
        until = datetime_of(Micros(max(info.modified_at for info in unused) + GRACE))
        return replace(report, young=len(unused), young_until=f"{until:%Y-%m-%d %H:%M} UTC")


class _Move(NamedTuple):
    """How a name moves to the new history."""

    named: Named
    commit: CommitId | None
    state: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """A rewritten history, and how names move to it.

    Attributes:
        logs: The new bytes of files of moves whose texts are redacted, by path.
        digests: The new digest of each of these, by the old one.
    """

    reached: Reached
    versions: Mapping[SnapshotId, Snapshot]
    erase: ToErase
    history: History
    logs: Mapping[str, bytes]
    digests: Mapping[str, str]
    moves: tuple[_Move, ...]
    report: PurgeReport

    @property
    def is_needed(self) -> bool:
        found = self.history.changes()
        # A redaction may change logs and nothing else.
        return bool(self.moves or found.commits or found.snapshots or self.logs)


def _plan_of(
    repository: Repository,
    request: PurgeRequest,
    reached: Reached,
    versions: Mapping[SnapshotId, Snapshot],
    erase: ToErase,
    *,
    dry_run: bool,
) -> _Plan:
    """Rewrite the history, and write its files and manifests unless this is a dry run."""
    objects = repository.objects
    files = NewFiles(repository.blobs, erase, dry_run=dry_run)
    branches = frozenset(repository.refs.names("heads"))
    history = History(objects, files.segment, request.redact, branches)
    if not dry_run:
        history.put = objects.put
    # Each behind what it names, and versions before commits, so that every new id is known.
    for id in reached.snapshots:
        history.rewrite_snapshot(id, has_files=id in versions)
    for commit in reached.commits:
        history.rewrite_commit(commit)
    moves = tuple(_moves_of(reached, history))
    logs, digests = _redacted_logs(repository.blobs, history)
    tables: dict[str, int] = {}
    for id in versions:
        if history.snapshots[id] != id:
            names = ", ".join(sorted(map(str, reached.names.get(id, ()))))
            tables[names or request.relation] = tables.get(names or request.relation, 0) + 1
    # Values in the condition are often what is to be forgotten, so they are looked for as well.
    texts = tuple(dict.fromkeys((*texts_in(request.where), *request.redact)))
    report = PurgeReport(
        relation=str(parse_relation(request.relation)),
        dry_run=request.dry_run,
        tables=tuple(
            PurgedTable(relation=names, versions=count) for names, count in sorted(tables.items())
        ),
        rows=files.rows,
        before_images=files.images,
        rewritten_files=len(erase.blocks) + len(erase.tombstones),
        commits=len(history.changes().commits),
        moved=tuple(move.named.title for move in moves),
        mentions=tuple(_mentions(objects, reached, versions, history, texts)),
    )
    return _Plan(
        reached=reached,
        versions=versions,
        erase=erase,
        history=history,
        logs=logs,
        digests=digests,
        moves=moves,
        report=report,
    )


def _carry_out(
    repository: Repository, request: PurgeRequest, plan: _Plan, purging: Purging
) -> tuple[History, Swept]:
    """Store the new history, and let it take the place of the old one."""
    blobs = repository.blobs
    # A dry run's entries lack the sizes and digests of the new files, so its ids are not final.
    plan = _plan_of(repository, request, plan.reached, plan.versions, plan.erase, dry_run=False)
    # Objects are there before anything leads to them.
    repository.objects.flush()
    changes = msgspec.structs.replace(plan.history.changes(), moves=plan.digests)
    forwards = Forwards(blobs).put(changes)
    # It is stored where the old digests lead.
    for path, data in plan.logs.items():
        blobs.replace_all({path: data})
    tables = {snapshot.table for snapshot in plan.versions.values()}
    # What was made for other engines has bounds of old rows, or names old versions.
    metadata = (f"{FOLDER}/tables/{table}" for table in sorted(tables))
    folders = (*metadata, EXPORTS, RESULTS)
    return plan.history, purging.finish(forwards, tables=tables, folders=folders)


def _moves_of(reached: Reached, history: History) -> Iterator[_Move]:
    for named in reached.named:
        move = named.ref.move
        commit = None if move.commit is None else CommitId(history.of(move.commit))
        state = {
            # States name ids under keys of many kinds; 64 hexadecimal digits are an id under
            # each.
            key: ID.sub(lambda found: history.of(found[0]), history.redacted(value))
            for key, value in move.state.items()
        }
        if (commit, state) != (move.commit, move.state):
            yield _Move(named, commit, state)


def _closed(
    repository: Repository, moves: Sequence[_Move], guard: Callable[[str], object]
) -> tuple[str, ...]:
    found = []
    for named, *_ in moves:
        try:
            branch = repository.find_branch(named.ref.name) if named.space == "heads" else None
            if branch is not None:
                guard(named.ref.name)
                branch.check_open(promotes=False)
            is_closed = named.space != "heads" and is_protected(named.ref)
        except ProtectedError:
            is_closed = True
        if is_closed:
            found.append(named.title)
    return tuple(found)


def _redacted_logs(blobs: Blobs, history: History) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files of logs without the texts to redact, and their digests by the old ones.

    Raises:
        DamagedError: A move is not the one that was written.
    """
    files: dict[str, bytes] = {}
    digests: dict[str, str] = {}
    for info in list(blobs.walk("refs")):
        # Settings hold no free text. A collection records there which names exist, and would
        # refuse a name that no branch has.
        if info.path.startswith(f"refs/{OPTIONS}/"):
            continue
        old = blobs.get(info.path)
        move = opened(old, info.path)
        new = redacted(move, history.redacted)
        if new != move:
            files[info.path] = encode_record(new)
            # Only this file is written again. The move behind it goes on naming the digest of the
            # old file, which leads to the new one, so nothing changes for processes that remember
            # the old file or append to the log meanwhile.
            digests[digest_of(old)] = digest_of(files[info.path])
    return files, digests


def _mentions(
    objects: ObjectStore,
    reached: Reached,
    versions: Mapping[SnapshotId, Snapshot],
    history: History,
    texts: Sequence[str],
) -> Iterator[str]:
    """Yield where some texts are left in the new history, which only people can change."""
    # A redacted text is gone from messages and notes. Definitions and properties keep it, since
    # only people can change those.
    left = [text for text in texts if history.redacted(text) == text]
    for id in reached.commits:
        part = _part_that_mentions(objects.commit(id), left)
        if part is not None:
            yield f"the {part} of commit {history.commits[id][:12]}"
    yield from (place for place, note in reached.notes if _has(note, left))
    for entry, name in reached.texts.items():
        if _has(_definition_text(objects, entry), texts):
            yield f"the text of the {entry.noun} {name}"
    written = {text for item in versions.values() for text in item.properties.values()}
    written |= {item.comment or "" for item in versions.values()}
    if any(_has(text, texts) for text in written):
        yield "a comment or property of the table"


def _part_that_mentions(commit: Commit, texts: Sequence[str]) -> str | None:
    """Return which part of a commit has one of some texts in it; None if none has."""
    if any(_has(text, texts) for text in (commit.message, *commit.metadata.values())):
        return "message"
    nodes = commit.run.nodes if commit.run is not None else ()
    return "run" if any(_has(node.refused or "", texts) for node in nodes) else None


def _has(text: str, parts: Sequence[str]) -> bool:
    return any(part in text for part in parts)


def _definition_text(objects: ObjectStore, entry: Entry) -> str:
    """Return what somebody wrote to define a view or function."""
    match entry:
        case ViewEntry(view=id):
            return objects.view(id).text
        case FunctionEntry(function=id):
            return objects.function(id).text
    return ""


def unused_files(
    repository: Repository, history: History, versions: Mapping[SnapshotId, Snapshot]
) -> list[BlobInfo]:
    """Return the files of purged tables, and manifests, that the new history doesn't need.

    They belong to writers that are running or have died, and are for `gc` to delete: it alone
    knows when no writer needs them.
    """
    objects = repository.objects
    kept = needed(Roots(commits=set(history.commits.values())), objects).objects
    # Named snapshots and pins lead to versions that no commit shows.
    kept |= {("snapshot", id) for id in history.snapshots.values()}
    kept |= {
        ("segment", ref.id)
        for id in history.snapshots.values()
        for ref in objects.snapshot(id).segments
    }
    walked = repository.blobs.walk("objects")
    found = [info for info in walked if object_key(info.path) not in kept]
    files = files_of_versions(objects, [history.snapshots[id] for id in versions])
    # The files of a clone are in the folder of the table that it was made from.
    folders = {"/".join(path.split("/")[:2]) for path in files}
    folders |= {f"data/{snapshot.table}" for snapshot in versions.values()}
    for folder in sorted(folders):
        found += [info for info in repository.blobs.walk(folder) if info.path not in files]
    return found


def purge_text(report: PurgeReport) -> Iterator[Block]:
    """Yield what a purge did, or would do."""
    if not report.commits and not report.moved:
        yield line(Span(f"No version of {report.relation} has such rows.", "good"))
    else:
        yield from _history_text(report)
    if report.unread_versions:
        yield line(
            f"{counted(report.unread_versions, 'version')} without a column of the condition: "
            "rows that only their files hold were not looked at."
        )
    for place in report.mentions[:_SHOWN]:
        yield line(Span(f"A text of the condition is also in {place}.", "bad"))
    if len(report.mentions) > _SHOWN:
        yield line(f"... and in {len(report.mentions) - _SHOWN} more places; --json lists all.")
    if report.results:
        would = "Would forget" if report.dry_run else "Forgot"
        yield line(
            f"{would} {counted(report.results, 'remembered result')}: the next build computes "
            "again what it needs."
        )
    if report.dry_run:
        return
    if report.deleted_files or report.deleted_objects:
        yield line(
            f"Deleted {counted(report.deleted_files, 'data file')} and "
            f"{counted(report.deleted_objects, 'manifest')} of the old history."
        )
    if report.young:
        yield line(
            f"Left {counted(report.young, 'unused file')} alone that may belong to a running "
            f"writer. They may hold such rows, too: run dbt-vcs gc after {report.young_until}."
        )


def _history_text(report: PurgeReport) -> Iterator[Block]:
    would = "Would erase" if report.dry_run else "Erased"
    yield line(
        f"{would} {counted(report.rows, 'stored row')} and "
        f"{counted(report.before_images, 'copy', 'copies')} of deleted rows, in "
        f"{counted(report.rewritten_files, 'file')}."
    )
    for table in report.tables:
        yield line("  ", Span(table.relation, "name"), f": {counted(table.versions, 'version')}")
    would = "Would rewrite" if report.dry_run else "Rewrote"
    yield line(f"{would} {counted(report.commits, 'commit')}, and moved:")
    for name in report.moved:
        yield line("  ", Span(name, "name"), " (protected)" if name in report.closed else "")
    if report.closed:
        yield line(Span("Protected names are rewritten only with --protected.", "bad"))


@verb()
def purge_command(
    session: CommandSession,
    relation: str,
    *,
    where: Annotated[str, Option("Erase the rows for which this is true.", metavar="CONDITION")],
    redact: Annotated[
        tuple[str, ...], "Take a text out of commit messages; can be repeated."
    ] = (),
    dry_run: Annotated[bool, "Show what would be erased, and change nothing."] = False,
    protected: Annotated[bool, "Also on protected names, which stay protected."] = False,
) -> None:
    """Erase rows of RELATION, schema.table, from all versions on all branches.

    Rewrites the history of all branches, tags and named snapshots that have such rows: their
    commits get other ids. Old files are deleted at once. Rows can't be brought back.
    """

    def guard(branch: str) -> None:
        # A purge that stored the rules on a branch would wait for itself: nobody lands beside it.
        if not dry_run:
            session.watch(branch)
        session.bound(branch, dry_run=True)

    report = purge(
        session.repository,
        PurgeRequest(
            relation=relation, where=where, redact=redact, dry_run=dry_run, protected=protected
        ),
        author=session.author,
        engine=session.engine,
        guard=guard,
    )
    session.show(report, purge_text(report))
