"""Statements about the versions of tables: snapshots, restore, diff, merge and pick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dbt.adapters.vcs.statements.statement import Statement
from dbt.adapters.vcs.statements.syntax.diff_call import DiffShape
from dbt.adapters.vcs.statements.syntax.names import TableAt, Target

ConflictMode: TypeAlias = Literal["fail", "skip", "accept", "cell", "cell_skip", "cell_accept"]
DiffOutput: TypeAlias = Literal["rows", "count", "summary", "schema"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSnapshot(Statement):
    """`create snapshot [if not exists] s for table t [as of ...]`: a name for a version.

    Attributes:
        name: The snapshot's name.
        table: The table, and the version that gets the name: None for what the branch has.
        if_not_exists: True with that clause.
    """

    changes = True

    name: str
    table: TableAt
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSnapshot(Statement):
    """`drop snapshot [if exists] s for table t`."""

    changes = True

    name: str
    target: Target
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSnapshots(Statement):
    """`show snapshots [for table t | in s]`; at most one of the two is given."""

    target: Target | None = None
    schema: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTable(Statement):
    """`restore table t from snapshot s{...}`, or `restore table t to version as of ...`.

    Attributes:
        target: The table.
        source: What it becomes again; a version is always named. With `to`, it is one of the
            table itself.
    """

    changes = True

    target: Target
    source: TableAt


@dataclass(frozen=True, slots=True, kw_only=True)
class UndropTable(Statement):
    """`undrop table t`."""

    changes = True

    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDiff(Statement):
    """`snapshot diff a{...} and b{...} ...`: what was changed from the one to the other.

    Attributes:
        before: The one.
        after: The other.
        columns: The columns to compare; empty for all.
        where: SQL text of a condition of the rows of the shape, or None.
        shape: How a row says what happened to it.
        output: The rows, or what is told of them instead.
        limit: How many rows at most; None for all.
    """

    before: TableAt
    after: TableAt
    columns: tuple[str, ...] = ()
    where: str | None = None
    shape: DiffShape = "signed"
    output: DiffOutput = "rows"
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotMerge(Statement):
    """`snapshot merge table t from s ...`: the changes of another table, taken over.

    Attributes:
        target: The table.
        source: Where the changes were made.
        base: What both come from; None to look it up.
        mode: What becomes of rows that both changed; None if nothing is said.
        dry_run: True to tell what would be done, and do nothing.
    """

    changes = True

    target: Target
    source: TableAt
    base: TableAt | None = None
    mode: ConflictMode | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPick(Statement):
    """`snapshot pick table t from s ... where ... | keys ...`: the changes of some rows only.

    Which rows is said in one way at most; nothing but `between` stands for all that changed.

    Attributes:
        target: The table.
        source: Where the changes were made; with `between snapshot a and b` the version b of it.
        base: What both come from, the version a with `between`; None to look it up.
        where: SQL text of the condition of the rows, or None.
        keys: SQL texts of the rows' key values, in the order of the primary key, all of one
            length; or empty.
        query: SQL text of a query that gives the rows' keys, or None.
        mode: What becomes of rows that both changed; None if nothing is said.
        dry_run: True to tell what would be done, and do nothing.
    """

    changes = True

    target: Target
    source: TableAt
    base: TableAt | None = None
    where: str | None = None
    keys: tuple[tuple[str, ...], ...] = ()
    query: str | None = None
    mode: ConflictMode | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimize(Statement):
    """`optimize t [cluster by (...)]`: the same rows in fewer files.

    Attributes:
        target: The table.
        cluster_by: Columns to sort rows by; empty for those that the table has.
    """

    changes = True
    writes_rows = True

    target: Target
    cluster_by: tuple[str, ...] = ()
