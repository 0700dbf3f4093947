"""Publishing: when a run is published by itself, and how."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.vcs.changes.merges.conflicts.policy import OnStale, Policy
from dbt.adapters.vcs.changes.merges.export_rules import ExportRule
from dbt.adapters.vcs.project.building.reuse_modes import ReuseModes
from dbt.adapters.vcs.workspace.lines.upkeep import Upkeep


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """What the profile and the project say about publishing runs.

    Attributes:
        mode: One of `credentials.PUBLISH_MODES`.
        policy: Decides where others changed the same rows meanwhile.
        on_stale: What becomes of a run whose target moved away from what it read.
        export: How other engines read the target from files; None if they don't.
    """

    mode: str
    policy: Policy
    on_stale: OnStale = OnStale.HEAL
    export: ExportRule | None = None

    def is_due(self, *, is_testing: bool) -> bool:
        """Return whether a run that succeeded is published, given whether its command tests."""
        if self.mode == "after_tests":
            return is_testing
        return self.mode in ("on_success", "always")

    @property
    def takes_part(self) -> bool:
        """True if what succeeded is published although something failed."""
        return self.mode == "always"

    def waiting(self, run: str, target: str) -> tuple[str, str]:
        """Return why a run that succeeded is not published yet, and the next command."""
        step = "dbt test" if self.mode == "after_tests" else f"dbt-vcs merge {run} {target}"
        return f"publish: {self.mode}", step


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMeans:
    """What a run works with.

    Attributes:
        publishing: Decides when the target branch moves.
        upkeep: Maintains the tables that each node wrote.
        modes: Decides which results a node may take.
        time_zone: The time zone of times without one.
    """

    publishing: Publishing
    upkeep: Upkeep
    modes: ReuseModes
    time_zone: str
