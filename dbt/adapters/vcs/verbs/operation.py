"""Operations: verbs by name with arguments by name, as dbt's run-operations give them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.verbs import text
from dbt.adapters.vcs.verbs.branches import create_branch, delete_branch, list_branches
from dbt.adapters.vcs.verbs.layout import Block, plain_lines
from dbt.adapters.vcs.verbs.log import read_log
from dbt.adapters.vcs.verbs.merge import merge
from dbt.adapters.vcs.verbs.runs import discard_expired, discard_run, find_run, list_runs
from dbt.adapters.vcs.verbs.show import show_commit
from dbt.adapters.vcs.verbs.status import read_status
from dbt.adapters.vcs.verbs.tags import create_tag, delete_tag, list_tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls a verb, and where.

    Attributes:
        repository: The repository.
        author: Whom changes are recorded for.
        branch: The branch that is meant where none is given.
        now: The moment that ages are counted from.
    """

    repository: Repository
    author: str
    branch: str
    now: datetime


def run_verb(
    repository: Repository,
    verb: str,
    arguments: Mapping[str, Any],
    *,
    author: str,
    branch: str,
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
    caller = Caller(repository=repository, author=author, branch=branch, now=now)
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
) -> Iterable[Block]:
    _check_action("branch", action, ("list", "create", "delete"))
    if action == "list":
        found = list_branches(caller.repository, with_runs=_flag("with_runs", with_runs))
        return text.branches_text(found, caller.now)
    given = _needed("branch", action, "name", name)
    forced = _flag("force", force)
    if action == "create":
        start = None if at is None else _word("at", at)
        made = create_branch(caller.repository, given, start, author=caller.author, force=forced)
        return text.branch_created_text(made)
    gone = delete_branch(caller.repository, given, author=caller.author, force=forced)
    return text.branch_deleted_text(given, gone)


def _tag(
    caller: Caller, *, action: Any = "list", name: Any = None, at: Any = None, note: Any = ""
) -> Iterable[Block]:
    _check_action("tag", action, ("list", "create", "delete"))
    if action == "list":
        return text.tags_text(list_tags(caller.repository), caller.now)
    given = _needed("tag", action, "name", name)
    if action == "delete":
        gone = delete_tag(caller.repository, given, author=caller.author)
        return text.tag_deleted_text(given, gone)
    start = caller.branch if at is None else _word("at", at)
    made = create_tag(
        caller.repository, given, start, author=caller.author, note=_word("note", note)
    )
    return text.tag_created_text(made)


def _log(
    caller: Caller, *, revision: Any = None, limit: Any = 20, relation: Any = None
) -> Iterable[Block]:
    entries = read_log(
        caller.repository,
        caller.branch if revision is None else _word("revision", revision),
        limit=_number("limit", limit),
        relation=None if relation is None else _word("relation", relation),
    )
    return text.log_text(entries, caller.now)


def _status(caller: Caller) -> Iterable[Block]:
    return text.status_text(read_status(caller.repository, caller.branch), caller.now)


def _show(caller: Caller, *, revision: Any = None) -> Iterable[Block]:
    wanted = caller.branch if revision is None else _word("revision", revision)
    return text.commit_text(show_commit(caller.repository, wanted), caller.now)


def _merge(
    caller: Caller,
    *,
    source: Any,
    target: Any = None,
    message: Any = None,
    ff_only: Any = False,
    force: Any = False,
    dry_run: Any = False,
) -> Iterable[Block]:
    report = merge(
        caller.repository,
        _word("source", source),
        caller.branch if target is None else _word("target", target),
        author=caller.author,
        message=None if message is None else _word("message", message),
        ff_only=_flag("ff_only", ff_only),
        force=_flag("force", force),
        dry_run=_flag("dry_run", dry_run),
    )
    if report.how == "conflict":
        raise ConflictError("\n".join(plain_lines(text.merge_text(report))))
    return text.merge_text(report)


def _runs(
    caller: Caller,
    *,
    action: Any = "list",
    id: Any = None,
    target: Any = None,
    expired: Any = False,
    force: Any = False,
) -> Iterable[Block]:
    _check_action("runs", action, ("list", "discard", "publish"))
    if action == "list":
        return text.runs_text(list_runs(caller.repository), caller.now)
    if action == "discard" and _flag("expired", expired):
        return text.discarded_text(discard_expired(caller.repository, author=caller.author))
    given, forced = _needed("runs", action, "id", id), _flag("force", force)
    if action == "discard":
        gone = discard_run(caller.repository, given, author=caller.author, force=forced)
        return text.discarded_text([gone])
    run = find_run(caller.repository, given)
    into = run.target if target is None else _word("target", target)
    report = merge(caller.repository, run.name, into, author=caller.author, force=forced)
    return text.merge_text(report)


_VERBS: Final[Mapping[str, Callable[..., Iterable[Block]]]] = {
    "branch": _branch,
    "tag": _tag,
    "log": _log,
    "status": _status,
    "show": _show,
    "merge": _merge,
    "runs": _runs,
}


def _check_action(verb: str, action: Any, known: tuple[str, ...]) -> None:
    if action not in known:
        raise InputError(f"{verb} has no action {action!r}; expected one of {', '.join(known)}.")


def _needed(verb: str, action: str, name: str, value: Any) -> str:
    if value is None:
        raise InputError(f"{verb} {action} needs the argument {name!r}.")
    return _word(name, value)


def _word(name: str, value: Any) -> str:
    """Return a text; YAML takes a commit id of digits alone for a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InputError(
        f"The argument {name!r} is {value!r}, which is no text. Put it in quotes: {name}: '...'"
    )


def _number(name: str, value: Any) -> int:
    text_of = str(value)
    if isinstance(value, bool) or not text_of.isdecimal():
        raise InputError(f"The argument {name!r} is {value!r}; expected a whole number.")
    return int(text_of)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"The argument {name!r} is {value!r}; expected true or false.")
    return value
