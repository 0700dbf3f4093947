"""Compare: what `diff` says of two commits, against the rows that each of them shows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Final

from chaos.shop import ROW_TABLE, TABLES, StoredRow, stored_rows
from dbt.adapters.vcs.changes.diffs.difference import Difference
from dbt.adapters.vcs.commands.diff import read_diff
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.local_session import LocalSession
from dbt.adapters.vcs.table.compare.comparison import Counts

Change = tuple[str | int, StoredRow]
"""A row that differs, behind what a diff says of it."""

_SHAPES: Final = ("changes", "signed")
_KEYLESS: Final = TABLES[1]


def wrong_diffs(
    repository: Repository,
    plain: Repository,
    before: CommitId,
    after: CommitId,
    dice: random.Random,
    beyond_limits: Callable[[bool], AbstractContextManager[None]],
) -> list[str]:
    """Return what is wrong with how two commits are compared, a sentence each.

    Args:
        repository: The repository, behind whatever trouble there is.
        plain: The same without trouble: it reads all rows of both.
        before: A commit.
        after: Another one.
        dice: Chooses the table of which rows are compared, and their shape.
        beyond_limits: Lets the process take rows for too many to be compared column by column.
    """
    names = sorted({*_tables(plain, before), *_tables(plain, after)})
    wrong = [
        *_wrong_counts(repository, f"{before}..{after}", _counts(plain, before, after, names))
    ]
    bases = _bases(plain, before, after)
    if len(bases) == 1:
        expected = _counts(plain, bases[0], after, names)
        wrong += _wrong_counts(repository, f"{before}...{after}", expected)
    # Those of others hardly ever differ.
    name = dice.choice([*TABLES, ROW_TABLE, *names])
    shape = dice.choice(_SHAPES)
    for is_large in (False, True):
        with beyond_limits(is_large):
            wrong += _wrong_rows(
                repository, plain, (before, after), name, shape, is_large=is_large
            )
    return wrong


def _wrong_counts(
    repository: Repository, words: str, expected: dict[str, Counts]
) -> Iterator[str]:
    report = read_diff(repository, [words], branch="main")
    found = {
        item.name: Counts(item.rows_added, item.rows_removed, item.rows_modified)
        for item in report.relations
        if item.kind == "table"
    }
    # A table without rows that is new is listed, too.
    if {name: counts for name, counts in found.items() if any(counts)} != expected:
        yield f"silent: diff {words} counts {found}, expected {expected}"


def _wrong_rows(
    repository: Repository,
    plain: Repository,
    commits: tuple[CommitId, CommitId],
    name: RelationName,
    shape: str,
    *,
    is_large: bool,
) -> Iterator[str]:
    old, new = (stored_rows(plain, commit, name) for commit in commits)
    words = [f"{commits[0]}..{commits[1]}", str(name)]
    report = read_diff(repository, words, branch="main", shape=shape)  # type: ignore[arg-type]
    columns = report.rows.to_arrow().columns
    found = Counter(
        (kind, (id, batch, n))
        for kind, id, batch, n in zip(*(each.to_pylist() for each in columns), strict=True)
    )
    expected = Counter(_expected(old, new, shape, is_keyed=name != _KEYLESS))
    engine = "DuckDB" if is_large else "this process"
    if found != expected:
        more, fewer = found - expected, expected - found
        yield (
            f"silent: diff {' '.join(words)} as {shape}, by {engine}, shows too much: "
            f"{list(more)[:3]}, and lacks: {list(fewer)[:3]}"
        )
    sides = [_snapshot(repository, commit, name) for commit in commits]
    difference = Difference(repository=repository, before=sides[0], after=sides[1])
    if is_large:
        with LocalSession(repository.blobs) as session:
            counts = difference.counts_by_engine(session)
    else:
        counts = difference.counts()
    if counts != _count(old, new, is_keyed=name != _KEYLESS):
        yield f"silent: snapshot_diff {' '.join(words)}, by {engine}, counts {counts}"


def _expected(
    old: Sequence[StoredRow], new: Sequence[StoredRow], shape: str, *, is_keyed: bool
) -> Iterator[Change]:
    gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
    if shape == "signed":
        yield from ((-count, row) for row, count in gone.items())
        yield from ((count, row) for row, count in come.items())
        return
    # By key, a row that went and one that came are one that changed.
    was, now = ({row[0] for row in rows if is_keyed} for rows in (gone, come))
    for row in gone.elements():
        yield ("update_preimage" if row[0] in now else "delete"), row
    for row in come.elements():
        yield ("update_postimage" if row[0] in was else "insert"), row


def _count(old: Sequence[StoredRow], new: Sequence[StoredRow], *, is_keyed: bool) -> Counts:
    kinds = Counter(kind for kind, _ in _expected(old, new, "changes", is_keyed=is_keyed))
    return Counts(kinds["insert"], kinds["delete"], kinds["update_preimage"])


def _counts(
    plain: Repository, before: CommitId, after: CommitId, names: Sequence[RelationName]
) -> dict[str, Counts]:
    """Return the tables whose rows differ."""
    found = {}
    for name in names:
        old, new = (stored_rows(plain, commit, name) for commit in (before, after))
        counts = _count(old, new, is_keyed=name != _KEYLESS)
        if any(counts):
            found[str(name)] = counts
    return found


def _tables(repository: Repository, commit: CommitId) -> Iterator[RelationName]:
    tree = repository.tree(commit)
    for name in (RelationName("shop", each) for each in tree.relations("shop")):
        if isinstance(tree.entry(name), TableEntry):
            yield name


def _snapshot(repository: Repository, commit: CommitId, name: RelationName) -> Snapshot | None:
    entry = repository.tree(commit).entry(name)
    return repository.objects.snapshot(entry.snapshot) if isinstance(entry, TableEntry) else None


def _bases(repository: Repository, one: CommitId, other: CommitId) -> list[CommitId]:
    """Return the common ancestors that no other one descends from, by looking at all of them."""
    common = _ancestors(repository, one) & _ancestors(repository, other)
    return sorted(common - {older for id in common for older in _parents(repository, id)})


def _ancestors(repository: Repository, commit: CommitId) -> set[CommitId]:
    found: set[CommitId] = set()
    waiting = [commit]
    while waiting:
        id = waiting.pop()
        if id not in found:
            found.add(id)
            waiting += _parents(repository, id)
    return found


def _parents(repository: Repository, commit: CommitId) -> Sequence[CommitId]:
    return repository.objects.commit(commit).parents
