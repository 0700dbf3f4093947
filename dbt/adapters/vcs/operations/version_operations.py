"""Operations on versions: snapshots, clones, restores, lineage, and the keeping of history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.retention import DAY
from dbt.adapters.vcs.layout.styled import Block, plain_lines
from dbt.adapters.vcs.operations.arguments import (
    by_column,
    check_action,
    flag,
    needed,
    number,
    word,
)
from dbt.adapters.vcs.operations.caller import Caller
from dbt.adapters.vcs.text.history_text import (
    blame_text,
    branch_undeleted_text,
    clone_text,
    lineage_text,
    restore_text,
    revert_text,
)
from dbt.adapters.vcs.text.snapshot_text import (
    snapshot_created_text,
    snapshot_deleted_text,
    snapshots_text,
)
from dbt.adapters.vcs.text.upkeep_text import (
    fsck_text,
    gc_text,
    losses_text,
    retention_text,
    unconfirmed,
)
from dbt.adapters.vcs.verbs.changing.clone import clone_from_snapshot
from dbt.adapters.vcs.verbs.changing.restore import restore_branch, restore_relation
from dbt.adapters.vcs.verbs.changing.revert import revert
from dbt.adapters.vcs.verbs.reading.blame import blame
from dbt.adapters.vcs.verbs.reading.lineage_tree import read_lineage
from dbt.adapters.vcs.verbs.refs.named_snapshots import (
    create_snapshot,
    delete_snapshot,
    list_snapshots,
)
from dbt.adapters.vcs.verbs.refs.undelete import undelete_branch
from dbt.adapters.vcs.verbs.upkeep.fsck import check_repository
from dbt.adapters.vcs.verbs.upkeep.gc import collect, set_retention
from dbt.adapters.vcs.verbs.upkeep.losses import find_losses


def undelete(caller: Caller, name: str) -> Iterable[Block]:
    """Make a deleted branch again, and tell so."""
    made = undelete_branch(caller.repository, name, author=caller.author)
    return branch_undeleted_text(made.name, made.head)


def _snapshot(
    caller: Caller,
    *,
    action: Any = "list",
    relation: Any = None,
    name: Any = None,
    at: Any = None,
    note: Any = "",
) -> Iterable[Block]:
    check_action("snapshot", action, ("list", "create", "delete"))
    if action == "list":
        given = None if relation is None else word("relation", relation)
        return snapshots_text(list_snapshots(caller.repository, given), caller.now)
    table = needed("snapshot", action, "relation", relation)
    given = needed("snapshot", action, "name", name)
    if action == "delete":
        gone = delete_snapshot(caller.repository, table, given, author=caller.author)
        return snapshot_deleted_text(gone)
    made = create_snapshot(
        caller.repository,
        table,
        given,
        caller.branch if at is None else word("at", at),
        author=caller.author,
        note=word("note", note),
    )
    return snapshot_created_text(made)


def _clone(
    caller: Caller,
    *,
    source: Any,
    target: Any,
    at: Any = None,
    branch: Any = None,
    replace: Any = False,
) -> Iterable[Block]:
    report = clone_from_snapshot(
        caller.repository,
        word("source", source),
        word("target", target),
        None if at is None else word("at", at),
        branch=_branch(caller, branch),
        author=caller.author,
        replace=flag("replace", replace),
    )
    return clone_text(report)


def _restore(
    caller: Caller,
    *,
    relation: Any = None,
    all: Any = False,
    to: Any = None,
    branch: Any = None,
    message: Any = None,
    dry_run: Any = False,
) -> Iterable[Block]:
    given = None if to is None else word("to", to)
    said = None if message is None else word("message", message)
    where, dry = _branch(caller, branch), flag("dry_run", dry_run)
    if flag("all", all) == (relation is not None):
        raise InputError("restore needs either the argument 'relation' or all: true.")
    if relation is not None:
        report = restore_relation(
            caller.repository,
            word("relation", relation),
            given,
            branch=where,
            author=caller.author,
            message=said,
            dry_run=dry,
        )
    elif given is None:
        raise InputError("restore of all needs the argument 'to'.")
    else:
        report = restore_branch(
            caller.repository,
            given,
            branch=where,
            author=caller.author,
            message=said,
            dry_run=dry,
        )
    return restore_text(report)


def _revert(
    caller: Caller, *, revision: Any, branch: Any = None, message: Any = None, mainline: Any = 1
) -> Iterable[Block]:
    report = revert(
        caller.repository,
        word("revision", revision),
        branch=_branch(caller, branch),
        author=caller.author,
        message=None if message is None else word("message", message),
        mainline=number("mainline", mainline),
        engine=caller.engine,
    )
    return revert_text(report)


def _lineage(
    caller: Caller, *, relation: Any, forward: Any = False, depth: Any = None, branch: Any = None
) -> Iterable[Block]:
    ahead = flag("forward", forward)
    found = read_lineage(
        caller.repository,
        word("relation", relation),
        branch=_branch(caller, branch),
        forward=ahead,
        depth=None if depth is None else number("depth", depth),
    )
    return lineage_text(found, caller.now, forward=ahead)


def _blame(caller: Caller, *, relation: Any, key: Any, at: Any = None) -> Iterable[Block]:
    wanted = by_column("key", key)
    start = caller.branch if at is None else word("at", at)
    report = blame(caller.repository, word("relation", relation), wanted, start)
    return blame_text(report, caller.now)


def _gc(
    caller: Caller, *, dry_run: Any = False, retention: Any = None, force: Any = False
) -> Iterable[Block]:
    if retention is not None:
        try:
            days = float(retention)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"The argument 'retention' is {retention!r}; expected a number of days."
            ) from error
        losses = find_losses(caller.repository, days)
        if losses is not None and losses.is_any and not flag("force", force):
            raise InputError(unconfirmed(plain_lines(losses_text(losses)), "force: true"))
        found = set_retention(caller.repository, days, author=caller.author)
        return retention_text(found.keep / DAY)
    report = collect(caller.repository, author=caller.author, dry_run=flag("dry_run", dry_run))
    return gc_text(report)


def _fsck(caller: Caller) -> Iterable[Block]:
    report = check_repository(caller.repository)
    if report.problems:
        raise DamagedError("\n".join(plain_lines(fsck_text(report))))
    return fsck_text(report)


def _branch(caller: Caller, branch: Any) -> str:
    return caller.branch if branch is None else word("branch", branch)


OPERATIONS: Final[Mapping[str, Callable[..., Iterable[Block]]]] = {
    "snapshot": _snapshot,
    "clone": _clone,
    "restore": _restore,
    "revert": _revert,
    "lineage": _lineage,
    "blame": _blame,
    "gc": _gc,
    "fsck": _fsck,
}
"""By the name of the verb."""
