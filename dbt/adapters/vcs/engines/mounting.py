"""One immutable version of a table as a relation of Spark's catalog."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from dbt.adapters.vcs.core.errors import DamagedError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.engines.errors import SparkError, translated
from dbt.adapters.vcs.engines.location import exact_files
from dbt.adapters.vcs.engines.partitions import WRITE_FOLDER, partition_folders
from dbt.adapters.vcs.engines.port import TableMount
from dbt.adapters.vcs.engines.quoting import literal, options_clause, quoted, quoted_relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPTIONS: Final = {"timeZone": "UTC", "mergeSchema": "false"}


class Layout(NamedTuple):
    """What files must have in common to be one Spark table.

    Attributes:
        base: The folder below which folders' names are partition values; '' for files without
            partitions, where Spark then looks at no folder's name.
        columns: Field ids of the partition columns in the paths.
    """

    base: str
    columns: tuple[str, ...]


def layouts(mount: TableMount) -> dict[Layout, list[str]]:
    """Return the files of a version by layout; one empty layout if there is no file.

    A table has one layout as a rule. Files of another table's lineage (after a clone), or of
    another partitioning, or a column called as the write's own folder, make more.
    """
    groups: dict[Layout, list[str]] = {}
    clash = any(field.id.lower() == WRITE_FOLDER for field in mount.fields)
    for file in mount.files:
        write, folders = partition_folders(file)
        columns = tuple(name for name, _ in folders)
        base = "" if not columns else write if clash else write.rpartition("/")[0]
        groups.setdefault(Layout(base, columns), []).append(file)
    return groups or {Layout("", ()): []}


def create_mount(
    spark: SparkSession, name: RelationName, mount: TableMount, *, root: str, empty: str
) -> None:
    """Create the relation: a table, or a view over one table a layout.

    Args:
        spark: A session of the catalog.
        name: What to call it.
        mount: The version.
        root: The repository as Spark names it.
        empty: A folder without files, for a version without any.

    Raises:
        DamagedError: A file is missing.
    """
    groups = layouts(mount)
    if len(groups) == 1:
        ((layout, files),) = groups.items()
        _create_table(spark, name, mount, _options(root, layout, files, empty), len(files))
        return
    ids = ", ".join(quoted(field.id) for field in mount.fields)
    parts: list[str] = []
    for number, (layout, files) in enumerate(groups.items()):
        part = RelationName(name.schema, f"{name.identifier}_{number}")
        _create_table(spark, part, mount, _options(root, layout, files, empty), len(files))
        parts.append(f"select {ids} from {quoted_relation(part)}")
    spark.sql(f"create view if not exists {quoted_relation(name)} as {' union all '.join(parts)}")


def _options(root: str, layout: Layout, files: Iterable[str], empty: str) -> dict[str, str]:
    files = sorted(set(files))
    if not files:
        return {**_OPTIONS, "path": empty}
    if not layout.base:
        return {**_OPTIONS, "path": exact_files(root, "", files)}
    inside = (file.removeprefix(layout.base + "/") for file in files)
    return {
        **_OPTIONS,
        "path": exact_files(root, layout.base, inside),
        "basePath": f"{root}/{layout.base}",
    }


def _create_table(
    spark: SparkSession, name: RelationName, mount: TableMount, options: dict[str, str], files: int
) -> None:
    columns = ", ".join(f"{quoted(field.id)} {field.type}" for field in mount.fields)
    table = quoted_relation(name)
    found = 0
    try:
        with translated():
            spark.sql(
                f"create table if not exists {table} ({columns}) using parquet "
                f"options ({options_clause(options)})"
            )
            # Spark leaves a file that is gone out of every answer, without a word.
            found = len(spark.table(table)._jdf.inputFiles())
    except SparkError as error:
        if error.condition != "PATH_NOT_FOUND":
            raise
    if found != files:
        spark.sql(f"drop table if exists {table}")
        raise DamagedError(
            f"A table version should have {files} files below {literal(mount.folder)}; {found} "
            "are there. Restore the missing ones from a backup of the repository."
        )
