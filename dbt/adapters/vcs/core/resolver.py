r"""Revisions: how people name a commit, and the commit that is meant.

| text                        | meaning                                                        |
|-----------------------------|----------------------------------------------------------------|
| `main`, `v1`, `3fa9c1d`     | a branch, a tag, a commit id or at least 4 digits of one       |
| `heads/main`, `tags/v1`     | the branch, the tag, where a name is both                      |
| `main~2`                    | two first parents back                                         |
| `main^`, `main^2`           | first parent, second parent                                    |
| `main@{1}`                  | where the branch pointed one move ago                          |
| `main@{2026-11-20 12:00}`   | where the branch pointed then; UTC unless an offset is given   |
| `main@{2 hours ago}`        | the same, counted from now                                     |
| `a..b`, `a...b`             | from a, or from the merge base of a and b, to b                |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeAlias

from dbt.adapters.vcs.core.branches import Branch, Names, Tag
from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import (
    ID_PREFIX,
    OBJECT_ID,
    Clock,
    CommitId,
    Micros,
    datetime_of,
    micros_of,
)
from dbt.adapters.vcs.core.model import RefMove
from dbt.adapters.vcs.core.store.blobs import Blobs, caught, together
from dbt.adapters.vcs.core.store.branch_names import is_name
from dbt.adapters.vcs.core.store.log_repair import LOST
from dbt.adapters.vcs.core.store.objects import ObjectStore
from dbt.adapters.vcs.core.store.refs import RefStore

_STEPS = re.compile(r"~\d{0,9}|\^\d{0,9}|@\{[^{}]*\}")
_REVISION = re.compile(rf"(?P<name>.*?)(?P<steps>(?:{_STEPS.pattern})*)", re.DOTALL)
_AGO = re.compile(r"(\d{1,6})\s+(second|minute|hour|day|week)s?\s+ago")
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_HINT = "Write for example main, main~2, main^2, main@{1}, main@{2026-11-20 12:00} or a..b."


@dataclass(frozen=True, slots=True)
class Parent:
    """`^n`: the n-th parent, counted from 1; 0 is the commit itself."""

    number: int


@dataclass(frozen=True, slots=True)
class Back:
    """`~n`: n first parents back."""

    count: int


@dataclass(frozen=True, slots=True)
class MovesAgo:
    """`@{n}`: where the branch pointed n moves ago."""

    count: int


@dataclass(frozen=True, slots=True)
class AtMoment:
    """`@{moment}`: where the branch pointed then."""

    moment: Micros


Step: TypeAlias = Parent | Back
Selector: TypeAlias = MovesAgo | AtMoment


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A name, a moment or move in its log, and steps from there."""

    text: str
    name: str
    selector: Selector | None = None
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """`left..right`, or `left...right`, which starts at their merge base."""

    left: str
    right: str
    from_merge_base: bool


def parse_revision(text: str, now: Micros) -> Revision:
    """Parse a text that names one commit; `ago` counts back from `now`.

    Raises:
        InputError: It is not a revision.
    """
    found = _REVISION.fullmatch(text)
    name = found["name"] if found else ""
    if found is None or not name:
        raise InputError(f"The revision {text!r} names no branch, tag or commit. {_HINT}")
    selector: Selector | None = None
    steps: list[Step] = []
    for position, part in enumerate(_STEPS.findall(found["steps"])):
        if part.startswith("@"):
            # A log is that of a name, so nothing after a step has one.
            if position:
                raise InputError(
                    f"In the revision {text!r} {part} must stand right after the name. {_HINT}"
                )
            selector = _selector(text, part[2:-1].strip(), now)
        elif part.startswith("^"):
            steps.append(Parent(int(part[1:] or 1)))
        else:
            steps.append(Back(int(part[1:] or 1)))
    return Revision(text=text, name=name, selector=selector, steps=tuple(steps))


def parse_range(text: str) -> Range | None:
    """Parse `a..b` or `a...b`; None if there are no two dots.

    Raises:
        InputError: An end is missing, or there are more than two.
    """
    # New names hold no two dots (git-check-ref-format(1), rule 3), so these part the ends.
    parts = re.split(r"(\.{2,})", text)
    if len(parts) == 1:
        return None
    if len(parts) != 3 or not parts[0] or not parts[2] or len(parts[1]) > 3:
        raise InputError(
            f"The range {text!r} is not of the form a..b or a...b with both ends given. {_HINT}"
        )
    return Range(left=parts[0], right=parts[2], from_merge_base=parts[1] == "...")


def parse_moment(text: str, now: Micros) -> Micros | None:
    """Parse an ISO date or time, or `<n> <unit>s ago`, `now`, `yesterday`.

    A date means its first instant, and UTC applies unless an offset is given. None if the text is
    none of these.
    """
    words = text.strip().lower()
    if words == "now":
        return now
    if words == "yesterday":
        return Micros(now - 86_400 * 1_000_000)
    if ago := _AGO.fullmatch(words):
        return Micros(now - int(ago[1]) * _SECONDS[ago[2]] * 1_000_000)
    try:
        # Python 3.10 reads offsets, and not Z.
        return micros_of(datetime.fromisoformat(re.sub(r"\s*[zZ]$", "+00:00", text.strip())))
    except ValueError:
        return None


def _selector(text: str, inside: str, now: Micros) -> Selector:
    if inside.isdecimal():
        return MovesAgo(int(inside))
    moment = parse_moment(inside, now)
    if moment is None:
        raise InputError(
            f"In the revision {text!r} {inside!r} is neither a number of moves nor a moment. "
            "Write for example main@{1}, main@{2026-11-20}, main@{2026-11-20 12:00:00+01:00} or "
            "main@{2 hours ago}."
        )
    return AtMoment(moment)


class Resolver:
    """Finds commits by revision; the table above has the grammar.

    A name is looked up as in git (gitrevisions(7)): a whole commit id, then a tag, then a branch,
    then the start of a commit id. So a tag hides a branch of the same name, which can still be
    written `heads/<name>`. A text that is itself a name means that name, whatever characters it
    has.
    """

    def __init__(
        self,
        blobs: Blobs,
        objects: ObjectStore,
        refs: RefStore,
        heads: Names,
        tags: Names,
        clock: Clock,
        merge_base: Callable[[CommitId, CommitId], CommitId | None],
    ) -> None:
        self._blobs = blobs
        self._objects = objects
        self._refs = refs
        self._heads = heads
        self._tags = tags
        self._clock = clock
        self._merge_base = merge_base

    def resolve(self, text: str) -> tuple[CommitId, Branch | Tag | None]:
        """Return the commit of a revision; `Repository.resolve_ref` has the contract."""
        # Names of earlier versions may look like revisions with steps.
        whole = self._find(text)
        if whole is not None:
            return whole
        revision = parse_revision(text, self._clock())
        if revision.selector is not None:
            start = self._selected_commit(revision.name, revision.selector)
        # It has no steps, so it was looked up above.
        elif revision.name == text:
            raise NotFoundError(self._unknown(text))
        else:
            found = self.find_name(revision.name)
            if found is None:
                raise NotFoundError(self._unknown(revision.name))
            start = found
        return self._walk(revision, start), None

    def resolve_range(self, text: str | Range) -> tuple[CommitId, CommitId]:
        """Return the ends of a range; `Repository.resolve_range` has the contract."""
        ends = parse_range(text) if isinstance(text, str) else text
        if ends is None:
            raise InputError(
                f"{text!r} is not a range. Write a..b, or a...b to start where they met."
            )
        left, right = self.resolve(ends.left)[0], self.resolve(ends.right)[0]
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
        found = self._find(name)
        return None if found is None else found[0]

    def find_ref(self, name: str) -> Branch | Tag | None:
        """Return the branch or tag that a revision is the name of; None if it is none."""
        return None if self._is_commit(name) else self._ref(name)

    def _find(self, name: str) -> tuple[CommitId, Branch | Tag | None] | None:
        if self._is_commit(name):
            return CommitId(name), None
        ref = self._ref(name)
        if ref is not None:
            return (ref.head if isinstance(ref, Branch) else ref.commit), ref
        id = self._by_prefix(name.lower())
        return None if id is None else (id, None)

    def _is_commit(self, name: str) -> bool:
        # An id that no commit has may be a name: older versions allowed it.
        return bool(OBJECT_ID.fullmatch(name) and self._objects.with_prefix("commit", name))

    def _ref(self, name: str) -> Branch | Tag | None:
        bare = name.removeprefix("refs/")
        looks: list[tuple[type[Branch | Tag], Names, str]] = [
            (Tag, self._tags, name),
            (Branch, self._heads, name),
        ]
        if bare.startswith("tags/"):
            looks.append((Tag, self._tags, bare.removeprefix("tags/")))
        if bare.startswith("heads/"):
            looks.append((Branch, self._heads, bare.removeprefix("heads/")))
        # `find` refuses what no ref can be called.
        looks = [look for look in looks if is_name(look[2])]
        # All at once: nearly always there is no tag, and its absence takes a request to see.
        finds = [partial(caught(space.find), text) for _, space, text in looks]
        for (kind, _, text), found in zip(looks, together(self._blobs, *finds), strict=True):
            # A name goes before what comes after it, damaged or not.
            if isinstance(found, DamagedError):
                raise found
            if found is not None:
                return kind(text, *found)
        return None

    def _by_prefix(self, prefix: str) -> CommitId | None:
        if not ID_PREFIX.fullmatch(prefix):
            return None
        ids = self._objects.with_prefix("commit", prefix)
        if len(ids) > 1:
            shown = "; ".join(self._commit_text(CommitId(id)) for id in ids[:5])
            raise InputError(
                f"The commit id {prefix!r} is ambiguous, {len(ids)} commits start with it: "
                f"{shown}. Give more digits."
            )
        return CommitId(ids[0]) if ids else None

    def _commit_text(self, id: CommitId) -> str:
        commit = self._objects.commit(id)
        moment = f"{datetime_of(commit.committed_at):%Y-%m-%d %H:%M}"
        return f"{id[:12]} ({moment}, {commit.summary})"

    def _selected_commit(self, name: str, selector: Selector) -> CommitId:
        # Only branches: a tag names one commit for good.
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
            raise NotFoundError(f"{_no_commit(found.move, f'at {wanted}')} Give another moment.")
        return found.move.commit

    def _moves_ago(self, name: str, last: int, selector: MovesAgo) -> CommitId:
        count = -1
        commit: CommitId | None = None
        for seq in range(last, 0, -1):
            move = self._refs.at("heads", name, seq).move
            # A move that changed only the state is no position of the branch.
            if count < 0 or move.commit != commit:
                count, commit = count + 1, move.commit
            if count < selector.count:
                continue
            if commit is None and seq == last:
                raise NotFoundError(self._heads.unknown(name))
            if commit is None:
                where = f"{name}@{{{count}}}"
                raise NotFoundError(f"{_no_commit(move, f'at {where}')} Give another position.")
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
                # As in git, `^0` asks for nothing but a commit.
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
        new = self._refs.rewritten(name.lower()) if ID_PREFIX.fullmatch(name.lower()) else None
        if new is not None:
            return f"The commit {name} was rewritten by a purge. It is {new[:12]} now."
        return f"{self._heads.unknown(name)} No tag and no commit has that name either."


def _no_commit(move: RefMove, when: str) -> str:
    """Return why a branch has no commit after a move."""
    if move.action == LOST:
        return f"It is not known where the branch {move.name!r} was {when}: its log was repaired."
    return f"The branch {move.name!r} was deleted {when}, by {move.by}."
