"""Decisions about conflicts: kept on the branch of a merge, recorded there, and taken back.

Each decision is one commit, whose parent shows what was before. So to take a decision back is to
move the branch to that commit, and to the state that it had there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import Final, NamedTuple

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice, choose
from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import ConflictTable
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import (
    PREFIX,
    Clash,
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
from dbt.adapters.vcs.core.ids import CommitId, TreeId
from dbt.adapters.vcs.core.model import RelationName, TableEntry, Tree
from dbt.adapters.vcs.core.repository import BranchMovedError, Proposal, Repository
from dbt.adapters.vcs.core.retention import hold_commit
from dbt.adapters.vcs.core.tree_changes import SchemaInfo, TreeChanges
from dbt.adapters.vcs.core.turns import attempts
from dbt.adapters.vcs.table.python_values import python_rows

# Rows that an error shows.
_SHOWN: Final = 100
# Characters of a row that an error shows: a value may have megabytes.
_LONGEST: Final = 500


def keep(
    repository: Repository,
    merge: OpenMerge,
    clashes: Iterable[Clash],
    *,
    author: str,
    decided: bool = False,
) -> OpenMerge:
    """Store the conflicts of a merge, replacing those of an earlier merge into the same branch.

    Choices made before for the same conflicts of the same commit are kept. `merge.head` is the
    target's head; the returned merge points to the new branch.

    Args:
        repository: The repository.
        merge: The merge.
        clashes: Its conflicts.
        author: The author to record.
        decided: True if choices were made before and these are the conflicts left over; the
            decided conflicts are then kept as well.

    Raises:
        ConflictError: There are more conflicts than can be decided one by one.
    """
    clashes = tuple(clashes)
    for item in clashes:
        _refuse_many(item)
    whole = {item.name: item.message for item in clashes if item.rows is None}
    tables = {
        item.name: ConflictTable.of(
            item.name, item.rows, item.columns, key=item.key, required=item.required
        )
        for item in clashes
        if item.rows is not None
    }
    choices: Mapping[RelationName, Choice] = {}
    branch = repository.find_branch(merge.branch)
    earlier = open_merge_of(branch) if branch else None
    # Choices made when merging another commit were about other rows.
    if earlier is not None and (earlier.theirs, earlier.base) == (merge.theirs, merge.base):
        choices = _still_chosen(earlier, whole, decided=decided)
        whole = {**{name: earlier.whole[name] for name in choices}, **whole}
        tables = _carried(tables, tables_of(repository, earlier), decided=decided)
    merge = replace(merge, whole=whole, choices=choices)
    if branch is not None:
        repository.delete_branch(merge.branch, author=author, note="begun again")
    # The tree holds only conflict tables: the branch shows what there is to decide.
    changes = TreeChanges(
        schemas={name.schema: SchemaInfo() for name in tables},
        relations={
            name: TableEntry(snapshot=table.put(repository)) for name, table in tables.items()
        },
    )
    tree = repository.edit(TreeId(repository.objects.put(Tree())), changes)
    # Built from an existing branch's name, which may predate the rules for names. It holds a merge
    # once it shows the conflicts, not before: this process may die in between.
    branch = repository.create_branch(
        merge.branch, merge.head, author=author, note=f"merge {merge.source}", check=False
    )
    landed = repository.land(
        Proposal(
            branch=merge.branch,
            base=branch.head,
            tree=tree,
            author=author,
            message=f"Conflicts of merging {merge.source} into {merge.target}",
            state=merge.state,
            # Relations that conflict as a whole have no conflict table.
            allow_empty=True,
            # If a purge has replaced this commit meanwhile, its rows are in new files, and nothing
            # lands.
            read=(merge.theirs, *((merge.base,) if merge.base else ())),
        )
    )
    return replace(merge, head=landed.commit)


def _refuse_many(clash: Clash) -> None:
    if clash.rows is None or not clash.more:
        return
    shown = "; ".join(str(row)[:_LONGEST] for row in python_rows(clash.rows.slice(0, _SHOWN)))
    raise ConflictError(
        f"{clash}, too many to be decided one by one, such as: {shown}. Nothing was changed. "
        "Merge with a mode for all of them: --on-conflict skip, accept or cell."
    )


def _still_chosen(
    earlier: OpenMerge, whole: Mapping[RelationName, str], *, decided: bool
) -> dict[RelationName, Choice]:
    """Return the choices for relations as a whole that an earlier merge hands on."""
    return {
        name: choice
        for name, choice in earlier.choices.items()
        # It is the same conflict if both sides did the same as then.
        if (decided and name not in whole) or earlier.whole[name] == whole.get(name)
    }


def _carried(
    new: Mapping[RelationName, ConflictTable],
    old: Mapping[RelationName, ConflictTable],
    *,
    decided: bool,
) -> dict[RelationName, ConflictTable]:
    """Return conflict tables with earlier choices for the same conflicts carried over."""
    found = dict(new)
    for name, before in old.items():
        chosen = before.having_choice()
        after = new.get(name)
        if after is None:
            if decided and len(chosen.rows):
                found[name] = chosen
        # Under other columns or another key, the choices were about other rows.
        elif after.fields == before.fields and after.key == before.key:
            found[name] = after.carrying(chosen, others=decided)
    return found


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
            "decided before the merge was last continued. To see what is decided: dbt-vcs "
            f"conflicts {quote(target)}"
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
