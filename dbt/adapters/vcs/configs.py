"""What a model's config may say: dbt-spark's, and what a versioned table adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt.adapters.spark.impl import SparkConfig


@dataclass
class VcsConfig(SparkConfig):
    """Configs of models, seeds and snapshots that the adapter knows.

    Attributes:
        partition_by: Columns that the table is partitioned by: one folder for each value.
        cluster_by: Columns that rows are sorted by within a write.
        primary_key: Columns of the primary key. Without it: those of an enforced contract's
            constraint, else the `unique_key` of an incremental model.
        enforce_primary_key: `false` lets rows lack or repeat the key.
        on_conflict: What a merge does where both sides changed a row: `fail`, `skip`, `accept`,
            `cell`, `cell_skip` or `cell_accept`. Without it, what `vcs.yml` says, else `fail`.
        write_mode: What a changed row does to its file: `merge_on_read` keeps the file and writes
            a tombstone, `copy_on_write` writes the file anew, `auto` decides by the file's size
            and by how many rows it has lost. Without it, `auto`.
        rebuild: `delta` keeps of a table that is built anew only what differs from the version
            before. Without it, `full`.
        auto_optimize: Whether a run compacts the table when it is due. Without it, what the
            profile says.
        partitions: Values, as SQL, of the partitions that `insert_overwrite` replaces, whether
            there are new rows in them or not. Without it, those that there are new rows in.
        merge_update_columns: Columns that `merge` updates in rows that match. Without it, all but
            those in `merge_exclude_columns`.
        file_format: `parquet`, or empty. Any other is refused or ignored, as the profile's
            `storage_configs` says.
        location_root: Refused or ignored, as `file_format`: a table lies in the repository.
        clustered_by: Refused or ignored, with `buckets`: use `cluster_by` or `partition_by`.
        buckets: Refused or ignored, with `clustered_by`.
        options: Options of Spark's Parquet writer.
    """

    primary_key: list[str] | str | None = None
    enforce_primary_key: bool | None = None
    cluster_by: list[str] | str | None = None
    auto_optimize: bool | None = None
    on_conflict: str | None = None
    write_mode: str | None = None
    rebuild: str | None = None
    partitions: list[Any] | None = None
    merge_update_columns: list[str] | str | None = None  # type: ignore[assignment]
