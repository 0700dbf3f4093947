from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.vcs.verbs.layout import (
    Grid,
    Span,
    age,
    brief,
    counted,
    line,
    local_time,
    plain_lines,
    printable,
    size,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=29), "4 weeks ago"),
        (timedelta(days=364), "12 months ago"),
        (timedelta(days=800), "2 years ago"),
    ],
)
def test_ages_are_in_the_largest_whole_unit(gone: timedelta, expected: str) -> None:
    assert age(NOW - gone, NOW) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (5 << 30, "5.0 GiB"),
        (1 << 60, "1024.0 PiB"),
    ],
)
def test_sizes(number: int, expected: str) -> None:
    assert size(number) == expected


def test_counts() -> None:
    assert [counted(n, "row") for n in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]
    assert counted(2, "branch", "branches") == "2 branches"


def test_local_times_are_iso_with_their_offset() -> None:
    text = local_time(NOW)
    assert datetime.fromisoformat(text) == NOW
    assert text[10] == " "


def test_text_of_others_can_not_steer_the_terminal() -> None:
    assert printable("a\x1b[31mb\rc\nd\u202ee") == "a\\x1b[31mb\\rc\\nd\\u202ee"
    assert printable("Ünï 表 👩\u200d🚀") == "Ünï 表 👩\u200d🚀"
    assert plain_lines([line("x\x07", Span("y", "bad"))]) == ["x\\x07y"]


def test_grids_are_aligned_also_with_wide_characters() -> None:
    grid = Grid(
        heads=("NAME", "N", "WHAT"),
        rows=(
            (Span("表"), Span("1"), Span("one")),
            (Span("plain"), Span("10"), Span("")),
        ),
        right=frozenset({"N"}),
    )
    assert plain_lines([grid]) == ["NAME    N  WHAT", "表      1  one", "plain  10"]


def test_long_texts_are_cut_in_lists() -> None:
    assert brief("x" * 100) == "x" * 100
    assert brief("x" * 101) == "x" * 99 + "…"
