"""Resolver: from a revision that a person writes to its commit."""

from __future__ import annotations

import re
from collections.abc import Callable

from dbt.adapters.vcs.core.branches import Names
from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.history.revision import (
    MIN_PREFIX,
    AtMoment,
    Back,
    MovesAgo,
    Parent,
    Range,
    Revision,
    Selector,
    parse_range,
    parse_revision,
)
from dbt.adapters.vcs.core.ids import Clock, CommitId, datetime_of
from dbt.adapters.vcs.core.store.branch_names import is_name
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.refs import RefStore

_DIGITS = re.compile(rf"[0-9a-f]{{{MIN_PREFIX},64}}")


class Resolver:
    """Finds commits by revision; `history.revision` has the grammar.

    A name is looked up as in git (gitrevisions(7)): a whole commit id, then a tag, then a branch,
    then the start of a commit id. So a tag hides a branch of the same name, which can still be
    written `heads/<name>`. A text that is itself a name means that name, whatever characters it
    has.
    """

    def __init__(
        self,
        objects: ObjectStore,
        refs: RefStore,
        heads: Names,
        tags: Names,
        clock: Clock,
        merge_base: Callable[[CommitId, CommitId], CommitId | None],
    ) -> None:
        self._objects = objects
        self._refs = refs
        self._heads = heads
        self._tags = tags
        self._clock = clock
        self._merge_base = merge_base

    def resolve(self, text: str) -> CommitId:
        """Return the commit that a revision names.

        Raises:
            NotFoundError: It names no commit.
            InputError: It is not a revision, or names several commits.
        """
        whole = self.find_name(text)
        if whole is not None:
            return whole
        revision = parse_revision(text, self._clock())
        if revision.selector is not None:
            start = self._selected(revision.name, revision.selector)
        elif revision.name == text:
            raise NotFoundError(self._unknown(text))
        else:
            found = self.find_name(revision.name)
            if found is None:
                raise NotFoundError(self._unknown(revision.name))
            start = found
        return self._walk(revision, start)

    def resolve_range(self, text: str | Range) -> tuple[CommitId, CommitId]:
        """Return both ends of `a..b`, or the merge base and b of `a...b`.

        Raises:
            InputError: It is not a range.
            NotFoundError: An end names no commit, or `a...b` have no common ancestor.
        """
        ends = parse_range(text) if isinstance(text, str) else text
        if ends is None:
            raise InputError(
                f"{text!r} is not a range. Write a..b, or a...b to start where they met."
            )
        left, right = self.resolve(ends.left), self.resolve(ends.right)
        if not ends.from_merge_base:
            return left, right
        base = self._merge_base(left, right)
        if base is None:
            raise NotFoundError(
                f"{ends.left!r} and {ends.right!r} have no common ancestor. "
                f"Write {ends.left}..{ends.right} to compare them as they are."
            )
        return base, right

    def find_name(self, name: str) -> CommitId | None:
        """Return the commit of a name without any steps, None if there is none.

        Raises:
            InputError: Several commits start with it.
        """
        if re.fullmatch(r"[0-9a-f]{64}", name) and self._objects.with_prefix("commit", name):
            return CommitId(name)
        bare = name.removeprefix("refs/")
        for space, text in (
            (self._tags, name),
            (self._heads, name),
            (self._tags, bare.removeprefix("tags/") if bare.startswith("tags/") else ""),
            (self._heads, bare.removeprefix("heads/") if bare.startswith("heads/") else ""),
        ):
            found = space.find(text) if is_name(text) else None
            if found is not None:
                return found[0]
        return self._by_prefix(name.lower())

    def _by_prefix(self, prefix: str) -> CommitId | None:
        if not _DIGITS.fullmatch(prefix):
            return None
        ids = self._objects.with_prefix("commit", prefix)
        if len(ids) > 1:
            shown = "; ".join(self._described(CommitId(id)) for id in ids[:5])
            raise InputError(
                f"The commit id {prefix!r} is ambiguous, {len(ids)} commits start with it: "
                f"{shown}. Give more digits."
            )
        return CommitId(ids[0]) if ids else None

    def _described(self, id: CommitId) -> str:
        commit = self._objects.commit(id)
        moment = f"{datetime_of(commit.committed_at):%Y-%m-%d %H:%M}"
        return f"{id[:12]} ({moment}, {commit.summary})"

    def _selected(self, name: str, selector: Selector) -> CommitId:
        last = self._refs.read("heads", name)
        if last is None:
            raise NotFoundError(self._heads.unknown(name))
        if isinstance(selector, AtMoment):
            return self._at_moment(name, selector)
        return self._moves_ago(name, last.seq, selector)

    def _at_moment(self, name: str, selector: AtMoment) -> CommitId:
        wanted = f"{datetime_of(selector.moment):%Y-%m-%d %H:%M:%S} UTC"
        found = self._refs.before("heads", name, selector.moment)
        if found is None:
            first = datetime_of(self._refs.at("heads", name, 1).move.at)
            raise NotFoundError(
                f"The branch {name!r} was not there at {wanted}: it was created at "
                f"{first:%Y-%m-%d %H:%M:%S} UTC. Give a later moment."
            )
        if found.move.commit is None:
            raise NotFoundError(
                f"The branch {name!r} was deleted at {wanted}, by {found.move.by}. "
                "Give another moment."
            )
        return found.move.commit

    def _moves_ago(self, name: str, last: int, selector: MovesAgo) -> CommitId:
        """Moves that only changed the state, not the commit, don't count."""
        count = -1
        commit: CommitId | None = None
        for seq in range(last, 0, -1):
            here = self._refs.at("heads", name, seq).move.commit
            if count < 0 or here != commit:
                count, commit = count + 1, here
            if count == selector.count:
                if commit is None:
                    raise NotFoundError(self._heads.unknown(name))
                return commit
        raise NotFoundError(
            f"The log of the branch {name!r} has {count + 1} positions, the oldest is "
            f"{name}@{{{count}}}; {name}@{{{selector.count}}} was asked for."
        )

    def _walk(self, revision: Revision, start: CommitId) -> CommitId:
        id = start
        for step in revision.steps:
            match step:
                case Back(count=count):
                    for done in range(count):
                        id = self._parent(revision, id, 1, f" after {done} of {count} steps")
                case Parent(number=0):
                    self._objects.commit(id)
                case Parent(number=number):
                    id = self._parent(revision, id, number, "")
        return id

    def _parent(self, revision: Revision, id: CommitId, number: int, where: str) -> CommitId:
        parents = self._objects.commit(id).parents
        if number <= len(parents):
            return parents[number - 1]
        if not parents:
            raise NotFoundError(
                f"The revision {revision.text!r} goes past the first commit, {id[:12]}, which is "
                f"reached{where}. Go back fewer steps."
            )
        raise NotFoundError(
            f"The revision {revision.text!r} asks for parent {number} of {id[:12]}, which has "
            f"{len(parents)}."
        )

    def _unknown(self, name: str) -> str:
        if not is_name(name):
            return f"{name!r} is not a branch, tag or commit."
        new = self._refs.rewritten(name.lower()) if _DIGITS.fullmatch(name.lower()) else None
        if new is not None:
            return f"The commit {name} was rewritten by a purge. It is {new[:12]} now."
        return f"{self._heads.unknown(name)} No tag and no commit has that name either."
