"""A review as a page: it loads nothing, escapes everything, and stays small."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest

from dbt.adapters.vcs.commands.review_drawings import Box, lineage_drawing, quantile_plot
from dbt.adapters.vcs.commands.review_page import grouped, page, percent
from dbt.adapters.vcs.table.visible_text import visible
from tests.unit import reviews

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\" onmouseover=alert(1) x=\"' onfocus='alert(1)",
    "--></style><!--<script>",
    "{{ 7 * 7 }}{% raw %}&lt;b&gt;&#60;i>",
    "]]>\u2028\u2029\x00\x1b[2J\ud800",
    "user\u202ecod.exe\u2066\u200b\ufeff\u115f",
)
CUT = "x" * 10_000_000
VOID = {"meta", "input", "br"}
# Inside it a browser's parser is strict about nothing, and takes a slash for an end.
CLOSED = {"path", "rect"}


class Page(HTMLParser):
    """A page taken apart: its elements with their attributes, its text, its data."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, Mapping[str, str | None]]] = []
        self.texts: list[str] = []
        self.raw: list[tuple[Mapping[str, str | None], str]] = []
        self.headings: list[int] = []
        self._open: list[tuple[str, Mapping[str, str | None]]] = []
        self.feed(text)
        self.close()
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        self.elements.append((tag, dict(attrs)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self._open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in CLOSED
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] in ("script", "style"):
            self.raw.append((self._open[-1][1], data))
        else:
            self.texts.append(data)

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """The elements with the names of their attributes."""
        return [(tag, tuple(attributes)) for tag, attributes in self.elements]

    def one(self, tag: str, **attributes: str) -> Mapping[str, str | None]:
        (found,) = (
            own
            for name, own in self.elements
            if name == tag and attributes.items() <= dict(own).items()
        )
        return found

    def data(self) -> dict[str, Any]:
        """The JSON in the page, by the id of its element."""
        return {
            str(attributes["id"]): json.loads(text)
            for attributes, text in self.raw
            if attributes.get("type") == "application/json"
        }


def test_the_page_loads_nothing_and_runs_only_its_own_script() -> None:
    read = Page(page(reviews.usual()))
    policy = str(read.one("meta", **{"http-equiv": "Content-Security-Policy"})["content"])
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    style, script = (text for attributes, text in read.raw if not attributes)
    assert style.startswith(":root") and script.startswith('"use strict"')

    def digest(text: str) -> str:
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    assert rules == {
        "default-src": "'none'",
        "style-src": digest(style),
        "script-src": digest(script),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }
    names = {name for _, attributes in read.elements for name in attributes}
    assert not {name for name in names if name == "style" or name.startswith("on")}
    assert not {"src", "srcset", "action", "formaction", "xlink:href", "background"} & names
    assert {tag for tag, _ in read.elements}.isdisjoint({"link", "base", "iframe", "img", "form"})
    assert all(str(own["href"]).startswith("#") for _, own in read.elements if "href" in own)
    # Comes before all that it is to guard.
    tags = [tag for tag, _ in read.elements]
    assert tags.index("meta") < tags.index("style")


def test_links_lead_to_places_of_the_page() -> None:
    read = Page(page(reviews.usual()))
    ids = [own["id"] for _, own in read.elements if "id" in own]
    assert len(set(ids)) == len(ids)
    assert {str(own["href"])[1:] for _, own in read.elements if "href" in own} <= set(ids)
    for _, own in read.elements:
        assert {own.get("aria-labelledby"), own.get("data-rows")} - {None} <= set(ids)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_text_in_every_place(text: str) -> None:
    harmless, made = Page(page(reviews.hostile("x"))), Page(page(reviews.hostile(text)))
    assert made.shape == harmless.shape
    assert made.data().keys() == harmless.data().keys()
    shown = visible(text)
    assert sum(found.count(shown) for found in made.texts) > 100
    rows = made.data()["d-1"]["rows"]
    assert any(shown in row for row in rows) and any([shown, shown] in row for row in rows)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_page_is_invisible(text: str) -> None:
    made = page(reviews.hostile(text))
    made.encode()
    assert {letter for letter in made if not letter.isprintable()} <= {"\n"}


def test_a_long_text_is_cut_in_every_place_and_its_length_said() -> None:
    made = page(reviews.hostile(CUT))
    assert "x… (10,000,000 characters)" in made
    assert "x" * 2001 not in made
    assert len(made) < 1_500_000


def test_line_breaks_and_null_are_told_from_texts_that_look_like_them() -> None:
    assert visible("a\nb\tc") == "a\nb\tc"
    assert visible("a\rb") == "a[U+000D]b"
    assert visible("\N{NO-BREAK SPACE}") == "[U+00A0]"
    assert visible("Zoë 東京 שלום 👩") == "Zoë 東京 שלום 👩"
    assert '<span class="null">NULL</span>' in page(reviews.usual())


def test_a_page_is_small_beside_its_data() -> None:
    made = page(reviews.usual())
    data = sum(len(text) for own, text in Page(made).raw if own.get("type"))
    assert len(made.encode()) - data < 100 * 1024
    assert len(page(reviews.review()).encode()) < 40 * 1024


def test_equal_reviews_make_equal_pages() -> None:
    assert page(reviews.usual()) == page(reviews.usual())


def test_rows_are_in_the_page_up_to_a_limit_and_small_tables_have_all_of_theirs() -> None:
    found = reviews.usual()
    orders, revenue, *others = found.relations
    few = replace(revenue, facts=replace(revenue.facts, rows=revenue.facts.sample))
    found = replace(found, relations=(orders, few, *others))

    read = Page(page(found, row_bytes=9000))

    assert len(read.data()["d-2"]["rows"]) == 5
    assert 20 < len(read.data()["d-1"]["rows"]) < 412
    sizes = [len(text) for own, text in read.raw if own.get("type")]
    assert sum(sizes) < 9500
    said = "".join(read.texts)
    assert "More rows changed than fit in a page" in said
    assert orders.command in said
    assert "All 5 changed rows" in said


def test_rows_that_the_review_itself_left_out_are_not_called_all() -> None:
    found = reviews.usual()
    orders = found.relations[0]
    cut = replace(orders, facts=replace(orders.facts, is_complete=False))
    said = "".join(Page(page(replace(found, relations=(cut,)))).texts)
    assert "The first 412 changed rows" in said


def test_a_row_in_the_data_has_pairs_where_it_changed() -> None:
    rows = Page(page(reviews.usual())).data()["d-1"]["rows"]
    kinds = {row[0]: row for row in rows}
    assert kinds.keys() == {"+", "-", "~"}
    assert [isinstance(cell, list) for cell in rows[0]] == [False] * 4 + [True, True, False]
    assert not any(isinstance(cell, list) for cell in kinds["+"] + kinds["-"])
    assert rows[3][6] == [None, "tax corrected"]


def test_the_sample_shows_only_changed_cells() -> None:
    made = page(reviews.usual())
    sample = made[made.index("<h4>Sample</h4>") :].partition("</table>")[0]
    first, second = sample.split("<tr>")[2:4]
    assert re.findall(r"<del>(.*?)</del> <ins>(.*?)</ins>", first)[0] == ("13.00", "11.69")
    assert first.count('<td class="value"><span></span></td>') == 2
    assert "<del>" not in second and "2026-11-24" in second


def test_code_beyond_the_limit_is_counted() -> None:
    said = "".join(Page(page(reviews.usual(), code_bytes=300)).texts)
    assert "more lines than fit in a page" in said
    assert "net_amount * 1.19" not in said


def test_each_line_of_code_has_its_look() -> None:
    made = page(reviews.usual())
    assert '<span class="minus">-    net_amount * 0.19 as tax\n</span>' in made
    assert '<span class="hunk">@@ -4,9 +4,9 @@\n</span>' in made
    assert "--- main" not in made


def test_headings_go_down_one_level_at_a_time() -> None:
    levels = Page(page(reviews.usual())).headings
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_column_head_has_a_scope() -> None:
    heads = [own for tag, own in Page(page(reviews.usual())).elements if tag == "th"]
    assert heads and {own.get("scope") for own in heads} == {"col", "row"}


def test_what_a_project_masks_is_not_drawn() -> None:
    found = reviews.usual()
    orders = found.relations[0]
    columns = tuple(replace(column, masked=True) for column in orders.facts.columns)
    masked = replace(orders, facts=replace(orders.facts, columns=columns))
    made = page(replace(found, relations=(masked,)))
    assert 'class="plot"' in page(replace(found, relations=(orders,)))
    assert 'class="plot"' not in made


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0%"), (1, "100%"), (0.0001, "<0.1%"), (0.0123, "1.2%"), (0.9999, ">99%"), (0.5, "50%")],
)
def test_a_share_is_all_or_nothing_only_if_it_is(share: float, shown: str) -> None:
    assert percent(share) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1234567.50", "1,234,567.50"),
        ("-123", "-123"),
        ("1e9", "1e9"),
        ("nan", "nan"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_thousands_are_grouped(text: str, shown: str) -> None:
    assert grouped(text) == shown


def test_quantiles_fit_the_plot_whatever_they_are() -> None:
    for values in ((1e308,) * 7, (-1.7e308, -1e308, -1, 0, 1, 1e308, 1.7e308), (3.0,) * 7):
        drawn = str(quantile_plot(values, (), "said"))
        places = [float(place) for place in re.findall(r'(?:[MH]| x=")([^ H"]+)', drawn)]
        assert len(places) == 6
        assert all(0 <= place <= 168 for place in places)


def placed(drawing: str) -> dict[str, tuple[float, float]]:
    found = re.findall(
        r'<title>([^<:]+)(?::[^<]*)?</title><rect x="([\d.]+)" y="([\d.]+)"', drawing
    )
    return {name: (float(x), float(y)) for name, x, y in found}


def boxes(names: str) -> list[Box]:
    return [Box(name=name, state="changed") for name in names.split()]


def test_each_box_is_right_of_its_inputs() -> None:
    edges = [("a", "b"), ("b", "c"), ("a", "d"), ("d", "c"), ("c", "e"), ("a", "e"), ("x", "e")]
    at = placed(lineage_drawing(boxes("a b c d e x"), edges))
    assert all(at[left][0] < at[right][0] for left, right in edges)
    assert len(set(at.values())) == 6


def test_a_circle_and_unknown_names_are_drawn_without_what_closes_it() -> None:
    at = placed(
        lineage_drawing(
            boxes("a b c"), [("a", "b"), ("b", "a"), ("b", "c"), ("q", "c"), ("a", "a")]
        )
    )
    assert at.keys() == {"a", "b", "c"}
    assert at["b"][0] < at["c"][0]


def test_neighbours_are_side_by_side() -> None:
    """Twelve pairs given in opposite orders have no crossing."""
    left, right = [f"l{number}" for number in range(12)], [f"r{number}" for number in range(12)]
    at = placed(
        lineage_drawing(boxes(" ".join(left + right[::-1])), list(zip(left, right, strict=True)))
    )
    assert [at[name][1] for name in left] == [at[name][1] for name in right]


def test_of_many_boxes_unaffected_ones_are_collapsed() -> None:
    many = [Box(name=f"raw.{number}", state="reused") for number in range(300)]
    edges = [(box.name, "mart") for box in many[:200]] + [(many[250].name, "other")]
    drawing = lineage_drawing([*many, *boxes("mart other")], edges)
    assert placed(drawing).keys() == {"200 unchanged relations", "raw.250", "mart", "other"}


def test_a_deep_lineage_is_drawn() -> None:
    names = [f"n{number}" for number in range(3000)]
    at = placed(lineage_drawing(boxes(" ".join(names)), list(pairwise(names))))
    assert len({x for x, _ in at.values()}) == 3000
