"""Ends: the two sides of a diff, parsed from command line arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.history.revision import Range, parse_range
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.tableversions import find_version
from dbt.adapters.vcs.statements.syntax.diff_call import table_at
from dbt.adapters.vcs.worktree.overlay import Overlay
from dbt.adapters.vcs.worktree.points import Point, TableText, find_points

_TABLE: Final = re.compile(r"(`[^`]+`|[^.@`\s]+)\.(`[^`]+`|[^.@`\s]+)(@.*)?", re.DOTALL)
_MERGE_BASE: Final = "..."
_NAMES: Final = 10


class Ends(NamedTuple):
    """The two sides of a comparison, as given.

    Attributes:
        before: A revision, or a table's point if `table` is None and `tables` is set.
        after: The same.
        table: The only relation to compare, or None for all.
        tables: True if the ends are points of tables, `schema.table@version`.
    """

    before: str
    after: str
    table: str | None = None
    tables: bool = False

    def without_merge_base(self) -> Ends:
        """Return the ends of `a..b` that are equal to those of `a...b`."""
        return self._replace(before=self.before.removesuffix(_MERGE_BASE))


def read_ends(repository: Repository, words: Sequence[str], branch: str) -> Ends:
    """Return the ends that the arguments of `dbt-vcs diff` mean.

    | words                  | compared                                                  |
    |------------------------|-----------------------------------------------------------|
    | none                   | the branch, since it left the default branch              |
    | `a`                    | the branch with a                                         |
    | `a..b`, `a b`          | b with a                                                  |
    | `a...b`                | b with where it left a                                    |
    | any of these, `s.t`    | the same, of one relation; a, b may be snapshots' names   |
    | `s.t@a`, `s.t@a s.u@b` | versions of tables: with the branch's, with each other    |

    Raises:
        InputError: They match none of these.
    """
    tables = [word for word in words if _is_table(repository, word)]
    revisions = [word for word in words if word not in tables]
    has_versions = any("@" in word for word in tables)
    if not revisions and (len(tables) == 2 or (len(tables) == 1 and has_versions)):
        own = tables[0].partition("@")[0]
        return Ends(tables[0], (*tables, own)[1], tables=True)
    if len(revisions) > 2 or len(tables) > 1 or has_versions:
        raise InputError(
            f"Expected a..b, a...b or a b and at most one table, or two of schema.table@version; "
            f"found {' '.join(words)}."
        )
    return _of_revisions(repository, revisions, branch, tables[0] if tables else None)


def _of_revisions(
    repository: Repository, revisions: Sequence[str], branch: str, table: str | None
) -> Ends:
    """Return the ends for at most two revisions, by the table in `read_ends`."""
    if len(revisions) == 2:
        return Ends(revisions[0], revisions[1], table)
    if not revisions:
        return Ends(repository.default_branch + _MERGE_BASE, branch, table)
    text = revisions[0]
    ends = None if repository.is_known(text) else parse_range(text)
    if ends is None:
        return Ends(text, branch, table)
    return Ends(ends.left + (_MERGE_BASE if ends.from_merge_base else ""), ends.right, table)


def resolved(repository: Repository, ends: Ends) -> tuple[CommitId, CommitId]:
    """Return the commits of two revisions; the first may be a merge base.

    Raises:
        NotFoundError: One does not exist, or there is no merge base.
        InputError: One is not a revision.
    """
    if ends.before.endswith(_MERGE_BASE):
        left = ends.before.removesuffix(_MERGE_BASE)
        return repository.resolve_range(Range(left=left, right=ends.after, from_merge_base=True))
    return repository.resolve(ends.before), repository.resolve(ends.after)


def name_of(text: str) -> RelationName:
    """Return the relation that `schema.identifier` names.

    Raises:
        InputError: The schema is missing.
    """
    name, _ = table_at(text)
    return _qualified(name.schema, name.identifier)


def read_points(repository: Repository, ends: Ends, branch: str) -> tuple[Point, Point] | None:
    """Return the versions of the tables to compare; None for a view.

    Raises:
        NotFoundError: There is no such version, or neither end has the table.
        InputError: A text matches several versions.
    """
    if ends.tables:
        at = repository.branch(branch).head
        overlay = Overlay(repository=repository, base=at, tree=repository.tree(at), branch=branch)
        old, new = (
            TableText(_qualified(name.schema, name.identifier), version)
            for name, version in map(table_at, (ends.before, ends.after))
        )
        return find_points(overlay, old, new, lambda: "UTC")
    assert ends.table is not None
    relation = name_of(ends.table)
    if ends.before.endswith(_MERGE_BASE):
        texts: Sequence[str] = resolved(repository, ends)
    else:
        texts = (ends.before, ends.after)
    points = [_version(repository, relation, text) for text in texts]
    if any(point is None for point in points):
        return None
    before, after = (point for point in points if point is not None)
    if before.id is None and after.id is None:
        where = " or at ".join(dict.fromkeys((ends.before, ends.after)))
        raise NotFoundError(f"There is no {relation} at {where}. {_known(repository, texts)}")
    return before, after


def _known(repository: Repository, revisions: Sequence[str]) -> str:
    """Return a sentence that names the relations of some revisions, as far as they fit a line."""
    trees = [repository.tree(repository.resolve(text)) for text in revisions]
    names = sorted(
        {
            f"{schema}.{identifier}"
            for tree in trees
            for schema in tree.schemas()
            for identifier in tree.relations(schema)
        }
    )
    if not names:
        return "There are no relations there."
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"Check the spelling: there are {', '.join(names[:_NAMES])}{more}."


def _version(repository: Repository, relation: RelationName, text: str) -> Point | None:
    """Return a version by snapshot name or revision; None for a relation without stored rows."""
    try:
        return Point(relation, find_version(repository, relation, text).snapshot)
    except NotFoundError:
        entry = repository.tree(repository.resolve(text)).entry(relation)
        assert not isinstance(entry, TableEntry)
    except InputError:
        entry = repository.tree(repository.resolve(text)).entry(relation)
        if entry is None or isinstance(entry, TableEntry):
            raise
    return Point(relation, None) if entry is None else None


def _is_table(repository: Repository, word: str) -> bool:
    if not _TABLE.fullmatch(word) or ".." in word.partition("@")[0]:
        return False
    try:
        repository.resolve(word)
    except InputError:
        return True
    return False


def _qualified(schema: str | None, identifier: str) -> RelationName:
    if schema is None:
        raise InputError(f"Expected schema.table, found {identifier!r}. Name the schema, too.")
    return RelationName(schema.lower(), identifier.lower())
