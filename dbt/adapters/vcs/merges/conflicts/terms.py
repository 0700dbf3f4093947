"""Terms: what must hold where work lands on a branch, and how it is recorded there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dbt.adapters.vcs.core.repository import Branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What must hold where work lands, and how it is recorded.

    They travel with the work. A merge that waits for its conflicts keeps them, so that whoever
    goes on with it is held to what was asked of the one who began.

    Attributes:
        message: Message of the commit; None for one that says what was merged.
        metadata: Further facts for the commit.
        promotes: True if a protected branch may take it.
        require: What is asked for beside; `tests` that passed on the very versions.
        ff_only: True to refuse if the target has commits that the source lacks.
    """

    message: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    promotes: bool = False
    require: tuple[str, ...] = ()
    ff_only: bool = False

    def on(self, branch: Branch) -> Terms:
        """Return the terms with what the branch asks for by now; nothing asked before is lost."""
        asked = branch.protection.require if branch.protection is not None else ()
        return replace(self, require=tuple(dict.fromkeys((*self.require, *asked))))

    @property
    def is_checked(self) -> bool:
        """Whether a plan is checked against the branch, and has to land on it as it was then."""
        return self.promotes or self.ff_only or bool(self.require)

    @property
    def state(self) -> dict[str, str]:
        """The terms as facts of a branch."""
        return {
            "promotes": "yes" if self.promotes else "no",
            "message": self.message or "",
            "metadata": json.dumps(dict(self.metadata)),
            "require": " ".join(self.require),
            "ff_only": "yes" if self.ff_only else "no",
        }

    @classmethod
    def of(cls, state: Mapping[str, str]) -> Terms:
        """Return the terms that a branch keeps; the last three may be missing there."""
        return cls(
            message=state["message"] or None,
            metadata=json.loads(state.get("metadata", "{}")),
            promotes=state["promotes"] == "yes",
            require=tuple(state.get("require", "").split()),
            ff_only=state.get("ff_only") == "yes",
        )
