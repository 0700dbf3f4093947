"""A review: everything that a reviewer needs to know of a branch, as one value.

Versions never move, so a review stays true. Pages, comments and JSON are made from it and compute
nothing. All texts in it are raw: whoever renders one escapes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from dbt.adapters.vcs.changes.diffs.row_facts import RowFacts
from dbt.adapters.vcs.changes.merges.approvals import Approval
from dbt.adapters.vcs.changes.merges.contracts import ContractOutcome
from dbt.adapters.vcs.commands.diff_report import ColumnDiff
from dbt.adapters.vcs.core.ids import CommitId

FORMAT: Final = 1
"""The version of a review's JSON form; it grows when a field changes its meaning."""

RelationKind: TypeAlias = Literal["table", "view", "function", "seed"]
RelationChange: TypeAlias = Literal["added", "removed", "modified", "renamed"]

Cause: TypeAlias = Literal["sql", "inputs", "data", "schema", "unknown"]
"""Why a relation differs, from the records of what both versions were made from.

| cause     | meaning                                                                        |
|-----------|--------------------------------------------------------------------------------|
| `sql`     | the compiled SQL of its model changed, or the text of the view or function     |
| `inputs`  | the same SQL read other versions                                               |
| `data`    | rows were written by hand, by a seed, or by the same SQL from the same inputs  |
| `schema`  | only columns or settings changed, and no row                                   |
| `unknown` | a version is damaged, or its records are gone                                  |
"""

NodeState: TypeAlias = Literal["changed", "affected", "reused"]
"""What became of a relation: it changed by itself; what it was made from changed; or it is the
same on both sides, and something that changed reads it."""

TestState: TypeAlias = Literal["passed", "failed", "not_run"]
"""`not_run`: it has not run on exactly the versions that would be merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedSide:
    """One side of a review.

    Attributes:
        revision: As it was given.
        git_sha: Commit of the dbt project's git repository that the side was built from, if a run
            says so; it ends in `-dirty` if files differed from it.
        summary: First line of the commit's message.
    """

    revision: str
    commit: CommitId
    git_sha: str | None = None
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForetoldConflict:
    """A conflict that a merge would run into.

    Attributes:
        relation: `schema.identifier`, or a schema's name.
        kind: `rows`, `schema` for columns or definitions, or `relation`.
        rows: How many rows conflict; None if it isn't about rows, or they were not counted.
        text: The conflict, one line.
    """

    relation: str
    kind: str
    rows: int | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestOutcome:
    """One test, as far as it saw what would be merged.

    Attributes:
        name: dbt's unique id.
        state: What came of it on exactly these versions.
        relations: `schema.identifier` of the changed relations that it is about.
    """

    # pytest would collect a class of this name.
    __test__ = False

    name: str
    state: TestState
    relations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingRun:
    """A run of dbt that has not landed on the reviewed branch, or that is the branch.

    Attributes:
        invocation: dbt's invocation id.
        status: `open`, `failed`, `interrupted`, `passed` (it waits to be published), `abandoned`.
        target: The branch that it publishes to.
        note: Why it was not published.
    """

    invocation: str
    status: str
    target: str
    note: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewVerdict:
    """Whether the branch can be merged.

    Attributes:
        can_merge: True if a merge would land as things are now.
        how: `fast_forward`, `merge`, `conflict`, `up_to_date`; `unknown` if no merge could be
            planned, as where the base is no branch.
        reasons: Why it can't be merged, a sentence each; none if it can.
        warnings: What a reviewer should know besides, a sentence each.
        tests: Tests that read a relation that changed, failed ones first.
        untested: Changed relations, `schema.identifier`, that no test has seen in these versions.
        contracts: Change contracts of the project, broken ones first.
        approvals: Approvals of these versions.
        requires: What the base branch requires: `tests`, `fresh`, `approval`.
        runs: Runs that failed or wait, and stand in the way.
        stale: Tables, `schema.identifier`, that the merge makes stale on the base.
        stale_unknown: How many tables this is not known of.
    """

    can_merge: bool
    how: str
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    conflicts: tuple[ForetoldConflict, ...] = ()
    tests: tuple[TestOutcome, ...] = ()
    untested: tuple[str, ...] = ()
    contracts: tuple[ContractOutcome, ...] = ()
    approvals: tuple[Approval, ...] = ()
    requires: tuple[str, ...] = ()
    runs: tuple[BlockingRun, ...] = ()
    stale: tuple[str, ...] = ()
    stale_unknown: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationReview:
    """A relation that differs.

    Attributes:
        name: `schema.identifier`, after the change if it was renamed.
        kind: What it is; a `seed` is a table that dbt seeded.
        change: How it differs. A relation that was dropped and made again under its name is
            `modified`.
        old_name: Its name before, if it was renamed; else None.
        cause: Why.
        node: dbt's unique id of the node that made it; None if none did.
        rows_before: Rows before; None for views and functions, and where there was none.
        rows_after: Rows after; likewise.
        added: Rows added.
        removed: Rows removed.
        modified: Rows modified; 0 without a primary key.
        is_exact: False if the rows were too many, or of types that only Spark compares: then the
            numbers are upper bounds from the manifests, and `facts` are empty.
        share: Changed rows as a share of the larger version's rows, 0 to 1; None if it has none.
        schema: How its columns differ, an attribute of a column each.
        settings: Other properties of the table that differ: `primary_key`, `comment`, ...
        facts: What is known of its rows.
        text_diff: Unified diff of a view's or function's text; of a model, of its SQL as the
            records of both versions hold it. Empty if it is the same, or not recorded.
        text_note: Why there is no `text_diff` although the SQL changed; empty otherwise.
        command: The command that shows all of its rows that changed; for a relation without rows
            the one that shows its version.
        note: Why something could not be computed, a sentence; empty if all was.
        hidden: Columns that the project keeps out of reviews.
        masked: Columns whose values it keeps out.
    """

    name: str
    kind: RelationKind
    change: RelationChange
    old_name: str | None = None
    cause: Cause = "unknown"
    node: str | None = None
    rows_before: int | None = None
    rows_after: int | None = None
    added: int = 0
    removed: int = 0
    modified: int = 0
    is_exact: bool = True
    share: float | None = None
    schema: tuple[ColumnDiff, ...] = ()
    settings: tuple[str, ...] = ()
    facts: RowFacts = field(default_factory=RowFacts)
    text_diff: str = ""
    text_note: str = ""
    command: str = ""
    note: str = ""
    hidden: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A relation in the graph.

    Attributes:
        name: `schema.identifier`.
        kind: `table`, `view`, `function` or `seed`; `external` for files that have no versions.
        state: What became of it.
    """

    name: str
    kind: str
    state: NodeState


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """One relation reads another."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedLineage:
    """The graph of what changed, what was affected, and what these read.

    Attributes:
        nodes: By name.
        edges: By source, then target; both are among the nodes.
        paths: For each affected relation, the shortest way to it from one that changed by itself:
            names of relations, the affected one last.
    """

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """How to see the same again; each command works as it is typed.

    Attributes:
        diff: Compares the two commits.
        merge: Merges the head into the base; empty if the base is no branch.
        revert: Undoes that merge afterwards; empty if the base is no branch.
    """

    diff: str
    merge: str = ""
    revert: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A review of the changes from one commit to another.

    Attributes:
        format: Version of this form.
        base: The side that the changes would go to.
        before: The commit that the head was compared with: where it left the base (`A...B`), or
            the base itself (`A..B`).
        merge_base: Where both sides part; None without a common history.
        created_at: When it was made, in ISO 8601.
        verdict: Whether the head can be merged.
        relations: The relations that differ: first by change of rows, then by name. Those that
            were written again with equal rows are left out.
        rewritten: How many were left out for that.
        schemas: Schemas that were added, removed or changed, as `added shop`.
        lineage: The graph.
        reproduce: How to see the same again.
    """

    format: int = FORMAT
    repository: str
    base: ReviewedSide
    head: ReviewedSide
    before: CommitId
    merge_base: CommitId | None
    created_at: str
    verdict: ReviewVerdict
    relations: tuple[RelationReview, ...] = ()
    rewritten: int = 0
    schemas: tuple[str, ...] = ()
    lineage: ReviewedLineage = field(default_factory=ReviewedLineage)
    reproduce: Reproduction
