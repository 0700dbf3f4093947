"""Resolve the conflicts of a merge, then continue or abort the merge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.merges.conflicts import stored_conflicts as conflicts
from dbt.adapters.vcs.merges.conflicts.decisions import Decisions, RowChoice, decided_rows
from dbt.adapters.vcs.merges.conflicts.open_merges import OpenMerge, find_open_merge
from dbt.adapters.vcs.merges.conflicts.policy import Policy
from dbt.adapters.vcs.merges.merge_plan import Work
from dbt.adapters.vcs.merges.rowwise.choice import Choice
from dbt.adapters.vcs.runs.run_branch import run_of
from dbt.adapters.vcs.verbs.changing.merge import MergeReport, merge_work
from dbt.adapters.vcs.verbs.reading.waiting_merges import (
    relation_of,
    shown_name,
    summarize_conflicts,
)


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
    repository: Repository,
    target: str,
    relation: str | None,
    chosen: RowChoice,
    *,
    author: str,
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
    names = (
        list(dict.fromkeys([*merge.whole, *conflicts.tables_of(repository, merge)]))
        if relation is None
        else [relation_of(relation)]
    )
    total = 0
    for name in names:
        redo = chosen.again or (relation is not None and name in merge.whole)
        what = replace(chosen, again=redo)
        merge, count = conflicts.resolve(repository, merge, name, what, author=author)
        total += count
    if relation is not None and not total:
        raise InputError(
            f"Every conflict of {relation} is already resolved. To change the choice for a "
            "row, use --key column=value; for all of them, use --again."
        )
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


def continue_merge(
    repository: Repository,
    target: str,
    *,
    author: str,
    engine: Callable[[], Engine] | None = None,
) -> MergeReport:
    """Finish a merge whose conflicts are resolved, and delete its conflict branch.

    The merge is planned again with the choices made, so the target may have moved in the meantime;
    new conflicts are kept as conflicts. The requirements from when the merge started apply, and so
    do the target's current ones. The engine is as for `merge`.

    Raises:
        NotFoundError: No such merge is waiting.
        ProtectedError: The target now accepts only promotions, and the merge isn't one.
        ConflictError: Some conflicts are not resolved yet, or there are new ones; or tests are
            required, and none can have seen the chosen rows. The merge keeps waiting.
    """
    merge = find_open_merge(repository, target)
    source = repository.find_branch(merge.source)
    work = Work(
        source=merge.source,
        commit=merge.theirs,
        run=run_of(source) if source is not None else None,
        policy=Policy(override=merge.mode),
        decisions=_decisions(repository, merge),
    )
    report = merge_work(repository, work, target, merge.terms, author=author, engine=engine)
    abort_merge(repository, target, author=author)
    return report


def abort_merge(repository: Repository, target: str, *, author: str) -> OpenMerge:
    """Abort a merge; the target is not changed.

    Raises:
        NotFoundError: No such merge is waiting.
    """
    merge = find_open_merge(repository, target)
    repository.delete_branch(merge.branch, author=author)
    return merge


def _decisions(repository: Repository, merge: OpenMerge) -> dict[RelationName, Decisions]:
    open_ = sorted(map(shown_name, merge.whole.keys() - merge.choices.keys()))
    if open_:
        raise ConflictError(
            f"Not resolved yet: {', '.join(open_)}. Choose: dbt-vcs resolve {open_[0]} --with "
            "ours|theirs|base|delete"
        )
    found = {name: Decisions(whole=choice) for name, choice in merge.choices.items()}
    for name, table in conflicts.tables_of(repository, merge).items():
        found[name] = replace(found.get(name, Decisions()), rows=decided_rows(table))
    return found
