r"""Revisions: how people name a commit, as text and as a value.

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
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import Micros, micros_of

MIN_PREFIX: Final = 4
"""Digits of a commit id that are enough to try it."""

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
