"""What dbt asks about relations: its catalog with statistics, and the freshness of sources.

The answers come from the branch's tree and manifests only; no row is read.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dbt.adapters.base.relation import BaseRelation
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata

from dbt.adapters.vcs.core.codec import rows_digest
from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import Micros, SnapshotId, datetime_of, short_sha
from dbt.adapters.vcs.core.model import (
    Commit,
    Entry,
    FunctionEntry,
    RelationName,
    TableEntry,
    ViewEntry,
)
from dbt.adapters.vcs.core.origins.lineage import introductions
from dbt.adapters.vcs.core.origins.staleness import RESTORE, Moved, stale_among
from dbt.adapters.vcs.workspace.mounts import Externals
from dbt.adapters.vcs.workspace.overlay import Overlay

if TYPE_CHECKING:
    import agate


_TABLE: Final = (
    "table_database",
    "table_schema",
    "table_name",
    "table_type",
    "table_comment",
    "table_owner",
)
_COLUMN: Final = ("column_name", "column_index", "column_type", "column_comment")


class _Facts(NamedTuple):
    """A relation's kind and comment, and the name, type and comment of each column."""

    kind: str
    comment: str | None
    columns: list[tuple[str, str, str | None]]


def table(
    overlay: Overlay, schemas: Iterable[str], only: Container[RelationName] | None = None
) -> agate.Table:
    """Return one row per column of the relations in some schemas, with dbt's column names.

    `only` names the relations to include; None for all.
    """
    relations = {
        RelationName(schema.lower(), identifier): entry
        for schema in sorted(schemas)
        for identifier, entry in overlay.entries(schema.lower()).items()
        if only is None or RelationName(schema.lower(), identifier) in only
    }
    statistics = Statistics(overlay, relations)
    return _agate(
        row
        for name, entry in relations.items()
        for row in _rows(name, _facts(overlay, entry), statistics.of(name, entry))
    )


def single(overlay: Overlay, relation: BaseRelation, name: RelationName) -> CatalogTable | None:
    """Return what dbt docs shows about a relation, or None if it doesn't exist."""
    entry = overlay.entry(name)
    if entry is None:
        return None
    facts = _facts(overlay, entry)
    return CatalogTable(
        metadata=TableMetadata(
            type=facts.kind,
            schema=relation.schema or name.schema,
            name=relation.identifier or "",
            comment=facts.comment,
        ),
        columns={
            column: ColumnMetadata(type=type, index=index, name=column, comment=note)
            for index, (column, type, note) in enumerate(facts.columns, start=1)
        },
        stats={
            item.id: StatsItem(include=True, **item._asdict())
            for item in Statistics(overlay, [name]).of(name, entry)
        },
    )


def _rows(
    name: RelationName, facts: _Facts, statistics: Iterable[Statistic]
) -> Iterator[dict[str, Any]]:
    about = (None, name.schema, name.identifier, facts.kind, facts.comment, None)
    # dbt reads the statistics of a relation from its first row.
    shown = {
        f"stats:{item.id}:{part}": value
        for item in statistics
        for part, value in {**item._asdict(), "include": True}.items()
        if part != "id"
    }
    # From 1, as in other adapters' catalogs. dbt-spark counts from 0.
    for index, (column, type, note) in enumerate(facts.columns, start=1):
        described = (column, index, type, note)
        yield {**dict(zip(_TABLE + _COLUMN, about + described, strict=True)), **shown}
        shown = {}


def _agate(rows: Iterable[Mapping[str, Any]]) -> agate.Table:
    """Return rows as a table, without guessing types: an id may look like a number."""
    import agate
    from dbt_common.clients.agate_helper import Integer

    found = list(rows)
    names = list(dict.fromkeys([*_TABLE, *_COLUMN, *(key for row in found for key in row)]))
    kinds: dict[type, Any] = {int: Integer(), bool: agate.Boolean()}
    # By default agate takes texts such as `none` and `n/a` for NULL.
    text = agate.Text(cast_nulls=False)
    types = {
        key: kinds.get(type(value), text)
        for row in found
        for key, value in row.items()
        if value is not None
    }
    return agate.Table(
        [tuple(row.get(name) for name in names) for row in found],
        names,
        [types.get(name, text) for name in names],
    )


def _facts(overlay: Overlay, entry: Entry) -> _Facts:
    if isinstance(entry, TableEntry):
        snapshot = overlay.snapshot(entry.snapshot)
        fields = snapshot.schema.fields
        return _Facts(
            "table",
            snapshot.comment,
            [(field.name, field.type, field.comment) for field in fields],
        )
    if isinstance(entry, FunctionEntry):
        return _Facts("function", overlay.function(entry.function).comment, [])
    view = overlay.view(entry.view)
    return _Facts("view", view.comment, [(c.name, c.type, c.comment) for c in view.columns])


FAR_BACK: Final = 1_000
"""Number of commits searched for the one that a relation comes from."""

_SHOWN: Final = 12


class Statistic(NamedTuple):
    """One fact about a relation.

    Attributes:
        id: Its name in catalog.json.
        label: Its name for people.
        description: What it means.
    """

    id: str
    label: str
    value: str | int
    description: str


class Statistics:
    """The statistics of some relations of a branch.

    Args:
        names: Those that will be requested; their commits are looked up together.
    """

    def __init__(self, overlay: Overlay, names: Collection[RelationName]) -> None:
        self._overlay = overlay
        committed = [name for name in names if overlay.entry(name) == overlay.before(name)]
        self._commits = introductions(overlay.repository, overlay.base, committed, limit=FAR_BACK)
        self._stale = _stale(overlay, names)

    def of(self, name: RelationName, entry: Entry) -> list[Statistic]:
        """Return the statistics of a relation.

        Always the branch; for a table its rows, whether it is stale, bytes, files, version and
        time; the commit that last changed it, unless that is not committed yet or more than
        `FAR_BACK` commits ago.
        """
        table = self._table(name, entry) if isinstance(entry, TableEntry) else ()
        found = self._commits.get(name)
        commit = () if found is None else _commit(found.id, found.commit, str(name))
        branch = self._overlay.branch
        # The page of dbt docs sorts by label, and shows no blanks before one: with them, what a
        # reader needs first comes first.
        shown = (
            (Statistic("branch", "   Branch", branch, "The branch that was read"),)
            if branch
            else ()
        )
        return list(chain(shown, table, commit))

    def _table(self, name: RelationName, entry: TableEntry) -> Iterator[Statistic]:
        snapshot = self._overlay.snapshot(entry.snapshot)
        yield Statistic("rows", "  Rows", snapshot.rows, "Number of rows")
        if name in self._stale:
            meaning = "Whether it was made from other versions than the branch shows, and of what"
            yield Statistic("stale", " Stale", self._stale[name], meaning)
        yield Statistic("bytes", "Bytes", snapshot.bytes, "Size of the files")
        yield Statistic("files", "Files", snapshot.block_count, "Number of Parquet files")
        changed = _time(snapshot.created_at)
        yield Statistic("last_modified", "Last changed", changed, "When this version was created")
        version = entry.snapshot[:_SHOWN]
        yield Statistic("snapshot", "Version", version, "The table version shown here")


def _stale(overlay: Overlay, names: Collection[RelationName]) -> dict[RelationName, str]:
    """Return whether tables are stale, since when and through what; nothing of damaged ones."""
    shown = {
        RelationName(schema, identifier): entry
        for schema in overlay.schema_names()
        for identifier, entry in overlay.entries(schema).items()
    }
    damaged: set[RelationName] = set()
    found = stale_among(
        overlay.repository, shown, names, on_damage=lambda name, _error: damaged.add(name)
    )
    told = {name: "no" for name in names if name not in damaged}
    since: dict[RelationName, Micros] = {}
    # Each after those that it was made from, so what it is stale through is known.
    for item in found:
        times = [_moved_at(overlay, moved) for moved in item.moved]
        times += (since.get(name) for name in item.through)
        known = [at for at in times if at is not None]
        if known:
            since[item.relation] = min(known)
        causes = {*(str(moved.relation) for moved in item.moved), *map(str, item.through)}
        when = f" since {_time(min(known))}" if known else ""
        told[item.relation] = f"yes{when}: {', '.join(sorted(causes))}"
    return told


def _moved_at(overlay: Overlay, moved: Moved) -> Micros | None:
    """Return when an input moved away from the version that was read; None if it isn't known."""
    entry = overlay.entry(moved.relation)
    if not isinstance(entry, TableEntry):
        return None
    id, at = entry.snapshot, None
    for _ in range(FAR_BACK):
        try:
            version = overlay.snapshot(id)
        except (DamagedError, NotFoundError):
            # History without a name is collected: since then at the latest.
            return at
        at = version.created_at
        if not version.parents or version.parents[0] == moved.read:
            return at
        id = version.parents[0]
    return at


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


_KEEPS_ROWS: Final = frozenset({"alter", "clone", "consume", "optimize"})
"""Operations that leave a table's rows unchanged, or take them from another table."""

_HOW: Final = (
    "Name a column with the load time (loaded_at_field, or a query as loaded_at_query), or set "
    "freshness: null."
)


def loaded_at(overlay: Overlay, name: RelationName, externals: Externals) -> Micros:
    """Return when the rows of a table were last written.

    Compaction, cloning, builds that change no row, and changes of columns, comments and properties
    don't count. A restored version of the table's own past is as old as that.

    Raises:
        NotFoundError: There is no such relation.
        InputError: It is a view or files outside the repository, which have no such time.
    """
    external = externals.get(name)
    if external is not None:
        raise InputError(
            f"{name} refers to files at {external.location}, which are not versioned, so no "
            f"manifest has the time of their last load. {_HOW}"
        )
    entry = overlay.require(name)
    if isinstance(entry, ViewEntry):
        raise InputError(
            f"{name} is a view, and only a table's manifest has the time of its last load. {_HOW}"
        )
    return _written_at(overlay, entry.snapshot)


def _written_at(overlay: Overlay, id: SnapshotId) -> Micros:
    snapshot = overlay.snapshot(id)
    # A clone is as old as the rows that it took.
    while snapshot.operation in _KEEPS_ROWS and snapshot.parents:
        snapshot = overlay.snapshot(snapshot.parents[0])
    if snapshot.operation != RESTORE:
        return snapshot.created_at
    # A restore makes a version of its own, with the blocks of the one that it goes back to.
    rows, before = rows_digest(snapshot), snapshot
    while before.parents:
        before = overlay.snapshot(before.parents[0])
        if before.operation != RESTORE and rows_digest(before) == rows:
            return before.created_at
    return snapshot.created_at
