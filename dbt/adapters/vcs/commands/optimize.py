"""`dbt-vcs optimize`: combine small files of tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from dbt.adapters.vcs.changes.writes.compaction import (
    OPERATION,
    Rewrite,
    put_optimized,
    rewrite_table,
)
from dbt.adapters.vcs.commands.layout import Block, Grid, Span, counted, line, short, size
from dbt.adapters.vcs.commands.options import NameList
from dbt.adapters.vcs.commands.revisions import parse_relation
from dbt.adapters.vcs.commands.session import CommandSession, sessions_of
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Origin, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.plan.compaction import TARGET_BYTES
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.workspace.overlay import Overlay

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)i?b?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizedTable:
    """The result for one table.

    Attributes:
        blocks_before: Number of blocks before.
        blocks_after: Number of blocks now.
        bytes_before: Total size before.
        bytes_after: Total size now.
        dropped_rows: Number of deleted rows that are no longer in any file.
    """

    relation: str
    blocks_before: int
    blocks_after: int
    bytes_before: int
    bytes_after: int
    dropped_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeReport:
    """What a compaction did.

    Attributes:
        commit: The new commit; None if there was nothing to do.
        tables: The tables that were rewritten, sorted by name.
        looked_at: Number of tables checked.
    """

    branch: str
    commit: CommitId | None
    tables: tuple[OptimizedTable, ...]
    looked_at: int


def optimize(
    repository: Repository,
    branch: str,
    *,
    relations: Sequence[str] = (),
    schema: str | None = None,
    everything: bool = False,
    target_bytes: int = TARGET_BYTES,
    cluster_by: Sequence[str] = (),
    author: str,
    engine: Callable[[], Engine] | None = None,
) -> OptimizeReport:
    """Combine small blocks of tables, and rewrite blocks without their deleted rows.

    No rows change, so diffs and merges don't either; protected branches accept it. All tables are
    one commit. If others change a table in the meantime, the new blocks replace those that are
    still unchanged, and the rest is planned again.

    Args:
        relations: Tables, `schema.identifier` each. Give these, a schema or everything.
        schema: A schema, for all its tables.
        everything: True for all tables of the branch.
        target_bytes: Target size of blocks.
        cluster_by: Columns to sort all rows of each table by.
        author: Who commits.
        engine: Creates the engine, for what can't be done in this process; a local Spark if None.

    Raises:
        InputError: No table is named, or a name is not a table; or a column can't be sorted by.
        RetryError: Others were faster on every attempt.
    """
    if sum((bool(relations), schema is not None, everything)) != 1:
        raise InputError("Give the tables to optimize: schema.table, a schema, or all.")
    if target_bytes <= 0:
        raise InputError(f"The target size is {target_bytes} bytes; expected more than 0.")
    done: dict[RelationName, list[Rewrite]] = {}
    with (
        sessions_of(engine, repository.blobs, OPERATION) as sessions,
        # A rewrite takes long, and would lose every race against short writes without a turn.
        repository.turns.on(branch) as turn,
    ):
        for _ in turn.attempts(f"optimize on the branch {branch!r}"):
            head = repository.branch(branch).head
            overlay = Overlay(repository=repository, base=head, tree=repository.tree(head))
            # On each attempt, since others may have created or dropped tables.
            names = _tables(overlay, relations, schema)
            tables = []
            for name in names:
                before = overlay.require_table(name)
                # What an earlier attempt wrote is put again, where its blocks stayed.
                after = put_optimized(overlay, name, done.get(name, []), Origin())
                if after is None:
                    done[name] = list(
                        rewrite_table(
                            repository,
                            before,
                            sessions,
                            target_bytes=target_bytes,
                            cluster_by=cluster_by,
                        )
                    )
                    after = put_optimized(overlay, name, done[name], Origin())
                if after is not None:
                    tables.append(_summary(name, before, after))
            commit = _land(repository, branch, overlay, author, tables) if tables else None
            if commit is not None or not tables:
                return OptimizeReport(
                    branch=branch, commit=commit, tables=tuple(tables), looked_at=len(names)
                )
    raise AssertionError("attempts raises when it ends")


def parse_size(text: str) -> int:
    """Return a size such as `128MB`, `64 MiB`, `1g` or `1000` in bytes; units are powers of 1,024.

    Raises:
        InputError: The text is not a size.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"Expected a size such as 128MB, found {text!r}.")
    return int(float(found[1]) * _UNITS[found[2].lower()])


def _land(
    repository: Repository,
    branch: str,
    overlay: Overlay,
    author: str,
    tables: Sequence[OptimizedTable],
) -> CommitId | None:
    """Commit; None if another writer changed one of the tables in the meantime."""
    names = ", ".join(table.relation for table in tables)
    try:
        landed = repository.land(
            Proposal(
                branch=branch,
                base=overlay.base,
                tree=repository.edit(overlay.tree.id, overlay.changes),
                author=author,
                message=f"Optimize {names}"
                if len(names) <= 200
                else f"Optimize {len(tables)} tables",
                action=OPERATION,
                # No row changes, so a protected branch accepts it.
                promotes=True,
            )
        )
    except ConflictError:
        return None
    return landed.commit


def _tables(
    overlay: Overlay, relations: Sequence[str], schema: str | None
) -> tuple[RelationName, ...]:
    if relations:
        names = tuple(sorted({parse_relation(text) for text in relations}))
        for name in names:
            overlay.require_table(name)
        return names
    if schema is not None:
        overlay.require_schema(schema.lower())
    schemas = overlay.schema_names() if schema is None else [schema.lower()]
    return tuple(
        RelationName(item, identifier)
        for item in schemas
        for identifier, entry in overlay.entries(item).items()
        if isinstance(entry, TableEntry)
    )


def _summary(name: RelationName, before: Snapshot, after: Snapshot) -> OptimizedTable:
    return OptimizedTable(
        relation=str(name),
        blocks_before=before.block_count,
        blocks_after=after.block_count,
        bytes_before=before.bytes,
        bytes_after=after.bytes,
        dropped_rows=sum(ref.deleted for ref in before.segments)
        - sum(ref.deleted for ref in after.segments),
    )


@verb()
def optimize_command(
    session: CommandSession,
    relation: Annotated[
        tuple[tuple[str, ...], ...], Option(type=NameList(), metavar="[RELATIONS]...")
    ] = (),
    *,
    schema: Annotated[str | None, Option("All tables of a schema.", metavar="NAME")] = None,
    all: Annotated[bool, "All tables of the branch."] = False,
    branch: Annotated[
        str | None, Option("The branch.  [default: the profile's]", metavar="NAME")
    ] = None,
    target_size: Annotated[str, Option("Target size of files.", metavar="SIZE")] = "128MB",
    cluster_by: Annotated[
        tuple[str, ...] | None,
        Option(
            "Sort all rows by these columns, separated by commas; needs Spark.",
            type=NameList(),
            metavar="COLUMNS",
        ),
    ] = None,
) -> None:
    """Combine small files of tables.

    Also rewrites files with many deleted rows without these rows. RELATIONS are tables,
    schema.table each. No rows change, so diffs and merges don't either. Rewritten files are sorted
    by the columns that the table is clustered by.
    """
    report = optimize(
        session.repository,
        session.bound(branch or session.branch),
        relations=[name for names in relation for name in names],
        schema=schema,
        everything=all,
        target_bytes=parse_size(target_size),
        cluster_by=cluster_by or (),
        author=session.author,
        engine=session.engine,
    )
    session.show(report, _optimize_text(report))


def _optimize_text(report: OptimizeReport) -> Iterator[Block]:
    if report.commit is None:
        what = counted(report.looked_at, "table")
        yield line(f"Nothing to do: {what} checked, and no block needs to be rewritten.")
        return
    yield Grid(
        heads=("TABLE", "BLOCKS", "SIZE", "DELETED ROWS DROPPED"),
        rows=tuple(
            (
                Span(table.relation, "name"),
                Span(f"{table.blocks_before:,} -> {table.blocks_after:,}"),
                Span(f"{size(table.bytes_before)} -> {size(table.bytes_after)}"),
                Span(f"{table.dropped_rows:,}"),
            )
            for table in report.tables
        ),
        right=frozenset({"BLOCKS", "SIZE", "DELETED ROWS DROPPED"}),
        whole=frozenset({"TABLE"}),
        first=("TABLE",),
    )
    yield line(
        f"Optimized {counted(len(report.tables), 'table')} on ",
        Span(report.branch, "name"),
        " at ",
        short(report.commit),
        ".",
    )
