"""Fetch: take whatever is damaged or missing from a copy of the repository."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Final

from dbt.adapters.vcs.core.codec import decode, kind_of
from dbt.adapters.vcs.core.collection import names_of, roots_of
from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.model import (
    Commit,
    Function,
    SchemaTree,
    Segment,
    Snapshot,
    Tree,
    View,
)
from dbt.adapters.vcs.core.model.value import Value
from dbt.adapters.vcs.core.plan.collect import Needed, Roots, needed
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import GRACE, PINS, read_retention
from dbt.adapters.vcs.core.snapshotnames import ROOT
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.branch_names import quote
from dbt.adapters.vcs.core.store.log_repair import apply_log, plan_log
from dbt.adapters.vcs.core.store.objects import ObjectStore, read_object
from dbt.adapters.vcs.core.store.refs import RefStore
from dbt.adapters.vcs.core.store.set_aside import replace_file, replace_object
from dbt.adapters.vcs.rows.files.file_check import whole_bytes
from dbt.adapters.vcs.verbs.upkeep.data_check import DataCheck, read_files
from dbt.adapters.vcs.verbs.upkeep.standing_up import RepairReport, survey

_KINDS: Final[Mapping[str, type[Value]]] = {
    kind_of(each): each for each in (Commit, SchemaTree, Tree, Snapshot, Segment, View, Function)
}
_SPACES: Final = ("heads", "tags", "options", PINS)


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
    done = [*_logs(repository, copy, author, id, dry_run)]
    while some := [*_objects(repository, copy.blobs, id, dry_run)]:
        done += (text for text in some if text not in done)
        if dry_run:
            break
    done += _files(repository, copy.blobs, id, dry_run)
    left = () if dry_run else survey(Repository.open(repository.blobs), DataCheck()).damages
    return RepairReport(dry_run=dry_run, done=tuple(done), damages=left)


def _logs(
    repository: Repository, copy: Repository, author: str, id: str, dry_run: bool
) -> Iterator[str]:
    own, other = RefStore(repository.blobs), RefStore(copy.blobs)
    spaces = dict.fromkeys((*_SPACES, *own.spaces(ROOT), *other.spaces(ROOT)))
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


def _needed(repository: Repository) -> Needed:
    """Return what the names that can be read need, as far as it can be followed."""
    fresh = Repository.open(repository.blobs, clock=repository.clock)
    try:
        kept = read_retention(fresh)
        cutoff = Micros(max(fresh.clock() - kept.keep - GRACE, kept.horizon))
    except DamagedError:
        cutoff = Micros(0)
    try:
        roots = roots_of(fresh, cutoff)
    except DamagedError:
        # What only merges need is found when the history is whole again.
        names = names_of(fresh, cutoff, lambda _: None)
        commits = names.lately | names.origins
        roots = Roots(commits=commits, whole=names.lately, versions=names.versions)
    return needed(roots, ObjectStore(repository.blobs), lambda _: None)


def _objects(repository: Repository, copy: Blobs, id: str, dry_run: bool) -> Iterator[str]:
    for kind, object_id in sorted(_needed(repository).objects):
        if _whole(repository.blobs, kind, object_id) is not None:
            continue
        data = _whole(copy, kind, object_id)
        if data is not None:
            if not dry_run:
                replace_object(repository.blobs, kind, object_id, data, id)
            yield f"The {kind} {object_id}."


def _whole(blobs: Blobs, kind: str, id: str) -> bytes | None:
    """Return the bytes of an object; None if it is missing or damaged."""
    try:
        data = read_object(blobs, kind, id)
        # Both levels of trees are of one kind, and the id covers the bytes alone.
        decode(_KINDS[kind], id, data)
    except (DamagedError, NotFoundError):
        return None
    return data


def _files(repository: Repository, copy: Blobs, id: str, dry_run: bool) -> Iterator[str]:
    needed_files = _needed(repository).files
    files = [needed_files[path] for path in sorted(needed_files)]
    damaged = {file.path for file in read_files(repository.blobs, files)}
    for file in files:
        data = whole_bytes(copy, file) if file.path in damaged else None
        if data is not None:
            if not dry_run:
                replace_file(repository.blobs, file.path, data, id)
            yield f"The data file {file.path}."
