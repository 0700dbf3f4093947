"""`dbt-vcs resolve`: decide conflicts of a merge, and take decisions back.

Each decision is one commit on the merge's branch, whose parent shows what was before. So to take a
decision back is to move the branch to that commit, and to the state that it had there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Annotated, Any, Final, NamedTuple

import click
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice, choose
from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import ConflictTable
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import (
    PREFIX,
    OpenMerge,
    begun_meanwhile,
    check_seen,
    find_open_merge,
    is_open_merge,
    moved_meanwhile,
    open_merge_of,
    shown_name,
    tables_of,
)
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Order, cell_of
from dbt.adapters.vcs.commands.conflicts import conflicts_left, left_line, relation_of
from dbt.adapters.vcs.commands.layout import Block, counted, line
from dbt.adapters.vcs.commands.options import Pair
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, check_only, verb
from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import BranchMovedError, Proposal, Repository
from dbt.adapters.vcs.core.retention import hold_commit
from dbt.adapters.vcs.core.tree_changes import TreeChanges
from dbt.adapters.vcs.core.turns import attempts

_ORDERS: Final = tuple(item.value for item in Order)
_WORDS: Final = (*(item.value for item in Choice if item is not Choice.CUSTOM), *_ORDERS)
"""What --with takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A choice that was recorded.

    Attributes:
        relation: The relation; `all` for all of them.
        choice: `ours`, `theirs`, `base`, `delete`, `larger`, `smaller`, or `custom` for values
            and cells.
        count: Number of conflicts that it was made for.
        left: Number of conflicts of the merge that are still unresolved.
        why: Why some of the conflicts it was for are left open; empty if none are.
    """

    relation: str
    choice: str
    what: str
    count: int
    left: int
    why: str = ""


def resolve(
    repository: Repository,
    target: str,
    relation: str | None,
    chosen: RowChoice,
    *,
    author: str,
    seen: CommitId | None = None,
) -> Resolution:
    """Resolve conflicts of a relation, only those of a key, or all, as one commit.

    Without a key and rows, the choice is for the open conflicts. With a key, it is for all rows in
    which any side has these values, including rows resolved before.

    Args:
        target: The branch that is merged into.
        relation: The relation; None for all.
        chosen: The choice, and which conflicts it is for.
        seen: The head of the merge's branch that the caller saw; None for its present one.

    Raises:
        NotFoundError: No such merge is waiting, or there is no such conflict.
        ConflictError: A row or the merge isn't any more what the caller saw, or another merge
            waits by now.
        InputError: Nothing is chosen or left to decide, a column doesn't exist, a value doesn't
            fit its type, or the relation conflicts as a whole.
        RetryError: Others were first every time; nothing was changed.
    """
    chosen.check()
    if relation is None and (chosen.key or chosen.rows):
        raise InputError("A key needs its relation; give both.")
    name = None if relation is None else relation_of(relation)
    made, merge = _decide(repository, target, name, chosen, author, seen)
    if not made.count and made.why:
        raise InputError(made.why)
    if name is not None and not made.count:
        raise InputError(
            f"Every conflict of {shown_name(name)} is already resolved. To change the choice for "
            "a row, use --key column=value; for all of them, use --again."
        )
    return Resolution(
        relation=relation or "all",
        choice=str(Choice.CUSTOM if chosen.is_by_column else chosen.choice),
        what=str(chosen),
        count=made.count,
        left=conflicts_left(repository, merge),
        why=made.why,
    )


def _decide(
    repository: Repository,
    target: str,
    name: RelationName | None,
    chosen: RowChoice,
    author: str,
    seen: CommitId | None,
) -> tuple[_Decision, OpenMerge]:
    """Record a decision if it decides anything; return it, and the merge with it."""
    first: CommitId | None = None
    for _ in attempts(f"resolve conflicts of the merge into {target!r}"):
        branch, merge = _waiting(repository, target)
        check_seen(merge, seen, "decided")
        theirs = merge.theirs if first is None else repository.maintenance.current(first)
        # Begun again with another commit, the merge has conflicts that nobody has looked at.
        if theirs != merge.theirs:
            raise begun_meanwhile(merge, "changed")
        first = theirs
        made = _Decision.of(repository, merge, name, chosen)
        if not made.count:
            return made, merge
        landed = made.land(repository, branch, author)
        if landed is not None:
            return made, landed
    raise AssertionError("attempts raises when it ends")


def _waiting(repository: Repository, target: str) -> tuple[Branch, OpenMerge]:
    branch = repository.find_branch(PREFIX + target)
    merge = open_merge_of(branch) if branch is not None else None
    if branch is None or merge is None:
        # Raises, and names the next step.
        merge = find_open_merge(repository, target)
        branch = repository.branch(merge.branch)
    return branch, merge


@dataclass(frozen=True, slots=True)
class _Decision:
    """The tables and choices of a merge that a choice changes.

    Attributes:
        merge: The merge before it.
        count: Number of conflicts that it was made for.
        why: Why some of them are left open; empty if none are.
        message: Message of its commit.
    """

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
    ) -> _Decision:
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

    def land(self, repository: Repository, branch: Branch, author: str) -> OpenMerge | None:
        """Return the merge with the decision; None if somebody else was first."""
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
            # `undo_decision` goes back from.
            allow_empty=True,
            # Two people may decide at once: whoever comes second decides on what is left.
            after=branch.ref,
        )
        try:
            landed = repository.land(proposal)
        except (BranchMovedError, NotFoundError):
            return None
        return replace(merge, head=landed.commit)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneDecision:
    """A decision that was taken back.

    Attributes:
        left: Number of conflicts of the merge that are unresolved now.
    """

    what: str
    author: str
    left: int


def undo_decision(
    repository: Repository, target: str, *, author: str, seen: CommitId | None = None
) -> UndoneDecision:
    """Take back the last decision about conflicts; the next call takes back the one before.

    This goes back to where the merge began, or was last continued in vain. The branch moves back
    to the commit before the decision, so a decision taken back is as one never made.

    Args:
        target: The branch that is merged into.
        seen: The head of the merge's branch that the caller saw; None for its present one.

    Raises:
        NotFoundError: No such merge is waiting, or what was before the decision is collected.
        InputError: There is no decision to take back.
        ConflictError: Somebody else decided meanwhile; nothing was changed.
    """
    branch, merge = _waiting(repository, target)
    check_seen(merge, seen, "undone")
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
    found = open_merge_of(now) if now is not None else None
    if found is None:
        raise moved_meanwhile(target, "undone")
    return UndoneDecision(
        what=last.what, author=last.author, left=conflicts_left(repository, found)
    )


class LastDecision(NamedTuple):
    """The decision that `undo_decision` would take back.

    Attributes:
        what: What it was, the message of its commit.
        before: The commit to go back to.
        state: The state of the merge's branch at that time.
    """

    what: str
    author: str
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
    return LastDecision(what, last.author, before, state)


def _state_at(repository: Repository, branch: str, commit: CommitId) -> Mapping[str, str] | None:
    """Return the last state that a merge's branch had at a commit; None if it held no merge."""
    for ref in repository.refs.moves("heads", branch):
        if ref.move.commit == commit:
            return ref.move.state if is_open_merge(ref.move.state) else None
        # Below are the moves of an earlier merge.
        if ref.move.action == "create":
            return None
    return None


def _resolved_text(resolution: Resolution, target: str) -> Iterator[Block]:
    yield line(f"Resolved {counted(resolution.count, 'conflict')} with {resolution.what}.")
    if resolution.why:
        yield line(f"Some are left open. {resolution.why}")
    yield left_line(resolution.left, target)


def _undone_text(undone: UndoneDecision, target: str) -> Iterator[Block]:
    yield _took_back(undone)
    yield left_line(undone.left, target)


def _took_back(undone: UndoneDecision) -> Block:
    return line(f"Took back: {undone.what} (by {undone.author}).")


def _check_resolve(
    *,
    relation: str | None,
    target: str | None,
    all: bool,
    undo: bool,
    interactive: bool,
    set: Iterable[tuple[str, object]],
    nulls: Sequence[str],
    **_: object,
) -> None:
    if undo:
        check_only("--undo", "relation", "target", "undo")
        if relation and target:
            raise click.UsageError("--undo takes only the target.")
        return
    if interactive:
        check_only("-i", "relation", "target", "all", "interactive")
        if not sys.stdin.isatty():
            raise click.UsageError(
                "-i asks about each conflict on a terminal, and standard input is none. Decide "
                "with --with, --cell or --set, or call it in a terminal."
            )
        return
    # With --all, the only name is that of the target.
    if (relation and target) if all else relation is None:
        raise click.UsageError("Give a relation, or --all.")
    if twice := dict(set).keys() & {*nulls}:
        raise click.UsageError(f"{', '.join(sorted(twice))}: give a value or NULL, not both.")


@verb(check=_check_resolve)
def resolve_command(
    session: CommandSession,
    relation: str | None = None,
    target: str | None = None,
    *,
    choice: Annotated[
        str | None,
        Option(
            "Keep ours, take theirs, go back to the base, or delete; or take the row with the "
            "larger or smaller value of --by.",
            "--with",
            type=click.Choice(_WORDS),
        ),
    ] = None,
    by: Annotated[
        str | None, Option("The column that --with larger or smaller compares.", metavar="COLUMN")
    ] = None,
    cell: Annotated[
        tuple[tuple[str, str], ...],
        Option(
            "Where the value of a column comes from: ours, theirs, base, larger or smaller; can "
            "be repeated.",
            type=Pair("COLUMN=SIDE"),
        ),
    ] = (),
    key: Annotated[
        tuple[tuple[str, Any], ...],
        Option(
            "Only rows with this value; can be repeated.", type=Pair("COLUMN=VALUE", is_exact=True)
        ),
    ] = (),
    set: Annotated[
        tuple[tuple[str, Any], ...],
        Option(
            "Value for a column of these rows; can be repeated.",
            type=Pair("COLUMN=VALUE", is_exact=True),
        ),
    ] = (),
    nulls: Annotated[
        tuple[str, ...],
        Option("Set a column of these rows to NULL.", "--set-null", metavar="COLUMN"),
    ] = (),
    all: Annotated[bool, "All unresolved conflicts of every relation."] = False,
    again: Annotated[bool, "Also change earlier choices."] = False,
    undo: Annotated[bool, "Take back the last choice; again for the one before."] = False,
    interactive: Annotated[
        bool, Option("Ask about each conflict; needs a terminal.", "-i")
    ] = False,
) -> None:
    """Resolve conflicts of RELATION by side, by rule, or with values of a row.

    TARGET is the branch that is merged into, by default that of the dbt profile, else the default
    branch; with --all and --undo it is the only name. With -i, RELATION may be
    left out.

    Applies to all unresolved conflicts, or with --key to those of the key, even if resolved
    before. With --set and --cell, the other columns come from the side given by --with, otherwise
    from the side that changed them. For the conflict of a schema itself, give the schema's name.
    When no conflict is left, finish with `dbt-vcs merge --continue`.
    """
    if undo:
        into = target or relation or session.branch
        taken = undo_decision(session.repository, into, author=session.author)
        session.show(taken, _undone_text(taken, into))
        return
    if all:
        relation, target = None, relation or target
    if interactive:
        if relation and not target and "." not in relation:
            # All names of relations have a schema.
            relation, target = None, relation
        _ask(session, target or session.branch, relation)
        return
    chosen = RowChoice(
        choice=None if choice is None else _choice(choice),
        by=by,
        key=dict(key),
        values={**dict(set), **dict.fromkeys(nulls, pa.scalar(None))},
        cells={column: cell_of(text) for column, text in cell},
        again=again,
    )
    into = target or session.branch
    done = resolve(session.repository, into, relation, chosen, author=session.author)
    session.show(done, _resolved_text(done, into))


def _ask(session: CommandSession, target: str, relation: str | None) -> None:
    # It loads what draws tables, which no other form needs.
    from dbt.adapters.vcs.commands.resolve_interactive import resolve_interactively

    def decide(name: RelationName, chosen: RowChoice) -> str:
        done = resolve(session.repository, target, str(name), chosen, author=session.author)
        return done.why

    def undo(seen: CommitId) -> Block:
        taken = undo_decision(session.repository, target, author=session.author, seen=seen)
        return _took_back(taken)

    resolve_interactively(session, target, relation, decide=decide, undo=undo)


def _choice(word: str) -> Choice | Order:
    return Order(word) if word in _ORDERS else Choice.of(word)
