"""What a notebook shows of branches, tables and diffs: small tables of HTML.

They have no script and load nothing. Every value goes through the escaper of a review's page,
`visible` and then markupsafe's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.table.visible_text import visible

COLUMNS: Final = 40
"""The most columns that are shown."""

_CELL: Final = 200
_SENTENCE: Final = 1000
"""Characters of a cell and of a sentence; of a longer one the beginning and the length."""


class Cell(NamedTuple):
    """A value in a grid.

    Attributes:
        value: The value; None is NULL.
        is_marked: True if it was changed.
        is_faint: True if it is no value, but says something of it.
    """

    value: Any
    is_marked: bool = False
    is_faint: bool = False


def shown(title: str, parts: Callable[[], Iterable[Markup]]) -> str:
    """Return the HTML of a thing; never raises.

    If a part fails, those before it are shown, and a sentence says why the rest is missing.
    """
    made = [Markup("<p><b><bdi>{}</bdi></b></p>").format(visible(title, _CELL))]
    try:
        # One by one, so that those before a failure stay.
        for part in parts():
            made.append(part)
    except VcsError as error:
        made.append(sentence(str(error)))
    # A notebook would print a traceback, where the cell's own result should be.
    except Exception as error:
        made.append(sentence(f"It can't be shown: {type(error).__name__}: {error}"))
    # Otherwise notebooks typeset what is between two dollar signs, in values too.
    return Markup('<div class="tex2jax_ignore mathjax_ignore">{}</div>').format(
        Markup("\n").join(made)
    )


def sentence(text: str) -> Markup:
    """Return a text as a paragraph."""
    return Markup("<p>{}</p>").format(visible(text, _SENTENCE))


def grid(
    heads: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    types: Sequence[str] = (),
    right: Collection[str] = (),
) -> Markup:
    """Return rows under heads, at most `COLUMNS` wide, and how many columns are missing.

    Args:
        heads: Names of the columns.
        rows: A cell for each head.
        types: A type for each head, shown below it; none to show names only.
        right: Names of the columns that are aligned to the right.
    """
    names = [visible(name, _CELL) for name in heads[:COLUMNS]]
    if types:
        pairs = zip(names, types[:COLUMNS], strict=True)
        tops = [
            Markup("{}<br><small>{}</small>").format(name, visible(type_, _CELL))
            for name, type_ in pairs
        ]
    else:
        tops = [Markup("{}").format(name) for name in names]
    sides = ["right" if name in right else "left" for name in heads[:COLUMNS]]
    top = Markup("").join(
        Markup('<th scope="col" style="text-align:{}">{}</th>').format(side, text)
        for side, text in zip(sides, tops, strict=True)
    )
    body = Markup("\n").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(map(_cell, row[:COLUMNS], sides)),
        )
        for row in rows
    )
    table = Markup("<table><thead><tr>{}</tr></thead><tbody>\n{}\n</tbody></table>").format(
        top, body
    )
    more = len(heads) - COLUMNS
    return table + sentence(f"{more:,} more columns are not shown.") if more > 0 else table


def _cell(cell: Cell, side: str) -> Markup:
    text = Markup("{}").format(visible(cell.value, _CELL))
    if cell.value is None or cell.is_faint:
        text = Markup("<i>{}</i>").format(text)
    if cell.is_marked:
        text = Markup("<mark>{}</mark>").format(text)
    # Blanks count in a value, and most notebooks align cells to the right.
    return Markup('<td style="text-align:{};white-space:pre-wrap">{}</td>').format(side, text)
