"""Wholeness: whether everything that a commit shows can be read, relation by relation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import Entry, FunctionEntry, RelationName, TableEntry
from dbt.adapters.vcs.core.plan.collect import NeededFile, files_of
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.core.store.each import each
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.rows.files.file_check import size_of, wrong_bytes, wrong_size


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


Look: TypeAlias = Callable[[NeededFile], str | None]
"""Returns what is wrong with a file of rows, as the end of a sentence."""


def by_size(blobs: Blobs) -> Look:
    """Return a look at the sizes of files."""
    return lambda file: wrong_size(file, size_of(blobs, file.path))


def by_bytes(blobs: Blobs) -> Look:
    """Return a look at all bytes of files; each file is read once."""
    known: dict[str, str | None] = {}

    def look(file: NeededFile) -> str | None:
        if file.path not in known:
            known[file.path] = wrong_bytes(blobs, file)
        return known[file.path]

    return look


def broken_of(objects: ObjectStore, commit: CommitId, look_at: Look) -> list[Broken]:
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
