"""`dbt-vcs resolve`: decide conflicts of a merge."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import click
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.conflicts import decisions
from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Order, cell_of
from dbt.adapters.vcs.commands.conflicts import conflicts_left, left_line, relation_of
from dbt.adapters.vcs.commands.layout import Block, counted, line
from dbt.adapters.vcs.commands.options import Pair
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, check_only, verb
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.repository import Repository

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
        what: The choice in words.
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
    repository: Repository, target: str, relation: str | None, chosen: RowChoice, *, author: str
) -> Resolution:
    """Resolve conflicts of a relation, only those of a key, or all, as one commit.

    Earlier choices for single rows are kept, unless a key or `again` is given.

    Args:
        repository: The repository.
        target: The branch that is merged into.
        relation: The relation; None for all.
        chosen: The choice, and which conflicts it is for.
        author: The author.

    Raises:
        NotFoundError: No such merge is waiting, or there is no such conflict.
        ConflictError: A row isn't any more what the caller saw.
        InputError: Nothing is chosen, the key names no column, or a value can't be stored.
    """
    chosen.check()
    if relation is None and (chosen.key or chosen.rows):
        raise InputError("A key needs its relation; give both.")
    name = None if relation is None else relation_of(relation)
    merge, count, why = decisions.resolve(repository, target, name, chosen, author=author)
    if not count and why:
        raise InputError(why)
    if relation is not None and not count:
        raise InputError(
            f"Every conflict of {relation} is already resolved. To change the choice for a "
            "row, use --key column=value; for all of them, use --again."
        )
    return Resolution(
        relation=relation or "all",
        choice=str(Choice.CUSTOM if chosen.is_by_column else chosen.choice),
        what=str(chosen),
        count=count,
        left=conflicts_left(repository, merge),
        why=why,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneDecision:
    """A decision that was taken back.

    Attributes:
        what: What it was.
        author: Who had made it.
        left: Number of conflicts of the merge that are unresolved now.
    """

    what: str
    author: str
    left: int


def undo_decision(
    repository: Repository, target: str, *, author: str, seen: CommitId | None = None
) -> UndoneDecision:
    """Take back the last decision about conflicts of the merge into a branch.

    The next call takes back the one before, up to where the merge began or was last continued.

    Args:
        repository: The repository.
        target: The branch that is merged into.
        author: The author.
        seen: The head of the merge's branch that the caller saw; None for its present one.

    Raises:
        NotFoundError: No such merge is waiting, or what was before the decision is collected.
        InputError: There is no decision to take back.
        ConflictError: Somebody else decided meanwhile.
    """
    merge, what, by = decisions.undo(repository, target, author=author, seen=seen)
    return UndoneDecision(what=what, author=by, left=conflicts_left(repository, merge))


def _resolved_text(resolution: Resolution, target: str) -> Iterator[Block]:
    yield line(f"Resolved {counted(resolution.count, 'conflict')} with {resolution.what}.")
    if resolution.why:
        yield line(f"Some are left open. {resolution.why}")
    yield left_line(resolution.left, target)


def _undone_text(undone: UndoneDecision, target: str) -> Iterator[Block]:
    yield line(f"Took back: {undone.what} (by {undone.author}).")
    yield left_line(undone.left, target)


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
        # It loads what draws tables, which no other form needs.
        from dbt.adapters.vcs.commands.resolve_interactive import resolve_interactively

        if relation and not target and "." not in relation:
            # All names of relations have a schema.
            relation, target = None, relation
        resolve_interactively(session, target or session.branch, relation)
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


def _choice(word: str) -> Choice | Order:
    return Order(word) if word in _ORDERS else Choice.of(word)
