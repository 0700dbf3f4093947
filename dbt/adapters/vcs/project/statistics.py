"""Statistics: what `dbt docs` shows about a relation besides its columns, only from manifests."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.ids import Micros, datetime_of, short_sha
from dbt.adapters.vcs.core.model import Commit, Entry, RelationName, TableEntry
from dbt.adapters.vcs.core.origins.lineage import introductions
from dbt.adapters.vcs.core.origins.staleness import stale_among
from dbt.adapters.vcs.workspace.overlay import Overlay

FAR_BACK: Final = 1_000
"""Number of commits searched for the one that a relation comes from."""

_SHOWN: Final = 12


class Statistic(NamedTuple):
    """One fact about a relation.

    Attributes:
        id: Its name in catalog.json.
        label: Its name for people.
        value: The fact.
        description: What it means.
    """

    id: str
    label: str
    value: str | int
    description: str


class Statistics:
    """The statistics of some relations of a branch.

    Args:
        overlay: Where they are.
        names: Those that will be requested; their commits are looked up together.
    """

    def __init__(self, overlay: Overlay, names: Collection[RelationName]) -> None:
        self._overlay = overlay
        committed = [name for name in names if overlay.entry(name) == overlay.before(name)]
        self._commits = introductions(overlay.repository, overlay.base, committed, limit=FAR_BACK)
        self._stale = _stale(overlay, names)

    def of(self, name: RelationName, entry: Entry) -> list[Statistic]:
        """Return the statistics of a relation.

        Always the branch; for a table its rows, bytes, files, version and time, and what makes it
        stale; the commit that last changed it, unless that is not committed yet or more than
        `FAR_BACK` commits ago.
        """
        table = self._table(name, entry) if isinstance(entry, TableEntry) else ()
        found = self._commits.get(name)
        commit = () if found is None else _commit(found.id, found.commit, str(name))
        branch = self._overlay.branch
        shown = (
            (Statistic("branch", "Branch", branch, "The branch that was read"),) if branch else ()
        )
        return list(chain(table, shown, commit))

    def _table(self, name: RelationName, entry: TableEntry) -> Iterator[Statistic]:
        snapshot = self._overlay.snapshot(entry.snapshot)
        yield Statistic("rows", "Rows", snapshot.rows, "Number of rows")
        yield Statistic("bytes", "Bytes", snapshot.bytes, "Size of the files")
        yield Statistic("files", "Files", snapshot.block_count, "Number of Parquet files")
        changed = _time(snapshot.created_at)
        yield Statistic("last_modified", "Last changed", changed, "When this version was created")
        version = entry.snapshot[:_SHOWN]
        yield Statistic("snapshot", "Version", version, "The table version shown here")
        if name in self._stale:
            meaning = "It was made from other versions of these than the branch shows"
            yield Statistic("stale", "Stale", self._stale[name], meaning)


def _stale(overlay: Overlay, names: Collection[RelationName]) -> dict[RelationName, str]:
    """Return what makes tables stale, as text; of damaged ones nothing is known."""
    shown = {
        RelationName(schema, identifier): entry
        for schema in overlay.schema_names()
        for identifier, entry in overlay.entries(schema).items()
    }
    found = stale_among(overlay.repository, shown, names, on_damage=lambda _name, _error: None)
    return {
        item.relation: ", ".join(
            sorted({*(str(moved.relation) for moved in item.moved), *map(str, item.through)})
        )
        for item in found
    }


def _commit(id: str, commit: Commit, relation: str) -> Iterator[Statistic]:
    yield Statistic("commit", "Commit", id[:_SHOWN], "The commit that last changed it")
    yield Statistic(
        "committed_at", "Committed", _time(commit.committed_at), "When that commit was made"
    )
    yield Statistic("author", "Author", commit.author, "Who made the commit")
    yield Statistic("message", "Message", commit.summary, "First line of the commit message")
    run = commit.run
    if run is not None:
        yield Statistic("invocation", "Run", run.invocation, "dbt's invocation id of the run")
    if run is not None and run.git_sha:
        yield Statistic("git_sha", "Code", short_sha(run.git_sha), "The project's git commit")
    for node in () if run is None else run.nodes:
        if node.relation == relation and node.reused is not None:
            meaning = f"The branch that it was computed for; {node.saved:.1f} s saved"
            yield Statistic("reused", "Reused from", node.reused, meaning)


def _time(at: Micros) -> str:
    return datetime_of(at).isoformat(sep=" ", timespec="seconds")
