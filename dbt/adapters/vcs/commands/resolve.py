"""`dbt-vcs resolve`: decide conflicts of a merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Annotated, Any

import click
import pyarrow as pa

from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import (
    choose,
    find_open_merge,
    tables_of,
)
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.commands.conflicts import relation_of, summarize_conflicts
from dbt.adapters.vcs.commands.layout import Block, counted, line
from dbt.adapters.vcs.commands.options import Pair
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import Option, verb
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A choice that was recorded.

    Attributes:
        relation: The relation.
        choice: `ours`, `theirs`, `base`, `delete`, or `custom` for values given by hand.
        count: Number of conflicts that it applies to.
        left: Number of conflicts of the merge that are still unresolved.
    """

    relation: str
    choice: Choice
    count: int
    left: int


def resolve(
    repository: Repository, target: str, relation: str | None, chosen: RowChoice, *, author: str
) -> Resolution:
    """Resolve conflicts of a relation, only those of a key, or all.

    Earlier choices for single rows are kept, unless a key or `again` is given.

    Args:
        repository: The repository.
        target: The branch that is merged into.
        relation: The relation; None for all.
        chosen: The choice, and which conflicts it is for.
        author: The author.

    Raises:
        NotFoundError: No such merge is waiting, or there is no such conflict.
        InputError: Nothing is chosen, the key names no column, or a value can't be stored.
    """
    merge = find_open_merge(repository, target)
    _check(chosen)
    if relation is None and chosen.key:
        raise InputError("A key needs its relation; give both.")
    # A relation may conflict as a whole, in its columns, and in its rows as well.
    names = (
        list(dict.fromkeys([*merge.whole, *tables_of(repository, merge)]))
        if relation is None
        else [relation_of(relation)]
    )
    total = 0
    for name in names:
        # A relation that conflicts as a whole has one choice, so to name it is to choose again.
        redo = chosen.again or (relation is not None and name in merge.whole)
        what = replace(chosen, again=redo)
        merge, count = choose(repository, merge, name, what, author=author)
        total += count
    if relation is not None and not total:
        raise InputError(
            f"Every conflict of {relation} is already resolved. To change the choice for a "
            "row, use --key column=value; for all of them, use --again."
        )
    # Of all relations, since only a merge without any can be continued.
    left = sum(item.conflicts - item.resolved for item in summarize_conflicts(repository, merge))
    return Resolution(
        relation=relation or "all",
        choice=Choice.CUSTOM if chosen.values or chosen.choice is None else chosen.choice,
        count=total,
        left=left,
    )


def _check(chosen: RowChoice) -> None:
    """Raise unless a choice says what to do.

    Raises:
        InputError: It gives neither a side nor values, or they can't be combined.
    """
    if not chosen.values:
        if chosen.choice is None:
            raise InputError(
                "Give a choice: --with ours|theirs|base|delete, or --key column=value --set "
                "column=value."
            )
        return
    if not chosen.key:
        raise InputError("Values need the key of their row: --key column=value.")
    if chosen.choice is Choice.DELETE:
        raise InputError("--with delete can't be combined with values. Leave one of them out.")


def _resolved_text(resolution: Resolution, target: str) -> Iterator[Block]:
    is_custom = resolution.choice is Choice.CUSTOM
    what = "values given by hand" if is_custom else str(resolution.choice)
    yield line(f"Resolved {counted(resolution.count, 'conflict')} with {what}.")
    left = resolution.left
    yield line(
        f"{left} left."
        if left
        else f"No conflict is left. To finish the merge: dbt-vcs merge --continue {quote(target)}"
    )


def _check_resolve(
    *,
    relation: str | None,
    target: str | None,
    all: bool,
    set: Iterable[tuple[str, object]],
    nulls: Sequence[str],
    **_: object,
) -> None:
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
            "Keep ours, take theirs, go back to the base, or delete.",
            "--with",
            type=click.Choice([choice.value for choice in Choice if choice is not Choice.CUSTOM]),
        ),
    ] = None,
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
) -> None:
    """Resolve conflicts of RELATION with one side, or with values for a row.

    TARGET is the branch that is merged into, by default that of the dbt profile, else the default
    branch; with --all it is the only name.

    Applies to all unresolved conflicts, or with --key to those of the key, even if resolved
    before. With --set, the other columns come from the side given by --with, otherwise from the
    side that changed them. For the conflict of a schema itself, give the schema's name. When no
    conflict is left, finish with `dbt-vcs merge --continue`.
    """
    if all:
        relation, target = None, relation or target
    chosen = RowChoice(
        choice=None if choice is None else Choice.of(choice),
        key=dict(key),
        values={**dict(set), **dict.fromkeys(nulls, pa.scalar(None))},
        again=again,
    )
    into = target or session.branch
    done = resolve(session.repository, into, relation, chosen, author=session.author)
    session.show(done, _resolved_text(done, into))
