"""Spark with Iceberg, in a process of its own: statements in as JSON, answers out as JSON.

A line of standard input has ``sql``, or ``path`` for the metadata of a table to be read, and
``to``, a file for the rows. The answer has the number of rows, or the error.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession


def main(settings: dict[str, str]) -> None:
    """Answer until the input ends; the requests of one line run at the same time."""
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    answer({"ready": session.version})
    for line in sys.stdin:
        requests = json.loads(line)
        with ThreadPoolExecutor(len(requests)) as pool:
            answer(list(pool.map(lambda request: carried_out(session, request), requests)))
    session.stop()


def carried_out(session: SparkSession, request: dict[str, str]) -> dict[str, Any]:
    """Carry a request out."""
    try:
        if "path" in request:
            frame = session.read.format("iceberg").load(request["path"])
        else:
            frame = session.sql(request["sql"])
        rows = frame.toArrow()
        with pa.OSFile(request["to"], "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
        return {"rows": rows.num_rows}
    except Exception as error:  # Whatever it is, the other process wants to know it.
        return {"error": f"{type(error).__name__}: {error}"}


def answer(value: Any) -> None:
    """Send an answer."""
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
