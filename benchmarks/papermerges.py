"""Tables 4 to 7, figures 3 and 4: four engineers change the table, and merge one after another."""

from collections.abc import Callable, Sequence
from itertools import count

import listings
from changesets import COLUMN, Update
from comparison import KINDS, Comparison
from lineitem import KEY
from plots import Chart
from published import DISJOINT_DIFF, DISJOINT_MERGE, OVERLAP_DIFF, OVERLAP_MERGE
from report import Report, median, seconds
from rounds import take_turns, told
from sameness import content, require_equal
from setting import BASE, Setting
from versioned import TABLES
from watch import Watch

from dbt.adapters.vcs.changes.merges.conflicts.policy import Mode

ENGINEERS = 4
CHANGED, CHANGES, MERGED = "changed", "changes", "merged"
TARGETS = {"PK": "target_key", "no PK": "target_heap"}


def measure_merges(setting: Setting, overlap: float) -> list[Report]:
    """Measure all change sets; neighbours share this part of their rows, changed differently."""
    what = f"{overlap:.0%} overlap, ACCEPT" if overlap else "no overlap"
    numbers = (6, 7, 4) if overlap else (4, 5, 3)
    word = "overlap" if overlap else "disjoint"
    diffs = Comparison(
        name=f"table{numbers[0]}_diff_{word}",
        title=f"Table {numbers[0]}, diffs of four branches, {what}",
        published=OVERLAP_DIFF if overlap else DISJOINT_DIFF,
    )
    merges = Comparison(
        name=f"table{numbers[1]}_merge_{word}",
        title=f"Table {numbers[1]}, merges of four branches, {what}",
        published=OVERLAP_MERGE if overlap else DISJOINT_MERGE,
    )
    for size, rows in setting.sizes.items():
        case = Case(setting, f"{word}-{size}", rows, overlap)
        case.run()
        diffs.seconds[size], diffs.computed[size] = case.diffs, case.computed("diff")
        merges.seconds[size], merges.computed[size] = case.merges, case.computed("merge")
        each = case.each
    notes = [
        "Average of the four branches; each opens the repository anew.",
        told(setting.repeat),
        "SQL: of the fourth branch, Listing 2 against the table as it was cloned, Listing 4 onto "
        "the table with three branches in it.",
        "All rows after the fourth merge are those that the SQL gives.",
    ]
    if overlap:
        notes.append(
            "Without a key the SQL finds rows to delete by all columns: both new rows stay, "
            "as a merge by counts has it."
        )
    figure = Report(
        name=setting.named(f"figure{numbers[2]}_merges_{word}"),
        title=setting.titled(f"Figure {numbers[2]}, each merge of {rows:,} rows, {what}"),
        columns=("", *[f"merge {n + 1}" for n in range(ENGINEERS)]),
        rows=[[f"{kind}, s", *[f"{value:.3f}" for value in each[kind]]] for kind in KINDS],
        notes=["The first merge finds a target that nobody changed: it is a fast-forward."],
        figures=each,
        chart=Chart(
            x=[f"merge {n + 1}" for n in range(ENGINEERS)],
            series=each,
            x_label="",
            y_label="seconds",
        ),
    )
    return [diffs.report(setting, notes), merges.report(setting, notes), figure]


class Case:
    """One change set: four branches, and the SQL of the last one.

    Attributes:
        diffs: Seconds of a diff by kind and for SQL, by round.
        merges: Of a merge.
        each: Medians of each merge, by kind.
    """

    def __init__(self, setting: Setting, name: str, rows: int, overlap: float) -> None:
        self._setting = setting
        self._name = name
        self._overlap = overlap
        self._updates = [
            Update(rows, setting.total, int(n * rows * (1 - overlap)), n + 1)
            for n in range(ENGINEERS)
        ]
        self._numbers = count()
        self._found: dict[str, list[list[float]]] = {}
        self._watch = Watch(setting.plain)
        self._last: dict[str, str] = {}

    def computed(self, what: str) -> dict[str, str]:
        """Say where diffs or merges were computed, by kind."""
        told = self._watch.computed(f"{what}, {kind}" for kind in KINDS)
        return dict(zip(KINDS, told, strict=True))

    def run(self) -> None:
        """Measure and check."""
        self._prepare()
        times = take_turns(
            self._name,
            {
                **{f"diff, {kind}": self._diffs(kind) for kind in KINDS},
                **{f"merge, {kind}": self._merges(kind) for kind in KINDS},
                **self._sql(),
            },
            self._setting.repeat,
        )
        self.diffs = {kind: _averages(times[f"diff, {kind}"]) for kind in KINDS}
        self.diffs["SQL"] = times["SQL diff"]
        self.merges = {kind: _averages(times[f"merge, {kind}"]) for kind in KINDS}
        base = median(times["SQL diff"])
        for name, found in times.items():
            if name.startswith("SQL merge"):
                self.merges[name.replace(" merge", "")] = [base + took for took in found]
        self.each = {
            kind: [
                median(of_one)
                for of_one in zip(*self._found[kind][-len(times[f"merge, {kind}"]) :], strict=True)
            ]
            for kind in KINDS
        }
        self._check()

    def _branch(self, kind: str, number: int) -> str:
        return f"{self._name}-{kind.replace(' ', '-')}-{number}"

    def _prepare(self) -> None:
        plain, columns = self._setting.plain, self._setting.columns
        for kind, table in TABLES.items():
            for number, update in enumerate(self._updates):
                branch = self._branch(kind, number)
                self._setting.versioned.change(branch, update.statement(table))
        plain.write(CHANGED, self._updates[-1].query(BASE, columns))
        for kind in self._targets():
            plain.write(TARGETS[kind], self._merged(self._updates[:-1], kind))

    def _targets(self) -> Sequence[str]:
        """Return the kinds whose rows differ after the same merges."""
        return KINDS if self._overlap else KINDS[:1]

    def _merged(self, updates: Sequence[Update], kind: str) -> str:
        """Return the query of all rows after merges of some updates."""
        names = ", ".join(self._setting.columns)
        untouched = " and ".join(f"not ({update.where})" for update in updates)
        parts = [f"select {names} from {BASE} where {untouched}"]
        for number, update in enumerate(updates):
            later = updates[number + 1 :] if kind == "PK" else ()
            where = " and ".join([update.where, *[f"not ({other.where})" for other in later]])
            cells = ", ".join(
                f"{update.value} as {name}" if name == COLUMN else name
                for name in self._setting.columns
            )
            parts.append(f"select {cells} from {BASE} where {where}")
        return " union all ".join(parts)

    def _diffs(self, kind: str) -> Callable[[], float]:
        versioned, table = self._setting.versioned, TABLES[kind]
        branches = [self._branch(kind, number) for number in range(ENGINEERS)]

        def diff(branch: str) -> float:
            return self._watch.seconds(
                f"diff, {kind}", lambda: versioned.diff(table, "main", branch)
            )

        return lambda: sum(diff(branch) for branch in branches)

    def _merges(self, kind: str) -> Callable[[], float]:
        versioned = self._setting.versioned
        sources = [self._branch(kind, number) for number in range(ENGINEERS)]

        def merge(source: str, target: str) -> float:
            return self._watch.seconds(
                f"merge, {kind}", lambda: versioned.merge(source, target, Mode.ACCEPT)
            )

        def work() -> float:
            self._last[kind] = target = f"{self._name}-{next(self._numbers)}"
            versioned.branch(target)
            found = [merge(source, target) for source in sources]
            self._found.setdefault(kind, []).append(found)
            return sum(found)

        return work

    def _sql(self) -> dict[str, Callable[[], float]]:
        plain, columns = self._setting.plain, self._setting.columns

        def diff() -> float:
            return seconds(lambda: plain.write(CHANGES, listings.diff(BASE, CHANGED, columns)))

        def merge(kind: str) -> Callable[[], float]:
            match = KEY if kind == "PK" else columns
            query = listings.apply(TARGETS[kind], CHANGES, columns, match)
            return lambda: seconds(lambda: plain.write(f"{MERGED}_{TARGETS[kind]}", query))

        kinds = self._targets()
        names = {kind: f"SQL merge, {kind}" if len(kinds) > 1 else "SQL merge" for kind in kinds}
        return {"SQL diff": diff, **{names[kind]: merge(kind) for kind in kinds}}

    def _check(self) -> None:
        plain, columns = self._setting.plain, self._setting.columns
        kinds = self._targets()
        for kind, table in TABLES.items():
            side = kind if kind in kinds else kinds[0]
            expected = content(plain.sql, f"{MERGED}_{TARGETS[side]}", columns)
            with self._setting.versioned.on(self._last[kind]) as client:
                require_equal(self._name, expected, content(client.sql, table, columns))
        made = [f"{MERGED}_{TARGETS[kind]}" for kind in kinds]
        plain.drop(CHANGED, CHANGES, *made, *[TARGETS[kind] for kind in kinds])


def _averages(times: Sequence[float]) -> list[float]:
    return [took / ENGINEERS for took in times]
