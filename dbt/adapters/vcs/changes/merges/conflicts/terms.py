"""Terms: the conditions for landing work on a branch, and how it is recorded there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dbt.adapters.vcs.core.branches import Branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The conditions for landing work, and how it is recorded.

    They travel with the work. An open merge keeps them, so whoever continues it is held to the
    same conditions as the one who began it.

    Attributes:
        message: Message of the commit; None to describe what was merged.
        metadata: Extra metadata for the commit.
        promotes: True if a protected branch may take it.
        require: Further requirements; `tests`: all tests passed on exactly these versions;
            `fresh`: no table becomes stale.
        ff_only: True to refuse if the target has commits that the source lacks.
    """

    message: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    promotes: bool = False
    require: tuple[str, ...] = ()
    ff_only: bool = False

    def on(self, branch: Branch) -> Terms:
        """Return the terms with the branch's present requirements added."""
        asked = branch.protection.require if branch.protection is not None else ()
        return replace(self, require=tuple(dict.fromkeys((*self.require, *asked))))

    @property
    def is_checked(self) -> bool:
        """Whether a plan is checked against the branch and must land on that same state of it."""
        return self.promotes or self.ff_only or bool(self.require)

    @property
    def state(self) -> dict[str, str]:
        """The terms as stored in a branch's state."""
        return {
            "promotes": "yes" if self.promotes else "no",
            "message": self.message or "",
            "metadata": json.dumps(dict(self.metadata)),
            "require": " ".join(self.require),
            "ff_only": "yes" if self.ff_only else "no",
        }

    @classmethod
    def of(cls, state: Mapping[str, str]) -> Terms:
        """Read the terms from a branch's state, where the last three may be missing."""
        return cls(
            message=state["message"] or None,
            metadata=json.loads(state.get("metadata", "{}")),
            promotes=state["promotes"] == "yes",
            require=tuple(state.get("require", "").split()),
            ff_only=state.get("ff_only") == "yes",
        )
