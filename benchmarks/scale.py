"""Count what each command asks of a store as repositories grow, and what that costs.

The requests are those that an object store would get: a listing is one for 1,000 names. They are
counted on repositories of manifests, so they are the same on each machine. `--page` writes those
of the reference run into docs/scale.md.
"""

import argparse
import heapq
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import operations as op
from arguments import whole_number
from operations import Site, Trial
from report import RESULTS, Report
from synthetic import AUTHOR, LARGE, SMALL, Shape, make_repository, touch

from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.core.repository import Proposal, Repository
from dbt.adapters.vcs.core.store import blobs
from dbt.adapters.vcs.core.store.blobs import LATER, READ_AT_ONCE, Blobs, FolderEnd
from dbt.adapters.vcs.core.store.cloud import AT_ONCE as WRITTEN_AT_ONCE
from dbt.adapters.vcs.core.store.opening import open_blobs

PAGE = Path(__file__).resolve().parents[1] / "docs/scale.md"
LISTED = 1_000
"""Names that a store lists with one request."""
READ, WRITE = 0.00004, 0.0005
"""Cents of a request to read; of one to write or to list. S3's list price in us-east-1."""
PLACES = {"one zone": 5, "one region": 30, "another continent": 150}
"""Milliseconds until a store answers, by where it is seen from."""


@dataclass(slots=True)
class Cost:
    """What something asked of a store.

    Attributes:
        reads: Requests to read a file, or to ask whether it is there.
        lists: Requests to list.
        writes: Requests to write.
        bytes_read: Bytes that came.
        bytes_written: Bytes that went.
        rounds: Requests that waited for the one before. Others were made beside them.
    """

    reads: int = 0
    lists: int = 0
    writes: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    rounds: int = 0

    @property
    def requests(self) -> int:
        """All requests."""
        return self.reads + self.lists + self.writes

    @property
    def cents(self) -> float:
        """What the requests cost."""
        return self.reads * READ + (self.lists + self.writes) * WRITE


@dataclass(slots=True)
class Meter:
    """Adds up what a store is asked for.

    A request moves a clock on by one. Calls that are made at once begin at the same time, and end
    with the last of them; they are made one after the other, so the counts are always the same.

    Attributes:
        cost: What was counted.
        is_on: Whether it counts.
        interrupt: What happens once, right before objects are written next.
    """

    cost: Cost = field(default_factory=Cost)
    is_on: bool = False
    interrupt: Callable[[], object] | None = None
    _clock: int = 0
    _threads: int = READ_AT_ONCE

    @contextmanager
    def measuring(self) -> Iterator[Cost]:
        """Count from zero what is asked inside."""
        self.cost, self._clock, self.is_on = Cost(), 0, True
        real = blobs._Work
        blobs._Work = counted_work(self)  # type: ignore[misc]
        try:
            yield self.cost
        finally:
            self.is_on, blobs._Work = False, real  # type: ignore[misc]

    def add(
        self,
        kind: str,
        requests: int = 1,
        *,
        read: int = 0,
        written: int = 0,
        beside: bool = False,
    ) -> None:
        """Add requests of one kind; `beside` is true if they don't wait for each other."""
        if not self.is_on:
            return
        cost = self.cost
        setattr(cost, kind, getattr(cost, kind) + requests)
        cost.bytes_read += read
        cost.bytes_written += written
        self._clock += -(-requests // WRITTEN_AT_ONCE) if beside else requests
        cost.rounds = self._clock

    def each(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Make calls one after the other, and count them as at once.

        What they ask at once themselves shares the threads that these calls leave.
        """
        if not self.is_on:
            return [function(item) for item in items]
        began, wanted, own, found = self._clock, list(items), self._threads, []
        # When each thread would have ended its calls so far.
        threads = [0] * own
        self._threads = max(1, own // max(1, len(wanted)))
        try:
            for item in wanted:
                self._clock = began
                found.append(function(item))
                heapq.heapreplace(threads, threads[0] + self._clock - began)
        finally:
            self._threads = own
            self._clock = self.cost.rounds = began + max(threads)
        return found


def counted_work(meter: Meter) -> type:
    """Return what takes the place of the calls that `Parallel.map` shares out among threads."""

    class Work:
        def __init__(self, function: Callable[[Any], Any], items: Iterable[Any]) -> None:
            self.results: dict[int, Any] = {}
            self.errors: list[tuple[int, BaseException]] = []
            try:
                self.results.update(enumerate(meter.each(function, items)))
            # Raised by `map`, as that of a thread is.
            except BaseException as error:
                self.errors.append((0, error))

        def __call__(self) -> None:
            pass

    return Work


class Metered:
    """A store that counts; `Blobs` has the contract."""

    is_near = False

    def __init__(self, store: Blobs, meter: Meter) -> None:
        """Wrap a store."""
        self._blobs = store
        self._meter = meter

    def __getattr__(self, name: str) -> Any:
        """Return what costs nothing as it is."""
        return getattr(self._blobs, name)

    def get(self, path: str) -> bytes:
        """Read a file; one that isn't there costs a request, too."""
        found = b""
        try:
            found = self._blobs.get(path)
        finally:
            self._meter.add("reads", read=len(found))
        return found

    def range(self, path: str, start: int, length: int) -> bytes:
        """Read a part; its size is asked for first."""
        found = self._blobs.range(path, start, length)
        self._meter.add("reads", 2, read=len(found))
        return found

    def size(self, path: str) -> int:
        """Ask for a file's size."""
        self._meter.add("reads")
        return self._blobs.size(path)

    def exists(self, path: str) -> bool:
        """Ask whether there is a file."""
        self._meter.add("reads")
        return self._blobs.exists(path)

    def modified_at(self, path: str) -> Any:
        """Ask for a file's age."""
        self._meter.add("reads")
        return self._blobs.modified_at(path)

    def create(self, path: str, data: bytes) -> bool:
        """Write a file."""
        self._meter.add("writes", written=len(data))
        return self._blobs.create(path, data)

    def create_all(self, files: Mapping[str, bytes]) -> set[str]:
        """Write files; one that is there is read and written once more."""
        if (happens := self._meter.interrupt) is not None:
            self._meter.interrupt = None
            happens()
        total = sum(map(len, files.values()))
        self._meter.add("writes", len(files), written=total, beside=True)
        there = self._blobs.create_all(files)
        if there:
            again = sum(len(files[path]) for path in there)
            self._meter.add("reads", len(there), read=again, beside=True)
            self._meter.add("writes", len(there), written=again, beside=True)
        return there

    def folders(self, folder: str) -> list[str]:
        """List folders."""
        return self._paged(self._blobs.folders(folder))

    def top(self) -> list[str]:
        """List what is at the top."""
        return self._paged(self._blobs.top())

    def walk(self, folder: str) -> Iterator[Any]:
        """List all files below a folder."""
        return iter(self._paged(list(self._blobs.walk(folder))))

    def later(self, path: str) -> list[str]:
        """List the first files."""
        self._meter.add("lists")
        return self._blobs.later(path)

    def ends(self, folder: str) -> list[FolderEnd]:
        """List all files of folders, and one page of those that have more."""
        found = self._blobs.ends(folder)
        long = [end for end in found if (end.blobs or LATER) > LATER]
        short = sum(end.blobs or 0 for end in found) - sum(end.blobs or 0 for end in long)
        self._meter.add("lists", max(1, -(-short // LATER)) + 2 * len(long))
        return [end._replace(blobs=None) if end in long else end for end in found]

    def _paged(self, found: list[Any]) -> list[Any]:
        self._meter.add("lists", max(1, -(-len(found) // LISTED)))
        return found


@dataclass(slots=True)
class MeteredSite(Site):
    """A repository whose trials are counted, and what helps them isn't."""

    meter: Meter = field(default_factory=Meter)

    def repository(self) -> Repository:
        """Open the repository on a store that counts."""
        store: Any = Metered(open_blobs(str(self.folder), {"fsync": "false"}), self.meter)
        return Repository.open(store)


def publish_beaten(site: MeteredSite) -> Trial:
    """Commit a version of a table while another writer commits one of another table."""
    name = site.new_branch()

    def work() -> None:
        site.meter.interrupt = lambda: touch(site.helper(), name, LARGE)
        touch(site.repository(), name, SMALL)

    return Trial(work, lambda: _differ(site, name, LARGE, SMALL))


def run(site: Site) -> Trial:
    """Do what a run of one model does: a branch, a commit on it, a publish, the branch's end."""
    name, target = f"runs/{next(site.numbers)}", site.new_branch()

    def work() -> None:
        repository = site.repository()
        start = repository.branch(target).head
        repository.create_branch(name, start, author=AUTHOR)
        tree = repository.objects.commit(touch(repository, name, SMALL)).tree
        repository.land(
            Proposal(branch=target, base=start, tree=tree, author=AUTHOR, message="Publish")
        )
        repository.delete_branch(name, author=AUTHOR)

    return Trial(work, lambda: _differ(site, target, SMALL))


def check(site: Site) -> Trial:
    """Check all manifests, and the sizes of all files."""
    found: list[Any] = []
    return Trial(
        lambda: found.append(check_repository(site.repository())),
        # Blocks are empty here, and nothing else is wrong.
        lambda: len(found[-1].problems) == found[-1].files,
    )


def packed_branches(site: Site) -> Trial:
    """List the branches after a collection."""
    collect(site.helper(), author=AUTHOR)
    return op.branches(site)


def packed_collection(site: Site) -> Trial:
    """Find what a collection would delete after another one."""
    collect(site.helper(), author=AUTHOR)
    return op.collection(site)


def _differ(site: Site, branch: str, *names: Any) -> bool:
    return all(op.shown(site, branch, name) != op.shown(site, "main", name) for name in names)


VERBS: Mapping[str, Callable[[Any], Trial]] = {
    "status": op.status,
    "log -n 20": op.log,
    "branch list -n 20": op.some_branches,
    "branch list": op.branches,
    "branch create": op.branch,
    "tag create": op.tag,
    "clone": op.clone,
    "restore of a table": op.restore_table,
    "plan of a query": op.plan_a_read,
    "plan of a diff": op.plan_a_diff,
    "commit of one table": op.publish,
    "the same, beaten once": publish_beaten,
    "run of one model": run,
    "merge, fast-forward": op.fast_forward,
    "merge of two tables": op.merge_apart,
    "gc, nothing to delete": op.collection,
    "fsck": check,
    "list of branches, packed": packed_branches,
    "gc, packed": packed_collection,
}
"""In the order of the page. Collections and checks last: they see what the others made."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that grows.

    Attributes:
        name: What it is, in one word.
        sizes: The numbers to measure, in order.
        shape: The repository of a size.
    """

    name: str
    sizes: Sequence[int]
    shape: Callable[[int], Shape]


DIMENSIONS = (
    Dimension("tables", (10, 100, 1_000, 5_000), lambda size: Shape(tables=size)),
    Dimension("branches", (10, 100, 1_000, 10_000), lambda size: Shape(branches=size)),
    Dimension("commits", (10, 100, 1_000, 10_000), lambda size: Shape(commits=size)),
)
Figures = dict[str, dict[int, dict[str, Cost]]]
"""Costs by dimension, size, verb."""


def measure(dimension: Dimension, sizes: Sequence[int]) -> dict[int, dict[str, Cost]]:
    """Count each verb in a repository of each size; fail if any did it wrong."""
    found: dict[int, dict[str, Cost]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
            print(f"number of {dimension.name}: {size:,}", file=sys.stderr)
            make_repository(Path(folder), dimension.shape(size))
            site = MeteredSite(Path(folder))
            found[size] = {verb: counted(site, verb, make) for verb, make in VERBS.items()}
    return found


def counted(site: MeteredSite, verb: str, make: Callable[[Any], Trial]) -> Cost:
    """Count one verb."""
    trial = make(site)
    with site.meter.measuring() as cost:
        trial.work()
    if not trial.is_right():
        raise SystemExit(f"{verb}: what is there afterwards is not what should be")
    return cost


def sheet(figures: Figures) -> str:
    """Return the table of all verbs in the smallest repository."""
    costs = next(iter(figures["branches"].values()))
    rows = [
        [
            f"`{verb}`" if verb.split()[0] in _COMMANDS else verb,
            str(cost.reads),
            str(cost.lists),
            str(cost.writes),
            f"{(cost.bytes_read + cost.bytes_written) / 1000:.1f} kB",
            str(cost.rounds),
            f"{cost.cents * 1000:.1f}",
            *(_duration(cost.rounds * ms) for ms in PLACES.values()),
        ]
        for verb, cost in costs.items()
    ]
    head = ["verb", "reads", "lists", "writes", "bytes", "in turn", "cents for 1,000"]
    return table([*head, *(f"{place}, {ms} ms" for place, ms in PLACES.items())], rows)


_COMMANDS = frozenset({"status", "log", "branch", "tag", "fsck"})


def growth(figures: Figures, name: str) -> str:
    """Return the table of what each verb takes as something grows."""
    found = figures[name]
    rows = [
        [
            f"`{verb}`" if verb.split()[0] in _COMMANDS else verb,
            *(
                f"{costs[verb].requests:,}, "
                f"{_bytes(costs[verb].bytes_read + costs[verb].bytes_written)}"
                for costs in found.values()
            ),
        ]
        for verb in VERBS
    ]
    return table(["verb", *(f"{size:,} {name}" for size in found)], rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "".join("| " + " | ".join(line) + " |\n" for line in (head, ["---"] * len(head), *rows))


def _duration(ms: int) -> str:
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def _bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


_SECTION = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page(text: str, figures: Figures) -> str:
    """Return the page with the tables of some figures."""
    tables = {"sheet": sheet(figures)} | {name: growth(figures, name) for name in figures}
    return _SECTION.sub(lambda found: f"{found[1]}\n{tables[found[2]]}\n{found[3]}", text)


def read_figures(folder: Path) -> Figures:
    """Return the figures that were saved in a folder."""
    raw = json.loads((folder / "scale.json").read_text(encoding="utf-8"))["figures"]
    return {
        name: {
            int(size): {verb: Cost(**cost) for verb, cost in costs.items()}
            for size, costs in found.items()
        }
        for name, found in raw.items()
    }


def main() -> None:
    """Count, check, report; or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=whole_number, help="leave larger sizes out")
    parser.add_argument("--page", action="store_true", help="only write docs/scale.md")
    options = parser.parse_args()
    if options.page:
        found = read_figures(RESULTS / "reference")
        PAGE.write_text(page(PAGE.read_text("utf-8"), found), encoding="utf-8")
        return
    figures = {
        dimension.name: measure(
            dimension,
            [size for size in dimension.sizes if size <= (options.largest or size)],
        )
        for dimension in DIMENSIONS
    }
    report = Report(
        name="scale",
        title="Requests of each verb",
        columns=["verb", *(f"{size:,} {name}" for name in figures for size in figures[name])],
        rows=[
            [
                verb,
                *(f"{costs[verb].requests:,}" for by in figures.values() for costs in by.values()),
            ]
            for verb in VERBS
        ],
        notes=["Requests that an object store gets, a listing for each 1,000 names. No Spark."],
        figures={
            name: {
                str(size): {verb: asdict(cost) for verb, cost in costs.items()}
                for size, costs in found.items()
            }
            for name, found in figures.items()
        },
    )
    report.save()
    print(report.markdown())


if __name__ == "__main__":
    main()
