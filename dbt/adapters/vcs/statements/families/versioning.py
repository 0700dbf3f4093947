"""Statements about the versions of tables: snapshots, diff, merge and pick."""

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
        table: The table and the version to name; None for the branch's own.
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
class SnapshotDiff(Statement):
    """`snapshot diff a{...} and b{...} ...`: the changes from one version to another.

    Attributes:
        before: The first version.
        after: The second version.
        columns: The columns to compare; empty for all.
        where: SQL text of a condition on the rows of the shape, or None.
        shape: How rows represent changes.
        output: The rows, or what to report about them instead.
        limit: The maximum number of rows; None for all.
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
    """`snapshot merge table t from s ...`: merges the changes of another table.

    Attributes:
        target: The table.
        source: Where the changes come from.
        base: The common ancestor; None to look it up.
        mode: How to treat rows that both changed; None if not given.
        dry_run: True to report what would be done, and do nothing.
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

    The rows are selected in at most one way; `between` without a selection means all changed
    rows.

    Attributes:
        target: The table.
        source: Where the changes come from; with `between snapshot a and b` the version b of
            it.
        base: The common ancestor, or the version a with `between`; None to look it up.
        where: SQL text of a condition on the rows, or None.
        keys: SQL texts of key values, in the order of the primary key, all of the same length;
            or empty.
        query: SQL text of a query for the rows' keys, or None.
        mode: How to treat rows that both changed; None if not given.
        dry_run: True to report what would be done, and do nothing.
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
class RestoreTable(Statement):
    """`restore table t from snapshot s{...}`, or `restore table t to version as of ...`.

    Attributes:
        target: The table.
        source: The version to restore, which is always given. With `to`, it is a version of
            the table itself.
    """

    changes = True

    target: Target
    source: TableAt


@dataclass(frozen=True, slots=True, kw_only=True)
class UndropTable(Statement):
    """`undrop table t`."""

    changes = True

    target: Target
