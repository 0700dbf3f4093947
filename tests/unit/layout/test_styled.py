from datetime import datetime, timedelta, timezone

import pytest

from dbt.adapters.vcs.commands.layout import (
    PAGE,
    Grid,
    Span,
    TextLine,
    age,
    brief,
    counted,
    entry,
    fitted_lines,
    line,
    local_time,
    plain_lines,
    printable,
    shortened,
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


def shown(grid: Grid, room: int) -> list[str]:
    lines = fitted_lines([grid], room)
    return ["".join(span.text for span in line.spans).rstrip() for line in lines]


CHANGES = Grid(
    heads=("_change_type", "order", "placed", "note", "amount"),
    rows=tuple(
        (
            Span(kind),
            Span("1000017"),
            Span("2026-11-20"),
            Span("Left at the neighbour's, who was in"),
            Span(amount, marked=True),
        )
        for kind, amount in (("update_preimage", "12.00"), ("update_postimage", "1112.50"))
    ),
    whole=frozenset({"order", "placed", "amount"}),
    first=("_change_type", "order"),
)


def test_texts_are_shortened_before_a_column_is_left_out() -> None:
    assert shown(CHANGES, 72) == [
        "_change_type      order    placed      note                      amount",
        "update_preimage   1000017  2026-11-20  Left at the neighbour's…  12.00",
        "update_postimage  1000017  2026-11-20  Left at the neighbour's…  1112.50",
    ]


def test_keys_and_changed_columns_come_first_where_not_all_fit() -> None:
    assert shown(CHANGES, 60) == [
        "_change_type      order    amount   placed      …",
        "update_preimage   1000017  12.00    2026-11-20  …",
        "update_postimage  1000017  1112.50  2026-11-20  …",
    ]
    assert shown(CHANGES, 40) == [
        "_change_type      order    amount   …",
        "update_preimage   1000017  12.00    …",
        "update_postimage  1000017  1112.50  …",
    ]


def test_rows_that_do_not_fit_are_shown_a_line_a_column() -> None:
    assert shown(CHANGES, 32)[:6] == [
        "_change_type  update_preimage",
        "order         1000017",
        "placed        2026-11-20",
        "note          Left at the neigh…",
        "amount        12.00",
        "",
    ]


def test_heads_are_repeated_when_other_columns_are_shown() -> None:
    def row(number: int) -> tuple[Span, ...]:
        return Span(f"{number}"), Span("a" * 9, marked=number < PAGE), Span("b" * 9)

    grid = Grid(
        heads=("ID", "A", "B"),
        rows=(row(number) for number in range(2 * PAGE)),
        whole=frozenset({"A", "B"}),
        first=("ID",),
    )
    lines = shown(grid, 20)
    assert [line for line in lines if line.startswith("ID")] == ["ID   A          …"]
    assert len(lines) == 2 * PAGE + 1


@pytest.mark.parametrize(
    ("text", "room", "expected"),
    [
        ("12.00", 5, "12.00"),
        ("12.00", 4, "…"),
        ("of 12.00 left", 12, "of 12.00 le…"),
        ("of 12.00 left", 9, "of …"),
        ("of 12.00 left", 10, "of 12.00 …"),
        ("of 12.00 left", 7, "of …"),
        ("-1.5e-07", 7, "…"),
        ("cafe\u0301s", 5, "cafe\u0301s"),
        ("cafe\u0301s!", 5, "cafe\u0301…"),
        ("表表表", 5, "表表…"),
        ("表表表", 4, "表…"),
    ],
)
def test_a_text_is_shortened_between_characters_and_not_in_numbers(
    text: str, room: int, expected: str
) -> None:
    assert shortened(text, room) == expected


def test_lines_of_a_log_give_way_in_their_message() -> None:
    log = entry(Span("4c1f09a2b7d3", "commit"), " ", "x" * 100, "  ann, 2 hours ago", gives=2)
    assert shown_line(log, 50) == ["4c1f09a2b7d3 " + "x" * 18 + "…  ann, 2 hours ago"]
    assert plain_lines([log]) == ["4c1f09a2b7d3 " + "x" * 100 + "  ann, 2 hours ago"]


def test_entries_are_wrapped_between_words_and_sentences_are_not() -> None:
    changed = entry("  changed  table  analytics.orders  +412009 -410994")
    assert shown_line(changed, 40) == ["  changed  table  analytics.orders", "    +412009 -410994"]
    command = "To restore it: dbt-vcs branch create feature/tax 4c1f09a2b7d3"
    assert shown_line(line(command), 40) == [command]


def shown_line(block: TextLine, room: int) -> list[str]:
    lines = fitted_lines([block], room)
    return ["".join(span.text for span in line.spans).rstrip() for line in lines]
