"""`dbt-vcs reflog`: the moves of a branch or tag, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Annotated, Final

from dbt.adapters.vcs.commands.layout import Block, Span, age, entry, short
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import rows_limit, verb
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.branch_names import is_name
from dbt.adapters.vcs.core.store.moves import Ref, Space


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflogEntry:
    """One move of a branch or tag.

    Attributes:
        ref: The name and the position, as in revisions: `main@{0}` is the last one. A move that
            left the commit as it was has the position of the move before it.
        commit: Where the name pointed from then on; None if it was deleted.
        action: What the move was: `create`, `commit`, `publish`, `merge`, `delete`, `state`, ...
        note: More about it, or empty.
        host: Machine of the process that did; empty in logs of earlier versions.
        pid: Number of that process; 0 in logs of earlier versions.
        version: Its version of dbt-vcs; empty in logs of earlier versions.
    """

    ref: str
    commit: CommitId | None
    action: str
    note: str
    author: str
    host: str
    pid: int
    version: str
    at: datetime


def read_reflog(
    repository: Repository, name: str, *, limit: int | None = None
) -> Iterator[ReflogEntry]:
    """Yield the moves of a branch or tag, newest first; each is read when it is yielded.

    A tag hides a branch of the same name, as in revisions, and a name that exists comes before one
    that was deleted; `heads/<name>` and `tags/<name>` say which is meant.

    Raises:
        NotFoundError: There never was such a branch or tag; the message names near matches.
        InputError: The limit is invalid.
        DamagedError: A move is missing, was edited, or doesn't follow the one before it.
    """
    if limit is not None and limit < 1:
        raise InputError(f"The limit of a reflog is {limit}; expected 1 or more.")
    space, bare = _space_of(repository, name)
    ago = -1
    commit: CommitId | None = None
    for ref in islice(repository.refs.moves(space, bare), limit):
        # As in revisions, a move that changed only the state has no position of its own.
        if ago < 0 or ref.move.commit != commit:
            ago, commit = ago + 1, ref.move.commit
        yield _entry(ago, ref)


def _space_of(repository: Repository, name: str) -> tuple[Space, str]:
    whole = name.removeprefix("refs/")
    meant: list[tuple[Space, str]] = [("tags", name), ("heads", name)]
    meant += [
        (space, whole.removeprefix(f"{space}/"))
        for space in ("tags", "heads")
        if whole.startswith(f"{space}/")
    ]
    found = [
        (space, bare, ref)
        for space, bare in meant
        if is_name(bare) and (ref := repository.refs.read(space, bare)) is not None
    ]
    if not found:
        # Raises, and names near matches.
        repository.branch(name)
    # `min` takes the first of equals: what exists before what was deleted, and a tag before a
    # branch.
    space, bare, _ = min(found, key=lambda item: item[2].move.commit is None)
    return space, bare


def _entry(ago: int, ref: Ref) -> ReflogEntry:
    move = ref.move
    return ReflogEntry(
        ref=f"{ref.name}@{{{ago}}}",
        commit=move.commit,
        action=move.action,
        note=move.note,
        author=move.by,
        host=move.host,
        pid=move.pid,
        version=move.version,
        at=datetime_of(move.at),
    )


@verb()
def reflog_command(
    session: CommandSession,
    name: str | None = None,
    *,
    limit: Annotated[int, rows_limit("Moves to list")] = 20,
) -> None:
    """List the moves of a branch or tag, newest first.

    Each with its author, and the machine and process that wrote it. NAME defaults to the branch in
    the dbt profile, else the default branch. Deleted branches and tags have a log, too.
    """
    # One more than is shown tells whether there are earlier ones.
    found = read_reflog(
        session.repository, name or session.branch, limit=limit + 1 if limit else None
    )
    session.show_first(
        found, limit, lambda items: reflog_text(items, session.now), "There are earlier moves"
    )


_NO_COMMIT: Final = Span("-" * 12, "faint")


def reflog_text(entries: Iterable[ReflogEntry], now: datetime) -> Iterator[Block]:
    """Yield one line per move."""
    for item in entries:
        note = f": {item.note}" if item.note else ""
        yield entry(
            short(item.commit) if item.commit else _NO_COMMIT,
            " ",
            Span(item.ref, "name"),
            f": {item.action}",
            note,
            Span(f"  {item.author}{_place(item)}, {age(item.at, now)}", "faint"),
            gives=4,
        )


def _place(item: ReflogEntry) -> str:
    """Return the process that made a move; empty in logs of earlier versions."""
    return f" on {item.host} (pid {item.pid}, dbt-vcs {item.version})" if item.version else ""
