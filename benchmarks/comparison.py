"""Tables in the paper's form: seconds by change set, built in against SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from changesets import SIZES
from plots import Chart
from published import Figures, times_faster
from report import Report, median
from setting import Setting

KINDS = ("PK", "no PK")

Times = Mapping[str, Sequence[float]]

JUDGED_FROM = 10
"""Scale factor for which targets are set; of smaller tables the SQL reads less, too."""


@dataclass(kw_only=True)
class Comparison:
    """One table of the paper.

    Attributes:
        seconds: By change set, by the row's name, what was measured. Rows `PK` and `no PK` are
            compared with `SQL`; or with `SQL, PK` and `SQL, no PK` where these differ.
        computed: By change set, by row, where it was computed.
        targets: By change set, how many times faster a row `PK` or `no PK` has to be.
        limits: By change set, the seconds that these may take at most.
    """

    name: str
    title: str
    published: Figures
    seconds: dict[str, Times] = field(default_factory=dict)
    computed: dict[str, Mapping[str, str]] = field(default_factory=dict)
    targets: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)

    def report(self, setting: Setting, notes: Sequence[str]) -> Report:
        """Lay the table out."""
        medians = {
            size: {name: median(found) for name, found in times.items()}
            for size, times in self.seconds.items()
        }
        names = list(dict.fromkeys(name for found in medians.values() for name in found))
        rows = [[f"{name}, s", *_each(medians, name)] for name in names]
        for kind in KINDS:
            ratios = {size: self._ratio(found, kind) for size, found in medians.items()}
            paper = dict(zip(SIZES, times_faster(self.published, kind), strict=True))
            rows += [
                [f"times faster than SQL, {kind}", *map(_number, ratios.values())],
                ["... in the paper", *[_number(paper[size]) for size in medians]],
                [f"computed, {kind}", *[self.computed[size][kind] for size in medians]],
            ]
            if self.targets and setting.scale >= JUDGED_FROM:
                verdicts = [self._verdict(size, medians[size], kind) for size in medians]
                rows.append([f"target, {kind}", *verdicts])
        return Report(
            name=setting.named(self.name),
            title=setting.titled(self.title),
            columns=("", *[f"{size}: {SIZES[size]:,} rows" for size in medians]),
            rows=rows,
            notes=notes,
            figures={"seconds": self.seconds, "computed": self.computed},
            chart=Chart(
                x=list(medians),
                series={
                    name: [found.get(name) for found in medians.values()]
                    for name in names
                    if name in KINDS or name.startswith("SQL")
                },
                x_label="change set",
                y_label="seconds",
                log_y=True,
            ),
        )

    def _ratio(self, found: Mapping[str, float], kind: str) -> float:
        return found.get(f"SQL, {kind}", found.get("SQL", 0.0)) / found[kind]

    def _verdict(self, size: str, found: Mapping[str, float], kind: str) -> str:
        """Say what was wanted, and whether it is so."""
        if size not in self.targets:
            return ""
        wanted, least = [f"{self.targets[size]:,.0f} x"], self.targets[size]
        is_met = self._ratio(found, kind) >= least
        if size in self.limits:
            wanted.append(f"{self.limits[size]:g} s")
            is_met = is_met and found[kind] <= self.limits[size]
        return f"{', '.join(wanted)}: {'met' if is_met else 'missed'}"


def _each(medians: Mapping[str, Mapping[str, float]], name: str) -> list[str]:
    return [_number(found[name]) if name in found else "" for found in medians.values()]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
