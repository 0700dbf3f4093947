"""Laws of entries of data manifests: put together by hand, they are what Avro's writer writes."""

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model import Block, Field
from dbt.adapters.vcs.core.model.snapshot import ColumnStats
from dbt.adapters.vcs.iceberg.data_manifests import DataEntries
from dbt.adapters.vcs.iceberg.iceberg_types import lower_encoder_of, upper_encoder_of
from dbt.adapters.vcs.iceberg.manifest_files import ADDED, DATA_SEQUENCE, Spec, manifest_schema

ROOT = "s3://lake/ü"
PARTS = (
    Field(id="p", name="p", type="string"),
    Field(id="q", name="q", type="decimal(7,2)"),
    Field(id="r", name="r", type="double"),
)
BOUNDS: dict[str, st.SearchStrategy[Any]] = {
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "string": st.text(max_size=300),
    "boolean": st.booleans(),
    "double": st.floats(allow_nan=False),
    "decimal(30,3)": st.decimals(-(10**20), 10**20, places=3).map(str),
    "array<int>": st.none(),
}
COLUMNS = tuple(Field(id=type_, name=type_, type=type_) for type_ in BOUNDS)
VALUES = st.tuples(
    st.none() | st.text(max_size=5),
    st.none() | st.decimals(-10_000, 10_000, places=2).map(lambda d: d.quantize(Decimal("0.01"))),
    st.none() | st.sampled_from([0.0, -0.0, 1.5, float("inf")]),
)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    told = draw(st.lists(st.sampled_from([*BOUNDS, "a column of before"]), unique=True))
    nulls = st.integers(-1, 2**40)
    stats = {}
    for type_ in told:
        bound = st.none() | BOUNDS.get(type_, st.none())
        stats[type_] = ColumnStats(draw(bound), draw(bound), draw(nulls))
    rows = draw(st.integers(0, 2**62))
    return Block(path=draw(st.text(min_size=1)), rows=rows, bytes=draw(nulls) + 1, stats=stats)


def described(block: Block, values: tuple[Any, ...]) -> dict[str, Any]:
    """Return a block as Iceberg's format describes a data file."""
    fields = {field.id: field for field in COLUMNS if field.type != "array<int>"}
    maps: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("value_counts", "null_value_counts", "lower_bounds", "upper_bounds")
    }
    for id, (low, high, nulls) in block.stats.items():
        if id not in fields:
            continue
        lower, upper = lower_encoder_of(fields[id]), upper_encoder_of(fields[id])
        told = {
            "value_counts": block.rows if nulls >= 0 else None,
            "null_value_counts": nulls if nulls >= 0 else None,
            "lower_bounds": lower(low) if lower and low is not None else None,
            "upper_bounds": upper(high) if upper and high is not None else None,
        }
        for name, value in told.items():
            if value is not None:
                maps[name].append({"key": field_number(id), "value": value})
    return {
        "content": 0,
        "file_path": f"{ROOT}/{block.path}",
        "file_format": "PARQUET",
        "partition": {f"p{place}": value for place, value in enumerate(values)},
        "record_count": block.rows,
        "file_size_in_bytes": block.bytes,
        **{name: pairs or None for name, pairs in maps.items()},
    }


@given(
    st.lists(st.tuples(blocks(), VALUES), min_size=1, max_size=4),
    st.integers(0, 2),
    st.none() | st.integers(0, 2**63 - 1),
    st.none() | st.integers(0, 2**63 - 1),
    st.sampled_from([2, 3]),
    st.booleans(),
)
def test_an_entry_has_the_bytes_that_the_schema_gives_it(
    found: list[tuple[Block, tuple[Any, ...]]],
    status: int,
    snapshot: int | None,
    row: int | None,
    version: int,
    is_partitioned: bool,
) -> None:
    spec = Spec(PARTS if is_partitioned else ())
    encode = DataEntries(ROOT, spec, COLUMNS, version).of
    schema = manifest_schema(spec, version)
    number = None if status == ADDED else DATA_SEQUENCE
    rows = {"first_row_id": row} if version == 3 else {}
    for block, all_values in found:
        values = all_values if is_partitioned else ()
        record = {
            "status": status,
            "snapshot_id": snapshot,
            "sequence_number": number,
            "file_sequence_number": number,
            "data_file": described(block, values) | rows,
        }
        assert [encode(block, values, status, snapshot, row)] == schema.encoded([record])


def test_an_added_file_has_no_numbers_of_its_own() -> None:
    block = Block(path="data/a", rows=1, bytes=2)
    data = DataEntries("s3://lake", Spec(), (), 2).of(block, (), ADDED, None)
    assert data[:4] == b"\2\0\0\0"
