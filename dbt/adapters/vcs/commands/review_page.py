"""A review as one HTML page that needs nothing but itself.

The page works from disk and in mail. Its policy lets it load nothing and run only the script that
is in it. Every value goes through one escaper, `visible` and then Jinja's.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from dbt.adapters.vcs.changes.diffs.row_facts import ChangedRow, ColumnFacts, RowFacts
from dbt.adapters.vcs.commands.layout import counted
from dbt.adapters.vcs.commands.review_drawings import (
    Box,
    lineage_drawing,
    quantile_plot,
    share_bar,
)
from dbt.adapters.vcs.commands.review_report import Review
from dbt.adapters.vcs.table.visible_text import visible

if TYPE_CHECKING:
    from jinja2 import Environment

ROW_BYTES: Final = 4 << 20
"""Bytes of the rows in a page; of more rows the first are in it, and the command for all."""

CODE_BYTES: Final = 1 << 20
"""Bytes of the differences of SQL in a page."""

_WHOLE: Final = 20
"""Number of relations whose samples are in the page without help from its script."""

_SAMPLE_COLUMNS: Final = 12
_PAGES: Final = Path(__file__).parents[1] / "pages"
_MARKS: Final = {"added": "+", "removed": "-", "modified": "~", "rekeyed": "="}

Cell = str | None | tuple[str | None, str | None]
"""A value as a text, or a pair of them, before and after. None is NULL."""


SampleRow = tuple[str, tuple[Cell, ...]]
"""The kind of a row, and its cells; "" where nothing changed."""


def page(review: Review, *, row_bytes: int = ROW_BYTES, code_bytes: int = CODE_BYTES) -> str:
    """Return a review as HTML. Equal reviews give equal pages.

    Besides `row_bytes` of rows and `code_bytes` of SQL it has less than 200 KiB, plus some
    kilobytes for each relation and its columns.
    """
    style, script = page_asset("review.css"), page_asset("review.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    made = page_environment().get_template("review.html.j2")
    text = made.render(
        page_values(review, row_bytes=row_bytes, code_bytes=code_bytes),
        shell="alone.html.j2",
        policy=Markup(policy),
        style=Markup(style),
        script=Markup(script),
    )
    # The template's macros leave blank lines before the document.
    return text.strip() + "\n"


def page_values(
    review: Review, *, row_bytes: int = ROW_BYTES, code_bytes: int = CODE_BYTES
) -> dict[str, Any]:
    """Return what the template of a review shows, by name; the shell around it is missing."""
    sections = _sections(review, row_bytes, code_bytes)
    numbers = {section["relation"].name: section["number"] for section in sections}
    return {
        "review": review,
        "verdict": review.verdict,
        "sections": sections,
        "whole": _WHOLE,
        "numbers": numbers,
        "changed_code": sum(1 for section in sections if section["has_code"]),
        "drawing": _lineage(review, numbers),
    }


@cache
def page_environment() -> Environment:
    """Return what renders the templates: every value is made visible, then escaped."""
    # Imported here because it is slow to import, and only a page needs it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_PAGES),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else visible(value),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "counted": counted,
        "number": lambda value: f"{value:,}",
        "grouped": grouped,
        "percent": percent,
    }
    return environment


@cache
def page_asset(name: str) -> str:
    """Return the text of a file beside the templates."""
    return (_PAGES / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def percent(share: float) -> str:
    """Return a share as a text that is 0% or 100% only if the share is."""
    if not share:
        return "0%"
    shown = f"{share:.1%}" if share < 0.1 else f"{share:.0%}"
    if shown == "0.0%":
        return "<0.1%"
    return ">99%" if share < 1 and shown == "100%" else shown


def grouped(text: str) -> str:
    """Return a decimal's text with its thousands grouped; any other text as it is."""
    found = re.fullmatch(r"(-?)(\d{1,60})(\.\d{1,60})?", text, re.ASCII)
    if found is None:
        return text
    digits = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", found[2])
    return f"{found[1]}{digits}{found[3] or ''}"


def _sections(review: Review, row_bytes: int, code_bytes: int) -> list[dict[str, Any]]:
    paths = {path[-1]: path for path in review.lineage.paths}
    rows = _fitting_rows([relation.facts for relation in review.relations], row_bytes)
    result = []
    for number, (relation, lines) in enumerate(zip(review.relations, rows, strict=True), 1):
        code, code_bytes, left_out = _code(relation.text_diff, code_bytes)
        facts = relation.facts
        heads, sample = _sample(facts)
        result.append(
            {
                "number": number,
                "relation": relation,
                "bar": Markup("") if relation.share is None else share_bar(relation.share),
                # How a change came to it: names of relations.
                "path": paths.get(relation.name, ()),
                **_columns(facts.columns, relation.modified),
                "groups": [(group, share_bar(group.share)) for group in facts.groups],
                "sample_heads": heads,
                # Far down the page as JSON: its script makes the table when a section is opened.
                "sample": sample if number <= _WHOLE else _sample_data(heads, sample),
                "data": _data(facts.heads, lines),
                "shown": len(lines),
                "code": code,
                "left_out": left_out,
                "has_code": bool(code or left_out or relation.text_note),
            }
        )
    return result


def _columns(columns: Sequence[ColumnFacts], modified: int) -> dict[str, Any]:
    """Return the columns that differ, the names of others, and whose figures they have."""
    # Figures of all rows are known of small tables; else they are of the changed rows.
    of_table = any(column.before or column.after for column in columns)
    lines = [_column_line(column, of_table=of_table, modified=modified) for column in columns]
    return {
        "columns": [line for line in lines if _differs(line)],
        "quiet": [line["facts"].name for line in lines if not _differs(line)],
        "of_table": of_table,
    }


def _column_line(facts: ColumnFacts, *, of_table: bool, modified: int) -> dict[str, Any]:
    before, after = facts.before, facts.after
    if not of_table:
        before, after = facts.change_before, facts.change_after
    plot = Markup("")
    if not facts.masked:
        said = "; ".join(
            f"{name} {', '.join(visible(text, 40) for text in side.quantile_texts)}"
            for name, side in (("before", before), ("after", after))
            if side is not None and side.quantiles
        )
        plot = quantile_plot(
            before.quantiles if before else (), after.quantiles if after else (), said
        )
    share = facts.cells_changed / modified if modified else 0.0
    return {
        "facts": facts,
        "before": before,
        "after": after,
        "bar": share_bar(share),
        "plot": plot,
    }


def _differs(line: Mapping[str, Any]) -> bool:
    facts = line["facts"]
    return bool(facts.cells_changed or facts.note) or line["before"] != line["after"]


def _sample(facts: RowFacts) -> tuple[tuple[str, ...], tuple[SampleRow, ...]]:
    key, rest = range(facts.key), range(facts.key, len(facts.heads))
    changed = {place for row in facts.sample for place in row.changed}
    # A row that was added or removed has no changed cells: then the first columns show what it is.
    has_whole = any(row.before is None or row.after is None for row in facts.sample)
    others = sorted(
        rest if has_whole else changed & set(rest), key=lambda at: (at not in changed, at)
    )
    shown = sorted([*key, *others[:_SAMPLE_COLUMNS]])
    rows = []
    for row in facts.sample:
        is_whole = row.before is None or row.after is None
        seen = {*key, *(shown if is_whole else row.changed)}
        cells = _cells(row)
        rows.append((row.how, tuple(cells[place] if place in seen else "" for place in shown)))
    return tuple(facts.heads[place] for place in shown), tuple(rows)


def _cells(row: ChangedRow) -> Sequence[Cell]:
    """Return the values of a row that has one side, or of both: pairs where they differ."""
    if row.before is None or row.after is None:
        return row.before or row.after or ()
    cells: list[Cell] = list(row.after)
    for place in row.changed:
        cells[place] = row.before[place], row.after[place]
    return cells


def _fitting_rows(facts: Sequence[RowFacts], room: int) -> list[list[bytes]]:
    """Return the rows of each relation as JSON, as many as fit the room.

    Relations with few rows have them all, and the others have equal shares of what is left.
    """
    result: list[list[bytes]] = [[] for _ in facts]
    smallest = sorted(range(len(facts)), key=lambda place: (len(facts[place].rows), place))
    for done, place in enumerate(smallest):
        share = room // (len(smallest) - done)
        for row in facts[place].rows:
            line = _json([_MARKS[row.how], *map(_visible_cell, _cells(row))])
            share -= len(line) + 1
            if share < 0:
                break
            result[place].append(line)
            room -= len(line) + 1
    return result


def _visible_cell(cell: Cell) -> Any:
    if isinstance(cell, tuple):
        return [_visible_cell(cell[0]), _visible_cell(cell[1])]
    return None if cell is None else visible(cell)


def _json(value: Any) -> bytes:
    # Inside a script element nothing but `<` could end the data; separators are visible already.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return text.encode()


def _sample_data(heads: Sequence[str], sample: Sequence[SampleRow]) -> Markup:
    lines = [_json([_MARKS[how], *map(_visible_cell, cells)]) for how, cells in sample]
    return _data(heads, lines) if lines else Markup("")


def _data(heads: Sequence[str], rows: Sequence[bytes]) -> Markup:
    names = _json([visible(name) for name in heads])
    return Markup((b'{"columns":%b,"rows":[\n%b\n]}' % (names, b",\n".join(rows))).decode())


_CLASSES: Final = {"+": "plus", "-": "minus", "@": "hunk"}


def _code(text: str, room: int) -> tuple[tuple[tuple[str, str], ...], int, int]:
    """Return lines with their classes, the room that is left, and the number of lines left out."""
    lines: list[tuple[str, str]] = []
    # Not `splitlines`, which also parts at characters that a reader should see.
    found = text.removesuffix("\n").split("\n") if text else []
    for number, line in enumerate(found):
        # The names of the two sides; the page says them elsewhere.
        if number < 2 and line.startswith(("---", "+++")):
            continue
        shown = visible(line)
        room -= len(shown.encode()) + 40
        if room < 0:
            return tuple(lines), 0, len(found) - number
        lines.append((_CLASSES.get(line[:1], "same"), shown))
    return tuple(lines), room, 0


def _lineage(review: Review, numbers: Mapping[str, int]) -> Markup:
    href = {name: f"#r-{number}" for name, number in numbers.items()}
    boxes = [
        Box(name=node.name, state=node.state, href=href.get(node.name), note=node.state)
        for node in review.lineage.nodes
    ]
    edges = [(edge.source, edge.target) for edge in review.lineage.edges]
    steps = frozenset(step for path in review.lineage.paths for step in pairwise(path))
    return lineage_drawing(boxes, edges, steps)
