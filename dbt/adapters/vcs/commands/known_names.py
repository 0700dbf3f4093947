"""Names in the repository that a parameter of a command may have, for shells to complete."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click
from click.shell_completion import CompletionItem

from dbt.adapters.vcs.commands.options import current_settings
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.sql.syntax.lexer import quote_name
from dbt.adapters.vcs.workspace.run_branch import PREFIX as RUNS

_REVISIONS: Final = ("branches", "tags")
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "at": _REVISIONS,
    "bad": _REVISIONS,
    "branch": ("branches",),
    "good": _REVISIONS,
    "into": ("branches",),
    "points": (*_REVISIONS, "tables"),
    "relation": ("tables",),
    "revision": _REVISIONS,
    "revisions": _REVISIONS,
    "target": ("branches",),
    "to_last_whole": _REVISIONS,
    "branch name": ("branches",),
    "branch create name": (),
    "branch undelete name": (),
    "tag name": ("tags",),
    "tag create name": (),
    "clone source": ("tables",),
    "clone target": ("tables",),
    "copy target": (),
    "merge source": _REVISIONS,
    "promote source": ("branches",),
    "reflog name": _REVISIONS,
    "restore to": _REVISIONS,
    "run id": ("runs",),
    "runs id": ("runs",),
}
"""What a parameter names, by its name, perhaps after its command's or its group's."""

_HIDDEN: Final = ("runs/", "merges/")
"""Branches that are offered only to who has begun to type one."""


def known_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Return the names in the repository that a parameter may have and that begin like this.

    For a parameter of which none is known to be a name, return what its type offers.
    """
    words = ctx.command_path.split()[1:]
    name = str(param.name)
    keys = (" ".join([*words, name]), f"{words[0]} {name}", name)
    kinds = next((_KINDS[key] for key in keys if key in _KINDS), ())
    if not kinds:
        return param.type.shell_complete(ctx, param, incomplete)
    before, begun = _at_end(incomplete, kinds)
    if before:
        kinds = tuple(kind for kind in kinds if kind != "tables") or _REVISIONS
    session = CommandSession(current_settings(ctx))
    return [
        CompletionItem(before + item)
        for kind in kinds
        for item in _names(session, kind, begun)
        if item.startswith(begun)
    ]


def _at_end(text: str, kinds: Sequence[str]) -> tuple[str, str]:
    """Split off what is before the last name: `main...` of a range, `shop.orders@` of a table."""
    mark = "@" if "tables" in kinds and "@" in text else ".."
    before, mark, begun = text.rpartition(mark)
    return before + mark, begun


def _names(session: CommandSession, kind: str, begun: str) -> Iterator[str]:
    if kind == "tables":
        yield from _tables(session, bare=bool(begun))
        return
    repository = session.repository
    if kind == "tags":
        yield from (tag.name for tag in repository.tags(_overlook))
        return
    names = [branch.name for branch in repository.branches(_overlook)]
    if kind == "runs":
        yield from (name.removeprefix(RUNS) for name in names if name.startswith(RUNS))
    else:
        shown = begun.startswith(_HIDDEN)
        yield from (name for name in names if shown or not name.startswith(_HIDDEN))


def _tables(session: CommandSession, *, bare: bool) -> Iterator[str]:
    """Yield the relations' names, with `bare` also those in the profile's schema without it."""
    tree = session.repository.tree(session.repository.resolve(session.shown))
    for schema in tree.schemas():
        for identifier in tree.relations(schema):
            yield f"{_quoted(schema)}.{_quoted(identifier)}"
            if bare and schema == session.schema:
                yield _quoted(identifier)


def _overlook(damage: DamagedError) -> None:
    """Leave out a name that is damaged: `fsck` tells of it."""


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else quote_name(name)
