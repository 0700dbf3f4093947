"""Landing: put a changed tree on a branch, the one step that makes work visible."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from dbt.adapters.vcs.core.branches import Branch, Names
from dbt.adapters.vcs.core.errors import ConflictError, listed
from dbt.adapters.vcs.core.graph import CommitGraph
from dbt.adapters.vcs.core.ids import Clock, CommitId, Micros, TreeId
from dbt.adapters.vcs.core.model import Absent, Commit, Run
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.refs import Ref
from dbt.adapters.vcs.core.tree_changes import (
    Sides,
    TreeChanges,
    TreeMerge,
    edit_tree,
    merge_trees,
)
from dbt.adapters.vcs.core.turns import Turns

_SHOWN = 20


class Landed(NamedTuple):
    """The result of a landing.

    Attributes:
        commit: The branch's head now.
        moved: False if there was nothing to change, so that no commit was made.
        before: The head that it followed.
        how: `fast_forward` if the head was the commit that the work started from, `merge` if
            others had landed since, `up_to_date` if there was nothing to do.
    """

    commit: CommitId
    moved: bool
    before: CommitId
    how: Literal["up_to_date", "fast_forward", "merge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A tree made from the tree of `base`, to land on a branch as one commit.

    Attributes:
        parents: Further parents, after the head.
        state: The branch's new state; None keeps the present one.
        allow_empty: Make a commit even if the tree is the head's, as git's option does.
        promotes: True if a protected branch may take it, since its requirements were checked.
        after: The branch's move that it was checked against and that must still be the last; None
            to merge with what others have landed.
        read: Ids of the commits and versions that it was made from. If a purge has replaced one
            of them, its rows may be in new files, so it doesn't land.
    """

    branch: str
    base: CommitId
    tree: TreeId
    author: str
    message: str
    run: Run | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    parents: tuple[CommitId, ...] = ()
    action: str = "commit"
    state: Mapping[str, str] | None = None
    allow_empty: bool = False
    promotes: bool = False
    after: Ref | None = None
    read: Collection[str] = ()


class BranchMovedError(ConflictError):
    """A branch was moved, or its state changed, after a proposal was checked against it."""


class TreeConflictError(ConflictError):
    """Both sides changed the same relation differently.

    Attributes:
        head: The branch's head that the work could not be merged with.
        merge: The conflicts, and the changes that would merge cleanly.
    """

    def __init__(self, message: str, *, head: CommitId, merge: TreeMerge) -> None:
        super().__init__(message)
        self.head = head
        self.merge = merge


class Lander:
    """Lands proposals, planning again after every lost race."""

    def __init__(self, objects: ObjectStore, heads: Names, clock: Clock, turns: Turns) -> None:
        self._objects = objects
        self._turns = turns
        self._graph = CommitGraph(objects)
        self._heads = heads
        self._clock = clock

    def land(self, proposal: Proposal) -> Landed:
        """Put a proposal on its branch; `Repository.land` has the contract."""
        # What is missing is found here, and not when a branch names it.
        base = self._objects.commit(proposal.base)
        self._objects.tree(proposal.tree)
        for parent in proposal.parents:
            self._objects.commit(parent)
        with self._turns.on(proposal.branch) as turn:
            for _ in turn.attempts(f"land on the branch {proposal.branch!r}"):
                landed = self._landed(proposal, base.tree)
                if landed is not None:
                    return landed
        raise AssertionError("attempts raises when it ends")

    def _landed(self, proposal: Proposal, base: TreeId) -> Landed | None:
        """Put a proposal on its branch as it is now; None if another writer was first."""
        head, ref = self._heads.get(proposal.branch)
        branch = Branch(proposal.branch, head, ref)
        if proposal.after not in (None, ref):
            raise BranchMovedError(
                f"The branch {branch.name!r} moved after this work was checked against it. "
                "Nothing was changed. Check it again."
            )
        tree = self._merged_tree(proposal, base, branch)
        parents = self._new_parents(proposal, branch)
        changes = tree != self._objects.commit(head).tree or parents
        # A parent that is new counts as a change: it says that a merge needn't be done again.
        if not (changes or proposal.allow_empty):
            kept = self._keep(proposal, branch)
            return Landed(head, False, head, "up_to_date") if kept else None
        branch.check_open(promotes=proposal.promotes)
        commit = self._commit(proposal, tree, (head, *parents))
        if self._move(proposal, branch, commit, proposal.action):
            simple = head == proposal.base
            return Landed(commit, True, head, "fast_forward" if simple else "merge")
        return None

    def _merged_tree(self, proposal: Proposal, base: TreeId, branch: Branch) -> TreeId:
        # As in git's merge, ours is the branch's side, and theirs the work that comes to it.
        ours = self._objects.commit(branch.head).tree
        # Nobody else changed anything, or they made the same change.
        if ours in (base, proposal.tree):
            return proposal.tree
        if proposal.tree == base:
            return ours
        read = self._objects.tree
        merge = merge_trees(read(base), read(ours), read(proposal.tree), self._objects.schema_tree)
        if merge.conflicts or merge.schema_conflicts:
            raise TreeConflictError(
                _conflict_message(branch.name, merge), head=branch.head, merge=merge
            )
        changes = TreeChanges(relations=merge.relations, schemas=merge.schemas)
        return edit_tree(self._objects, ours, changes)

    def _new_parents(self, proposal: Proposal, branch: Branch) -> tuple[CommitId, ...]:
        """Return the further parents that are not yet ancestors of the head."""
        wanted = dict.fromkeys(proposal.parents)
        return tuple(
            parent for parent in wanted if not self._graph.is_ancestor(parent, branch.head)
        )

    def _commit(self, proposal: Proposal, tree: TreeId, parents: tuple[CommitId, ...]) -> CommitId:
        # Later than every parent, so that logs can be sorted by time alone.
        commit = Commit(
            tree=tree,
            parents=parents,
            author=proposal.author,
            committed_at=Micros(max(self._clock(), self._graph.latest(parents) + 1)),
            message=proposal.message,
            run=proposal.run,
            metadata=dict(proposal.metadata),
        )
        id = CommitId(self._objects.put(commit))
        # Decision 36: looked at once more before the ref moves.
        self._objects.note_read(id, proposal.read)
        return id

    def _keep(self, proposal: Proposal, branch: Branch) -> bool:
        """Leave the branch at its head; its state may still change."""
        if proposal.state is None or dict(proposal.state) == branch.ref.move.state:
            return True
        return self._move(proposal, branch, branch.head, "state")

    def _move(self, proposal: Proposal, branch: Branch, commit: CommitId, action: str) -> bool:
        state = branch.ref.move.state if proposal.state is None else proposal.state
        note = proposal.message.partition("\n")[0]
        moved = self._heads.follow(
            branch.ref,
            branch.name,
            commit,
            author=proposal.author,
            action=action,
            note=note,
            state=state,
        )
        return moved is not None


def _conflict_message(branch: str, merge: TreeMerge) -> str:
    found = [f"{name} ({_sides_text(triple)})" for name, triple in merge.conflicts.items()]
    found += [
        f"schema {name} ({_sides_text(triple)})" for name, triple in merge.schema_conflicts.items()
    ]
    return (
        f"The branch {branch!r} moved since this work began, and both sides changed: "
        f"{listed(found, _SHOWN)}. Nothing was changed on {branch!r}. Build these again from its "
        "new head, or merge it first and choose a side."
    )


def _sides_text(triple: Sides[Any]) -> str:
    words = []
    for side, value in (("there", triple.ours), ("here", triple.theirs)):
        if value is Absent:
            words.append(f"dropped {side}")
        else:
            words.append(f"{'created' if triple.base is Absent else 'changed'} {side}")
    return ", ".join(words)
