"""What a review's page draws: quantiles, shares, lineage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from dbt.adapters.vcs.table.visible_text import visible

_PLOT: Final = (168, 30)
"""Width and height of a plot of quantiles, in pixels."""


def quantile_plot(before: Sequence[float], after: Sequence[float], said: str) -> Markup:
    """Return two box plots on one axis: before above, after below.

    Both are values at `QUANTILES`, or empty. A thin line leads from minimum to maximum, a thick
    one from the first to the last decile, the box from quartile to quartile. `said` is what a
    reader hears instead. Without any values the markup is empty.
    """
    if not before and not after:
        return Markup("")
    width, height = _PLOT
    low, high = min([*before, *after]), max([*before, *after])
    # Halved before they are subtracted: a difference of two large floats may be infinite.
    span = high / 2 - low / 2

    def place(value: float) -> float:
        share = (value / 2 - low / 2) / span if span else 0.5
        return round(4 + share * (width - 8), 1)

    boxes = [
        _box(name, middle, [place(value) for value in values])
        for name, middle, values in (("before", 8, before), ("after", 22, after))
        if values
    ]
    return Markup(
        '<svg class="plot" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img"'
        ' aria-label="{said}">{boxes}</svg>'
    ).format(w=width, h=height, said=visible(said), boxes=Markup("").join(boxes))


def _box(name: str, middle: int, places: Sequence[float]) -> Markup:
    low, tenth, first, median, third, ninth, high = places
    return Markup(
        '<g class="{name}"><path d="M{low} {y}H{high}"/>'
        '<path class="most" d="M{tenth} {y}H{ninth}"/>'
        '<rect x="{first}" y="{top}" width="{wide}" height="9"/>'
        '<path class="median" d="M{median} {top}v9"/></g>'
    ).format(
        name=name,
        low=low,
        high=high,
        tenth=tenth,
        ninth=ninth,
        y=middle,
        top=middle - 4.5,
        first=first,
        wide=round(max(third - first, 0.5), 1),
        median=median,
    )


def share_bar(share: float) -> Markup:
    """Return a bar that is filled as far as the share, 0 to 1; at least a hair if it isn't 0."""
    wide = round(max(min(share, 1.0) * 72, 1.5 if share else 0), 1)
    return Markup(
        '<svg class="bar" viewBox="0 0 72 8" width="72" height="8" aria-hidden="true">'
        '<rect class="track" width="72" height="8" rx="2"/>'
        '<rect class="fill" width="{wide}" height="8" rx="2"/></svg>'
    ).format(wide=wide)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One box of the drawn lineage.

    Attributes:
        name: What it shows.
        state: The class of its look: `changed`, `affected` or `reused`.
        href: Where a click leads, or None.
        note: What a reader hears besides the name.
    """

    name: str
    state: str
    href: str | None = None
    note: str = ""


Edge = tuple[str, str]
"""Names of an input and of what was built from it."""

_FEW: Final = 60
"""Number of boxes that are drawn one by one; of more, the unaffected ones are collapsed."""
_ROW: Final = 28
_HIGH: Final = 20
_LETTER: Final = 6.7
_LONGEST: Final = 34
_GAP: Final = 56
_SWEEPS: Final = 8


def lineage_drawing(
    boxes: Sequence[Box], edges: Sequence[Edge], marked: frozenset[Edge] = frozenset()
) -> Markup:
    """Return the graph from left to right, each box right of all its inputs.

    Layers are by the longest path from an input (Sugiyama, Tagawa and Toda 1981, with
    Eades and Sugiyama's layering), boxes in a layer by the barycentre of their neighbours. Equal
    graphs give equal drawings. `marked` edges stand out. Edges to unknown names and edges that
    close a circle are left out; without boxes the markup is empty.
    """
    if not boxes:
        return Markup("")
    found = {box.name: box for box in boxes}
    kept = sorted({(a, b) for a, b in edges if a in found and b in found and a != b})
    found, kept = _collapsed(found, kept)
    layer_of = _layers(found, kept)
    kept = [(a, b) for a, b in kept if layer_of[a] < layer_of[b]]
    chains = [_chain(edge, layer_of) for edge in kept]
    columns = _ordered(layer_of, chains)
    return _drawn(found, columns, list(zip(kept, chains, strict=True)), marked)


def _collapsed(
    boxes: Mapping[str, Box], edges: Sequence[Edge]
) -> tuple[dict[str, Box], list[Edge]]:
    """Return a graph in which unaffected boxes that feed the same ones are one box."""
    if len(boxes) <= _FEW:
        return dict(boxes), list(edges)
    shown = {name: box for name, box in boxes.items() if box.state != "reused"}
    kept = [(a, b) for a, b in edges if a in shown and b in shown]
    for readers, names in _alike(edges, shown).items():
        box = boxes[names[0]]
        if len(names) > 1:
            title = f"{len(names)} unchanged relations"
            while title in shown:
                title += " "
            box = Box(name=title, state="reused", note=", ".join(names))
        shown[box.name] = box
        kept += [(box.name, reader) for reader in readers]
    return shown, sorted(kept)


def _alike(edges: Sequence[Edge], shown: Collection[str]) -> dict[tuple[str, ...], list[str]]:
    """Return the names of inputs outside of `shown`, by the boxes in it that they feed."""
    readers: dict[str, list[str]] = defaultdict(list)
    for a, b in edges:
        if b in shown and a not in shown:
            readers[a].append(b)
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in sorted(readers):
        groups[tuple(readers[name])].append(name)
    return groups


def _layers(names: Mapping[str, Box], edges: Sequence[Edge]) -> dict[str, int]:
    """Return the layer of each name: the length of the longest path to it."""
    inputs: dict[str, list[str]] = defaultdict(list)
    for a, b in edges:
        inputs[b].append(a)
    layers: dict[str, int] = {}
    for start in names:
        # A stack of its own, since a lineage may be deeper than Python's.
        stack, open_ = [(start, False)], set[str]()
        while stack:
            name, is_left = stack.pop()
            if is_left:
                ready = [layers[item] for item in inputs[name] if item in layers]
                layers[name] = 1 + max(ready, default=-1)
            elif name not in layers and name not in open_:
                open_.add(name)
                stack.append((name, True))
                stack += [(item, False) for item in reversed(inputs[name])]
    return layers


Place = str | tuple[str, str, int]
"""A box by its name, or the point where a long edge crosses a layer."""


def _chain(edge: Edge, layers: Mapping[str, int]) -> list[Place]:
    a, b = edge
    return [a, *((a, b, layer) for layer in range(layers[a] + 1, layers[b])), b]


def _ordered(layers: Mapping[str, int], chains: Sequence[list[Place]]) -> list[list[Place]]:
    """Return the places of each layer from top to bottom, with few crossings."""
    columns: list[list[Place]] = [[] for _ in range(max(layers.values()) + 1)]
    for name, layer in layers.items():
        columns[layer].append(name)
    before: dict[Place, list[Place]] = defaultdict(list)
    after: dict[Place, list[Place]] = defaultdict(list)
    for chain in chains:
        for point in chain[1:-1]:
            assert isinstance(point, tuple)
            columns[point[2]].append(point)
        for left, right in pairwise(chain):
            after[left].append(right)
            before[right].append(left)
    # Shares of the height, as layers differ in their number of boxes.
    at: dict[Place, float] = {}
    for column in columns:
        at |= _heights(column)
    for sweep in range(_SWEEPS):
        forth = sweep % 2 == 0
        near = before if forth else after
        for column in columns if forth else reversed(columns):
            weights = {place: _barycentre(place, near.get(place, ()), at) for place in column}
            # The sort is stable, so equal graphs give equal drawings.
            column.sort(key=weights.__getitem__)
            at |= _heights(column)
    return columns


def _heights(column: Sequence[Place]) -> dict[Place, float]:
    return {place: (number + 0.5) / len(column) for number, place in enumerate(column)}


def _barycentre(place: Place, near: Sequence[Place], at: Mapping[Place, float]) -> float:
    return sum(at[item] for item in near) / len(near) if near else at[place]


def _drawn(
    boxes: Mapping[str, Box],
    columns: Sequence[Sequence[Place]],
    edges: Sequence[tuple[Edge, Sequence[Place]]],
    marked: frozenset[Edge],
) -> Markup:
    tall = max(map(len, columns)) * _ROW
    at: dict[Place, tuple[float, float, float]] = {}
    left = 8.0
    for column in columns:
        wide = max((_width(place) for place in column if isinstance(place, str)), default=0.0)
        step = tall / len(column)
        for number, place in enumerate(column):
            own = _width(place) if isinstance(place, str) else 0.0
            at[place] = (left, round(8 + step * (number + 0.5), 1), own or wide)
        left += wide + _GAP
    # Marked ones last, and so on top.
    lines = [
        _line([at[place] for place in chain], edge in marked)
        for edge, chain in sorted(edges, key=lambda item: item[0] in marked)
    ]
    shapes = [_shape(boxes[place], *at[place]) for place in at if isinstance(place, str)]
    return Markup(
        '<svg class="lineage" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="group"'
        ' aria-label="Lineage, inputs on the left">{lines}{shapes}</svg>'
    ).format(
        w=round(left - _GAP + 8),
        h=round(tall + 16),
        lines=Markup("").join(lines),
        shapes=Markup("").join(shapes),
    )


def _width(name: str) -> float:
    return round(min(len(visible(name)), _LONGEST) * _LETTER + 20, 1)


def _line(points: Sequence[tuple[float, float, float]], is_marked: bool) -> Markup:
    x, y, wide = points[0]
    path = [f"M{x + wide:g} {y:g}"]
    x += wide
    for left, down, across in points[1:]:
        middle = (x + left) / 2
        path.append(f"C{middle:g} {y:g} {middle:g} {down:g} {left:g} {down:g}")
        x, y = left, down
        # Straight across a layer, where no box is.
        if (left, down, across) != points[-1]:
            path.append(f"H{left + across:g}")
            x += across
    return Markup('<path class="{}" d="{}"/>').format(
        "edge on" if is_marked else "edge", " ".join(path)
    )


def _shape(box: Box, x: float, y: float, wide: float) -> Markup:
    name = visible(box.name)
    label = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    drawn = Markup(
        '<g class="box {state}"><title>{title}</title>'
        '<rect x="{x:g}" y="{top:g}" width="{wide:g}" height="{high}" rx="4"/>'
        '<text x="{inside:g}" y="{base:g}">{label}</text></g>'
    ).format(
        state=box.state,
        title=f"{name}: {visible(box.note)}" if box.note else name,
        x=x,
        top=y - _HIGH / 2,
        wide=wide,
        high=_HIGH,
        inside=x + 10,
        base=y + 4,
        label=label,
    )
    if box.href is None:
        return drawn
    return Markup('<a href="{}">{}</a>').format(box.href, drawn)
