"""Time queries that pass over deleted rows, against the table as it was before.

For each number of rows a branch is made and so many rows are updated there, in a table of one
million rows and in all of lineitem. Each query gives there what it gives on plain Parquet, or
the benchmark fails.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from arguments import scale_factor, whole_number
from changesets import Update
from lineitem import KEY, TABLE, lineitem, settings
from parquet_tables import ParquetTables
from plots import Chart
from report import Report, median, seconds
from rounds import take_turns, told
from sameness import checksum, require_same_rows
from setting import BASE, Setting
from versioned import Versioned

from dbt.adapters.vcs.api import Client

SIZES = (1_000, 100_000)
MILLION = "bench.million"
PART = "l_orderkey <= 1000000"
"""The condition of about a million rows; at less than SF 1 it is all of them."""
TARGETS = {"Q1": 1.1, "one-column sum": 2.5}
ELSEWHERE = {"point lookup": 1.2, "range": 1.1, "full scan": 1.04, "aggregation": 1.2}
"""What copy-on-write with a list of deleted rows is said to cost elsewhere."""


def queries(table: str, columns: list[str]) -> dict[str, str]:
    """Return the queries of a table, by name."""
    return {
        "point lookup": f"select * from {table} where l_orderkey = 900001",
        "range": f"select * from {table} where l_orderkey between 500000 and 505000",
        "full scan": checksum(table, columns),
        "aggregation": f"select l_shipmode, l_shipinstruct, count(*) n, sum(l_quantity) q, "
        f"max(l_discount) d from {table} group by l_shipmode, l_shipinstruct",
        "one-column sum": f"select sum(l_extendedprice) total from {table}",
        "Q1": f"""select l_returnflag, l_linestatus, sum(l_quantity) quantity,
            sum(l_extendedprice) base, sum(l_extendedprice * (1 - l_discount)) discounted,
            sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) charge,
            avg(l_quantity) a, avg(l_extendedprice) b, avg(l_discount) c, count(*) n from {table}
            where l_shipdate <= date '1998-09-02' group by l_returnflag, l_linestatus""",
        "Q6": f"""select sum(l_extendedprice * l_discount) revenue from {table}
            where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'
            and l_discount between 0.05 and 0.07 and l_quantity < 24""",
    }


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=scale_factor, default=1, help="scale factor (default 1)")
    parser.add_argument("--repeat", type=whole_number, default=5, help="rounds (default 5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as scratch:
        spark = settings(options.scale)
        plain = ParquetTables(Path(scratch) / "plain", spark)
        versioned = Versioned(Path(scratch) / "repository", spark)
        total = versioned.fill(options.scale)
        plain.write(BASE, f"select * from parquet.`{lineitem(options.scale)}/lineitem.parquet`")
        plain.write("million", f"select * from {BASE} where {PART}")
        with versioned.on("main") as client:
            client.sql(
                f"create table {MILLION} tblproperties ('vcs.enforce_primary_key' = 'false', "
                f"'primary_key' = '{', '.join(KEY)}') as select * from {TABLE} where {PART}"
            )
        report = measure(Setting(plain, versioned, options.scale, options.repeat, total))
        plain.close()
    report.save()
    print(report.markdown())


def measure(setting: Setting) -> Report:
    """Measure both tables."""
    (million,) = setting.plain.sql("select count(*) from million").column(0).to_pylist()
    rows, figures = [], {}
    tables = [(MILLION, "million", million), (TABLE, BASE, setting.total)]
    for table, base, total in tables if million < setting.total else tables[1:]:
        stones, times = measure_table(setting, table, base, total)
        figures[table] = times
        before = {query: median(found["before"]) for query, found in times.items()}
        taken = [f"{took:.3f} s" for took in before.values()]
        rows.append([f"{total:,}", "none: seconds", "0", *taken])
        for name, deleted in {"plain Parquet": 0, **stones}.items():
            ratios = {query: median(found[name]) / before[query] for query, found in times.items()}
            judged = [
                f"{ratio:.2f}{_verdict(query, ratio) if deleted else ''}"
                for query, ratio in ratios.items()
            ]
            rows.append([f"{total:,}", name, f"{deleted:,}", *judged])
    names = list(queries("t", setting.columns))
    return Report(
        name=setting.named("reads"),
        title=setting.titled("Reading through deleted rows, times as long as before"),
        columns=("rows", "updated", "rows of tombstones", *names),
        rows=rows,
        notes=[
            f"{told(setting.repeat)} Ratios of these; 1 is as fast as before the update.",
            "plain Parquet: the same rows, read by Spark without a repository.",
            "Copy-on-write is said to cost elsewhere: "
            + ", ".join(f"{name} {ratio:g}" for name, ratio in ELSEWHERE.items()),
            f"Wanted: {', '.join(f'{name} {most:g}' for name, most in TARGETS.items())} at most.",
        ],
        figures=figures,
        chart=_chart(names, figures),
    )


def measure_table(
    setting: Setting, table: str, base: str, total: int
) -> tuple[dict[str, int], dict[str, Mapping[str, list[float]]]]:
    """Update rows on branches, then run each query there, before, and on plain Parquet.

    Returns:
        Rows of tombstones by branch; seconds by query, by branch.
    """
    plain, columns = setting.plain, setting.columns
    stones: dict[str, int] = {}
    times: dict[str, Mapping[str, list[float]]] = {}
    with ExitStack() as stack:
        sides: dict[str, Client] = {"before": stack.enter_context(setting.versioned.on("main"))}
        expected: dict[str, str] = {"before": base}
        for size in SIZES:
            update, name = Update(size, total), f"{size:,} of {total:,}"
            branch = f"{table}-{size}"
            setting.versioned.change(branch, update.statement(table))
            sides[name] = stack.enter_context(setting.versioned.on(branch))
            expected[name] = f"({update.query(base, columns)})"
            stones[name] = _tombstones(sides[name], table)
        for query, text in queries(table, columns).items():
            works: dict[str, Callable[[], float]] = {
                name: _timed(client, text) for name, client in sides.items()
            }
            plain_text = queries(base, columns)[query]
            works["plain Parquet"] = lambda: seconds(lambda: plain.sql(plain_text))  # noqa: B023
            times[query] = take_turns(f"{query}, {table}", works, setting.repeat)
            for name, client in sides.items():
                wanted = plain.sql(queries(expected[name], columns)[query])
                require_same_rows(f"{query}, {name}", wanted, client.sql(text))
    return stones, times


def _timed(client: Client, text: str) -> Callable[[], float]:
    return lambda: seconds(lambda: client.sql(text))


def _tombstones(client: Client, table: str) -> int:
    found = client.sql(f"select sum(deleted) from vcs.blocks where relation = '{table}'")
    return int(found.column(0)[0].as_py() or 0)


def _verdict(query: str, ratio: float) -> str:
    """Say whether a target is met, where there is one."""
    if query not in TARGETS:
        return ""
    return " (met)" if ratio <= TARGETS[query] else " (missed)"


def _chart(
    names: list[str], figures: Mapping[str, Mapping[str, Mapping[str, list[float]]]]
) -> Chart:
    """Draw the ratios of every branch, query by query."""
    series: dict[str, list[float | None]] = {}
    for times in figures.values():
        for query in names:
            before = median(times[query]["before"])
            for name, found in times[query].items():
                if name not in ("before", "plain Parquet"):
                    series.setdefault(name, []).append(median(found) / before)
    return Chart(x=names, series=series, x_label="", y_label="times as long as before")


if __name__ == "__main__":
    main()
