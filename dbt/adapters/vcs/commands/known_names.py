"""Names in the repository that a parameter may have, for shells to complete, and bare names.

A table's name without a schema gets the schema of the profile, in every verb. A word that can
also be a revision is completed only if it is no revision and the schema has such a relation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merges
from dbt.adapters.vcs.commands.failure import Failure
from dbt.adapters.vcs.commands.options import current_settings
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.tree_changes import TreeReader
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
    "log revision": (*_REVISIONS, "tables"),
    "log table": ("tables",),
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


def known_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Return the names in the repository that a parameter may have and that begin like this.

    For a parameter of which none is known to be a name, return what its type offers.
    """
    kinds = _kinds_of(_words(ctx), param)
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


def _words(ctx: click.Context) -> list[str]:
    """Return the words of a verb, such as `snapshot create`."""
    words = ctx.command_path.split()
    # An operation of dbt is called by no program of a name.
    return words[1:] if ctx.find_root().info_name else words


def _kinds_of(words: Sequence[str], param: click.Parameter) -> tuple[str, ...]:
    """Return what a parameter names, of the command that these words call; none if no names."""
    name = str(param.name)
    keys = (" ".join([*words, name]), f"{words[0]} {name}", name)
    return next((_KINDS[key] for key in keys if key in _KINDS), ())


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


def with_schemas(
    session: CommandSession, ctx: click.Context, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters that name tables, with the profile's schema where a name has none.

    A name with a dot stays as it is, and so does every name without a profile.

    Args:
        ctx: The context of the command, whose parameters are looked at.
        given: The parameters' values, by name.
    """
    naming = _Naming(session, ctx, given)
    if not naming.bare or session.own_schema is None:
        return {}
    return {
        name: naming.completed(given[name], is_table=kinds == ("tables",))
        for name, kinds in naming.bare.items()
    }


@contextmanager
def naming_other_schemas(
    session: CommandSession, ctx: click.Context, given: Mapping[str, Any]
) -> Iterator[None]:
    """Add to an error about a table that was named without a schema which schema has it.

    Only if the profile's schema lacks it, and exactly one other schema has it.

    Args:
        given: The parameters' values as they were typed, by name.
    """
    try:
        yield
    except (InputError, Failure) as error:
        cause = error.__cause__ if isinstance(error, Failure) else error
        hint = _Naming(session, ctx, given).hint(str(error))
        if not hint:
            raise
        if isinstance(cause, InputError):
            cause.args = (f"{cause} {hint}", *cause.args[1:])
        if isinstance(error, Failure):
            raise type(error)(f"{error.message} {hint}") from cause
        raise


_BARE: Final = re.compile(r"(`[^`.]+`|[^`.:@\s]+)(@(?!\{).*)?", re.DOTALL)
"""A name of one part, perhaps with a version; `main@{1}` is a revision."""


class _Naming:
    """Names without a schema among the parameters of one call.

    Attributes:
        bare: The parameters that have some, and what each of them may name.
    """

    def __init__(
        self, session: CommandSession, ctx: click.Context, given: Mapping[str, Any]
    ) -> None:
        self._session = session
        self._given = given
        words = _words(ctx)
        self._resolves = words[:1] == ["resolve"]
        self._settles = words[:1] in (["resolve"], ["conflicts"])
        kinds = {str(param.name): _kinds_of(words, param) for param in ctx.command.params}
        self.bare = {
            name: found
            for name, found in kinds.items()
            if "tables" in found and any(map(_BARE.fullmatch, _texts(given.get(name))))
        }

    def completed(self, value: Any, *, is_table: bool) -> Any:
        """Return the value of a parameter with the profile's schema in each bare name."""
        if isinstance(value, tuple):
            return tuple(self.completed(item, is_table=is_table) for item in value)
        found = _BARE.fullmatch(value) if isinstance(value, str) else None
        if found is None or not self._is_table(found[1].strip("`").lower(), value, is_table):
            return value
        return f"{_quoted(str(self._session.own_schema))}.{value}"

    def hint(self, message: str) -> str:
        """Return a sentence that names the one schema which has a table of a message, or none."""
        # Where nothing is named there may be no profile either, as before `init`.
        if not self.bare:
            return ""
        own, session = self._session.own_schema, self._session
        names = {
            found[1].strip("`").lower()
            for name in self.bare
            for text in _texts(self._given[name])
            if own and (found := _BARE.fullmatch(text)) and _mentions(message, found[1])
        }
        trees = self._trees(session.branch, session.repository.default_branch) if names else []
        for name in sorted(names):
            where = {
                schema
                for tree in trees
                for schema in tree.schemas()
                if tree.entry(RelationName(schema, name)) is not None
            }
            if len(where) == 1 and own not in where:
                return f"Did you mean {_quoted(where.pop())}.{_quoted(name)}?"
        return ""

    def _is_table(self, name: str, text: str, is_table: bool) -> bool:
        """Return whether a bare name is a table's, and not a branch's or a schema's."""
        if self._settles and self._is_no_table(name, text):
            return False
        if is_table:
            return True
        if self._session.repository.is_known(text):
            return False
        relation = RelationName(str(self._session.own_schema).lower(), name)
        return "@" in text or any(
            tree.entry(relation) is not None for tree in self._trees(self._session.shown)
        )

    def _is_no_table(self, name: str, text: str) -> bool:
        given, repository = self._given, self._session.repository
        # With these, the only name is that of the target.
        if self._resolves and (given["all"] or given["undo"]):
            return True
        if self._resolves and given["interactive"] and repository.find_branch(text):
            return not given["target"]
        # A schema by itself may be in conflict, in its own properties.
        target = given["target"] or self._session.branch
        merges = (merge for merge in open_merges(repository) if merge.target == target)
        return any(RelationName(name, "") in merge.whole for merge in merges)

    def _trees(self, *revisions: str) -> list[TreeReader]:
        """Return what these revisions show, and those among the parameters."""
        repository, found = self._session.repository, []
        texts = (*revisions, *_texts(tuple(self._given.values())))
        for text in dict.fromkeys(end for each in texts for end in re.split(r"\.{2,3}", each)):
            try:
                found.append(repository.tree(repository.resolve(text)))
            except (InputError, DamagedError):
                # No revision: the name of a table, a value, or what the verb itself tells of.
                continue
        return found


def _mentions(message: str, name: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(name.strip('`'))}(?!\w)", message, re.IGNORECASE))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item)
