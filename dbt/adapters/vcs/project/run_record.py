"""The record of a run: what became of its nodes and hooks, and what to do if some failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec

from dbt.adapters.vcs.core.errors import listed
from dbt.adapters.vcs.core.ids import node_name
from dbt.adapters.vcs.core.model import NodeRun, Run
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.project.invocation import Invocation
from dbt.adapters.vcs.project.manifest import Project
from dbt.adapters.vcs.workspace.lines.lines import RunLine
from dbt.adapters.vcs.workspace.run_branch import FAILED, PREFIX, SKIPPED, steps_of

_SHOWN: Final = 5


class RunRecord:
    """What became of the nodes and hooks of one invocation.

    Attributes:
        ended: The nodes that have ended, by id.
        announced: Ids of the nodes that a part of a shared run said it would build.
        hooks: The status of each project hook that has ended, by name.
    """

    def __init__(
        self, repository: Repository, line: RunLine, invocation: Invocation, project: Project
    ) -> None:
        self.ended: dict[str, NodeRun] = {}
        self.announced: tuple[str, ...] = ()
        self.hooks: dict[str, str] = {}
        self._repository = repository
        self._line = line
        self._invocation = invocation
        self._project = project

    @property
    def nodes(self) -> list[NodeRun]:
        """The nodes that have ended, each once."""
        return list(self.ended.values())

    @property
    def is_part(self) -> bool:
        """True if the command has joined a shared run, which is its target."""
        return self._line.run.target.startswith(PREFIX)

    @property
    def failed(self) -> list[str]:
        """The nodes and hooks that have failed."""
        names = [node.id for node in self.nodes if node.status in FAILED]
        return names + [f"the hook {name}" for name, told in self.hooks.items() if told in FAILED]

    def all_nodes(self) -> list[NodeRun]:
        """Return each node that ended in this run, or in the one that it resumed."""
        # With `--fail-fast`, nodes that were announced may not be reached.
        nodes = {id: NodeRun(id=id, status=SKIPPED) for id in self.announced}
        nodes |= {node.id: node for node in steps_of(self._repository, self._line.run)}
        if self.is_part:
            # A hook that fails makes dbt report a failure, and a shared run must know it.
            nodes |= {name: NodeRun(id=name, status=told) for name, told in self.hooks.items()}
        return list((nodes | self.ended).values())

    def unrecorded(self) -> list[NodeRun]:
        """Return the nodes that succeeded and changed nothing, so that no commit names them."""
        # Commits of the run branch have the record of the nodes that changed something.
        recorded = {step.id for step in steps_of(self._repository, self._line.run)}
        return [
            msgspec.structs.replace(node, file_checksum=self._project.digest(node.id))
            for node in self.nodes
            if node.status == "success" and node.id not in recorded
        ]

    def of(self, nodes: Iterable[NodeRun], **facts: Any) -> Run:
        """Return the record of some nodes for a commit, with more facts about the run."""
        invocation = self._invocation
        return Run(
            invocation=invocation.id,
            command=invocation.command,
            target=invocation.target,
            dbt_version=invocation.dbt_version,
            git_sha=self._git_sha,
            started_at=self._line.run.started_at,
            nodes=tuple(sorted(nodes, key=lambda node: node.id)),
            **facts,
        )

    @cached_property
    def _git_sha(self) -> str | None:
        return self._invocation.git_sha()

    def published(self, seconds: float) -> Run:
        """Return the record of the whole run, including the nodes of the run that it resumed."""
        # Checksums are for `dbt retry`, and what is published isn't retried.
        nodes = [msgspec.structs.replace(node, file_checksum=None) for node in self.all_nodes()]
        # Decision 6: the run's last commit is named and is no parent, so that its steps can go.
        return self.of(nodes, seconds=round(seconds, 3), head=self._line.run.head)

    def what_failed(self) -> str:
        """Return a clause with what failed: the first node or hook, and how many more."""
        if self._invocation.is_operation:
            return "the operation failed"
        names = self.failed
        if not names:
            return "dbt reported a failure"
        return f"{names[0]} failed" + (f", and {len(names) - 1} more" if names[1:] else "")

    def next_step(self) -> str:
        """Return the sentence with the next step after a failed run.

        `dbt retry` runs only the nodes that failed or were skipped. It doesn't help after a failed
        hook, or if nodes that were already built must be built again.
        """
        invocation = self._invocation
        if invocation.is_operation:
            return "Fix the cause and run the operation again."
        if invocation.is_freshness:
            # dbt keeps no record of it to retry from.
            return f"Fix the cause and run: dbt {invocation.command}"
        outdated = self._project.outdated(steps_of(self._repository, self._line.run))
        if outdated:
            warning = outdated_warning(outdated)
            return f"{warning} Running the same command again builds everything."
        failed = [node.id for node in self.nodes if node.status in FAILED]
        if not failed:
            return "Fix the cause and run the same command again."
        step = "Fix the cause and run: dbt retry"
        tested = self._project.read_by(id for id in failed if id.startswith("test."))
        if not tested:
            return step
        return (
            f"{step}. It doesn't rebuild nodes that succeeded: after a change to "
            f"{_names(tested)}, run: {_build(tested)}"
        )


def outdated_warning(outdated: Sequence[str]) -> str:
    """Return a warning about nodes that changed after the retried run built them."""
    have, them = ("has", "it") if len(outdated) == 1 else ("have", "them")
    return (
        f"{_names(outdated)} {have} changed since the run built {them}, and dbt retry doesn't "
        f"build {them} again. Run: {_build(outdated)}"
    )


def _names(ids: Sequence[str]) -> str:
    return listed(map(node_name, ids), _SHOWN)


def _build(ids: Sequence[str]) -> str:
    return f"dbt build --select {' '.join(f'{node_name(id)}+' for id in ids)}"
