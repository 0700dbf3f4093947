"""Measure what a long-lived process keeps: connections, dbt builds, and one long connection.

Each part is looked at four times. After the second look, with which caches are full, nothing may
grow: not the listeners and triggers of Spark's status store, nor threads, open files, temporary
files or catalog entries, nor Java's heap, Python's memory or its objects after a collection by
more than a tenth.
"""

import argparse
import gc
import os
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
from dbt.adapters.vcs.core.store.objects import BoundedCache
from dbt.adapters.vcs.engines.spark.session import SparkView

SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
}
LOOKS = 4
COLUMNS = (
    "listeners",
    "triggers",
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
SLACK = {"heap MiB": 40, "threads": 8, "open files": 20, "temporary files": 250}
"""What may come and go: pools of threads, jars, and the versions that stay mounted for a while."""


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=whole_number, default=300)
    parser.add_argument("--builds", type=whole_number, default=10)
    parser.add_argument("--statements", type=whole_number, default=20_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as name:
        folder = Path(name)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
        (folder / "tmp").mkdir()
        place = str(folder / "warehouse")
        with connect(place, create=True, spark=SETTINGS) as client:
            client.sql("create schema analytics")
            client.sql("create table t as select 1 a, 'x' b")
        looks = [
            *looked("connection", options.connections, partial(connected, place), folder),
            *looked("build", options.builds, building(folder, place), folder),
        ]
        with connect(place, spark=SETTINGS) as client:
            looks += looked("statement", options.statements, partial(stated, client), folder)
    report = Report(
        name="long_session",
        title="What a long-lived process keeps",
        columns=("after", "ms each", *COLUMNS),
        rows=[
            [name, f"{ms:.0f}", *(f"{found[column]:,}" for column in COLUMNS)]
            for name, ms, found in looks
        ],
        notes=[
            "Caches of manifests are emptied before each look.",
            "After a collection: Java's heap, Python's memory (resident) and objects.",
            "Listeners: on Spark's bus. Triggers: of its status store.",
            "Temporary files: with folders.",
            "Catalog entries: relations and functions of all catalogs that a session can reach.",
        ],
        figures={name: found for name, _, found in looks},
    )
    report.save()
    print(report.markdown())
    grown = list(growths(looks))
    if grown:
        raise SystemExit("What grew:\n" + "\n".join(grown))


Look = tuple[str, float, dict[str, int]]


def looked(what: str, count: int, work: Callable[[int], None], folder: Path) -> Iterator[Look]:
    """Do a work so many times; yield what there is after each quarter of them."""
    step = max(1, count // LOOKS)
    for look in range(LOOKS):
        start = time.perf_counter()
        for number in range(step):
            work(look * step + number)
        ms = 1000 * (time.perf_counter() - start) / step
        yield f"{what} {(look + 1) * step:,}", ms, figures(folder)


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
    """Run a statement on a connection that stays open; one in ten makes a version."""
    texts = {
        0: f"insert into t values ({number}, 'y')",
        1: "show tables",
        2: "describe table t",
        3: f"create or replace temporary view v as select {number} z",
        4: "select z from v",
    }
    if number % 500 == 0:
        client.sql("create or replace table t as select 1 a, 'x' b")
    client.sql(texts.get(number % 10, f"select sum(a) + {number} from t where a < 100"))


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


def growths(looks: list[Look]) -> Iterator[str]:
    """Yield what is more at the last two looks at a part than at the second.

    What grows does so at each look. On a busy machine pools of threads end late at some.
    """
    for start in range(0, len(looks), LOOKS):
        (first, _, before), (_, _, third), (last, _, after) = looks[start + 1 : start + LOOKS]
        for column in COLUMNS:
            most = before[column] * (1.1 if column in SHARES else 1) + SLACK.get(column, 0)
            if column == "catalog entries":
                most += SLACK["temporary files"]
            if min(third[column], after[column]) > most:
                yield f"{column}: {before[column]} after {first}, {after[column]} after {last}"


if __name__ == "__main__":
    main()
