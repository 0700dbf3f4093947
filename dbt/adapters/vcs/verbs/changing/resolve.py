"""Conflicts of a merge: looked at, resolved, and the merge gone on with or given up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.merges.conflicts import stored_conflicts as conflicts
from dbt.adapters.vcs.merges.conflicts.decisions import Decisions, decided_rows
from dbt.adapters.vcs.merges.conflicts.open_merges import (
    Choice,
    OpenMerge,
    find_open_merge,
)
from dbt.adapters.vcs.merges.conflicts.policy import Policy
from dbt.adapters.vcs.merges.merge_plan import Work
from dbt.adapters.vcs.rows.exact_values import Given
from dbt.adapters.vcs.runs.run_branch import run_of
from dbt.adapters.vcs.verbs.changing.merge import MergeReport, merge_work
from dbt.adapters.vcs.verbs.reading.waiting_merges import (
    relation_of,
    shown_name,
    summarize_conflicts,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What was chosen.

    Attributes:
        relation: For which relation.
        choice: `ours`, `theirs`, `base`, `delete`, or `custom` for values by hand.
        count: For how many conflicts.
        left: How many of the merge are not resolved yet.
    """

    relation: str
    choice: Choice
    count: int
    left: int


def resolve(
    repository: Repository,
    target: str,
    relation: str | None,
    choice: str | None,
    key: Mapping[str, Given] | None = None,
    values: Mapping[str, Given] | None = None,
    *,
    again: bool = False,
    author: str,
) -> Resolution:
    """Choose for a relation's conflicts, for those of a key alone, or for all there are.

    What was chosen for single rows before stays, unless a key or `again` is given.

    Args:
        repository: The repository.
        target: The branch that is merged into.
        relation: The relation; None for all.
        choice: `ours`, `theirs`, `base` or `delete`; with values None, or the side that the other
            columns are of.
        key: Values of columns.
        values: Values by hand for columns of the rows of the key.
        again: True to choose again for what was chosen before.
        author: Whom it is recorded for.

    Raises:
        NotFoundError: No such merge waits, or there is no such conflict.
        InputError: The choice is none, the key fits no column, or a value can't be stored.
    """
    merge = find_open_merge(repository, target)
    chosen = _choice(choice, key, values)
    if relation is None and key:
        raise InputError("A key needs the relation that it is a key of; give both.")
    names = (
        [*merge.whole, *conflicts.tables_of(repository, merge)]
        if relation is None
        else [relation_of(relation)]
    )
    total = 0
    for name in names:
        redo = again or (relation is not None and name in merge.whole)
        merge, count = conflicts.resolve(
            repository, merge, name, chosen, key, values, again=redo, author=author
        )
        total += count
    if relation is not None and not total:
        raise InputError(
            f"Every conflict of {relation} is resolved already. Choose again for a row with --key "
            "column=value, or for all of them with --again."
        )
    left = sum(item.conflicts - item.resolved for item in summarize_conflicts(repository, merge))
    return Resolution(
        relation=relation or "all",
        choice=Choice.CUSTOM if values or chosen is None else chosen,
        count=total,
        left=left,
    )


def _choice(
    choice: str | None, key: Mapping[str, Given] | None, values: Mapping[str, Given] | None
) -> Choice | None:
    """Return the side that is chosen, or None if values alone are.

    Raises:
        InputError: It is none, or does not go with the values.
    """
    found = None if choice is None else Choice.of(choice)
    if not values:
        if found is None:
            raise InputError(
                "Say what is chosen: --with ours|theirs|base|delete, or --key column=value --set "
                "column=value."
            )
        return found
    if not key:
        raise InputError("Values need the key of their row: --key column=value.")
    if found is Choice.DELETE:
        raise InputError("A row that is deleted has no values; leave them out, or the choice.")
    return found


def continue_merge(
    repository: Repository,
    target: str,
    *,
    author: str,
    engine: Callable[[], Engine] | None = None,
) -> MergeReport:
    """Go on with a merge whose conflicts are resolved, and let go of what was kept for it.

    The merge is planned anew with the choices made, so the target may have moved meanwhile; a
    conflict that is new is kept as one again. What was asked of the merge when it began is asked
    now, and what the target asks for by now as well. The engine is as for `merge`.

    Raises:
        NotFoundError: No such merge waits.
        ProtectedError: The target takes promotions alone by now, and the merge is none.
        ConflictError: Some conflicts are not resolved yet, or new ones came up; or tests are
            required, and none can have seen what was chosen. The merge still waits.
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
    """Give a merge up; the target stays as it is.

    Raises:
        NotFoundError: No such merge waits.
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
