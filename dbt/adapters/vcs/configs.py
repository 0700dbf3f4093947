"""What a model's config may say: dbt-spark's, and what a versioned table adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt.adapters.spark.impl import SparkConfig


@dataclass
class VcsConfig(SparkConfig):
    """Configs of models, seeds and snapshots that the adapter knows.

    Attributes:
        partition_by: Columns that the table is partitioned by, with one folder per value.
        cluster_by: Columns that rows are sorted by within a write.
        primary_key: Columns of the primary key. Default: those of an enforced contract's
            constraint, or the `unique_key` of an incremental model.
        enforce_primary_key: `false` allows rows with a NULL or duplicate key.
        on_conflict: What a merge does if both sides changed a row: `fail`, `skip`, `accept`,
            `cell`, `cell_skip` or `cell_accept`. Default: the setting in `vcs.yml`, or `fail`.
        write_mode: How a changed row is stored: `merge_on_read` keeps its file and writes a
            tombstone, `copy_on_write` rewrites the file, `auto` decides by the file's size and
            by how many rows it has lost. Default: `auto`.
        rebuild: `delta` stores only what differs from the previous version when a table is
            rebuilt. Default: `full`.
        auto_optimize: Whether a run compacts the table when necessary. Default: the profile's
            setting.
        reuse: Whether a result that was computed before is taken instead of computing it: `true`,
            if it depends on nothing but what the model reads; `always`, in any case; `false`, not
            at all. Default: `true`.
        partitions: Values, as SQL, of the partitions that `insert_overwrite` replaces, whether
            there are new rows in them or not. Default: those with new rows.
        merge_update_columns: Columns that `merge` updates in matching rows. Default: all except
            those in `merge_exclude_columns`.
        file_format: `parquet`, or empty. Any other is refused or ignored, depending on
            `storage_configs` in the profile.
        location_root: Refused or ignored, like `file_format`: tables are kept in the repository.
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
    reuse: bool | str | None = None
    partitions: list[Any] | None = None
    merge_update_columns: list[str] | str | None = None  # type: ignore[assignment]
