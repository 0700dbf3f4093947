"""Commits, what they show, and the moves of the names that lead to them.

A commit shows a tree: schema -> relation -> table, view or function, in two levels that versions
share. `model.snapshot` has the versions of tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Annotated, ClassVar, Final, Literal, NamedTuple, TypeAlias

import msgspec

from dbt.adapters.vcs.core.ids import CommitId, FunctionId, Micros, SnapshotId, TreeId, ViewId

# Python's `datetime` holds no other years.
EARLIEST: Final = -62_135_596_800_000_000
LATEST: Final = 253_402_300_799_999_999

Moment = Annotated[Micros, msgspec.Meta(ge=EARLIEST, le=LATEST)]
"""A stored instant: one in the years 1 to 9999, as any other is damage."""


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A frozen value with a canonical encoding.

    Fields at their default are left out of the encoding, so a field that a later version adds
    changes the id of no value that does not use it.
    """


# An enum, not an object: mypy narrows unions by `is` for a member of an enum.
class _Absent(Enum):
    ABSENT = "absent"

    def __repr__(self) -> str:
        return "Absent"


Absent: Final = _Absent.ABSENT
"""Stands for "nothing is there" where a value or its absence is meant."""

AbsentType: TypeAlias = _Absent


class RelationName(NamedTuple):
    """`schema.identifier`, both lower case as Spark's catalog keeps them."""

    schema: str
    identifier: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.identifier}"

    @classmethod
    def of(cls, text: str) -> RelationName:
        """Return the name that a text is; the opposite of `str`."""
        # Neither part holds a dot (`tree_changes.check_name`).
        schema, _, identifier = text.partition(".")
        return cls(schema, identifier)


class Input(Value, frozen=True, kw_only=True):
    """One relation that was read to make a snapshot.

    Exactly one of `snapshot`, `view`, `function` and `external` is set: the version of a table, of
    a view, of a function, or the location of files that are not versioned. It is `pinned` if the
    statement or a view names the version, which stays the same whatever a branch shows.
    """

    relation: str
    snapshot: str | None = None
    view: str | None = None
    external: str | None = None
    function: str | None = None
    pinned: bool = False

    @property
    def version(self) -> str:
        """The one that is set; empty if none is."""
        return self.snapshot or self.view or self.function or self.external or ""


class TableEntry(Value, frozen=True, kw_only=True, tag_field="kind", tag="table"):
    """A relation that is a table, at one snapshot."""

    noun: ClassVar[Literal["table"]] = "table"

    snapshot: SnapshotId

    @property
    def version(self) -> str:
        """Id of the snapshot."""
        return self.snapshot


class ViewEntry(Value, frozen=True, kw_only=True, tag_field="kind", tag="view"):
    """A relation that is a view, at one version."""

    # Decision 3: an object by itself, so that trees stay small and a rebuild with the same text
    # changes nothing.
    noun: ClassVar[Literal["view"]] = "view"

    view: ViewId

    @property
    def version(self) -> str:
        """Id of the view."""
        return self.view


class FunctionEntry(Value, frozen=True, kw_only=True, tag_field="kind", tag="function"):
    """A function, at one version; it shares the names of a schema with tables and views."""

    # Decision 15: no namespace of their own, since dbt caches relations by name alone.
    noun: ClassVar[Literal["function"]] = "function"

    function: FunctionId

    @property
    def version(self) -> str:
        """Id of the function."""
        return self.function


Readable: TypeAlias = TableEntry | ViewEntry
"""What has rows."""

Entry: TypeAlias = Readable | FunctionEntry


class TreePiece(Value, frozen=True, kw_only=True):
    """A part of a schema whose relations don't lie in one object.

    Attributes:
        first: Identifier of its first relation.
        id: Its tree, a level below.
    """

    first: str
    id: TreeId
    relations: int


class SchemaTree(Value, frozen=True, kw_only=True):
    """The relations of one schema by identifier, or the pieces that have them, in order.

    `core.store.relations` reads and makes them.

    Attributes:
        relations: By identifier at level 0; pieces of the level below at the others.
        level: How many levels of pieces are below.
    """

    # One key for both: a reader from before pieces finds a list where it expects an object and
    # stops, where it would take an unknown key for an empty schema.
    # msgspec copies an empty container, so no two values share a default.
    relations: dict[str, Entry] | tuple[TreePiece, ...] = {}
    level: int = 0


class SchemaRef(Value, frozen=True, kw_only=True):
    """One schema of a tree: its relations, comment and properties."""

    id: TreeId
    comment: str | None = None
    properties: dict[str, str] = {}


class Tree(Value, frozen=True, kw_only=True):
    """The schemas of one commit, by name."""

    schemas: dict[str, SchemaRef] = {}


class ViewColumn(Value, frozen=True, kw_only=True):
    """One column of a view: its name and type when the view was made, and its comment."""

    name: str
    type: str
    comment: str | None = None


class View(Value, frozen=True, kw_only=True):
    """One version of a view.

    Attributes:
        text: The query, every relation in it with its schema.
        columns: What it showed when it was made, and goes on showing.
        aliased: True if `columns` rename the query's columns by position; else they are the
            query's own, by name.
        reads: `schema.relation` of every relation that the query names, sorted.
        calls: `schema.function` of every function of the branch that it calls, sorted.
        comment: Free text, or None.
    """

    text: str
    columns: tuple[ViewColumn, ...]
    aliased: bool = False
    reads: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    comment: str | None = None
    properties: dict[str, str] = {}


Shape: TypeAlias = Literal["scalar", "table", "aggregate"]
"""What a function gives: a value a row, rows, or a value a group."""

Language: TypeAlias = Literal["sql", "python"]
"""What a function is written in."""


class Parameter(Value, frozen=True, kw_only=True):
    """One parameter: its name, type, default as SQL text, and comment."""

    name: str
    type: str
    default: str | None = None
    comment: str | None = None


class Function(Value, frozen=True, kw_only=True):
    """One version of a function.

    Attributes:
        text: In SQL an expression or a query, every relation and every function of the branch in
            it with its schema; in Python the source of a module.
        language: What `text` is.
        shape: What it gives.
        parameters: In order.
        returns: Type of the value, or None where the text says it, and for rows.
        columns: Name, type and comment of the columns of its rows; empty where the text says it.
        deterministic: Whether equal arguments give equal values; None where nobody said.
        handler: What in a Python module is called: a function, or for groups a class.
        packages: What a Python module needs, as requirements with or without a version.
        runtime: The version of Python that it was written for, or None.
        reads: `schema.relation` of every relation that SQL text names, sorted.
        calls: `schema.function` of every function of the branch that SQL text calls, sorted.
        comment: Free text, or None.
    """

    text: str
    language: Language = "sql"
    shape: Shape = "scalar"
    parameters: tuple[Parameter, ...] = ()
    returns: str | None = None
    columns: tuple[ViewColumn, ...] = ()
    deterministic: bool | None = None
    handler: str | None = None
    packages: tuple[str, ...] = ()
    runtime: str | None = None
    reads: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    comment: str | None = None


class NodeRun(Value, frozen=True, kw_only=True):
    """How one node of a dbt run ended.

    Attributes:
        id: dbt's unique id.
        status: dbt's word: `success`, `pass`, `warn`, `error`, `fail`, `skipped`, ...
        seconds: Wall time.
        rows: Rows of the relation that it built, or None.
        relation: `schema.identifier` of what it built, or None.
        inputs: The versions that a test saw, by relation name; none for other nodes, whose
            snapshots tell.
        file_checksum: dbt's checksum of the file that says what it is, on a run's own branch: a
            retry knows by it what changed since; None where it is published.
        reused: The branch that all of its results were computed for, or `this run`; None if it
            computed any.
        saved: Seconds that those results took when they were computed.
        refused: Why a result of it could not be looked up; None if all could.
    """

    id: str
    status: str
    seconds: float = 0.0
    rows: int | None = None
    relation: str | None = None
    inputs: tuple[Input, ...] = ()
    file_checksum: str | None = None
    reused: str | None = None
    saved: float = 0.0
    refused: str | None = None


class Run(Value, frozen=True, kw_only=True):
    """The dbt invocation that a commit publishes.

    Attributes:
        invocation: dbt's invocation id.
        command: dbt's sub-command: `run`, `build`, `seed`, ...
        target: Name of the profile target.
        dbt_version: Version of dbt-core.
        git_sha: Commit of the dbt project's own git repository, or None; it ends in `-dirty` if
            files of the project differed from it.
        started_at: When the run began.
        seconds: Wall time until it was published.
        head: The run branch's last commit, which holds the single steps until retention ends.
        nodes: How each node ended.
    """

    invocation: str
    command: str
    target: str = ""
    dbt_version: str = ""
    git_sha: str | None = None
    started_at: Moment = Micros(0)
    seconds: float = 0.0
    # Decision 6: named, but no parent: what a branch reaches is kept for ever.
    head: CommitId | None = None
    # Decision 6: published runs are one commit, so what each node did is told here.
    nodes: tuple[NodeRun, ...] = ()


class Commit(Value, frozen=True, kw_only=True):
    """One version of the whole repository's tables, as one branch shows it.

    Attributes:
        parents: The commits that it follows: none for the first, two (ours, theirs) for a merge.
        message: Free text; the first line is the summary.
        run: The dbt run that it publishes, or None.
        metadata: Further facts by name.
    """

    tree: TreeId
    parents: tuple[CommitId, ...]
    author: str
    committed_at: Moment
    message: str
    run: Run | None = None
    metadata: dict[str, str] = {}

    @property
    def summary(self) -> str:
        """First line of the message."""
        return self.message.partition("\n")[0]


def reused_nodes(nodes: Iterable[NodeRun]) -> tuple[int, int, float]:
    """Return of how many nodes nothing was computed, of how many, and the seconds it saved.

    What dbt does nothing for, such as saved queries and exposures, is not counted.
    """
    counted = [node for node in nodes if node.status != "no-op"]
    saved = [node.saved for node in counted if node.reused is not None]
    return len(saved), len(counted), round(sum(saved), 3)


class RefMove(Value, frozen=True, kw_only=True):
    """One move of a ref.

    Attributes:
        name: The ref's name, unquoted.
        commit: Where it points now; None after it was deleted.
        action: What moved it: `create`, `commit`, `publish`, `merge`, `delete`, `state`, ...
        note: Free text.
        state: Facts about the branch that moves carry along, such as a run's status and lease.
        host: Machine of the process that wrote it; empty in logs of earlier versions, as `version`
            is.
        pid: Number of that process; 0 in logs of earlier versions.
        version: Version of dbt-vcs.
        plans: Plans of other writers and of this one that the move settles, by name: the commit of
            each one that it lands, an empty text for one that is withdrawn (`core.groups`).
        previous: SHA-256 of the file of the move before; empty for the first move.
        digest: SHA-256 of this move's own bytes without this key; empty in logs of earlier
            versions.
    """

    name: str
    commit: CommitId | None
    at: Moment
    by: str
    action: str
    note: str = ""
    state: dict[str, str] = {}
    host: str = ""
    pid: int = 0
    version: str = ""
    plans: dict[str, str] = {}
    # A search would stop before a lost move, and the next writer fill the gap: the chain shows it.
    previous: str = ""
    digest: str = ""


class Forwarding(Value, frozen=True, kw_only=True):
    """What took the place of each object and each move that a purge replaced, by the old id.

    Attributes:
        trees: Of trees, of both levels.
        snapshots: Of versions of tables.
        moves: Of files of moves whose free text was redacted; their ids are the files' SHA-256.
    """

    commits: dict[str, str] = {}
    trees: dict[str, str] = {}
    snapshots: dict[str, str] = {}
    segments: dict[str, str] = {}
    moves: dict[str, str] = {}
