"""Time diff and merge of lineitem as the table grows, and as the change set grows.

One change set on tables of several scales: the cost is to stay the same. Change sets of several
sizes on one table: it is to grow as they do. Both sides of each merge have changed other rows, so
that no merge is a fast-forward. Everything is computed in process while it fits there.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from arguments import scale_factor, whole_number
from changesets import Update
from fit import exponent
from lineitem import scalar, settings
from plots import Chart
from report import Report, median, seconds
from rounds import take_turns
from sameness import require_equal
from versioned import TABLES, Versioned

from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode

KINDS = tuple(TABLES)
TARGET = 1.2
DISCOUNTS = "cast(sum(l_discount * 100) as bigint)"

Times = Mapping[str, Mapping[float, list[float]]]
"""Seconds by what was done, by size."""


@dataclass(slots=True)
class Base:
    """The tables of one scale, and the branches that change them."""

    versioned: Versioned
    scale: float
    total: int
    discounts: int
    numbers: "count[int]"

    @classmethod
    def load(cls, folder: Path, scale: float) -> "Base":
        """Load lineitem."""
        versioned = Versioned(folder / f"sf{scale:g}", settings(scale))
        total = versioned.fill(scale)
        with versioned.on("main") as client:
            discounts = scalar(client, f"select {DISCOUNTS} from {TABLES['PK']}")
        return cls(versioned, scale, total, discounts, count())


@dataclass(frozen=True, slots=True)
class Case:
    """One change set on one base: theirs has it, and ours has changed as many other rows."""

    base: Base
    rows: int
    part: str
    """Of the benchmark: begins the names of the branches."""

    def works(self) -> dict[str, Callable[[], float]]:
        """Make the branches; return what is timed, by name, each checked each time."""
        found: dict[str, Callable[[], float]] = {}
        for kind in KINDS:
            theirs = self._changed(kind, "theirs", Update(self.rows, self.base.total))
            ours = self._changed(
                kind, "ours", Update(self.rows, self.base.total, first=self.rows, step=2)
            )
            found[f"diff, {kind}"] = self._diff(kind, *theirs)
            found[f"merge, {kind}"] = self._merge(kind, theirs, ours)
        return found

    def _changed(self, kind: str, side: str, update: Update) -> tuple[str, int]:
        """Make a branch with an update; return its name and the rows that the update met."""
        versioned, table = self.base.versioned, TABLES[kind]
        branch = f"{self.part}-{self.rows}-{kind.replace(' ', '-')}-{side}"
        with versioned.on("main") as client:
            met = scalar(client, f"select count(*) from {table} where {update.where}")
        versioned.change(branch, update.statement(table))
        return branch, met

    def _diff(self, kind: str, branch: str, met: int) -> Callable[[], float]:
        def work() -> float:
            rows: list[int] = []
            took = seconds(
                lambda: rows.append(
                    self.base.versioned.diff(TABLES[kind], "main", branch).num_rows
                )
            )
            require_equal(f"rows of the diff of {branch}", 2 * met, rows[0])
            return took

        return work

    def _merge(
        self, kind: str, theirs: tuple[str, int], ours: tuple[str, int]
    ) -> Callable[[], float]:
        versioned = self.base.versioned
        expected = self.base.discounts + theirs[1] + 2 * ours[1]
        checked: list[str] = []

        def work() -> float:
            target = f"{theirs[0]}-into-{next(self.base.numbers)}"
            versioned.branch(target, ours[0])
            took = seconds(lambda: versioned.merge(theirs[0], target, Mode.FAIL))
            if not checked:
                with versioned.on(target) as client:
                    found = scalar(client, f"select {DISCOUNTS} from {TABLES[kind]}")
                require_equal(f"discounts after the merge of {theirs[0]}", expected, found)
                checked.append(target)
            return took

        return work


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--scales",
        type=scale_factor,
        nargs="+",
        default=[0.1, 1],
        help="of the tables (default 0.1 1)",
    )
    parser.add_argument(
        "--changes",
        type=whole_number,
        nargs="+",
        default=[1_000, 3_000, 10_000, 30_000, 100_000],
        help="rows changed (default 1000 to 100000)",
    )
    parser.add_argument("--repeat", type=whole_number, default=5, help="rounds (default 5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
        bases = [Base.load(Path(folder), scale) for scale in sorted(options.scales)]
        for report in (
            by_scale(bases, min(options.changes), options.repeat),
            by_change(bases[-1], sorted(options.changes), options.repeat),
        ):
            report.save()
            print(report.markdown(), flush=True)


def by_scale(bases: Sequence[Base], rows: int, repeat: int) -> Report:
    """Time one change set on each base, in turns."""
    cases = {base.scale: Case(base, rows, "base").works() for base in bases}
    times = in_turns(cases, repeat)
    return table(
        times,
        name="growth_base",
        title=f"Diff and merge of {rows:,} changed rows by size of the table",
        heads=[f"SF {base.scale:g}, {base.total:,} rows" for base in bases],
        label="scale factor of lineitem",
        note=f"To be flat: from each scale to the next ten-fold one at most {TARGET:g} times.",
    )


def by_change(base: Base, changes: Sequence[int], repeat: int) -> Report:
    """Time change sets of several sizes on one base, in turns."""
    fitting = [rows for rows in changes if 4 * rows <= base.total]
    cases = {float(rows): Case(base, rows, "change").works() for rows in fitting}
    times = in_turns(cases, repeat)
    return table(
        times,
        name="growth_change",
        title=f"Diff and merge by number of changed rows, lineitem at SF {base.scale:g}",
        heads=[f"{rows:,} rows" for rows in fitting],
        label="rows changed",
        note="To be linear: an exponent of about 1, less where a fixed cost is seen.",
    )


def in_turns(cases: Mapping[float, Mapping[str, Callable[[], float]]], repeat: int) -> Times:
    """Time all works of all sizes in turns, so that all meet the same machine."""
    works = {
        f"{name} at {size:g}": work
        for size, named in cases.items()
        for name, work in named.items()
    }
    took = take_turns("growth", works, repeat)
    names = list(next(iter(cases.values())))
    return {name: {size: took[f"{name} at {size:g}"] for size in cases} for name in names}


def table(
    times: Times, *, name: str, title: str, heads: Sequence[str], label: str, note: str
) -> Report:
    """Put medians into a table, one column a size, with how they grow."""
    medians = {
        work: {size: median(took) for size, took in found.items()} for work, found in times.items()
    }
    sizes = list(next(iter(medians.values())))
    return Report(
        name=name,
        title=title,
        columns=["", *heads, "last / first", "exponent"],
        rows=[
            [
                work,
                *[f"{cost * 1000:.1f} ms" for cost in found.values()],
                f"{found[sizes[-1]] / found[sizes[0]]:.2f}",
                f"{exponent(found):.2f}",
            ]
            for work, found in medians.items()
        ],
        notes=[
            note,
            "Medians, the repository opened anew each time, each size in turn. The diff answers "
            "with the rows; both sides of a merge have changed as many other rows.",
            "Rows of each diff and sums after the merges are what the updates make of the table.",
        ],
        figures={
            work: {f"{size:g}": took for size, took in found.items()}
            for work, found in times.items()
        },
        chart=Chart(
            x=sizes,
            series={
                work: [cost * 1000 for cost in found.values()] for work, found in medians.items()
            },
            x_label=label,
            y_label="ms",
            log_x=True,
            log_y=True,
        ),
    )


if __name__ == "__main__":
    main()
