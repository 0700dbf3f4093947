"""A commit: one version of every relation, its parents, and the run that made it."""

from __future__ import annotations

from collections.abc import Iterable

from dbt.adapters.vcs.core.ids import CommitId, Micros, TreeId
from dbt.adapters.vcs.core.model.snapshot import Input
from dbt.adapters.vcs.core.model.value import Moment, Value


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
    head: CommitId | None = None
    nodes: tuple[NodeRun, ...] = ()


class Commit(Value, frozen=True, kw_only=True):
    """One version of the whole repository's tables, as one branch shows it.

    Attributes:
        tree: What it shows.
        parents: The commits that it follows: none for the first, two (ours, theirs) for a merge.
        author: Who made it.
        committed_at: When.
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
