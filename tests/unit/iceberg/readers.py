"""Other engines that read Iceberg tables."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyiceberg.table import StaticTable


def pyiceberg_rows(location: str, row_filter: Any = "true", **scan: Any) -> pa.Table:
    table = StaticTable.from_metadata(location)
    return table.scan(row_filter=row_filter, **scan).to_arrow()


def duckdb_connection(*more: str) -> duckdb.DuckDBPyConnection:
    """Return a connection with the Iceberg extension of the package, not of the network."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    for name in (*more, "avro", "iceberg"):
        spec = find_spec(f"duckdb_extension_{name}")
        assert spec is not None and spec.origin is not None
        (file,) = Path(spec.origin).parent.rglob(f"{name}.duckdb_extension")
        connection.execute(f"load '{file}'")
    connection.execute("set TimeZone = 'UTC'")
    return connection


def duckdb_rows(
    connection: duckdb.DuckDBPyConnection, location: str, where: str = "true", **options: Any
) -> pa.Table:
    told = "".join(f", {key} = {value}" for key, value in options.items())
    query = f"select * from iceberg_scan('{location}'{told}) where {where}"
    return connection.execute(query).fetch_arrow_table()
