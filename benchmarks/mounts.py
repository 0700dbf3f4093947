"""Time the way from a version's manifests to its first row in Spark, by the number of files."""

import argparse
import tempfile
from time import perf_counter

import pyarrow as pa
from arguments import whole_number

from dbt.adapters.vcs.core.model import Block, Field
from dbt.adapters.vcs.core.store.opening import open_blobs
from dbt.adapters.vcs.engines.port import TableMount
from dbt.adapters.vcs.engines.spark.engine import SparkEngine
from dbt.adapters.vcs.table.files.parquet import write_rows

FIELDS = (Field(id="id", name="id", type="bigint"), Field(id="p", name="p", type="string"))


def main() -> None:
    """Write files, mount the first of them, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--files", type=whole_number, default=10_000, help="the most files (default 10000)"
    )
    parser.add_argument("--repeat", type=whole_number, default=3, help="rounds (default 3)")
    options = parser.parse_args()
    counts = [options.files // 100, options.files // 10, options.files]
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as folder:
        blobs = open_blobs(folder, {"fsync": "false"})
        blocks: list[Block] = []
        for number in range(options.files):
            rows = pa.table({"id": [number], "p": [f"p{number % 10}"]})
            written = write_rows(blobs, rows, folder=f"data/t/w=y{number}", partition_by=["p"])
            blocks += [
                Block(path=path, rows=1, bytes=footer.bytes, footer=footer.digest)
                for path, footer in written.items()
            ]
        for turn in range(options.repeat + 1):
            # Each round has a catalog of its own, in which no file was checked before.
            engine = SparkEngine(blobs, settings={"spark.master": "local[2]"})
            session = engine.session("bench")
            session.query("select 1").fetch()
            for count in counts:
                some = tuple(blocks[:count])
                start = perf_counter()
                name = session.mount_physical(
                    TableMount(
                        id=f"m{count}",
                        folder="data/t",
                        files=tuple(block.path for block in some),
                        fields=FIELDS,
                        entries=some,
                    )
                )
                mounted = perf_counter()
                [_] = session.query(f"select id from {name} limit 1").fetch()
                end = perf_counter()
                if turn:
                    print(
                        f"{count} files: mounted {mounted - start:.2f} s, "
                        f"first row {end - mounted:.2f} s, together {end - start:.2f} s"
                    )
            engine.close()


if __name__ == "__main__":
    main()
