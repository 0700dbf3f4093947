"""Write tests/unit/iceberg/data/spark.puffin: deletion vectors as Spark with Iceberg writes them.

Run it after ``python integration_tests/interop/fetch.py``, from the checkout:
``PYTHONPATH=.:integration_tests .venv/bin/python -m interop.puffin_sample``.

The table has one file for each of two partitions, whose rows are in the order of their ids. The
second statement deletes rows of both files, so its Puffin file has two vectors, and that of the
first file has the rows of the first statement, too.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import gettempdir
from typing import Final

from .iceberg_spark import IcebergSpark

SAMPLE: Final = Path(__file__).parents[2] / "tests/unit/iceberg/data/spark.puffin"
STATEMENTS: Final = (
    "create table plain.s.t (id bigint, part int) using iceberg partitioned by (part)"
    " tblproperties ('format-version' = '3', 'write.delete.mode' = 'merge-on-read',"
    " 'write.delete.granularity' = 'partition')",
    "insert into plain.s.t select id, 0 from range(0, 70000, 1, 1)",
    "insert into plain.s.t select id, 1 from range(0, 10000, 1, 1)",
    "delete from plain.s.t where part = 0 and id % 1000 = 7",
    "delete from plain.s.t where part = 0 and id between 65530 and 65545"
    " or part = 1 and id % 2 = 0",
)


def main() -> None:
    """Make the table in a folder for temporary files, and take its last Puffin file."""
    folder = Path(gettempdir()) / "warehouse"
    catalog = {"type": "hadoop", "warehouse": str(folder)}
    with IcebergSpark({"plain": catalog}) as spark:
        spark.sql("create namespace plain.s")
        for statement in STATEMENTS:
            spark.sql(statement)
        files = "select distinct file_path from plain.s.t.delete_files"
        (uri,) = spark.sql(files).column("file_path").to_pylist()
    SAMPLE.parent.mkdir(exist_ok=True)
    shutil.copyfile(uri.removeprefix("file:"), SAMPLE)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
