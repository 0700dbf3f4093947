"""Columns of a written file have a dictionary where their values repeat."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.vcs.table.files.parquet import parquet_bytes

MANY = 100_000


def coded(values: pa.Array) -> set[str]:
    """Return the leaf columns with a dictionary of the file of a column `c`."""
    data = parquet_bytes(pa.table({"c": values}), "data/t/w=x1", row_group=10**6)
    file = pq.ParquetFile(io.BytesIO(data))
    assert file.read().column("c").combine_chunks().to_pylist() == values.to_pylist()
    group = file.metadata.row_group(0)
    columns = (group.column(number) for number in range(group.num_columns))
    return {column.path_in_schema for column in columns if column.has_dictionary_page}


@pytest.mark.parametrize(
    ("values", "is_coded"),
    [
        (pa.array(range(MANY)), False),
        (pa.array([f"a{n}" for n in range(MANY)]), False),
        (pa.array([n % 7 for n in range(MANY)]), True),
        (pa.array([n // 4 for n in range(MANY)]), True),
        (pa.array([None] * MANY, pa.string()), True),
        (pa.array([str(n) if n % 3 == 0 else None for n in range(MANY)]), True),
        (pa.array([None if n % 5 == 0 else n * 0.5 for n in range(MANY)]), False),
        (pa.array(range(9)), True),
        (pa.array(range(20_001)), False),
    ],
)
def test_a_column_has_a_dictionary_if_its_values_repeat(values: Any, is_coded: bool) -> None:
    assert coded(values) == ({"c"} if is_coded else set())


def test_nested_columns_have_dictionaries() -> None:
    rows = pa.array([{"a": n, "b": [str(n)]} for n in range(30_000)])
    assert coded(rows) == {"c.a", "c.b.list.element"}
    pairs = pa.array([[("k", n)] for n in range(30_000)], pa.map_(pa.string(), pa.int64()))
    assert coded(pairs) == {"c.key_value.key", "c.key_value.value"}
