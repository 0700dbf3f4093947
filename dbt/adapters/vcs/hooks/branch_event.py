"""Events of branches: what hooks are told, as names, versions and counts.

No value of a row is in them, nor any message or SQL, which may repeat values: they go to places
that a purge doesn't reach.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from shlex import quote
from typing import Any, Final, TypeAlias
from uuid import uuid4

from dbt.adapters.vcs.changes.diffs.summaries import summarize
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import (
    PREFIX,
    OpenMerge,
    open_merge_of,
    tables_of,
)
from dbt.adapters.vcs.core.ids import CommitId, Micros, datetime_of
from dbt.adapters.vcs.core.model import Absent, Entry, NodeRun, Run
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.run_branch import FAILED, RunBranch

MOST: Final = 1_000
"""Relations, nodes or conflicts that an event lists; it says how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchEvent:
    """Something that happened to a branch.

    Attributes:
        type: `publish`, `merge`, `conflict` or `fail`.
        at: When its hooks are called.
        data: What is told of it, ready for JSON.
        step: The command that shows what it is about.
        id: Its identity, the same however often it is sent.
    """

    type: str
    branch: str
    at: Micros
    data: Mapping[str, Any]
    step: str
    id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def payload(self) -> bytes:
        """The event as JSON, in ASCII."""
        told = {
            "id": self.id,
            "type": self.type,
            "timestamp": datetime_of(self.at).isoformat(),
            "data": self.data,
        }
        return json.dumps(told).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchMove:
    """Changes that landed on a branch.

    Attributes:
        before: The head that the move followed.
        after: The head that it made.
        source: The revision whose changes landed.
        action: `publish`, `merge`, `promote`, `cherry-pick`, `revert` or `restore`.
    """

    repository: Repository
    branch: str
    before: CommitId
    after: CommitId
    source: str
    action: str

    @property
    def type(self) -> str:
        """The type of its event."""
        return "publish" if self.action == "publish" else "merge"

    def event(self) -> BranchEvent:
        """Return what is told of it.

        Raises:
            DamagedError: What the commits show can't be read.
        """
        repository = self.repository
        commit = repository.objects.commit(self.after)
        changes = repository.diff(self.before, self.after).relations
        shown = changes[:MOST]
        relations = [
            {
                "name": str(change.name),
                "kind": told.kind,
                "how": told.how,
                "before": _version(change.old),
                "after": _version(change.new),
                "rows_added": told.rows_added,
                "rows_removed": told.rows_removed,
                "rows_modified": told.rows_modified,
                "is_exact": told.is_exact,
            }
            for change, told in zip(shown, summarize(repository, (), shown), strict=True)
        ]
        return BranchEvent(
            type=self.type,
            branch=self.branch,
            at=repository.clock(),
            data={
                **_about(repository, self.branch, commit.author),
                "action": self.action,
                "source": self.source,
                "before": self.before,
                "after": self.after,
                "relation_count": len(changes),
                "relations": relations,
                "run": _run(commit.run) if commit.run and self.type == "publish" else None,
            },
            step=f"dbt-vcs show {self.after[:12]}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeStop:
    """A merge into a branch that stopped.

    Attributes:
        source: The revision to merge.
        action: `publish`, `merge`, `promote` or `cherry-pick`, which was tried.
        author: Who tried.
        type: The type of its event.
    """

    repository: Repository
    branch: str
    source: str
    action: str
    author: str
    type: str = "conflict"

    def event(self) -> BranchEvent:
        """Return what is told of it.

        Raises:
            DamagedError: The conflicts can't be read.
        """
        repository, branch = self.repository, self.branch
        merge = waiting_merge(repository, branch, self.source)
        conflicts = [] if merge is None else _conflicts(repository, merge)
        return BranchEvent(
            type=self.type,
            branch=branch,
            at=repository.clock(),
            data={
                **_about(repository, branch, self.author),
                "action": self.action,
                "source": self.source,
                "head": _head(repository, branch),
                "waiting": merge is not None,
                "conflict_count": sum(item["conflicts"] for item in conflicts),
                "relations": conflicts[:MOST],
            },
            step="dbt-vcs status" if merge is None else f"dbt-vcs conflicts {quote(branch)}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailure:
    """A run that failed, and of which nothing is published.

    Attributes:
        nodes: The nodes that ended.
        reason: `failed`: a node, a test or a hook of dbt did; `stopped`: an error stopped dbt;
            `not_published`: all went well, and the result could not be published.
        author: Who ran it.
        has_changes: Whether the run's branch keeps results.
        type: The type of its event.
    """

    repository: Repository
    run: RunBranch
    nodes: tuple[NodeRun, ...]
    reason: str
    author: str
    has_changes: bool
    type: str = "fail"

    @property
    def branch(self) -> str:
        """The run's target."""
        return self.run.target

    def event(self) -> BranchEvent:
        """Return what is told of it."""
        repository, run = self.repository, self.run
        record = Run(invocation=run.invocation, command=run.command, nodes=self.nodes)
        return BranchEvent(
            type=self.type,
            branch=run.target,
            at=repository.clock(),
            data={
                **_about(repository, run.target, self.author),
                "source": run.name,
                "head": _head(repository, run.target),
                "reason": self.reason,
                "run": _run(record),
            },
            step=f"dbt-vcs show {quote(run.name)}" if self.has_changes else "dbt-vcs runs list",
        )


Occurrence: TypeAlias = BranchMove | MergeStop | RunFailure
"""What hooks are called for."""


def waiting_merge(repository: Repository, branch: str, source: str) -> OpenMerge | None:
    """Return the merge of a source that waits for its conflicts to be resolved, or None."""
    found = repository.find_branch(PREFIX + branch)
    merge = open_merge_of(found) if found is not None else None
    return merge if merge is not None and merge.source == source else None


def _about(repository: Repository, branch: str, author: str) -> dict[str, Any]:
    return {
        "repository": {"id": repository.id, "location": repository.uri},
        "branch": branch,
        "author": author,
    }


def _head(repository: Repository, branch: str) -> CommitId | None:
    found = repository.find_branch(branch)
    return None if found is None else found.head


def _version(entry: Entry | AbsentType) -> str | None:
    return None if entry is Absent else entry.version


def _run(run: Run) -> dict[str, Any]:
    failed = [node.id for node in run.nodes if node.status in FAILED]
    return {
        "invocation": run.invocation,
        "command": run.command,
        "git_sha": run.git_sha,
        "nodes": dict(sorted(Counter(node.status for node in run.nodes).items())),
        "failed_count": len(failed),
        "failed": failed[:MOST],
    }


def _conflicts(repository: Repository, merge: OpenMerge) -> list[dict[str, Any]]:
    counts = dict.fromkeys(merge.whole, 1)
    counts |= {name: len(table.rows) for name, table in tables_of(repository, merge).items()}
    return [
        # An empty identifier stands for a schema's comment and properties.
        {"name": str(name) if name.identifier else name.schema, "conflicts": count}
        for name, count in sorted(counts.items())
    ]


def reason_of(error: BaseException) -> str:
    """Return what went wrong without the error's text, which may repeat an address."""
    inner = getattr(error, "reason", None)
    if isinstance(inner, BaseException):
        return reason_of(inner)
    return getattr(error, "strerror", None) or type(error).__name__
