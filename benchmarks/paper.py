"""Section 6 of "Version Control System for Data with MatrixOne", here and on plain Spark.

`clone` is table 1, `changes` tables 2 and 3, `disjoint` tables 4 and 5 with figure 3, `overlap`
tables 6 and 7 with figure 4. Whatever is compared has the same rows, or the benchmark fails.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from arguments import scale_factor, whole_number
from changesets import SIZES
from clones import measure_clones
from lineitem import lineitem, settings
from paperchanges import measure_changes
from papermerges import measure_merges
from parquet_tables import ParquetTables
from report import Report
from setting import Setting
from versioned import Versioned

PARTS: Mapping[str, Callable[[Setting], list[Report]]] = {
    "clone": measure_clones,
    "changes": measure_changes,
    "disjoint": lambda setting: measure_merges(setting, overlap=0.0),
    "overlap": lambda setting: measure_merges(setting, overlap=0.1),
}


def main() -> None:
    """Run, check, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=scale_factor, default=1, help="scale factor (default 1)")
    parser.add_argument("--repeat", type=whole_number, default=3, help="rounds (default 3)")
    parser.add_argument(
        "--only", choices=PARTS, action="append", help="a part; may be given several times"
    )
    parser.add_argument("--size", choices=SIZES, action="append", help="a change set; the same")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as scratch:
        folder = Path(scratch)
        spark = settings(options.scale)
        plain = ParquetTables(folder / "plain", spark)
        versioned = Versioned(folder / "repository", spark)
        setting = Setting(
            plain=plain,
            versioned=versioned,
            scale=options.scale,
            repeat=options.repeat,
            total=versioned.fill(options.scale),
            chosen=tuple(options.size or ()),
        )
        plain.write("base", f"select * from parquet.`{lineitem(options.scale)}/lineitem.parquet`")
        for part in options.only or PARTS:
            for report in PARTS[part](setting):
                report.save()
                print(report.markdown(), flush=True)
        plain.close()


if __name__ == "__main__":
    main()
