"""`dbt-vcs du`: what the tables of a revision take up, and how much of it is theirs alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dbt.adapters.vcs.commands.layout import Block, Grid, Span, counted, line, size
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import verb
from dbt.adapters.vcs.core.ids import CommitId, SegmentId
from dbt.adapters.vcs.core.model import RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.plan.compaction import contents_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.tree_changes import TreeEntries


@dataclass(frozen=True, slots=True, kw_only=True)
class TableUsage:
    """What a version of a table takes up.

    Attributes:
        relation: `schema.identifier`.
        rows: Rows that it shows.
        files: Number of its files: blocks and tombstones.
        bytes: Their size.
        own_bytes: Size of those that no table of the default branch shows.
    """

    relation: str
    rows: int
    files: int
    bytes: int
    own_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a revision takes up.

    Attributes:
        tables: Its tables, the largest first. A file of two, as of a clone, counts for both.
        bytes: Size of all files, each once.
        own_bytes: Size of those that no table of the default branch shows.
    """

    tables: tuple[TableUsage, ...]
    bytes: int
    own_bytes: int


def disk_usage(repository: Repository, revision: str) -> Usage:
    """Return what the tables of a revision take up, from manifests alone.

    Raises:
        NotFoundError: There is no such revision.
        DamagedError: A manifest can't be read.
    """
    tables = _tables(repository, repository.resolve(revision))
    base = _tables(repository, repository.branch(repository.default_branch).head)
    segments = dict.fromkeys(ref.id for table in base.values() for ref in table.segments)
    # Where a branch added nothing, the default branch's segments need not be read.
    differs = any(ref.id not in segments for table in tables.values() for ref in table.segments)
    theirs = _files(repository, segments) if differs else {}
    found, whole = [], dict[str, int]()
    for name, table in tables.items():
        files = _files(repository, (ref.id for ref in table.segments))
        # By path, so that a file which a clone shares counts once.
        whole |= files
        found.append(
            TableUsage(
                relation=str(name),
                rows=table.rows,
                files=len(files),
                bytes=sum(files.values()),
                own_bytes=_beyond(files, theirs) if differs else 0,
            )
        )
    return Usage(
        tables=tuple(sorted(found, key=lambda table: (-table.bytes, table.relation))),
        bytes=sum(whole.values()),
        own_bytes=_beyond(whole, theirs) if differs else 0,
    )


def _tables(repository: Repository, commit: CommitId) -> Mapping[RelationName, Snapshot]:
    return {
        name: repository.objects.snapshot(entry.snapshot)
        for name, entry in TreeEntries(repository.tree(commit)).items()
        if isinstance(entry, TableEntry)
    }


def _files(repository: Repository, segments: Iterable[SegmentId]) -> dict[str, int]:
    contents = contents_of(map(repository.objects.segment, segments))
    sizes = {block.path: block.bytes for block in contents.blocks}
    return sizes | {tombstone.path: tombstone.bytes for tombstone in contents.tombstones}


def _beyond(files: Mapping[str, int], theirs: Mapping[str, int]) -> int:
    return sum(size for path, size in files.items() if path not in theirs)


@verb()
def du_command(session: CommandSession, revision: str | None = None) -> None:
    """Show what the tables of REVISION take up, the largest first.

    OWN is the part that the default branch doesn't show: what a branch costs beside it. REVISION
    defaults to the branch in the dbt profile, else the default branch. Versions that are only
    history, and files that `dbt-vcs gc` would delete, aren't counted.
    """
    usage = disk_usage(session.repository, revision or session.shown)
    session.show(usage, _usage_text(usage), usage.tables)


def _usage_text(usage: Usage) -> Iterator[Block]:
    if usage.tables:
        yield Grid(
            heads=("RELATION", "ROWS", "FILES", "SIZE", "OWN"),
            rows=(
                (
                    Span(table.relation, "name"),
                    Span(f"{table.rows:,}"),
                    Span(f"{table.files:,}"),
                    Span(size(table.bytes)),
                    Span(size(table.own_bytes)),
                )
                for table in usage.tables
            ),
            right=frozenset({"ROWS", "FILES", "SIZE", "OWN"}),
            whole=frozenset({"RELATION"}),
        )
    tables = counted(len(usage.tables), "table")
    yield line(f"{tables}, {size(usage.bytes)}, of which {size(usage.own_bytes)} are its own.")
