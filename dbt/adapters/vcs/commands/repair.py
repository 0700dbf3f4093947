"""`dbt-vcs repair`: what is damaged, and what can be done about it."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias

import click

from dbt.adapters.vcs.commands.failure import ShownFailure
from dbt.adapters.vcs.commands.fsck import (
    KINDS,
    SPACES,
    DataCheck,
    check_repository,
    needed_now,
    needed_since,
    read_files,
)
from dbt.adapters.vcs.commands.layout import Block, Span, counted, line
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import DryRun, Option, verb
from dbt.adapters.vcs.core.branches import ROOT, Branch, Names
from dbt.adapters.vcs.core.codec import decode
from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, Micros, SnapshotId, datetime_of
from dbt.adapters.vcs.core.model import Entry, FunctionEntry, RefMove, RelationName, TableEntry
from dbt.adapters.vcs.core.plan.collect import Needed, NeededFile, files_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs, each
from dbt.adapters.vcs.core.store.branch_names import quote
from dbt.adapters.vcs.core.store.log_repair import (
    LogRepair,
    apply_log,
    plan_log,
    replace_file,
    replace_object,
)
from dbt.adapters.vcs.core.store.moves import Ref
from dbt.adapters.vcs.core.store.objects import ObjectStore, read_object
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.core.store.refs import RefStore
from dbt.adapters.vcs.table.files.file_check import size_of, whole_bytes, wrong_bytes, wrong_size
from dbt.adapters.vcs.table.quoting import quoted_relation

_NOUNS = {"heads": "branch", "tags": "tag"}
COPY = "dbt-vcs repair --from-copy LOCATION"
"""What can always be done, if there is a copy."""

FileLook: TypeAlias = Callable[[NeededFile], str | None]
"""Returns what is wrong with a file of rows, as the end of a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Something damaged, and what can be done.

    Attributes:
        where: `branch main`, `branch main, shop.orders`, `tag v1` or `history`.
        what: What is wrong, a sentence.
        help: Commands, the one that loses least first.
    """

    where: str
    what: str
    help: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What is damaged, or what a repair did.

    Attributes:
        dry_run: True if nothing was changed.
        done: What was done or would be done, a sentence each.
        damages: What is damaged; after a repair, what is left.
        sizes_only: True if of data files only the sizes were looked at.
    """

    dry_run: bool
    done: tuple[str, ...] = ()
    damages: tuple[Damage, ...] = ()
    sizes_only: bool = False


def survey(repository: Repository, data: DataCheck | None = None) -> RepairReport:
    """Return what is damaged and what can be done about it; nothing is changed.

    Args:
        data: Which data files to read; None to look at their sizes alone.
    """
    found = check_repository(repository, data=data)
    wrong = {file.path: file for file in found.wrong_files}

    # Sizes find what is missing or cut short, without a byte of rows read.
    def look_at(file: NeededFile) -> str | None:
        if file.path in wrong:
            return wrong[file.path].what
        return wrong_size(file, size_of(repository.blobs, file.path))

    damages: list[Damage] = []
    for space in _NOUNS:
        for name in repository.refs.names(space):
            damages += _damages_of(repository, space, name, look_at)
    # What a branch or tag shows is listed there, with what helps; the rest is history.
    known = "\n".join(damage.what for damage in damages)
    told = {file.sentence for file in wrong.values() if f"The data file {file.path} " in known}
    for problem in found.problems:
        if problem not in told and problem.rstrip(".").split(". ")[0] not in known:
            damages.append(Damage(where="history", what=problem, help=(COPY,)))
    return RepairReport(dry_run=True, damages=tuple(damages), sizes_only=data is None)


def go_back(
    repository: Repository, name: str, *, author: str, dry_run: bool = False
) -> RepairReport:
    """Make the log of a branch or tag readable, and move it to its last whole state.

    What is taken away is kept in the repository's folder `damaged`.

    Raises:
        NotFoundError: There is no such branch or tag.
        DamagedError: None of its states is whole.
        ProtectedError: It is a protected branch, and would show another commit.
    """
    space = next((each for each in _NOUNS if name in repository.refs.names(each)), None)
    if space is None:
        raise NotFoundError(f"There is no branch or tag {name!r}.")
    blobs = repository.blobs
    look_at = _bytes_look(blobs)
    log = plan_log(blobs, f"refs/{space}/{quote(name)}", name, author=author)
    number = None if log is None else _last_whole(repository, log, look_at)
    if log is None or number is None:
        raise DamagedError(
            f"No state of the {_NOUNS[space]} {name!r} is whole. Nothing was changed. Fetch what "
            f"is damaged from a copy of the repository: {COPY}"
        )
    last = log.moves[max(log.moves)]
    target = log.moves[number]
    moves = target.commit != last.commit
    if moves and last.commit is not None:
        # A protected branch takes promotions only, and a step back is none.
        Branch(name, last.commit, Ref(name, max(log.moves), last)).check_open(promotes=False)
    if not dry_run:
        # The log first: a move is appended to one that can be read.
        if log.is_needed:
            apply_log(blobs, log, uuid.uuid4().hex)
        if moves:
            _move(repository, space, name, target, author, f"back to move {number}")
    left = () if dry_run else tuple(_damages_of(repository, space, name, look_at))
    return RepairReport(
        dry_run=dry_run, done=tuple(_ways_back(space, name, log, number, moves)), damages=left
    )


def _damages_of(
    repository: Repository, space: str, name: str, look_at: FileLook
) -> Iterator[Damage]:
    where = f"{_NOUNS[space]} {name}"
    back = f"dbt-vcs repair --to-last-whole {shlex.quote(name)}"
    problem = next(RefStore(repository.blobs).check(space, name), None)
    if problem is not None:
        yield Damage(where=where, what=problem, help=(COPY, back))
        # What it shows can't be read from a damaged log.
        return
    last = RefStore(repository.blobs).read(space, name)
    if last is None or last.move.commit is None:
        return
    for broken in _broken_parts(repository, last.move.commit, look_at):
        if broken.relation is None:
            yield Damage(where=where, what=broken.what, help=(COPY, back))
            continue
        statement = f"drop {broken.noun} {quoted_relation(broken.relation)}"
        drop = f"dbt-vcs sql {shlex.quote(statement)} --branch {shlex.quote(name)}"
        restore = (
            f"dbt-vcs restore {shlex.quote(str(broken.relation))} --branch {shlex.quote(name)} "
            "--to REVISION"
        )
        # A tag can't get a commit, so only a copy helps.
        ways = (COPY, restore, drop) if space == "heads" else (COPY,)
        yield Damage(where=f"{where}, {broken.relation}", what=broken.what, help=(*ways, back))


def _last_whole(repository: Repository, log: LogRepair, look_at: FileLook) -> int | None:
    """Return the number of the last move that shows a whole commit, or is a deletion."""
    for number in sorted(log.moves, reverse=True):
        commit = log.moves[number].commit
        # What is deleted shows nothing that could be damaged.
        if commit is None or not _broken_parts(repository, commit, look_at):
            return number
    return None


def _move(
    repository: Repository, space: str, name: str, target: RefMove, author: str, note: str
) -> None:
    refs = RefStore(repository.blobs)
    names = Names(repository.objects, refs, repository.clock, space, gate=repository.maintenance)
    last = refs.read(space, name)
    # Without its state, a branch would lose its protection, or a run what it was for.
    state = last.move.state if last else {}
    if not names.follow(
        last, name, target.commit, author=author, action="repair", note=note, state=state
    ):
        raise DamagedError(
            f"{name!r} was moved by somebody else during the repair. Its log can be read again; "
            "repair it again if what it shows is damaged."
        )


def _ways_back(space: str, name: str, log: LogRepair, number: int, moves: bool) -> Iterator[str]:
    noun, target = _NOUNS[space], log.moves[number]
    if log.lost:
        some = ", ".join(map(str, log.lost[:10])) + (" and others" if len(log.lost) > 10 else "")
        yield f"The log of the {noun} {name} lost the moves {some}; the others are kept."
    elif log.is_needed:
        yield f"The log of the {noun} {name} is put in order; no move is lost."
    if log.foreign:
        yield f"Files that are no moves are taken away: {', '.join(log.foreign[:10])}."
    when = f"{datetime_of(target.at):%Y-%m-%d %H:%M} UTC"
    at = "deleted" if target.commit is None else f"at {target.commit[:12]}"
    if moves or log.lost:
        yield f"The {noun} {name} is {at}, as of move {number} of {when} by {target.by}."
    elif not log.is_needed:
        yield f"The {noun} {name} is whole: nothing to do."


class Broken(NamedTuple):
    """Something that a commit shows and that can't be read.

    Attributes:
        relation: The relation; None for the commit itself, a tree, or a schema.
        what: What is wrong, a sentence.
        noun: `table`, `view` or `function`; empty without a relation.
    """

    relation: RelationName | None
    what: str
    noun: str = ""


def _bytes_look(blobs: Blobs) -> FileLook:
    """Return a look at all bytes of files; each file is read once."""
    # The moves of a log show mostly the same files.
    known: dict[str, str | None] = {}

    def look(file: NeededFile) -> str | None:
        if file.path not in known:
            known[file.path] = wrong_bytes(blobs, file)
        return known[file.path]

    return look


def _broken_parts(repository: Repository, commit: CommitId, look_at: FileLook) -> list[Broken]:
    # What this process remembers may be damaged by now.
    objects = ObjectStore(repository.blobs)
    try:
        tree = objects.tree(objects.commit(commit).tree)
    except DamagedError as error:
        return [Broken(None, str(error))]
    found: list[Broken] = []
    relations: list[tuple[RelationName, Entry]] = []
    for name, ref in sorted(tree.schemas.items()):
        try:
            shown = list(objects.relations(ref.id).items())
        except DamagedError as error:
            # The others are looked at all the same: each damage is to be listed.
            found.append(Broken(None, f"The schema {name} can't be read. {error}"))
            continue
        relations += ((RelationName(name, each), at) for each, at in shown)

    def look(item: tuple[RelationName, Entry]) -> Broken | None:
        wrong = _what_is_wrong(objects, item[1], look_at)
        return None if wrong is None else Broken(item[0], wrong, item[1].noun)

    return [*found, *(wrong for wrong in each(look, relations) if wrong is not None)]


def _what_is_wrong(objects: ObjectStore, entry: Entry, look_at: FileLook) -> str | None:
    try:
        if isinstance(entry, TableEntry):
            return next(_wrong_files(objects, entry.snapshot, look_at), None)
        if isinstance(entry, FunctionEntry):
            objects.function(entry.function)
        else:
            objects.view(entry.view)
    except DamagedError as error:
        return str(error)
    return None


def _wrong_files(objects: ObjectStore, version: SnapshotId, look_at: FileLook) -> Iterator[str]:
    for ref in objects.snapshot(version).segments:
        for path, file in files_of(objects.segment(ref.id)).items():
            wrong = look_at(file)
            if wrong is not None:
                yield f"The data file {path} {wrong}."


def fetch(
    repository: Repository, copy: Repository, *, author: str, dry_run: bool = False
) -> RepairReport:
    """Replace damaged and missing logs, objects and data files by those of a copy.

    Each is verified before it is taken: an object by its id, moves by their digests and their
    place in the chain, a data file by its size, digests and checksums. To find the damaged ones,
    all are read. What is whole stays as it is.

    Raises:
        InputError: It is no copy of this repository.
    """
    if copy.id != repository.id:
        raise InputError(
            f"{copy.uri} is another repository, not a copy of {repository.uri}: their ids are "
            f"{copy.id} and {repository.id}. Nothing was changed."
        )
    id = uuid.uuid4().hex
    # Logs first, since they name objects, and objects name files.
    done = [*_fetch_logs(repository, copy, author, id, dry_run)]
    # Again and again, since an object that was fetched may name others that are missing.
    while some := [*_fetch_objects(repository, copy.blobs, id, dry_run)]:
        done += (text for text in some if text not in done)
        if dry_run:
            # Nothing was replaced, so the next round would find the same.
            break
    done += _fetch_files(repository, copy.blobs, id, dry_run)
    left = () if dry_run else survey(Repository.open(repository.blobs), DataCheck()).damages
    return RepairReport(dry_run=dry_run, done=tuple(done), damages=left)


def _fetch_logs(
    repository: Repository, copy: Repository, author: str, id: str, dry_run: bool
) -> Iterator[str]:
    own, other = RefStore(repository.blobs), RefStore(copy.blobs)
    spaces = dict.fromkeys((*SPACES, *own.spaces(ROOT), *other.spaces(ROOT)))
    for space in spaces:
        known = set(own.names(space))
        for name in sorted(known | set(other.names(space))):
            if name in known and next(own.check(space, name), None) is None:
                continue
            folder = f"refs/{space}/{quote(name)}"
            plan = plan_log(repository.blobs, folder, name, author=author, copy=copy.blobs)
            # Only what is again as it was: a move that doesn't fit its neighbours is no help.
            if plan is None or plan.lost or plan.files:
                continue
            if not dry_run:
                apply_log(repository.blobs, plan, id)
            yield f"{len(plan.fetched) + len(plan.foreign)} files of the log {folder}."


def _find_needed(repository: Repository) -> Needed:
    """Return what the names that can be read need, as far as it can be followed."""
    # What this process remembers is from before the repair.
    fresh = Repository.open(repository.blobs, clock=repository.clock)
    try:
        return needed_now(fresh)
    except DamagedError:
        # The retention itself can't be read: then all history is needed.
        return needed_since(fresh, Micros(0))


def _fetch_objects(repository: Repository, copy: Blobs, id: str, dry_run: bool) -> Iterator[str]:
    for kind, object_id in sorted(_find_needed(repository).objects):
        if _whole_bytes(repository.blobs, kind, object_id) is not None:
            continue
        data = _whole_bytes(copy, kind, object_id)
        if data is not None:
            if not dry_run:
                replace_object(repository.blobs, kind, object_id, data, id)
            yield f"The {kind} {object_id}."


def _whole_bytes(blobs: Blobs, kind: str, id: str) -> bytes | None:
    """Return the bytes of an object; None if it is missing or damaged."""
    try:
        data = read_object(blobs, kind, id)
        # The id covers the bytes alone.
        decode(KINDS[kind], id, data)
    except (DamagedError, NotFoundError):
        return None
    return data


def _fetch_files(repository: Repository, copy: Blobs, id: str, dry_run: bool) -> Iterator[str]:
    needed_files = _find_needed(repository).files
    files = [needed_files[path] for path in sorted(needed_files)]
    damaged = {file.path for file in read_files(repository.blobs, files)}
    for file in files:
        data = whole_bytes(copy, file) if file.path in damaged else None
        if data is not None:
            if not dry_run:
                replace_file(repository.blobs, file.path, data, id)
            yield f"The data file {file.path}."


def _repair_text(report: RepairReport) -> Iterator[Block]:
    if report.done and report.dry_run:
        yield line("Nothing was changed. The repair would do this:")
    for done in report.done:
        yield line(done)
    for damage in report.damages:
        yield line(Span(damage.where, "name"), ": ", Span(damage.what, "bad"))
        for way in damage.help:
            yield line("    ", way)
    if report.damages:
        left = "Left" if report.done else "Found"
        yield line(Span(f"{left}: {counted(len(report.damages), 'damage')}.", "bad"))
    elif not report.done:
        yield line(Span("Nothing is damaged.", "good"))
    if report.sizes_only:
        yield line(
            "Of data files only the sizes were looked at. To read them, too: dbt-vcs repair --data"
        )


def _check_repair(
    *, from_copy: str | None, to_last_whole: str | None, data: bool, dry_run: bool
) -> None:
    given = [way for way in (from_copy, to_last_whole) if way is not None]
    if len(given) > 1:
        raise click.UsageError("Give one of --from-copy and --to-last-whole at a time.")
    if dry_run and not given:
        raise click.UsageError(
            "--dry-run can only be used with --from-copy or --to-last-whole; without these "
            "nothing is changed anyway."
        )
    if data and given:
        raise click.UsageError(
            "--data can only be used alone: a repair reads the data files that it is about anyway."
        )


@verb(check=_check_repair)
def repair_command(
    session: CommandSession,
    *,
    from_copy: Annotated[
        str | None,
        Option("Take what is damaged from a copy of the repository.", metavar="LOCATION"),
    ] = None,
    to_last_whole: Annotated[
        str | None,
        Option("Move a branch or a tag back to its last state that is whole.", metavar="NAME"),
    ] = None,
    data: Annotated[bool, "Also read data files, to list those that are damaged inside."] = False,
    dry_run: DryRun = False,
) -> None:
    """Show what is damaged and what can be done about it, or do it.

    Without an option that says what to do, nothing is changed. Of data files only the sizes are
    looked at then, unless --data reads them; a repair reads those that it is about. Files that a
    repair replaces are kept in the repository's folder `damaged`. The exit code is 2 if anything
    is damaged, or still is after a repair.
    """
    repository, who = session.repository, session.author
    if from_copy is not None:
        other = Repository.open(session.watched(open_blobs(from_copy, session.storage_options)))
        report = fetch(repository, other, author=who, dry_run=dry_run)
    elif to_last_whole is not None:
        report = go_back(repository, to_last_whole, author=who, dry_run=dry_run)
    else:
        report = survey(repository, DataCheck() if data else None)
    session.show(report, _repair_text(report), report.damages)
    if report.damages:
        raise ShownFailure(DamagedError)
