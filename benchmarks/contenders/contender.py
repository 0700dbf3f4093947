"""What every contender has to do: load lineitem, clone it, change rows, read, diff and merge.

A contender runs in the Python that its engine needs, so nothing but the standard library is
imported here. It prints one line of JSON: its versions and its measurements.
"""

import argparse
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter

KEY = ("l_orderkey", "l_linenumber")
_WARM_UPS = 6
"""Rounds of a query that are not counted: after two, Spark's queries still became faster."""
CHECKSUM = (
    "cast(sum(cast({} as decimal(20,2)) * (l_orderkey * 8 + l_linenumber)) as decimal(38,2))"
)
"""A sum that any SQL has, and that no two sets of changed rows have in common by chance."""

READS = {
    "count": "select count(*) from {}",
    "sum": "select sum(l_extendedprice) from {}",
    "one key": "select * from {} where l_orderkey = 590017",
    "range of keys": "select count(*), sum(l_quantity), max(l_comment) from {} "
    "where l_orderkey between 500000 and 505000",
    "Q1": """select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
        sum(l_extendedprice * (1 - l_discount)),
        sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity),
        avg(l_extendedprice), avg(l_discount), count(*) from {}
        where l_shipdate <= date '1998-09-02' group by l_returnflag, l_linestatus""",
    "Q6": """select sum(l_extendedprice * l_discount) from {}
        where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'
        and l_discount between 0.05 and 0.07 and l_quantity < 24""",
}
"""Queries of a side, by name: Q1 and Q6 are those of TPC-H."""


_AFTER = "_change_type = 'update_postimage'"
QUERIES = {
    "sum of a column": (
        f"select count(*), {CHECKSUM.format('l_quantity')} from {{changes}} where {_AFTER}"
    ),
    "count": f"select count(*) from {{changes}} where {_AFTER}",
    "a tenth of the keys": (
        f"select count(*), {CHECKSUM.format('l_quantity')} from {{changes}} "
        f"where {_AFTER} and l_orderkey < 600000"
    ),
    "all columns, before and after": (
        "select _change_type, count(*), sum(cast(xxhash64(l_orderkey, l_partkey, l_suppkey, "
        "l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, "
        "l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, "
        "l_comment) as decimal(38,0))) from {changes} group by 1 order by 1"
    ),
}
"""Queries on what changed, for Spark: rows with `_change_type`, as Delta's feed has it."""


@dataclass(frozen=True)
class Change:
    """One side's update: of about so many rows, spread over the table.

    Attributes:
        column: Which column it sets to one more.
        first: The first of the numbers that its rows have.
        rows: How many numbers.
        total: The rows of the table; numbers go up to it.
    """

    column: str
    first: int
    rows: int
    total: int

    @property
    def predicate(self) -> str:
        """The condition of its rows."""
        number = f"(l_orderkey * 48271 + l_linenumber * 69621) % {self.total}"
        return f"{number} >= {self.first} and {number} < {self.first + self.rows}"

    @property
    def update(self) -> str:
        """What follows the table's name in its statement."""
        return f"set {self.column} = {self.column} + 1 where {self.predicate}"


@dataclass
class Measured:
    """What one contender found.

    Attributes:
        name: Its name.
        versions: Of what it runs on.
        lacks: What it can't do, by the work's name, with the reason.
        seconds: By work and rows changed (0 where none are), all measurements.
        bytes: What a clone and the updates wrote, by work and rows changed.
        cpu: By query and rows changed, the CPU seconds of all its processes; zeros where the
            system doesn't tell.
        found: By what is compared and rows changed: values that must be the same everywhere.
    """

    name: str
    versions: dict[str, str]
    lacks: Mapping[str, str]
    seconds: dict[str, list[float]] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)


class Contender(ABC):
    """One engine; sides are clones or branches of the loaded table."""

    name: str
    lacks: Mapping[str, str] = {}
    """What it can't do, with the reason."""

    def __init__(self, work: Path) -> None:
        """Take an empty folder for whatever is stored."""
        self.work = work

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """Return the versions of what it runs on."""

    @abstractmethod
    def load(self, parquet: Path) -> None:
        """Make the table of a file."""

    @abstractmethod
    def clone(self, side: str) -> None:
        """Make a side that holds what the table holds."""

    @abstractmethod
    def update(self, side: str, change: Change) -> None:
        """Change rows of a side, as one commit."""

    @abstractmethod
    def diff(self, side: str) -> tuple[int, str]:
        """Return the number of rows that a side changed, and the checksum of their quantities."""

    @abstractmethod
    def merge(self, source: str, target: str) -> None:
        """Put what the source changed on the target, which changed other rows."""

    @abstractmethod
    def content(self, side: str) -> str:
        """Return rows and checksums of a side."""


class Readable(Contender):
    """A contender of whose sides queries are asked."""

    @abstractmethod
    def rows(self, query: str, side: str | None) -> list[tuple[object, ...]]:
        """Return the rows of a query of a side, or of the loaded table, for which `{}` stands."""


class Feeding(Contender):
    """A contender that has what a side changed as a relation."""

    @abstractmethod
    def changes(self, side: str) -> str:
        """Return the relation that has what a side changed, in the form of Delta's feed."""

    @abstractmethod
    def ask(self, query: str) -> str:
        """Return the rows of a query as text."""

    def check_key(self) -> None:
        """Have the loaded table's key checked from now on, if there is one."""
        return


def run(contender: type[Contender]) -> None:
    """Measure a contender as the command line says, and print what was found."""
    parser = argparse.ArgumentParser(description=f"Measure {contender.name}.")
    parser.add_argument("--parquet", type=Path, required=True, help="lineitem")
    parser.add_argument("--total", type=int, required=True, help="its rows")
    parser.add_argument("--sizes", type=int, nargs="+", required=True, help="rows to change")
    parser.add_argument("--repeat", type=int, required=True, help="measurements each")
    parser.add_argument("--work", type=Path, required=True, help="an empty folder")
    parser.add_argument(
        "--queries", action="store_true", help="measure queries on what changed, and nothing else"
    )
    parser.add_argument(
        "--reads", action="store_true", help="measure updates and queries of sides, nothing else"
    )
    options = parser.parse_args()
    measured = _measure(contender(options.work), options)
    print(json.dumps(asdict(measured)), flush=True)


def _measure(contender: Contender, options: argparse.Namespace) -> Measured:
    measured = Measured(contender.name, contender.versions(), contender.lacks)
    start = perf_counter()
    contender.load(options.parquet)
    measured.seconds["load"] = [perf_counter() - start]
    if options.queries:
        if not isinstance(contender, Feeding):
            raise SystemExit(f"{contender.name} has no relation of changes. Leave out --queries.")
        contender.check_key()
        step = partial(_queries, contender)
    else:
        step = partial(_update if options.reads else _round, contender)
    # The first round warms everything up and is not counted.
    for number in range(-1, options.repeat):
        for rows in options.sizes:
            step(measured, rows, options.total, number)
    if not options.queries and isinstance(contender, Readable):
        _read(contender, measured, options)
    return measured


@contextmanager
def _timed(measured: Measured, key: str, *, counts: bool) -> Iterator[None]:
    """Add the seconds and the CPU seconds of a block to what was measured, if it counts."""
    start, before = perf_counter(), _cpu_seconds()
    yield
    seconds, cpu = perf_counter() - start, _cpu_seconds() - before
    if counts:
        measured.seconds.setdefault(key, []).append(seconds)
        measured.cpu.setdefault(key, []).append(cpu)


def _queries(contender: Feeding, measured: Measured, rows: int, total: int, number: int) -> None:
    """Change a side, and query what changed; the first query is the first that reads the side."""
    side = f"asked_{rows}_{number + 1}"
    contender.clone(side)
    contender.update(side, Change("l_quantity", 0, rows, total))
    for name, query in QUERIES.items():
        for again in ("", ", again"):
            key = f"{name}{again}, {rows:,}"
            with _timed(measured, key, counts=number >= 0):
                measured.found[key] = contender.ask(query.format(changes=contender.changes(side)))


def _update(contender: Contender, measured: Measured, rows: int, total: int, number: int) -> None:
    """Time a side's update, and what it writes."""
    side = f"updated_{rows}_{number + 1}"
    contender.clone(side)
    size = _size(contender.work)
    with _timed(measured, f"update {rows}", counts=number >= 0):
        contender.update(side, Change("l_quantity", 0, rows, total))
    if number >= 0:
        measured.bytes[f"update {rows}"] = _size(contender.work) - size
    measured.found[f"update {rows}"] = contender.content(side)


def _read(contender: Readable, measured: Measured, options: argparse.Namespace) -> None:
    """Time queries of the loaded table and of sides with updated rows, which take turns."""
    sides: dict[int, str | None] = {0: None}
    for rows in options.sizes:
        sides[rows] = f"read_{rows}"
        contender.clone(f"read_{rows}")
        contender.update(f"read_{rows}", Change("l_quantity", 0, rows, options.total))
    for query, text in READS.items():
        for number in range(-_WARM_UPS, options.repeat):
            for rows, side in sides.items():
                key = f"{query} {rows}"
                with _timed(measured, key, counts=number >= 0):
                    found = contender.rows(text, side)
                measured.found[key] = str(sorted(map(str, found)))


def _round(contender: Contender, measured: Measured, rows: int, total: int, number: int) -> None:
    name = f"{rows}_{number + 1}"
    ours, theirs = f"ours_{name}", f"theirs_{name}"

    def timed(work: str, step: object, *arguments: object) -> object:
        before = _size(contender.work) if number == 0 else 0
        start = perf_counter()
        answer = step(*arguments)  # type: ignore[operator]
        seconds = perf_counter() - start
        if number >= 0:
            measured.seconds.setdefault(f"{work} {rows}", []).append(seconds)
        if number == 0:
            measured.bytes[f"{work} {rows}"] = _size(contender.work) - before
        return answer

    contender.clone(ours)
    timed("clone", contender.clone, theirs)
    timed("update", contender.update, theirs, Change("l_quantity", 0, rows, total))
    contender.update(ours, Change("l_extendedprice", rows, rows, total))
    count, checksum = timed("diff", contender.diff, theirs)  # type: ignore[misc]
    timed("merge", contender.merge, theirs, ours)
    measured.found[f"diff {rows}"] = f"{count} {checksum}"
    measured.found[f"merge {rows}"] = contender.content(ours)


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of all that it started; 0 without /proc."""
    spent: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        spent[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        children.setdefault(int(fields[1]), []).append(pid)
    left, total = [os.getpid()], 0.0
    while left:
        pid = left.pop()
        total += spent.get(pid, 0.0)
        left += children.get(pid, [])
    return total


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
