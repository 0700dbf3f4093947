"""Each verb beside each other one: what main shows follows from both, and all is whole.

A repository has branches that parted, a merge that waits with a conflict, a tag, a named snapshot,
a clone and an export. Two verbs are carried out, one after the other, and each may refuse. Sets of
batches and rows say what main must show then.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Final, NamedTuple

import pytest
from pyarrow import BufferReader
from pyarrow.parquet import read_table

from chaos.calendar import NIGHT, now
from chaos.copies import EVERYTHING, named
from chaos.ground import Ground
from chaos.shop import ROW_TABLE, TABLES, Shop, is_row, look
from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.commands.branch import create_branch, rename_branch, undelete_branch
from dbt.adapters.vcs.commands.cherry_pick import cherry_pick
from dbt.adapters.vcs.commands.clone import clone_from_snapshot
from dbt.adapters.vcs.commands.copy import copy_repository
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.commands.merge import abort_merge, continue_merge, merge
from dbt.adapters.vcs.commands.optimize import optimize
from dbt.adapters.vcs.commands.purge import PurgeRequest, purge
from dbt.adapters.vcs.commands.resolve import resolve
from dbt.adapters.vcs.commands.restore import restore_branch, restore_relation
from dbt.adapters.vcs.commands.revert import revert
from dbt.adapters.vcs.commands.snapshot import create_snapshot, delete_snapshot
from dbt.adapters.vcs.commands.tag import create_tag, rename_tag
from dbt.adapters.vcs.core.errors import ConflictError, VcsError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.iceberg.exports import export

Items = frozenset[str]

CLONE: Final = "shop.twin"
OLD: Final = frozenset({"old", "x=1", "y=1", "z=1"})
"""What the tag shows."""

NEW: Final = frozenset({"old", "new", "x=1", "y=1", "z=2"})
"""What main shows in the beginning."""


class Verb(NamedTuple):
    """A verb.

    Attributes:
        act: Carries it out.
        effect: What main shows afterwards, by what it showed.
        erased: The batch or the row that is in no version afterwards.
    """

    act: Callable[[Repository], object]
    effect: Callable[[Items], Items] = lambda items: items
    erased: str = ""


def rows(items: Items) -> Items:
    return frozenset(filter(is_row, items))


def without(items: Items, name: str) -> Items:
    return frozenset(item for item in items if item.partition("=")[0] != name)


def resolved(repository: Repository) -> None:
    resolve(repository, "main", str(ROW_TABLE), RowChoice(choice=Choice.THEIRS), author="ann")
    continue_merge(repository, "main", author="ann")


def erase(repository: Repository, name: str) -> None:
    for table in (ROW_TABLE,) if name in "xyz" else TABLES:
        request = PurgeRequest(relation=str(table), where=f"batch = '{name}'", redact=(name,))
        purge(repository, request, author="ann")


def brought_back(repository: Repository) -> None:
    repository.delete_branch("dev", author="ann")
    undelete_branch(repository, "dev", author="ann")


def cloned(repository: Repository) -> None:
    clone_from_snapshot(
        repository, str(ROW_TABLE), CLONE, "base", branch="main", author="ann", replace=True
    )


def shop(repository: Repository) -> Shop:
    return Shop(repository, "main", "ann")


VERBS: Final = {
    "purge a row": Verb(lambda r: erase(r, "x"), lambda items: without(items, "x"), "x"),
    "purge a row in conflict": Verb(lambda r: erase(r, "z"), lambda i: without(i, "z"), "z"),
    "purge a batch": Verb(lambda r: erase(r, "old"), lambda items: items - {"old"}, "old"),
    "merge": Verb(lambda r: merge(r, "dev", "main", author="ann"), lambda items: items | {"dev"}),
    "resolve a merge": Verb(resolved, lambda items: without(items, "z") | {"z=3"}),
    "abort a merge": Verb(lambda r: abort_merge(r, "main", author="ann")),
    "revert": Verb(
        lambda r: revert(r, "new", branch="main", author="ann"), lambda items: items - {"new"}
    ),
    "cherry-pick": Verb(
        lambda r: cherry_pick(r, "dev", "main", author="ann"), lambda items: items | {"dev"}
    ),
    "restore all": Verb(
        lambda r: restore_branch(r, "v1", branch="main", author="ann"), lambda items: OLD
    ),
    "restore a table": Verb(
        lambda r: restore_relation(r, str(ROW_TABLE), "base", branch="main", author="ann"),
        lambda items: (items - rows(items)) | rows(OLD),
    ),
    "write by key": Verb(
        lambda r: shop(r).write(ROW_TABLE, {"y": 5}, "merge"),
        lambda items: without(items, "y") | {"y=5"},
    ),
    "overwrite": Verb(
        lambda r: shop(r).write(ROW_TABLE, {"y": 6}, "overwrite"),
        lambda items: (items - rows(items)) | {"y=6"},
    ),
    "delete": Verb(lambda r: shop(r).delete("old"), lambda items: items - {"old"}),
    "optimize": Verb(lambda r: optimize(r, "main", everything=True, author="ann")),
    "rename a branch": Verb(lambda r: rename_branch(r, "dev", "renamed", author="ann")),
    "undelete a branch": Verb(brought_back),
    "rename a tag": Verb(lambda r: rename_tag(r, "v1", "v2", author="ann")),
    "delete a snapshot": Verb(lambda r: delete_snapshot(r, str(ROW_TABLE), "base", author="ann")),
    "clone": Verb(cloned),
    "export": Verb(lambda r: export(r, "main")),
    "collect": Verb(lambda r: collect(r, author="ann")),
    "copy": Verb(lambda r: copy_repository(r.blobs, named(MemoryBlobs(), "copy"))),
}


@cache
def found() -> tuple[MemoryBlobs, Ground]:
    """Return a repository on which all verbs have something to do."""
    blobs = named(MemoryBlobs(), "repository")
    ground = Ground(lambda: blobs, workers=("ann",))
    ground.found()
    repository = ground.repository()
    main = shop(repository)
    main.insert("old")
    main.write(ROW_TABLE, dict.fromkeys("xyz", 1), "append")
    create_tag(repository, "v1", "main", author="ann")
    create_snapshot(repository, str(ROW_TABLE), "base", "main", author="ann")
    for name in ("dev", "rival"):
        create_branch(repository, name, "main", author="ann")
    Shop(repository, "dev", "ann").insert("dev")
    Shop(repository, "rival", "ann").write(ROW_TABLE, {"z": 3}, "merge")
    create_tag(repository, "new", main.insert("new"), author="ann")
    main.write(ROW_TABLE, {"z": 2}, "merge")
    cloned(repository)
    with suppress(ConflictError):
        merge(repository, "rival", "main", author="ann")
    export(repository, "main")
    return blobs, ground.later((now(), 4 * NIGHT))


@pytest.mark.parametrize("second", VERBS)
@pytest.mark.parametrize("first", VERBS)
def test_what_main_shows_follows_from_both_verbs(first: str, second: str) -> None:
    blobs, ground = found()
    mine = named(MemoryBlobs(), "repository")
    mine._blobs = dict(blobs._blobs)
    ground = Ground(lambda: mine, ground.calendar, ground.workers)
    expected, erased = NEW, set[str]()
    for verb in (VERBS[first], VERBS[second]):
        with suppress(VcsError):
            verb.act(ground.repository())
            expected = verb.effect(expected)
            erased |= {verb.erased} - {""}
        for name in erased:
            expected = without(expected, name)
    for _ in range(2):
        repository = ground.repository()
        assert check_repository(repository, data=EVERYTHING).problems == ()
        assert look(repository, repository.branch("main").head).batches == expected
        for branch in repository.branches():
            # The branch of a merge shows tables of conflicts.
            if not branch.name.startswith("merges/"):
                assert look(repository, branch.head).wrong == ()
        # Once more when all that nobody needs is gone.
        ground = ground.later((now(), 4 * NIGHT))
        collect(ground.repository(), author="gc")
    assert not erased & texts_of_files(mine)


def texts_of_files(blobs: MemoryBlobs) -> set[str]:
    """Return the texts in all files of rows, before-images and tables of conflicts included."""
    found = set[str]()
    for info in blobs.walk("data"):
        if info.path.endswith(".parquet"):
            table = read_table(BufferReader(blobs.get(info.path)))
            found.update(
                value
                for column in table.columns
                for value in column.to_pylist()
                if isinstance(value, str)
            )
    return found


def test_each_verb_does_something() -> None:
    for name, verb in VERBS.items():
        blobs, ground = found()
        mine = named(MemoryBlobs(), "repository")
        mine._blobs = dict(blobs._blobs)
        try:
            verb.act(Ground(lambda mine=mine: mine, ground.calendar).repository())
        except VcsError as error:
            pytest.fail(f"{name}: {error}")
