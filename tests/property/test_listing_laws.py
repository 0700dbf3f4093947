"""What a listing shows on a terminal, whatever its cells hold and however narrow it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from dbt.adapters.vcs.commands.layout import (
    MARK,
    PAGE,
    Block,
    Grid,
    GridColumn,
    Span,
    cell_width,
    entry,
    fit,
    fitted_lines,
    plain_lines,
    plain_text,
    printable,
    shortened,
)

NUMBERS = st.one_of(
    st.integers(-(10**12), 10**12).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
)
CHARACTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from("表東京é\u0301\u0308🚀👩\u200d\ufe0f\U0001f3fd\x1b\n\r\t\x00\u202e…"),
)
TEXTS = st.one_of(
    NUMBERS,
    st.text(CHARACTERS, max_size=30),
    st.lists(st.one_of(NUMBERS, st.text(CHARACTERS, max_size=8)), max_size=6).map(" ".join),
)
ROOMS = st.integers(1, 120)
DIGITS = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
"""A number as simple as can be, by which to tell that none was cut."""


def numbers(text: str) -> list[str]:
    return DIGITS.findall(text)


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    width = draw(st.integers(1, 8))
    heads = tuple(draw(st.lists(TEXTS, min_size=width, max_size=width, unique=True)))
    some = st.lists(st.sampled_from(heads), max_size=width)
    cells = st.builds(Span, TEXTS, st.just("plain"), st.booleans())
    rows = draw(st.lists(st.tuples(*[cells] * width), max_size=5))
    return Grid(
        heads=heads,
        rows=tuple(rows),
        right=frozenset(draw(some)),
        whole=frozenset(draw(some)),
        first=tuple(draw(some)),
    )


def shown(block: Block, room: int) -> list[str]:
    return ["".join(span.text for span in line.spans) for line in fitted_lines([block], room)]


@given(TEXTS.map(printable), ROOMS)
def test_a_shortened_text_fits_and_says_so_and_holds_no_part_of_a_number(
    text: str, room: int
) -> None:
    found = shortened(text, room)
    assert cell_len(found) <= room
    if cell_len(text) <= room:
        assert found == text
        return
    kept = found.removesuffix(MARK)
    assert found.endswith(MARK) and text.startswith(kept)
    whole, left = numbers(text), numbers(kept)
    assert left == whole[: len(left)]
    assert not kept[-1:].isdigit()


@given(TEXTS.map(printable), ROOMS)
def test_characters_of_several_code_points_are_not_taken_apart(text: str, room: int) -> None:
    found = shortened(text, room)
    if found != text:
        rest = text[len(found) - 1 :]
        assert (
            not re.match("[\u0300-\u036f\u200d\ufe0f\U0001f3fb-\U0001f3ff]", rest) or found == MARK
        )
        assert not found.removesuffix(MARK).endswith("\u200d")


@given(TEXTS)
def test_no_character_that_steers_a_terminal_is_printed(text: str) -> None:
    found = printable(text)
    assert all(char.isprintable() or char == "\u200d" for char in found)
    assert cell_width(found) == cell_len(found)


@given(grids(), ROOMS)
def test_no_line_of_a_grid_is_wider_than_the_terminal(grid: Grid, room: int) -> None:
    lines = shown(grid, room)
    assert all(cell_len(line) <= room for line in lines)
    assert not any("\n" in line or "\x1b" in line for line in lines)


@given(grids(), ROOMS)
def test_a_cell_is_shown_whole_or_a_mark_stands_for_what_is_left_out(
    grid: Grid, room: int
) -> None:
    lines = shown(grid, room)
    text = "\n".join(lines)
    cells = [printable(span.text).strip() for row in grid.rows for span in row]
    if not all(cell in text for cell in cells):
        assert MARK in text
    known = {number for cell in (*cells, *map(printable, grid.heads)) for number in numbers(cell)}
    # Two cells that touch could make up another number: they never do.
    assert set(numbers(text)) <= known


@given(
    st.lists(st.builds(GridColumn, st.integers(0, 60), st.booleans(), st.booleans()), min_size=1),
    st.integers(1, 200),
)
def test_columns_are_left_out_only_for_those_that_matter_more(
    columns: list[GridColumn], room: int
) -> None:
    found = fit(columns, room)
    if found is None:
        return
    mark = 3 if found.is_part else 0
    assert sum(found.widths) + 2 * (len(found.widths) - 1) + mark <= room
    first = {place for place, column in enumerate(columns) if column.is_first}
    assert first <= set(found.places) or not found.is_part
    if found.is_part:
        assert first and set(found.places[: len(first)]) == first
    else:
        assert found.places == tuple(range(len(columns)))
    for place, width in zip(found.places, found.widths, strict=True):
        column = columns[place]
        assert width <= column.width
        assert width == column.width or not column.is_whole


@given(st.lists(TEXTS, min_size=1, max_size=6), ROOMS, st.data())
def test_lines_of_listings_fit(parts: list[str], room: int, data: st.DataObject) -> None:
    gives = data.draw(st.one_of(st.none(), st.integers(0, len(parts) - 1)))
    lines = shown(entry(*parts, gives=gives), room)
    assert all(cell_len(line) <= room for line in lines)
    words = "".join(printable(part) for part in parts).split()
    if MARK not in "".join(lines):
        assert " ".join(lines).split() == words


@given(grids())
def test_nothing_is_left_out_of_a_pipe(grid: Grid) -> None:
    lines = plain_lines([grid])
    assert len(lines) == len(tuple(grid.rows)) + 1
    for line, row in zip(lines[1:], grid.rows, strict=True):
        for span in row:
            assert printable(span.text).strip() in line


@given(st.integers(0, 3 * PAGE), ROOMS)
@settings(max_examples=30)
def test_rows_are_printed_before_the_last_one_is_read(rows: int, room: int) -> None:
    def computed() -> Iterator[tuple[Span, ...]]:
        for number in range(rows):
            read.append(number)
            yield Span(str(number)), Span("x" * (number % 50))

    def grid() -> list[Grid]:
        return [Grid(heads=("ID", "TEXT"), rows=computed())]

    read: list[int] = []
    for printed, _ in enumerate(plain_text(grid())):
        assert len(read) <= printed + PAGE
    assert len(read) == rows
    read.clear()
    for printed, _ in enumerate(fitted_lines(grid(), room)):
        assert len(read) <= printed + PAGE
    assert len(read) == rows
