"""Row digests: equal digests of two versions of a table mean equal columns and rows."""

from __future__ import annotations

import hashlib
from typing import Any

from dbt.adapters.vcs.core.codec import encode_record
from dbt.adapters.vcs.core.model import Schema, Snapshot


def rows_digest(snapshot: Snapshot) -> str:
    """Return a digest of the columns and rows of a table's version.

    It covers columns, partitioning and the ids of the segments. Versions with the same rows in
    other files have other digests.
    """
    refs = [ref.id for ref in snapshot.segments]
    return digest_of_values(schema_text(snapshot.schema), refs, snapshot.partition_by)


def table_digest(snapshot: Snapshot) -> str:
    """Return a digest of everything that a statement that changes a table can depend on."""
    return digest_of_values(
        rows_digest(snapshot),
        snapshot.primary_key,
        snapshot.cluster_by,
        snapshot.comment,
        sorted(snapshot.properties.items()),
    )


def is_same_table(one: Snapshot, other: Snapshot) -> bool:
    """Return whether two versions differ in nothing but their past and who made them."""
    return one.consumption == other.consumption and table_digest(one) == table_digest(other)


def digest_of_values(*parts: Any) -> str:
    """Return a digest of plain values."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def schema_text(schema: Schema) -> str:
    """Return a table's columns as one text."""
    return encode_record(schema).decode()
