"""Open merges: merges that wait on their own branch for their conflicts to be resolved.

Many verbs ask whether a merge waits, so what reads its rows is loaded when rows are looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Mode
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import ConflictError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Field, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.turns import attempts

if TYPE_CHECKING:
    import pyarrow as pa

    from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import ConflictTable

PREFIX: Final = "merges/"
"""The conflicts of a merge into `main` are on the branch `merges/main`."""

Kind: TypeAlias = Literal["rows", "schema", "relation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMerge:
    """A merge that waits for its conflicts to be resolved.

    Attributes:
        source: The revision to merge, as it was given.
        theirs: The commit that it named.
        base: What that commit's change is relative to, if that alone is picked; None to merge all
            that it has.
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
    base: CommitId | None = None
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
            "base": self.base or "",
            "target": self.target,
            "mode": str(self.mode or ""),
            **self.terms.state,
            # The log of a branch has texts only.
            "whole": json.dumps({str(name): text for name, text in self.whole.items()}),
            "choices": json.dumps({str(name): item.value for name, item in self.choices.items()}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The conditions for landing work, and how it is recorded.

    They travel with the work. An open merge keeps them, so whoever continues it is held to the
    same conditions as the one who began it.

    Attributes:
        message: Message of the commit; None to describe what was merged.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """One relation that a merge could not decide.

    Attributes:
        name: The relation; an empty identifier means a schema's comment and properties.
        kind: `rows`: some of its rows; `schema`: its columns; `relation`: the relation as a
            whole, such as changed on one side and dropped on the other.
        message: What each side did, as a clause.
        rows: The rows in conflict: `base_*`, `our_*`, `their_*`, `our_diff_type`,
            `their_diff_type`; None unless `kind` is `rows`.
        more: How many rows in conflict are not among `rows`, of which there are too many.
        columns: Types of the columns of `rows`.
        key: Columns of the relation's primary key, in its order; empty without one.
        required: Its NOT NULL columns.
    """

    name: RelationName
    kind: Kind
    message: str
    rows: pa.Table | None = None
    more: int = 0
    columns: tuple[Field, ...] = ()
    key: tuple[str, ...] = ()
    required: frozenset[str] = frozenset()

    def __str__(self) -> str:
        if self.rows is None:
            return f"{self.subject}: {self.message}"
        return f"{self.subject}: {self.count} {self.message}"

    @property
    def subject(self) -> str:
        """The relation's name; or `schema s`, for a schema's comment and properties."""
        return shown_name(self.name)

    @property
    def count(self) -> int:
        """Number of conflicts."""
        return 1 if self.rows is None else int(self.rows.num_rows) + self.more


def open_merge_of(branch: Branch) -> OpenMerge | None:
    """Return the merge whose conflicts a branch holds; None for any other branch."""
    state = branch.state
    if not is_open_merge(state):
        return None
    return OpenMerge(
        source=state["merge"],
        theirs=CommitId(state["theirs"]),
        target=state["target"],
        # An earlier version of dbt-vcs had merges only.
        base=CommitId(state.get("base", "")) or None,
        mode=Mode(state["mode"]) if state["mode"] else None,
        terms=Terms.of(state),
        whole={RelationName.of(key): text for key, text in json.loads(state["whole"]).items()},
        choices={
            RelationName.of(key): Choice(text)
            for key, text in json.loads(state["choices"]).items()
        },
        head=branch.head,
    )


def is_open_merge(state: Mapping[str, str]) -> bool:
    """Return whether the state of a branch is that of an open merge."""
    return "merge" in state


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


def check_seen(merge: OpenMerge, seen: CommitId | None, done: str) -> None:
    """Raise unless a merge's branch is where its caller saw it; `seen` is None for anywhere.

    Raises:
        ConflictError: It moved, and nothing was `done`, as the message says.
    """
    if seen not in (None, merge.head):
        raise moved_meanwhile(merge.target, done)


def moved_meanwhile(target: str, done: str) -> ConflictError:
    """Return the error for a caller who saw another state of the merge into a branch."""
    return ConflictError(
        f"Conflicts of the merge into {target!r} were decided by somebody else meanwhile. Nothing "
        f"was {done}; look at them first: dbt-vcs conflicts {quote(target)}"
    )


def close_merge(
    repository: Repository, merge: OpenMerge, *, author: str, seen: CommitId | None = None
) -> bool:
    """Delete the branch that keeps a merge; return False if it is gone, or keeps another merge.

    One step compares and deletes, so that a merge that somebody begins meanwhile stays.

    Raises:
        ConflictError: The branch is not at `seen`, where the caller saw it.
    """
    current = repository.maintenance.current
    for _ in attempts(f"close the merge into {merge.target!r}"):
        branch = repository.find_branch(merge.branch)
        found = open_merge_of(branch) if branch is not None else None
        if branch is None or found is None:
            return False
        # A decision that came meanwhile makes it no other merge, nor does a purge.
        if found.theirs != current(merge.theirs) or (found.base is None) != (merge.base is None):
            return False
        check_seen(found, seen, "aborted")
        if repository.delete_unmoved(branch, author=author):
            return True
    raise AssertionError("attempts raises when it ends")


def begun_meanwhile(merge: OpenMerge, done: str) -> ConflictError:
    """Return the error for a caller who saw another merge than the one that waits."""
    return ConflictError(
        f"Another merge into {merge.target!r} was begun meanwhile, of {merge.source!r}. Nothing "
        f"was {done}; look at its conflicts: dbt-vcs conflicts {quote(merge.target)}"
    )


def open_merges(repository: Repository) -> list[OpenMerge]:
    """Return all open merges, by target."""
    branches = repository.branches(names=repository.branch_names(PREFIX))
    return [found for b in branches if (found := open_merge_of(b)) is not None]


def tables_of(repository: Repository, merge: OpenMerge) -> dict[RelationName, ConflictTable]:
    """Return the rows in conflict of each relation, by name."""
    from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import ConflictTable

    tree = repository.tree(merge.head)
    found: dict[RelationName, ConflictTable] = {}
    for schema in tree.schemas():
        for identifier, entry in tree.relations(schema).items():
            if isinstance(entry, TableEntry):
                name = RelationName(schema, identifier)
                snapshot = repository.objects.snapshot(entry.snapshot)
                found[name] = ConflictTable.read(repository, name, snapshot)
    return found


def shown_name(name: RelationName) -> str:
    """Return a relation's name, or `schema s` for a schema's own properties."""
    return str(name) if name.identifier else f"schema {name.schema}"
