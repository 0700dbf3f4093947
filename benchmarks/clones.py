"""Table 1: a clone against insert-select."""

from collections.abc import Callable
from itertools import count

from plots import Chart
from report import Report, median, seconds
from rounds import take_turns, told
from sameness import content, require_equal
from setting import BASE, Setting
from versioned import TABLES

_COPY = "copy"


def measure_clones(setting: Setting) -> list[Report]:
    """Clone both tables, and rewrite lineitem with plain Spark."""
    versioned, plain = setting.versioned, setting.plain
    numbers = count()
    sizes: dict[str, float] = {}

    def clone(kind: str) -> Callable[[], float]:
        def work() -> float:
            before = versioned.bytes()
            took = seconds(lambda: versioned.clone(TABLES[kind], f"bench.clone_{next(numbers)}"))
            sizes[f"clone, {kind}"] = versioned.bytes() - before
            return took

        return work

    def branch() -> float:
        before = versioned.bytes()
        took = seconds(lambda: versioned.branch(f"branch-{next(numbers)}"))
        sizes["branch"] = versioned.bytes() - before
        return took

    def insert() -> float:
        plain.drop(_COPY)
        took = seconds(lambda: plain.write(_COPY, f"select * from {BASE}"))
        sizes["insert"] = plain.bytes(_COPY)
        return took

    works = {f"clone, {kind}": clone(kind) for kind in TABLES}
    times = take_turns("clone", {**works, "branch": branch, "insert": insert}, setting.repeat)
    with versioned.on("main") as client:
        found = content(client.sql, "bench.clone_0", setting.columns)
    require_equal("clone", content(plain.sql, _COPY, setting.columns), found)
    plain.drop(_COPY)
    return [_report(setting, times, sizes)]


def _report(setting: Setting, times: dict[str, list[float]], sizes: dict[str, float]) -> Report:
    taken = {name: median(found) for name, found in times.items()}
    return Report(
        name=setting.named("table1_clone"),
        title=setting.titled("Table 1, clone against insert"),
        columns=("operation", "seconds", "bytes", "times faster"),
        rows=[
            [name, f"{took:.4f}", f"{sizes[name]:,}", f"{taken['insert'] / took:,.0f}"]
            for name, took in taken.items()
        ],
        notes=[
            told(setting.repeat),
            "Each clone opens the repository anew.",
            "insert: plain Spark, create table as select, Parquet. branch: of all tables at once.",
            "The paper at 600 million rows, on 64 cores: clone 0.20 s and 314 KB, insert 114.6 s "
            "and 34 GB, so 573 times faster; 702 times without a key.",
        ],
        figures={"seconds": times, "bytes": sizes},
        chart=Chart(
            x=list(taken),
            series={"seconds": list(taken.values())},
            x_label="",
            y_label="seconds",
            log_y=True,
        ),
    )
