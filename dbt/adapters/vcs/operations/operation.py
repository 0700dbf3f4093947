"""Operations: verbs by name with arguments by name, as dbt's run-operations give them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from dbt.adapters.vcs import text
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.layout.styled import Block, plain_lines
from dbt.adapters.vcs.merges.protection import Rules
from dbt.adapters.vcs.operations import merge_operations, version_operations
from dbt.adapters.vcs.operations.arguments import check_action, flag, needed, number, word, words
from dbt.adapters.vcs.operations.caller import Caller
from dbt.adapters.vcs.operations.diff_operation import diff_operation
from dbt.adapters.vcs.verbs.changing.merge import merge
from dbt.adapters.vcs.verbs.left_runs import discard_expired, discard_run, find_run, list_runs
from dbt.adapters.vcs.verbs.reading.log import read_log
from dbt.adapters.vcs.verbs.reading.show_commit import show_commit
from dbt.adapters.vcs.verbs.refs.branch import (
    create_branch,
    delete_branch,
    list_branches,
    protect_branch,
    unprotect_branch,
)
from dbt.adapters.vcs.verbs.refs.rename import rename_branch, rename_tag
from dbt.adapters.vcs.verbs.refs.tag import create_tag, delete_tag, list_tags
from dbt.adapters.vcs.verbs.upkeep.optimize import optimize, parse_size
from dbt.adapters.vcs.verbs.upkeep.status import read_status


def run_verb(
    repository: Repository,
    verb: str,
    arguments: Mapping[str, Any],
    *,
    author: str,
    branch: str,
    engine: Callable[[], Engine] | None = None,
    rules: Rules | None = None,
) -> list[str]:
    """Carry a verb out and return the lines that it prints.

    Arguments that are None count as not given.

    Raises:
        InputError: There is no such verb, or it takes no such argument; the message names those
            that there are.
        VcsError: The verb's own errors.
    """
    run = _VERBS.get(verb)
    if run is None:
        raise InputError(f"There is no verb {verb!r}; expected one of {', '.join(_VERBS)}.")
    given = {name: value for name, value in arguments.items() if value is not None}
    _check(verb, run, given)
    now = datetime_of(repository.clock())
    caller = Caller(
        repository=repository,
        author=author,
        branch=branch,
        now=now,
        engine=engine,
        rules=rules or Rules(),
    )
    return plain_lines(run(caller, **given))


def _check(verb: str, run: Callable[..., Any], given: Mapping[str, Any]) -> None:
    parameters = inspect.signature(run).parameters
    known = [name for name in parameters if name != "caller"]
    unknown = [name for name in given if name not in known]
    if unknown:
        takes = f"it takes {', '.join(known)}" if known else "it takes none"
        raise InputError(f"{verb} has no argument {unknown[0]!r}; {takes}.")
    missing = [
        name
        for name in known
        if parameters[name].default is inspect.Parameter.empty and name not in given
    ]
    if missing:
        raise InputError(f"{verb} needs the argument {missing[0]!r}.")


def _branch(
    caller: Caller,
    *,
    action: Any = "list",
    name: Any = None,
    at: Any = None,
    with_runs: Any = False,
    force: Any = False,
    require: Any = (),
    to: Any = None,
) -> Iterable[Block]:
    known = ("list", "create", "rename", "delete", "undelete", "protect", "unprotect")
    check_action("branch", action, known)
    if action == "list":
        found = list_branches(caller.repository, with_runs=flag("with_runs", with_runs))
        return text.branches_text(found, caller.now)
    given = needed("branch", action, "name", name)
    if action == "rename":
        new = needed("branch", action, "to", to)
        renamed = rename_branch(caller.repository, given, new, author=caller.author)
        return text.branch_renamed_text(given, renamed)
    if action == "undelete":
        return version_operations.undelete(caller, given)
    if action == "protect":
        asked = words("require", require)
        kept = protect_branch(caller.repository, given, asked, author=caller.author)
        return text.branch_protected_text(kept)
    if action == "unprotect":
        freed = unprotect_branch(caller.repository, given, author=caller.author)
        return text.branch_protected_text(freed)
    forced = flag("force", force)
    if action == "create":
        start = None if at is None else word("at", at)
        made = create_branch(caller.repository, given, start, author=caller.author, force=forced)
        return text.branch_created_text(made)
    gone = delete_branch(caller.repository, given, author=caller.author, force=forced)
    return text.branch_deleted_text(given, gone)


def _tag(
    caller: Caller,
    *,
    action: Any = "list",
    name: Any = None,
    at: Any = None,
    note: Any = "",
    to: Any = None,
) -> Iterable[Block]:
    check_action("tag", action, ("list", "create", "rename", "delete"))
    if action == "list":
        return text.tags_text(list_tags(caller.repository), caller.now)
    given = needed("tag", action, "name", name)
    if action == "rename":
        new = needed("tag", action, "to", to)
        return text.tag_renamed_text(
            given, rename_tag(caller.repository, given, new, author=caller.author)
        )
    if action == "delete":
        gone = delete_tag(caller.repository, given, author=caller.author)
        return text.tag_deleted_text(given, gone)
    start = caller.branch if at is None else word("at", at)
    made = create_tag(
        caller.repository, given, start, author=caller.author, note=word("note", note)
    )
    return text.tag_created_text(made)


def _log(
    caller: Caller, *, revision: Any = None, limit: Any = 20, relation: Any = None
) -> Iterable[Block]:
    entries = read_log(
        caller.repository,
        caller.branch if revision is None else word("revision", revision),
        limit=number("limit", limit),
        relation=None if relation is None else word("relation", relation),
    )
    return text.log_text(entries, caller.now)


def _status(caller: Caller) -> Iterable[Block]:
    return text.status_text(read_status(caller.repository, caller.branch), caller.now)


def _show(caller: Caller, *, revision: Any = None) -> Iterable[Block]:
    wanted = caller.branch if revision is None else word("revision", revision)
    return text.commit_text(show_commit(caller.repository, wanted), caller.now)


def _runs(
    caller: Caller,
    *,
    action: Any = "list",
    id: Any = None,
    target: Any = None,
    expired: Any = False,
    force: Any = False,
) -> Iterable[Block]:
    check_action("runs", action, ("list", "discard", "publish"))
    if action == "list":
        return text.runs_text(list_runs(caller.repository), caller.now)
    if action == "discard" and flag("expired", expired):
        return text.discarded_text(discard_expired(caller.repository, author=caller.author))
    given, forced = needed("runs", action, "id", id), flag("force", force)
    if action == "discard":
        gone = discard_run(caller.repository, given, author=caller.author, force=forced)
        return text.discarded_text([gone])
    run = find_run(caller.repository, given)
    into = run.target if target is None else word("target", target)
    caller.rules.apply(caller.repository, into, author=caller.author)
    report = merge(
        caller.repository,
        run.name,
        into,
        author=caller.author,
        policy=caller.rules.policy,
        force=forced,
        engine=caller.engine,
    )
    return text.merge_text(report)


def _optimize(
    caller: Caller,
    *,
    relation: Any = None,
    schema: Any = None,
    all: Any = False,
    target_size: Any = "128MB",
    cluster_by: Any = (),
    branch: Any = None,
) -> Iterable[Block]:
    report = optimize(
        caller.repository,
        caller.branch if branch is None else word("branch", branch),
        author=caller.author,
        relations=words("relation", relation),
        schema=None if schema is None else word("schema", schema),
        everything=flag("all", all),
        target_bytes=parse_size(word("target_size", target_size)),
        cluster_by=words("cluster_by", cluster_by),
        engine=caller.engine,
    )
    return text.optimize_text(report)


_VERBS: Final[Mapping[str, Callable[..., Iterable[Block]]]] = {
    "branch": _branch,
    "tag": _tag,
    "log": _log,
    "status": _status,
    "show": _show,
    "diff": diff_operation,
    "runs": _runs,
    **merge_operations.OPERATIONS,
    **version_operations.OPERATIONS,
    "optimize": _optimize,
}
