"""Measure what a long-lived process keeps: connections, dbt builds, and one long connection.

Each part is looked at several times. After the second look, at which caches and pools of threads
are full, nothing may grow: not Spark's status store with its listeners and triggers, nor threads,
open files, temporary files or catalog entries, nor Java's heap, Python's memory or its objects
after a collection by more than a tenth.

The statements of the long connection are reads, writes, merges, diffs, older versions, statements
that fail, and branches that are created, merged and deleted.
"""

import argparse
import gc
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from arguments import whole_number
from dbt.cli.main import dbtRunner
from pyspark import SparkContext
from report import Report

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.store.objects import BoundedCache
from dbt.adapters.vcs.engines.spark.session import SparkView

SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
}
PARTS = ("connection", "build", "statement")
LOOKS = 4
FULL = 2_500
"""The statements after which caches are full, and as many versions are mounted as ever will be."""
COLUMNS = (
    "listeners",
    "triggers",
    "status entries",
    "heap MiB",
    "Python MiB",
    "Python objects",
    "threads",
    "open files",
    "temporary files",
    "catalog entries",
)
IDLE = 65
"""Seconds after which the threads of Spark's pools that did nothing are gone: each statement gets
new ones, up to a thousand, for a minute."""
SHARES = frozenset({"heap MiB", "Python MiB", "Python objects"})
"""What may grow by a tenth: a collection leaves now more, now less."""
SLACK = {
    "heap MiB": 40,
    "status entries": 400,
    "threads": 8,
    "open files": 20,
    "temporary files": 250,
}
"""What may come and go: pools of threads, jars, and the versions that stay mounted for a while."""


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=whole_number, default=300)
    parser.add_argument("--builds", type=whole_number, default=10)
    parser.add_argument("--statements", type=whole_number, default=20_000)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="only these")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as name:
        folder = Path(name)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
        (folder / "tmp").mkdir()
        place = str(folder / "warehouse")
        with connect(place, create=True, spark=SETTINGS) as client:
            client.sql("create schema analytics")
            client.sql("create table t as select 1 a, 'x' b")
        parts = [
            looked(what, quarters(count), work(), folder)
            for what, count, work in (
                ("connection", options.connections, lambda: partial(connected, place)),
                ("build", options.builds, lambda: building(folder, place)),
            )
            if what in options.parts
        ]
        if "statement" in options.parts:
            marks = sorted({min(FULL, options.statements), *quarters(options.statements)})
            with connect(place, spark=SETTINGS) as client:
                parts.append(looked("statement", marks, partial(stated, client), folder))
    report = Report(
        name="long_session",
        title="What a long-lived process keeps",
        columns=("after", "ms each", *COLUMNS),
        rows=[
            [name, f"{ms:.0f}", *(f"{found[column]:,}" for column in COLUMNS)]
            for part in parts
            for name, ms, found in part
        ],
        notes=[
            "Caches of manifests are emptied before each look.",
            "After a collection: Java's heap, Python's memory (resident) and objects.",
            "Listeners: on Spark's bus. Triggers and status entries: of its status store.",
            "Temporary files: with folders.",
            "Catalog entries: relations and functions of all catalogs that a session can reach.",
        ],
        figures={name: found for part in parts for name, _, found in part},
    )
    report.save()
    print(report.markdown())
    grown = list(growths(parts))
    if grown:
        raise SystemExit("What grew:\n" + "\n".join(grown))


Look = tuple[str, float, dict[str, int]]


def quarters(count: int) -> list[int]:
    """Return when to look at a work that is done so many times."""
    return [max(1, count // LOOKS) * look for look in range(1, LOOKS + 1)]


def looked(what: str, marks: list[int], work: Callable[[int], None], folder: Path) -> list[Look]:
    """Do a work, and return what there is after as many of them as each mark says."""
    looks: list[Look] = []
    done = 0
    for mark in marks:
        start = time.perf_counter()
        for number in range(done, mark):
            work(number)
        ms = 1000 * (time.perf_counter() - start) / (mark - done)
        looks.append((f"{what} {mark:,}", ms, figures(folder)))
        print(*looks[-1], file=sys.stderr, flush=True)
        done = mark
    return looks


def connected(place: str, number: int) -> None:
    """Connect, query and close."""
    with connect(place, spark=SETTINGS) as client:
        client.sql(f"select sum(a) + {number} from t")


def building(folder: Path, place: str) -> Callable[[int], None]:
    """Make a dbt project, and return a function that builds it in this process."""
    settings = ", ".join(f"{key}: '{value}'" for key, value in SETTINGS.items())
    files = {
        "dbt_project.yml": "name: bench\nprofile: bench\n",
        "profiles.yml": (
            "bench: {target: dev, outputs: {dev: {type: vcs, method: session, threads: 2,"
            f" schema: analytics, repository: {place}, spark_config: {{{settings}}}}}}}}}\n"
        ),
        "models/one.sql": "select {{ var('number') }} a\n",
        "models/two.sql": "select a + 1 b from {{ ref('one') }}\n",
    }
    project = folder / "project"
    (project / "models").mkdir(parents=True)
    for name, text in files.items():
        (project / name).write_text(text)

    def build(number: int) -> None:
        done = dbtRunner().invoke(
            [
                "--quiet",
                "build",
                "--vars",
                f"number: {number}",
                "--project-dir",
                str(project),
                "--profiles-dir",
                str(project),
            ]
        )
        if not done.success:
            raise SystemExit(f"dbt build failed: {done.exception or done.result}")

    return build


def stated(client: Client, number: int) -> None:
    """Run a statement on a connection that stays open; one in fifteen makes a version."""
    if number % 500 == 0:
        client.sql(
            "create or replace table t tblproperties "
            "('primary_key' = 'a', 'vcs.write_mode' = 'merge_on_read') "
            "as select cast(id as int) a, 'x' b from range(100)"
        )
    works = {9: failed, 49: failed, 69: branched}
    text = text_of(number)
    if text is None:
        works.get(number % 80, compared)(client, number)
    else:
        client.sql(text)


def text_of(number: int) -> str | None:
    """Return a statement by its number; None for what isn't one."""
    key = 100 + number % 500
    seldom = {
        0: f"insert into t values ({key}, 'y')",
        5: f"select sum(a) + {number} from t version as of 'main~1'",
        10: f"update t set b = 'z{number}' where a = {number % 100}",
        15: f"delete from t where a = {key - 15}",
        25: f"merge into t using (select {key - 5} a, 'm' b union all select {key}, 'm') s "
        "on t.a = s.a when matched then update set * when not matched then insert *",
        35: f"select count(*) + {number} from snapshot_diff('analytics.t@main~1', 'analytics.t')",
        45: f"select sum(a) + {number} from t where a < 1000",
        55: f"select b, count(*) + {number} from t group by b",
    }
    often = {
        1: "show tables",
        2: "describe table t",
        3: f"create or replace temporary view v as select {number} z",
        4: "select z from v",
        9: None,
    }
    return seldom.get(number % 80, often.get(number % 10, "select count(*) from t"))


def failed(client: Client, number: int) -> None:
    """Run a statement that fails: when it is read, looked up, run, or when it would land."""
    texts = (
        f"selec {number}",
        f"select {number} from missing",
        f"select raise_error('{number}') from t",
        f"select {number} from t version as of 'missing'",
        "insert into t values (1, 'twice')",
        f"update t set b = raise_error('{number}') where a = 1",
    )
    try:
        client.sql(texts[number // 40 % len(texts)])
    except VcsError:
        return
    raise SystemExit(f"No error: {texts[number // 40 % len(texts)]}")


def compared(client: Client, _: int) -> None:
    """Compare two versions of the table without Spark."""
    client.diff("main~1..main", "analytics.t", limit=10)


def branched(client: Client, number: int) -> None:
    """Write on a new branch through a connection of its own, merge it and delete it."""
    with client.create(f"branch-{number}") as other:
        other.sql(f"update t set b = 'w{number}' where a = {(number + 50) % 100}")
        other.sql("select count(*) from t where b > 'w'")
    client.merge(f"branch-{number}")
    client.delete(f"branch-{number}")


def figures(folder: Path) -> dict[str, int]:
    """Return what there is, after a collection on both sides."""
    context: Any = SparkContext._active_spark_context
    time.sleep(IDLE)
    # They are bounded, but take longer to fill than this looks.
    for each in gc.get_objects():
        if type(each) is BoundedCache:
            with each._lock:
                each._values.clear()
                each._bytes = 0
    for _ in range(3):
        # What Python gives up, Java can collect; and Spark then drops the listeners of that.
        gc.collect()
        context._jvm.System.gc()
        time.sleep(1)
    spark, runtime = context._jsc.sc(), context._jvm.Runtime.getRuntime()
    store = spark.statusStore().store()
    triggers = field(store, "triggers").values().toSeq()
    java = context._jvm.ProcessHandle.current().pid()
    found = {
        "listeners": spark.listenerBus().listeners().size(),
        "triggers": sum(triggers.apply(n).triggers().size() for n in range(triggers.size())),
        "status entries": entries_of(store),
        "heap MiB": (runtime.totalMemory() - runtime.freeMemory()) // 2**20,
        "Python MiB": resident() // 2**20,
        "Python objects": len(gc.get_objects()),
        "threads": threading.active_count() + len(os.listdir(f"/proc/{java}/task")),
        "open files": sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in ("self", java)),
        "temporary files": sum(
            len(inner) + len(names) for _, inner, names in os.walk(folder / "tmp")
        ),
        "catalog entries": entries(),
    }
    return {column: int(found[column]) for column in COLUMNS}


def entries_of(store: Any) -> int:
    """Return how many jobs, stages, tasks, queries and others Spark's status store keeps."""
    kinds = field(field(field(store, "store"), "inMemoryLists"), "data")
    return sum(int(store.count(kind)) for kind in kinds)


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def entries() -> int:
    """Return how many relations and functions the catalogs of live sessions have."""
    catalogs: dict[str, Any] = {}
    for each in gc.get_objects():
        if type(each) is SparkView:
            shared = each.spark._jsparkSession.sharedState()
            catalogs[shared.toString()] = shared.externalCatalog()
    total = 0
    for catalog in catalogs.values():
        names = catalog.listDatabases()
        for name in (names.apply(n) for n in range(names.size())):
            total += catalog.listTables(name).size() + catalog.listFunctions(name, "*").size()
    return total


def field(owner: Any, name: str) -> Any:
    """Return a private field of an object of Java."""
    found = owner.getClass().getDeclaredField(name)
    found.setAccessible(True)
    return found.get(owner)


def growths(parts: list[list[Look]]) -> Iterator[str]:
    """Yield what is more at the last two looks at a part than when its caches were full.

    What grows does so at each look. On a busy machine pools of threads end late at some.
    """
    for part in parts:
        (first, _, before), (_, _, third), (last, _, after) = (part[1], *part[-2:])
        for column in COLUMNS:
            most = before[column] * (1.1 if column in SHARES else 1) + SLACK.get(column, 0)
            if column == "catalog entries":
                most += SLACK["temporary files"]
            if min(third[column], after[column]) > most:
                yield f"{column}: {before[column]} after {first}, {after[column]} after {last}"


if __name__ == "__main__":
    main()
