"""What a revision text says."""

from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import micros_of
from dbt.adapters.vcs.core.resolver import (
    AtMoment,
    Back,
    MovesAgo,
    Parent,
    Range,
    parse_moment,
    parse_range,
    parse_revision,
)

NOW = micros_of(datetime(2026, 11, 20, 12, tzinfo=timezone.utc))


def at(*parts: int, offset: int = 0) -> AtMoment:
    zone = timezone(timedelta(hours=offset))
    return AtMoment(micros_of(datetime(*parts, tzinfo=zone)))


@pytest.mark.parametrize(
    ("text", "name", "selector", "steps"),
    [
        ("main", "main", None, ()),
        ("main~", "main", None, (Back(1),)),
        ("main~2", "main", None, (Back(2),)),
        ("main^", "main", None, (Parent(1),)),
        ("main^2", "main", None, (Parent(2),)),
        ("main^0", "main", None, (Parent(0),)),
        ("main^^~3^2", "main", None, (Parent(1), Parent(1), Back(3), Parent(2))),
        ("feature/a-b.c~1", "feature/a-b.c", None, (Back(1),)),
        ("a b~1", "a b", None, (Back(1),)),
        ("a~b~1", "a~b", None, (Back(1),)),
        ("main@{1}", "main", MovesAgo(1), ()),
        ("main@{0}~2", "main", MovesAgo(0), (Back(2),)),
        ("main@{2026-11-20}", "main", at(2026, 11, 20), ()),
        ("main@{2026-11-20 12:00}", "main", at(2026, 11, 20, 12), ()),
        (
            "main@{2026-11-20T12:00:30.500}^",
            "main",
            at(2026, 11, 20, 12, 0, 30, 500_000),
            (Parent(1),),
        ),
        ("main@{2026-11-20 12:00Z}", "main", at(2026, 11, 20, 12), ()),
        ("main@{2026-11-20 12:00+02:00}", "main", at(2026, 11, 20, 12, offset=2), ()),
        ("main@{2 hours ago}", "main", at(2026, 11, 20, 10), ()),
        ("main@{1 day ago}", "main", at(2026, 11, 19, 12), ()),
        ("main@{yesterday}", "main", at(2026, 11, 19, 12), ()),
        ("main@{now}", "main", AtMoment(NOW), ()),
    ],
)
def test_revisions_are_read(text, name, selector, steps) -> None:
    revision = parse_revision(text, NOW)
    assert (revision.text, revision.name, revision.selector) == (text, name, selector)
    assert revision.steps == steps


@pytest.mark.parametrize("text", ["", "~", "^2", "@{1}", "main~1@{1}", "main@{1}@{2}", "main@{x}"])
def test_what_is_no_revision_is_told_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=r"main@\{"):
        parse_revision(text, NOW)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a..b", Range(left="a", right="b", from_merge_base=False)),
        ("a...b", Range(left="a", right="b", from_merge_base=True)),
        ("a~2..b@{1}", Range(left="a~2", right="b@{1}", from_merge_base=False)),
        ("v1.0..v1.1", Range(left="v1.0", right="v1.1", from_merge_base=False)),
        ("main", None),
        ("v1.0", None),
    ],
)
def test_ranges_are_read(text: str, expected: Range | None) -> None:
    assert parse_range(text) == expected


@pytest.mark.parametrize("text", ["..", "a..", "..b", "a....b", "a..b..c", "..."])
def test_a_range_needs_two_ends(text: str) -> None:
    with pytest.raises(InputError, match=r"a\.\.b"):
        parse_range(text)


@pytest.mark.parametrize("text", ["", "x", "20 November", "2026-13-01", "25:00", "two days ago"])
def test_what_is_no_moment_is_none(text: str) -> None:
    assert parse_moment(text, NOW) is None
