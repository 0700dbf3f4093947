"""Decisions about conflicts: recorded on the branch of a merge, and taken back.

Each decision is one commit, whose parent shows what was before. So to take a decision back is to
move the branch to that commit, and to the state that it had there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import NamedTuple

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice, choose
from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import ConflictTable
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import (
    PREFIX,
    OpenMerge,
    find_open_merge,
    is_open_merge,
    open_merge_of,
    shown_name,
    tables_of,
)
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import BranchMovedError, Proposal, Repository
from dbt.adapters.vcs.core.retention import hold_commit
from dbt.adapters.vcs.core.tree_changes import TreeChanges
from dbt.adapters.vcs.core.turns import attempts


class Resolved(NamedTuple):
    """What became of a choice.

    Attributes:
        merge: The merge, with the choice.
        decided: For how many conflicts the choice was made.
        why: Why some of the conflicts are left open, said of one of them; empty if none are.
    """

    merge: OpenMerge
    decided: int
    why: str = ""


def resolve(
    repository: Repository,
    target: str,
    name: RelationName | None,
    chosen: RowChoice,
    *,
    author: str,
) -> Resolved:
    """Record a choice for conflicts of the merge into a branch, as one commit of its branch.

    Without a key and rows, the choice is for the open conflicts. With a key, it is for all rows in
    which any side has these values, including rows resolved before.

    Args:
        repository: The repository.
        target: The branch that is merged into.
        name: The relation; None for all.
        chosen: The choice, and what it is for.
        author: The author to record.

    Raises:
        NotFoundError: No merge waits, the relation has no conflict, or there is no row with that
            key.
        ConflictError: A row isn't any more what the caller saw, or another merge waits by now.
        InputError: A column doesn't exist, a value doesn't fit its type, or the relation
            conflicts as a whole.
        RetryError: Others were first every time; nothing was changed.
    """
    first: CommitId | None = None
    for _ in attempts(f"resolve conflicts of the merge into {target!r}"):
        branch, merge = _waiting(repository, target)
        theirs = merge.theirs if first is None else repository.maintenance.current(first)
        # Begun again with another commit, the merge has conflicts that nobody has looked at.
        if theirs != merge.theirs:
            raise ConflictError(
                f"Another merge into {target!r} was begun meanwhile, of {merge.source!r}. Nothing "
                f"was changed; look at its conflicts: dbt-vcs conflicts {quote(target)}"
            )
        first = theirs
        work = _Resolution.of(repository, merge, name, chosen)
        if not work.count:
            return Resolved(merge, 0)
        landed = work.land(repository, branch, author)
        if landed is not None:
            return landed
    raise AssertionError("attempts raises when it ends")


def _waiting(repository: Repository, target: str) -> tuple[Branch, OpenMerge]:
    """Return the branch of the merge into a branch, and the merge."""
    branch = repository.find_branch(PREFIX + target)
    merge = open_merge_of(branch) if branch is not None else None
    if branch is None or merge is None:
        # Raises, and names the next step.
        merge = find_open_merge(repository, target)
        branch = repository.branch(merge.branch)
    return branch, merge


@dataclass(frozen=True, slots=True)
class _Resolution:
    """The tables and choices of a merge that a choice changes."""

    merge: OpenMerge
    tables: Mapping[RelationName, ConflictTable]
    whole: Mapping[RelationName, Choice]
    count: int
    why: str
    message: str

    @classmethod
    def of(
        cls,
        repository: Repository,
        merge: OpenMerge,
        name: RelationName | None,
        chosen: RowChoice,
    ) -> _Resolution:
        tables = tables_of(repository, merge)
        # A relation may conflict as a whole, in its columns, and in its rows as well.
        known = dict.fromkeys([*merge.whole, *tables])
        if name is not None and name not in known:
            shown = ", ".join(sorted(map(shown_name, known))) or "none"
            raise NotFoundError(f"{shown_name(name)} has no conflicts; expected one of: {shown}.")
        new: dict[RelationName, ConflictTable] = {}
        whole: dict[RelationName, Choice] = {}
        count, why = 0, ""
        for item in known if name is None else [name]:
            is_named = name is not None
            if _is_for_whole(merge, item, chosen, is_named=is_named, has_rows=item in tables):
                choice = _whole_choice(merge, item, chosen, is_named=is_named)
                if choice is None:
                    why = why or _whole_text(merge, item)
                    continue
                whole[item] = choice
                count += 1
            if item in tables:
                done = choose(tables[item], chosen)
                count += done.decided
                why = why or done.why
                if done.decided:
                    new[item] = done.table
        shown = f"{count} of {shown_name(name)}" if name is not None else str(count)
        return cls(merge, new, whole, count, why, f"Resolve {shown} with {chosen}")

    def land(self, repository: Repository, branch: Branch, author: str) -> Resolved | None:
        """Return what landed; None if somebody else was first."""
        merge = replace(self.merge, choices={**self.merge.choices, **self.whole})
        changes = TreeChanges(
            relations={
                name: TableEntry(snapshot=table.put(repository))
                for name, table in self.tables.items()
            }
        )
        proposal = Proposal(
            branch=branch.name,
            base=branch.head,
            tree=repository.edit(repository.tree(branch.head).id, changes),
            author=author,
            message=self.message,
            state={**branch.state, **merge.state},
            # A choice for a relation as a whole is in the state alone. It has a commit, too, which
            # `undo` goes back from.
            allow_empty=True,
            # Two people may decide at once: whoever comes second decides on what is left.
            after=branch.ref,
        )
        try:
            landed = repository.land(proposal)
        except (BranchMovedError, NotFoundError):
            return None
        return Resolved(replace(merge, head=landed.commit), self.count, self.why)


def _is_for_whole(
    merge: OpenMerge, name: RelationName, chosen: RowChoice, *, is_named: bool, has_rows: bool
) -> bool:
    """Return whether a choice is for a relation as a whole, perhaps besides its rows."""
    if name not in merge.whole:
        return False
    if name not in merge.choices:
        return True
    # A relation with only this choice was named to choose again.
    is_again = chosen.again or (is_named and not has_rows)
    return is_again and not (chosen.key or chosen.rows)


def _whole_choice(
    merge: OpenMerge, name: RelationName, chosen: RowChoice, *, is_named: bool
) -> Choice | None:
    """Return the choice for a relation as a whole; None if all were meant, and it is for rows."""
    choice = chosen.choice
    if isinstance(choice, Choice) and not (chosen.is_by_column or chosen.key or chosen.rows):
        return choice
    if is_named:
        raise InputError(_whole_text(merge, name))
    return None


def _whole_text(merge: OpenMerge, name: RelationName) -> str:
    return (
        f"{shown_name(name)} conflicts as a whole ({merge.whole[name]}); give no key, column or "
        "value, but ours, theirs, base or delete."
    )


class LastDecision(NamedTuple):
    """The decision that `undo` would take back.

    Attributes:
        what: What it was, the message of its commit.
        author: Who made it.
        head: Its commit, the head of the merge's branch.
        before: The commit to go back to.
        state: The state of the merge's branch at that time.
    """

    what: str
    author: str
    head: CommitId
    before: CommitId
    state: Mapping[str, str]


def last_decision(repository: Repository, merge: OpenMerge) -> LastDecision | None:
    """Return the last decision of a merge; None if there is none that can be taken back."""
    last = repository.objects.commit(merge.head)
    before = last.parents[0] if last.parents else None
    state = None if before is None else _state_at(repository, merge.branch, before)
    if before is None or state is None:
        return None
    what = last.message.partition("\n")[0]
    return LastDecision(what, last.author, merge.head, before, state)


class Undone(NamedTuple):
    """A decision that was taken back.

    Attributes:
        merge: The merge without it.
        what: What it was, the message of its commit.
        author: Who had made it.
    """

    merge: OpenMerge
    what: str
    author: str


def undo(
    repository: Repository, target: str, *, author: str, seen: CommitId | None = None
) -> Undone:
    """Take back the last decision about conflicts; the next call takes back the one before.

    This goes back to where the merge began, or was last continued in vain. The branch moves back
    to the commit before the decision, so a decision taken back is as one never made.

    Args:
        repository: The repository.
        target: The branch that is merged into.
        author: The author to record.
        seen: The head of the merge's branch that the caller saw; None for its present one.

    Raises:
        NotFoundError: No merge waits, or what was before the decision has been collected.
        InputError: There is no decision to take back.
        ConflictError: Somebody else decided meanwhile; nothing was changed.
    """
    branch, merge = _waiting(repository, target)
    moved = ConflictError(
        f"Conflicts of the merge into {target!r} were decided by somebody else meanwhile. Nothing "
        f"was undone; look at them first: dbt-vcs conflicts {quote(target)}"
    )
    if seen not in (None, branch.head):
        raise moved
    last = last_decision(repository, merge)
    if last is None:
        raise InputError(
            f"Nothing is decided yet of the merge of {merge.source!r} into {target!r}, or it was "
            "decided before the merge was last continued. To decide again: dbt-vcs resolve "
            f"RELATION {quote(target)} --again --with ours"
        )
    # The branch no longer shows it, so a collection may be about to take it.
    hold_commit(repository, last.before, author=author)
    now = repository.move_branch(
        branch, last.before, author=author, action="undo", note=last.what, state=last.state
    )
    if now is None:
        raise moved
    found = open_merge_of(now)
    assert found is not None
    return Undone(found, last.what, last.author)


def _state_at(repository: Repository, branch: str, commit: CommitId) -> Mapping[str, str] | None:
    """Return the last state that a merge's branch had at a commit; None if it held no merge."""
    for ref in repository.refs.moves("heads", branch):
        if ref.move.commit == commit:
            return ref.move.state if is_open_merge(ref.move.state) else None
        # Below are the moves of an earlier merge.
        if ref.move.action == "create":
            return None
    return None
