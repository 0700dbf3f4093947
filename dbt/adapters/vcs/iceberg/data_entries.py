"""Data entries: blocks as the records of a data manifest, encoded without a detour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dbt.adapters.vcs.core.ids import field_number
from dbt.adapters.vcs.core.model import Block, Field
from dbt.adapters.vcs.core.model.data_type import type_of
from dbt.adapters.vcs.iceberg.avro_files import NULL, SOME, AvroSchema, long, text
from dbt.adapters.vcs.iceberg.bound_bytes import Encoder, lower_encoder_of, upper_encoder_of
from dbt.adapters.vcs.iceberg.manifest_files import ADDED, DATA_SEQUENCE, Spec, part_schema

_DATA_FILE: Final = long(0)
_PARQUET: Final = text(b"PARQUET")
_SHORT: Final = tuple(long(length) for length in range(256))
_END: Final = b"\0"
"""What an array ends with."""


class DataEntries:
    """Encodes entries of data manifests with one partition spec.

    A manifest of a thousand blocks has tens of thousands of counts and bounds, so they are put
    together here, one by one, as `entry_schema` orders them. `AvroSchema.encoded` writes the same.

    Args:
        root: URI of the repository, as the readers of the manifest reach it.
        spec: How the blocks are partitioned.
        columns: The columns that the entries are about.
        version: Format version of the table.
    """

    def __init__(self, root: str, spec: Spec, columns: Sequence[Field], version: int) -> None:
        self._root = f"{root}/".encode()
        self._parts = AvroSchema(part_schema(spec)) if spec.fields else None
        self._partitions: dict[str, bytes] = {}
        self._version = version
        self._columns: dict[str, tuple[bytes, Encoder | None, Encoder | None]] = {
            field.id: (
                long(field_number(field.id)),
                lower_encoder_of(field),
                upper_encoder_of(field),
            )
            for field in columns
            if not type_of(field.type).is_nested
        }

    def of(
        self,
        block: Block,
        values: tuple[Any, ...],
        status: int,
        snapshot: int | None,
        row: int | None = None,
    ) -> bytes:
        """Return the entry of a block.

        Args:
            block: The block.
            values: Its partition values as Avro has them.
            status: What is said of it.
            snapshot: The Iceberg snapshot that this is said of; None inherits the manifest's.
            row: Number of the block's first row, in format version 3; None inherits it.
        """
        sequence = NULL if status == ADDED else SOME + long(DATA_SEQUENCE)
        rows = long(block.rows)
        return b"".join(
            (
                long(status),
                NULL if snapshot is None else SOME + long(snapshot),
                sequence,
                sequence,
                _DATA_FILE,
                text(self._root + block.path.encode()),
                _PARQUET,
                self._partition(values),
                rows,
                long(block.bytes),
                *self._measures(block, rows),
                self._rest(row),
            )
        )

    def _rest(self, row: int | None) -> bytes:
        """Return the file that the block refers to, its first row, and its place in a file."""
        if self._version < 3:
            return NULL
        return NULL + (NULL if row is None else SOME + long(row)) + NULL * 2

    def _partition(self, values: tuple[Any, ...]) -> bytes:
        if self._parts is None:
            return b""
        # Zero equals negative zero, and is written otherwise.
        key = repr(values)
        found = self._partitions.get(key)
        if found is None:
            record = {f"p{place}": value for place, value in enumerate(values)}
            found = self._partitions[key] = self._parts.encoded([record])[0]
        return found

    def _measures(self, block: Block, rows: bytes) -> list[bytes]:
        """Return the maps of counts, NULL counts, lower and upper bounds."""
        counts: list[bytes] = []
        nulls: list[bytes] = []
        lows: list[bytes] = []
        highs: list[bytes] = []
        columns = self._columns
        for id, (low, high, missing) in block.stats.items():
            known = columns.get(id)
            if known is None:
                continue
            key, lower, upper = known
            if missing >= 0:
                counts.append(key + rows)
                nulls.append(key + (_SHORT[missing] if missing < 256 else long(missing)))
            if low is not None and lower is not None:
                value = lower(low)
                length = len(value)
                lows.append(key + (_SHORT[length] if length < 256 else long(length)) + value)
            if high is not None and upper is not None:
                value = upper(high)
                length = len(value)
                highs.append(key + (_SHORT[length] if length < 256 else long(length)) + value)
        return [_map(pairs) for pairs in (counts, nulls, lows, highs)]


def _map(pairs: list[bytes]) -> bytes:
    if not pairs:
        return NULL
    return b"".join((SOME, long(len(pairs)), *pairs, _END))
