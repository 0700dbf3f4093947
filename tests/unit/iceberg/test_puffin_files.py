"""Puffin files are Iceberg's, whoever writes them, and a damaged one is refused."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile as OtherPuffinFile
from pyroaring import BitMap64

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.iceberg.puffin_files import (
    PuffinFile,
    VectorPlace,
    placed,
    puffin_bytes,
    vector_bytes,
    vector_positions,
)


@st.composite
def positions(draw: st.DrawFn) -> list[int]:
    """Draw sets with containers of each kind: few numbers, many, and runs."""
    starts = st.sampled_from([0, 65_530, 131_072, 2**32 - 3, 2**32, 2**33 + 65_530, 2**40])
    spans = st.tuples(starts, st.integers(0, 5_000), st.integers(1, 3))
    found = set(draw(st.sets(st.integers(0, 2**41), min_size=1, max_size=20)))
    for start, length, step in draw(st.lists(spans, max_size=3)):
        found.update(range(start, start + length * step, step))
    return sorted(found)


POSITIONS = st.sets(st.integers(0, 200_000), min_size=1, max_size=300).map(sorted)
FILES = st.dictionaries(st.text(min_size=1), POSITIONS, max_size=5)


def written(files: dict[str, list[int]]) -> tuple[bytes, list[VectorPlace]]:
    vectors = [vector_bytes(np.array(rows, np.int64)) for rows in files.values()]
    parts = zip(files, map(len, files.values()), vectors, strict=True)
    places = list(placed(parts))
    return puffin_bytes(places, vectors), places


@given(FILES)
def test_what_is_written_is_read_here_and_by_pyiceberg(files: dict[str, list[int]]) -> None:
    data, places = written(files)
    puffin = PuffinFile("a.puffin", data)
    assert {place.uri: puffin.positions(place).tolist() for place in places} == files
    others = deletion_vectors_from_puffin_file(OtherPuffinFile(data))
    assert {item.referenced_data_file: item.to_vector().to_pylist() for item in others} == files


def test_what_spark_writes_is_read() -> None:
    """`integration_tests/interop/puffin_sample.py` made the file, and says which rows it has."""
    data = Path(__file__).with_name("data").joinpath("spark.puffin").read_bytes()
    places = {
        blob["properties"]["referenced-data-file"].partition("/part=")[2][0]: VectorPlace(
            blob["properties"]["referenced-data-file"],
            int(blob["properties"]["cardinality"]),
            blob["offset"],
            blob["length"],
        )
        for blob in told(data)[1]["blobs"]
    }
    puffin = PuffinFile("spark.puffin", data)
    found = {part: puffin.positions(place).tolist() for part, place in places.items()}
    gone = {*range(7, 70_000, 1000), *range(65_530, 65_546)}
    assert found == {"0": sorted(gone), "1": list(range(0, 10_000, 2))}


ROWS = [1, 5, 70_000]


def told(data: bytes) -> tuple[int, Any]:
    """Return where the description of a file begins, and what it says."""
    start = len(data) - 12 - struct.unpack("<i", data[-12:-8])[0]
    return start, json.loads(data[start:-12])


def described(data: bytes, description: bytes, flags: int = 0) -> bytes:
    """Return a file with another description."""
    start, _ = told(data)
    return data[:start] + description + struct.pack("<II", len(description), flags) + b"PFA1"


def test_a_description_may_be_compressed() -> None:
    data, (place,) = written({"f": ROWS})
    start, _ = told(data)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as out:
        out.write(data[start:-12])
    compressed = described(data, sink.getvalue().to_pybytes(), 1)
    assert PuffinFile("a.puffin", compressed).positions(place).tolist() == ROWS


@given(st.data())
def test_no_byte_of_a_vector_can_change_unseen(draw: st.DataObject) -> None:
    data, (place,) = written({"f": ROWS})
    at = draw.draw(st.integers(place.offset, place.offset + place.bytes - 1))
    wrong = bytearray(data)
    wrong[at] ^= draw.draw(st.integers(1, 255))
    with pytest.raises(InputError, match=r"deletion vector of f in a\.puffin"):
        PuffinFile("a.puffin", bytes(wrong)).positions(place)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: b"PFA2" + data[4:], "magic bytes"),
        (lambda data: data[:-1] + b"2", "magic bytes"),
        (lambda data: b"PFA1PFA1", "magic bytes"),
        (lambda data: b"", "magic bytes"),
        (lambda data: data[:-12] + struct.pack("<i", 7) + data[-8:], "another length"),
        (lambda data: data[:-12] + struct.pack("<i", -7) + data[-8:], "another length"),
        (lambda data: data[:-12] + struct.pack("<i", 2**30) + data[-8:], "another length"),
        (lambda data: described(data, b"{"), "truncated"),
        (lambda data: described(data, b"[]"), "array"),
        (lambda data: described(data, b"{}"), "parts"),
        (lambda data: described(data, b'{"blobs": [1]}'), "parts"),
        (lambda data: described(data, b"no lz4", 1), "compressed"),
    ],
)
def test_another_file_is_refused(change: Any, said: str) -> None:
    data, _ = written({"f": ROWS})
    with pytest.raises(InputError, match=said) as refused:
        PuffinFile("a.puffin", change(data))
    assert "a.puffin is not a Puffin file" in str(refused.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"offset": 5}, "nothing of"),
        ({"type": "apache-datasketches-theta-v1"}, "theta"),
        ({"compression-codec": "zstd"}, "zstd"),
        ({"properties": {"referenced-data-file": "g", "cardinality": "3"}}, "about g"),
        ({"properties": {"referenced-data-file": "f", "cardinality": "4"}}, "4 positions"),
        ({"properties": {}}, "about None"),
    ],
)
def test_a_vector_that_is_described_otherwise_is_refused(
    change: dict[str, Any], said: str
) -> None:
    data, (place,) = written({"f": ROWS})
    _, description = told(data)
    description["blobs"][0] |= change
    wrong = described(data, json.dumps(description).encode())
    with pytest.raises(InputError, match=said):
        PuffinFile("a.puffin", wrong).positions(place)


@pytest.mark.parametrize("rows", [2, 4])
def test_a_vector_with_another_number_of_rows_is_refused(rows: int) -> None:
    vector = vector_bytes(np.array(ROWS, np.int64))
    (place,) = placed([("f", rows, vector)])
    with pytest.raises(InputError, match="positions"):
        PuffinFile("a.puffin", puffin_bytes([place], [vector])).positions(place)


def test_a_vector_with_a_wrong_length_or_a_few_bytes_is_refused() -> None:
    vector = vector_bytes(np.array(ROWS, np.int64))
    for wrong, said in ((vector[:4] + b"\0" + vector[4:], "bytes"), (vector[:8], "too few")):
        (place,) = placed([("f", 3, wrong)])
        with pytest.raises(InputError, match=said):
            PuffinFile("a.puffin", puffin_bytes([place], [wrong])).positions(place)


def vector_of(bitmap: bytes) -> bytes:
    """Return a vector around the bytes of a bitmap, good or bad."""
    data = bytes.fromhex("d1d33964") + bitmap
    return struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))


@given(positions(), st.booleans())
def test_a_vector_of_any_containers_is_read(rows: list[int], with_runs: bool) -> None:
    assert vector_positions(vector_bytes(np.array(rows, np.int64)), len(rows)).tolist() == rows
    other = BitMap64(rows)
    if with_runs:
        other.run_optimize()
    found = vector_positions(vector_of(other.serialize()), len(rows))
    assert (found.dtype, found.tolist()) == (np.int64, rows)


def test_a_range_of_rows_takes_a_few_bytes() -> None:
    assert len(vector_bytes(np.arange(60_000))) < 60


@given(positions(), st.data())
def test_a_bitmap_that_is_cut_or_goes_on_is_refused(rows: list[int], data: st.DataObject) -> None:
    whole = BitMap64(rows)
    whole.run_optimize()
    stored = whole.serialize()
    end = data.draw(st.integers(0, len(stored) - 1))
    for wrong in (stored[:end], stored + b"\0"):
        with pytest.raises(ValueError):
            vector_positions(vector_of(wrong), len(rows))


@given(st.binary(max_size=200))
def test_other_bytes_are_refused_or_read_without_another_error(data: bytes) -> None:
    try:
        found = vector_positions(vector_of(struct.pack("<Q", 1) + data), 3).tolist()
    except ValueError:
        return
    assert len(found) == 3 and found == sorted(set(found))


def small(*parts: bytes, count: int = 1) -> bytes:
    return struct.pack("<QI", count, 0) + b"".join(parts)


@pytest.mark.parametrize(
    "bitmap",
    [
        b"",
        struct.pack("<Q", 2**60),
        small(struct.pack("<I", 7)),
        small(struct.pack("<IIHHI2H", 12346, 1, 0, 1, 16, 5, 5)),
        small(struct.pack("<IIHHI", 12346, 1, 0, 4999, 16), bytes(8192)),
        small(struct.pack("<IIHHHHIIHH", 12346, 2, 1, 0, 1, 0, 24, 26, 5, 6)),
        small(struct.pack("<IBHHHHH", 12347, 1, 0, 9, 1, 65_530, 9)),
        small(struct.pack("<IBHHHHHHH", 12347, 1, 0, 9, 2, 0, 4, 4, 4)),
        small(struct.pack("<III", 12346, 0, 0), struct.pack("<II", 12346, 0), count=2),
        BitMap64([2**63 + 1, 2]).serialize(),
    ],
)
def test_a_bitmap_that_says_two_things_is_refused(bitmap: bytes) -> None:
    with pytest.raises(ValueError):
        vector_positions(vector_of(bitmap), 2)


def test_a_small_file_that_stands_for_many_positions_is_refused() -> None:
    written = BitMap64(range(20_000_000))
    written.run_optimize()
    data = written.serialize()
    assert len(data) < 10_000
    with pytest.raises(ValueError, match="20000000 positions"):
        vector_positions(vector_of(data), 1_000_000)
