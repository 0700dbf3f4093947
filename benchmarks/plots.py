"""Charts of what a benchmark found, drawn as PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (7.0, 4.2)
_BARS = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One picture.

    Attributes:
        x: Numbers, for lines; or words, for groups of bars.
        series: By the name in the legend, a value for each of `x`; None where there is none.
        x_label: What `x` are.
        y_label: What the values are, with their unit.
        log_x: True for a logarithmic axis; for lines alone.
        log_y: The same for the values.
    """

    x: Sequence[float | str]
    series: Mapping[str, Sequence[float | None]]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False

    def draw(self, path: Path, title: str) -> None:
        """Write the picture to a PNG file."""
        # What is measured without a chart needs no matplotlib.
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=_SIZE, layout="constrained")
        if all(isinstance(value, str) for value in self.x):
            self._bars(axes)
        else:
            self._lines(axes)
        if self.log_y:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set_xlabel(self.x_label)
        axes.set_ylabel(self.y_label)
        axes.set_title(title, fontsize="medium", wrap=True)
        axes.grid(axis="y", alpha=0.3)
        axes.legend(fontsize="small")
        figure.savefig(path, dpi=120)
        pyplot.close(figure)

    def _lines(self, axes: Axes) -> None:
        for name, values in self.series.items():
            there = [(x, y) for x, y in zip(self.x, values, strict=True) if y is not None]
            axes.plot([x for x, _ in there], [y for _, y in there], marker="o", label=name)
        if self.log_x:
            axes.set_xscale("log")

    def _bars(self, axes: Axes) -> None:
        width = _BARS / len(self.series)
        for number, (name, values) in enumerate(self.series.items()):
            there = [(at, y) for at, y in enumerate(values) if y is not None]
            left = (number + 0.5) * width - _BARS / 2
            axes.bar([at + left for at, _ in there], [y for _, y in there], width, label=name)
        axes.set_xticks(range(len(self.x)), self.x)
