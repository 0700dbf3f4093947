"""Open merges: merges that wait on their own branch for their conflicts to be resolved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Final

from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository

PREFIX: Final = "merges/"
"""The conflicts of a merge into `main` are on the branch `merges/main`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMerge:
    """A merge that waits for its conflicts to be resolved.

    Attributes:
        source: The revision to merge, as it was given.
        theirs: The commit that it named.
        target: The branch to merge into.
        mode: The conflict mode that was asked for, or None.
        terms: The conditions for landing, and how it is recorded.
        whole: For each relation that conflicts as a whole, what each side did.
        choices: The choices for such relations.
        head: The branch's head, which shows the conflict tables.
    """

    source: str
    theirs: CommitId
    target: str
    mode: Mode | None
    terms: Terms
    whole: Mapping[RelationName, str] = field(default_factory=dict)
    choices: Mapping[RelationName, Choice] = field(default_factory=dict)
    head: CommitId

    @property
    def branch(self) -> str:
        """The branch that keeps it."""
        return PREFIX + self.target

    @property
    def state(self) -> dict[str, str]:
        """What the branch's reference log stores of this merge."""
        return {
            # This key marks the branch as one of an open merge.
            "merge": self.source,
            "theirs": self.theirs,
            "target": self.target,
            "mode": str(self.mode or ""),
            **self.terms.state,
            # The log of a branch has texts only.
            "whole": json.dumps({str(name): text for name, text in self.whole.items()}),
            "choices": json.dumps({str(name): item.value for name, item in self.choices.items()}),
        }


def open_merge_of(branch: Branch) -> OpenMerge | None:
    """Return the merge whose conflicts a branch holds; None for any other branch."""
    state = branch.state
    if "merge" not in state:
        return None
    return OpenMerge(
        source=state["merge"],
        theirs=CommitId(state["theirs"]),
        target=state["target"],
        mode=Mode(state["mode"]) if state["mode"] else None,
        terms=Terms.of(state),
        whole={_name(key): text for key, text in json.loads(state["whole"]).items()},
        choices={_name(key): Choice(text) for key, text in json.loads(state["choices"]).items()},
        head=branch.head,
    )


def find_open_merge(repository: Repository, target: str) -> OpenMerge:
    """Return the open merge into a branch.

    Raises:
        NotFoundError: There is none.
    """
    branch = repository.find_branch(PREFIX + target)
    found = open_merge_of(branch) if branch else None
    if found is None:
        raise NotFoundError(
            f"No merge into {target!r} is waiting for conflicts to be resolved. "
            f"Begin one: dbt-vcs merge SOURCE {quote(target)}"
        )
    return found


def open_merges(repository: Repository) -> list[OpenMerge]:
    """Return all open merges, by target."""
    return [found for b in repository.branches() if (found := open_merge_of(b)) is not None]


def _name(text: str) -> RelationName:
    schema, _, identifier = text.partition(".")
    return RelationName(schema, identifier)


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
