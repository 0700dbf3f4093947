"""Tables 2 and 3: one changed copy, its diff, and its merge into a table that changed, too."""

from collections.abc import Callable
from itertools import count

import listings
from changesets import Update
from comparison import KINDS, Comparison
from lineitem import KEY
from published import DIFF, MERGE
from report import Report, seconds
from rounds import take_turns, told
from sameness import content, require_equal, require_same_rows
from setting import BASE, Setting
from versioned import TABLES
from watch import Watch

from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode
from dbt.adapters.vcs.core.repository import Repository

TARGETS = {"C1": 1_000, "C4": 60}
LIMITS = {"C1": 0.1}
SMALL = 10_000
"""Up to so many rows, opening the repository is a part of the time that can be seen."""
OURS, THEIRS, CHANGES, MERGED = "ours", "theirs", "changes", "merged"


def measure_changes(setting: Setting) -> list[Report]:
    """Measure all change sets."""
    diffs = Comparison(
        name="table2_diff", title="Table 2, diff", published=DIFF, targets=TARGETS, limits=LIMITS
    )
    merges = Comparison(
        name="table3_merge",
        title="Table 3, merge",
        published=MERGE,
        targets=TARGETS,
        limits=LIMITS,
    )
    for size, rows in setting.sizes.items():
        case = Case(setting, size, rows)
        case.run()
        diffs.seconds[size], diffs.computed[size] = case.seconds("diff"), case.computed("diff")
        merges.seconds[size] = case.seconds("merge")
        merges.computed[size] = case.computed("merge")
    shared = [
        told(setting.repeat),
        "PK, no PK: the repository is opened anew each time, as a command does. open: it was "
        "open. Spark runs already on both sides.",
        "The key is (l_orderkey, l_linenumber). Plain Parquet has none: one SQL stands for both.",
    ]
    return [
        diffs.report(
            setting,
            [
                *shared,
                "The answer is the rows that differ. count: their number alone.",
                "SQL: Listing 2, its rows written to a table, with which Listing 4 begins.",
            ],
        ),
        merges.report(
            setting,
            [
                *shared,
                "The target has changed as many other rows meanwhile. unchanged target: as in the "
                "paper; the merge is a fast-forward then.",
                "SQL: Listings 2 and 4; a Parquet table can't be changed, so it is written anew.",
            ],
        ),
    ]


class Case:
    """One change set: theirs changes its rows, ours as many others."""

    def __init__(self, setting: Setting, size: str, rows: int) -> None:
        self._setting = setting
        self._size = size
        self._rows = rows
        self._updates = {
            THEIRS: Update(rows, setting.total),
            OURS: Update(rows, setting.total, first=rows, step=2),
        }
        self._numbers = count()
        self._times: dict[str, list[float]] = {}
        self._watch = Watch(setting.plain)
        self._last: dict[str, str] = {}

    def seconds(self, what: str) -> dict[str, list[float]]:
        """Return what was measured of diffs or merges, by row of the table."""
        found = {
            name.removeprefix(f"{what} "): times
            for name, times in self._times.items()
            if name.startswith(f"{what} ")
        }
        if what == "merge":
            parts = zip(self._times["diff SQL"], found["SQL"], strict=False)
            found["SQL"] = [diff + rest for diff, rest in parts]
        return found

    def computed(self, what: str) -> dict[str, str]:
        """Say where diffs or merges were computed, by kind."""
        told = self._watch.computed(f"{what} {kind}" for kind in KINDS)
        return dict(zip(KINDS, told, strict=True))

    def run(self) -> None:
        """Measure and check."""
        plain, versioned = self._setting.plain, self._setting.versioned
        for side, update in self._updates.items():
            for kind, table in TABLES.items():
                versioned.change(self._branch(side, kind), update.statement(table))
            plain.write(side, update.query(BASE, self._setting.columns))
        works: dict[str, Callable[[], float]] = {}
        for kind in KINDS:
            works |= self._diffs(kind) | self._merges(kind)
        self._times = take_turns(self._size, {**works, **self._sql()}, self._setting.repeat)
        self._check()
        plain.drop(CHANGES, MERGED, *self._updates)

    def _branch(self, side: str, kind: str) -> str:
        return f"{self._size}-{kind.replace(' ', '-')}-{side}"

    def _diffs(self, kind: str) -> dict[str, Callable[[], float]]:
        versioned, branch = self._setting.versioned, self._branch(THEIRS, kind)
        table, opened = TABLES[kind], self._setting.versioned.opened()

        def diff(repository: Repository | None = None) -> object:
            return versioned.diff(table, "main", branch, repository)

        def counted() -> object:
            return versioned.count(table, "main", branch)

        works = {
            f"diff {kind}": lambda: self._watch.seconds(f"diff {kind}", diff),
            f"diff {kind}, count": lambda: seconds(counted),
        }
        if self._rows <= SMALL:
            works[f"diff {kind}, open"] = lambda: seconds(lambda: diff(opened))
        return works

    def _merges(self, kind: str) -> dict[str, Callable[[], float]]:
        versioned, branch = self._setting.versioned, self._branch(THEIRS, kind)
        opened = self._setting.versioned.opened()

        def merge(start: str, name: str, repository: Repository | None = None) -> float:
            target = f"{branch}-into-{next(self._numbers)}"
            versioned.branch(target, start)
            self._last[name] = target
            return self._watch.seconds(
                name, lambda: versioned.merge(branch, target, Mode.ACCEPT, repository)
            )

        ours, name = self._branch(OURS, kind), f"merge {kind}"
        forward = f"{name}, unchanged target"
        works = {name: lambda: merge(ours, name), forward: lambda: merge("main", forward)}
        if self._rows <= SMALL:
            works[f"{name}, open"] = lambda: merge(ours, f"{name}, open", opened)
        return works

    def _sql(self) -> dict[str, Callable[[], float]]:
        plain, columns = self._setting.plain, self._setting.columns
        found = listings.diff(BASE, THEIRS, columns)
        merged = listings.apply(OURS, CHANGES, columns, KEY)
        return {
            "diff SQL": lambda: seconds(lambda: plain.write(CHANGES, found)),
            "merge SQL": lambda: seconds(lambda: plain.write(MERGED, merged)),
        }

    def _check(self) -> None:
        plain, versioned = self._setting.plain, self._setting.versioned
        columns, expected = self._setting.columns, plain.rows(CHANGES)
        sides = {"": MERGED, ", open": MERGED, ", unchanged target": THEIRS}
        contents = {side: content(plain.sql, side, columns) for side in (MERGED, THEIRS)}
        for kind, table in TABLES.items():
            branch = self._branch(THEIRS, kind)
            what = f"{self._size}, {kind}"
            require_same_rows(f"diff of {what}", expected, versioned.diff(table, "main", branch))
            counted = versioned.count(table, "main", branch)
            require_equal(f"count of {what}", expected.num_rows, counted)
            for suffix, side in sides.items():
                target = self._last.get(f"merge {kind}{suffix}")
                if target is None:
                    continue
                with versioned.on(target) as client:
                    found = content(client.sql, table, columns)
                require_equal(f"merge of {what}{suffix}", contents[side], found)
