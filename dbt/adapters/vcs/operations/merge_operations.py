"""Operations that bring branches together: merges, their conflicts, promotions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.layout.styled import Block, plain_lines
from dbt.adapters.vcs.merges.conflicts.policy import Mode, Policy
from dbt.adapters.vcs.operations.arguments import by_column, flag, number, word
from dbt.adapters.vcs.operations.caller import Caller
from dbt.adapters.vcs.text.conflict_text import aborted_text, conflicts_text, resolved_text
from dbt.adapters.vcs.text.merge_text import merge_text
from dbt.adapters.vcs.verbs.changing.merge import MergeReport, merge
from dbt.adapters.vcs.verbs.changing.promote import promote
from dbt.adapters.vcs.verbs.changing.resolve import (
    abort_merge,
    continue_merge,
    list_conflicts,
    resolve,
)


def _merge(
    caller: Caller,
    *,
    source: Any = None,
    target: Any = None,
    message: Any = None,
    on_conflict: Any = None,
    ff_only: Any = False,
    force: Any = False,
    dry_run: Any = False,
    action: Any = "merge",
) -> Iterable[Block]:
    into = _bound(caller, target)
    if action == "continue":
        done = continue_merge(caller.repository, into, author=caller.author, engine=caller.engine)
        return merge_text(done)
    if action == "abort":
        return aborted_text(abort_merge(caller.repository, into, author=caller.author))
    if action != "merge":
        raise InputError(
            f"merge has no action {action!r}; expected one of merge, continue, abort."
        )
    if source is None:
        raise InputError("merge needs the argument 'source'.")
    return _told(
        merge(
            caller.repository,
            word("source", source),
            into,
            author=caller.author,
            message=None if message is None else word("message", message),
            policy=_policy(caller, on_conflict),
            ff_only=flag("ff_only", ff_only),
            force=flag("force", force),
            dry_run=flag("dry_run", dry_run),
            engine=caller.engine,
        )
    )


def _promote(
    caller: Caller,
    *,
    source: Any,
    target: Any = None,
    message: Any = None,
    metadata: Any = None,
    on_conflict: Any = None,
    dry_run: Any = False,
) -> Iterable[Block]:
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InputError(f"The argument 'metadata' is {metadata!r}; expected names with values.")
    return _told(
        promote(
            caller.repository,
            word("source", source),
            _bound(caller, target),
            author=caller.author,
            message=None if message is None else word("message", message),
            metadata={str(key): str(value) for key, value in (metadata or {}).items()},
            policy=_policy(caller, on_conflict),
            dry_run=flag("dry_run", dry_run),
            engine=caller.engine,
        )
    )


def _conflicts(
    caller: Caller, *, target: Any = None, relation: Any = None, limit: Any = 20
) -> Iterable[Block]:
    into = caller.branch if target is None else word("target", target)
    named = None if relation is None else word("relation", relation)
    found = list_conflicts(caller.repository, into, named, limit=number("limit", limit) or None)
    return conflicts_text(found)


def _resolve(
    caller: Caller,
    *,
    choice: Any = None,
    relation: Any = None,
    key: Any = None,
    set: Any = None,
    again: Any = False,
    target: Any = None,
) -> Iterable[Block]:
    done = resolve(
        caller.repository,
        caller.branch if target is None else word("target", target),
        None if relation is None else word("relation", relation),
        None if choice is None else word("choice", choice),
        by_column("key", key or {}),
        by_column("set", set or {}),
        again=flag("again", again),
        author=caller.author,
    )
    return resolved_text(done)


OPERATIONS: Final[Mapping[str, Callable[..., Iterable[Block]]]] = {
    "merge": _merge,
    "promote": _promote,
    "conflicts": _conflicts,
    "resolve": _resolve,
}


def _bound(caller: Caller, target: Any) -> str:
    """Return the branch to be changed, bound by the project's rules from now on."""
    branch = caller.branch if target is None else word("target", target)
    caller.rules.apply(caller.repository, branch, author=caller.author)
    return branch


def _policy(caller: Caller, on_conflict: Any) -> Policy:
    override = (
        None if on_conflict is None else Mode.of(word("on_conflict", on_conflict), "on_conflict")
    )
    return replace(caller.rules.policy, override=override)


def _told(report: MergeReport) -> Iterable[Block]:
    if report.how == "conflict":
        raise ConflictError("\n".join(plain_lines(merge_text(report))))
    return merge_text(report)
