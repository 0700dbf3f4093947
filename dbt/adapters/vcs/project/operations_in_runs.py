"""Operations that a model or a hook calls while a run is under way.

| the operation | in a run |
|---|---|
| reads | at once, and from the run's branch if it names none |
| changes one relation of the target | is a statement of the run, which goes where the run goes |
| changes more: names, branches, files | waits until the run is published; the order stays |

Called from `dbt run-operation`, all of them are carried out at once.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final

from dbt.adapters.vcs.core.errors import InputError, VcsError
from dbt.adapters.vcs.sql.syntax.literals import quote_name, quote_text

# gc and reuse change what is stored, but nothing that a branch, tag or snapshot shows.
READING: Final = frozenset(
    {
        *("bisect", "blame", "conflicts", "diff", "fsck", "gc", "lineage", "log"),
        *("reflog", "reuse", "show", "stale", "status"),
    }
)
_LISTING: Final = frozenset({"branch", "runs", "snapshot", "tag"})
_MACROS: Final = {"clone": "clone_from_snapshot", "promote": "promote", "optimize": "optimize"}


def only_reads(verb: str, given: Mapping[str, Any]) -> bool:
    """Return whether an operation with these arguments changes nothing that a ref shows."""
    if given.get("dry_run") or verb in READING:
        return True
    if verb == "repair":
        return not given
    return verb in _LISTING and given.get("action", "list") == "list"


def command_of(verb: str, given: Mapping[str, Any]) -> str:
    """Return the command line that calls an operation."""
    macro = _MACROS.get(verb, f"vcs_{verb}")
    arguments = json.dumps(dict(given), default=str, ensure_ascii=False)
    return f"dbt run-operation {macro} --args {shlex.quote(arguments)}"


def statements_of(verb: str, given: Mapping[str, Any], branch: str) -> tuple[str, ...]:
    """Return the statements for an operation on one relation of a run's branch.

    Returns nothing if the operation is on another branch, or on more than one relation.

    Raises:
        InputError: An argument has no meaning within a run.
    """
    if given.get("branch", branch) != branch:
        return ()
    if verb == "clone":
        target = _name(given["target"])
        how = "create or replace" if "replace" in given else "create"
        # The operation, unlike the statement, creates the schema.
        schema = target.rpartition(".")[0]
        return (
            f"create schema if not exists {schema}",
            f"{how} table {target} clone {_name(given['source'])}{_as_of(given.get('at'))}",
        )
    if verb == "restore" and "relation" in given:
        _refuse(verb, given, "message", "a run lands as one commit, which has dbt's message")
        name = _name(given["relation"])
        if "to" not in given:
            return (f"undrop table {name}",)
        return (f"restore table {name} to{_as_of(given['to'])}",)
    if verb == "snapshot" and given.get("action") == "create":
        _refuse(verb, given, "note", "the version that it names may not have a commit yet")
        table = f"{_name(given['relation'])}{_as_of(given.get('at'))}"
        return (f"create snapshot {quote_name(given['name'])} for table {table}",)
    if verb == "optimize" and given.keys() <= {"relation", "branch"} and "relation" in given:
        return tuple(f"optimize {_name(name)}" for name in _names(given["relation"]))
    return ()


class PostponedOperations:
    """Operations that wait until a run is published."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` writes a line to dbt's log."""
        self._say = say
        self._waiting: list[tuple[str, str, Callable[[], list[str]]]] = []

    def add(self, caller: str, command: str, work: Callable[[], list[str]]) -> None:
        """Postpone what a node or hook called; `command` does the same outside of a run."""
        self._waiting.append((caller, command, work))

    def drop(self, caller: str) -> None:
        """Drop what a node called that has failed; it calls it again when it is retried."""
        self._waiting = [waiting for waiting in self._waiting if waiting[0] != caller]

    def carry_out(self) -> None:
        """Do all of it, in order, and write what it prints.

        Raises:
            VcsError: Some of it failed; the message says what was not done.
        """
        waiting, self._waiting = self._waiting, []
        for place, (_, _, work) in enumerate(waiting):
            try:
                lines = work()
            except VcsError as error:
                left = "; ".join(command for _, command, _ in waiting[place:])
                raise type(error)(
                    f"The run is published, but an operation that it called failed: {error} "
                    f"Not carried out: {left}"
                ) from error
            for line in lines:
                self._say(line)

    def leave_out(self) -> None:
        """Write what is not carried out, since the run was not published."""
        for _, command, _ in self._waiting:
            self._say(f"Not carried out, since the run is not published: {command}")
        self._waiting = []


def _refuse(verb: str, given: Mapping[str, Any], argument: str, why: str) -> None:
    if argument in given:
        raise InputError(
            f"{verb} takes no {argument} within a run: {why}. Leave it out, or call the operation "
            "after the run."
        )


def _names(value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else [str(item) for item in value]
    return [name.strip() for text in texts for name in text.split(",")]


def _name(value: Any) -> str:
    """Return a relation's name in backquotes, part by part."""
    parts = str(value).replace("`", "").split(".")
    return ".".join(quote_name(part) for part in parts)


def _as_of(revision: Any) -> str:
    return "" if revision is None else f" version as of {quote_text(str(revision))}"
