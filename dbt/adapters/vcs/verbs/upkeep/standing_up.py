"""Repair: what is damaged and what can be done, and the ways to do it without a copy."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from dbt.adapters.vcs.core.branches import Branch, Names
from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, datetime_of
from dbt.adapters.vcs.core.model import Entry, FunctionEntry, RefMove, RelationName, TableEntry
from dbt.adapters.vcs.core.plan.collect import NeededFile, files_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.branch_names import quote
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.core.store.log_repair import LogRepair, apply_log, plan_log
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.refs import Ref, RefStore
from dbt.adapters.vcs.rows.files.file_check import size_of, wrong_bytes, wrong_size
from dbt.adapters.vcs.rows.quoting import quoted_relation
from dbt.adapters.vcs.verbs.upkeep.data_check import DataCheck
from dbt.adapters.vcs.verbs.upkeep.fsck import check_repository

_NOUNS = {"heads": "branch", "tags": "tag"}
COPY = "dbt-vcs repair --from-copy LOCATION"
"""What can always be done, if there is a copy."""

Look: TypeAlias = Callable[[NeededFile], str | None]
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
        repository: The repository.
        data: Which data files to read; None to look at their sizes alone.
    """
    found = check_repository(repository, data=data)
    wrong = {file.path: file for file in found.wrong_files}
    sizes = _by_size(repository.blobs)

    def look_at(file: NeededFile) -> str | None:
        return wrong[file.path].what if file.path in wrong else sizes(file)

    damages: list[Damage] = []
    for space in _NOUNS:
        for name in repository.refs.names(space):
            damages += _damages_of(repository, space, name, look_at)
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
    look_at = _by_bytes(blobs)
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
        Branch(name, last.commit, Ref(name, max(log.moves), last)).check_open(promotes=False)
    if not dry_run:
        if log.is_needed:
            apply_log(blobs, log, uuid.uuid4().hex)
        if moves:
            _move(repository, space, name, target, author, f"back to move {number}")
    left = () if dry_run else tuple(_damages_of(repository, space, name, look_at))
    return RepairReport(
        dry_run=dry_run, done=tuple(_told(space, name, log, number, moves)), damages=left
    )


def _damages_of(repository: Repository, space: str, name: str, look_at: Look) -> Iterator[Damage]:
    """Yield what is damaged of what a branch or tag shows."""
    where = f"{_NOUNS[space]} {name}"
    back = f"dbt-vcs repair --to-last-whole {shlex.quote(name)}"
    problem = next(RefStore(repository.blobs).check(space, name), None)
    if problem is not None:
        yield Damage(where=where, what=problem, help=(COPY, back))
        return
    last = RefStore(repository.blobs).read(space, name)
    if last is None or last.move.commit is None:
        return
    for broken in _broken(repository, last.move.commit, look_at):
        if broken.relation is None:
            yield Damage(where=where, what=broken.what, help=(COPY, back))
            continue
        statement = shlex.quote(f"drop {broken.noun} {quoted_relation(broken.relation)}")
        drop = f"dbt-vcs sql {statement} --branch {shlex.quote(name)}"
        restore = f"dbt-vcs restore {broken.relation} --branch {shlex.quote(name)} --to REVISION"
        ways = (COPY, restore, drop) if space == "heads" else (COPY,)
        yield Damage(where=f"{where}, {broken.relation}", what=broken.what, help=(*ways, back))


def _broken(repository: Repository, commit: CommitId, look_at: Look) -> list[Broken]:
    # What this process remembers may be damaged by now.
    return _broken_of(ObjectStore(repository.blobs), commit, look_at)


def _last_whole(repository: Repository, log: LogRepair, look_at: Look) -> int | None:
    """Return the number of the last move that shows a whole commit, or is a deletion."""
    for number in sorted(log.moves, reverse=True):
        commit = log.moves[number].commit
        if commit is None or not _broken(repository, commit, look_at):
            return number
    return None


def _move(
    repository: Repository, space: str, name: str, target: RefMove, author: str, note: str
) -> None:
    refs = RefStore(repository.blobs)
    names = Names(repository.objects, refs, repository.clock, space, gate=repository.maintenance)
    last = refs.read(space, name)
    state = last.move.state if last else {}
    if not names.follow(
        last, name, target.commit, author=author, action="repair", note=note, state=state
    ):
        raise DamagedError(
            f"{name!r} was moved by somebody else during the repair. Its log can be read again; "
            "repair it again if what it shows is damaged."
        )


def _told(space: str, name: str, log: LogRepair, number: int, moves: bool) -> Iterator[str]:
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


def _by_size(blobs: Blobs) -> Look:
    """Return a look at the sizes of files."""
    return lambda file: wrong_size(file, size_of(blobs, file.path))


def _by_bytes(blobs: Blobs) -> Look:
    """Return a look at all bytes of files; each file is read once."""
    known: dict[str, str | None] = {}

    def look(file: NeededFile) -> str | None:
        if file.path not in known:
            known[file.path] = wrong_bytes(blobs, file)
        return known[file.path]

    return look


def _broken_of(objects: ObjectStore, commit: CommitId, look_at: Look) -> list[Broken]:
    """Return what can't be read of a commit; empty if it is whole.

    Args:
        objects: Reads manifests.
        commit: The commit.
        look_at: Looks at files of rows.
    """
    try:
        tree = objects.tree(objects.commit(commit).tree)
    except DamagedError as error:
        return [Broken(None, str(error))]
    found: list[Broken] = []
    relations: list[tuple[RelationName, Entry]] = []
    for name, ref in sorted(tree.schemas.items()):
        try:
            schema = objects.schema_tree(ref.id)
        except DamagedError as error:
            found.append(Broken(None, f"The schema {name} can't be read. {error}"))
            continue
        relations += ((RelationName(name, each), at) for each, at in schema.relations.items())

    def look(item: tuple[RelationName, Entry]) -> Broken | None:
        wrong = _wrong(objects, item[1], look_at)
        return None if wrong is None else Broken(item[0], wrong, item[1].noun)

    return [*found, *(wrong for wrong in each(look, relations) if wrong is not None)]


def _wrong(objects: ObjectStore, entry: Entry, look_at: Look) -> str | None:
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


def _wrong_files(objects: ObjectStore, version: SnapshotId, look_at: Look) -> Iterator[str]:
    for ref in objects.snapshot(version).segments:
        for path, file in files_of(objects.segment(ref.id)).items():
            wrong = look_at(file)
            if wrong is not None:
                yield f"The data file {path} {wrong}."
