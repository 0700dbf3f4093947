"""Where a work was computed: only in this process, or by Spark."""

from collections.abc import Callable, Iterable

from parquet_tables import ParquetTables
from report import seconds


class Watch:
    """Times works, and sees which of them start Spark jobs."""

    def __init__(self, plain: ParquetTables) -> None:
        """Take what counts the jobs."""
        self._plain = plain
        self._on_spark: set[str] = set()

    def seconds(self, name: str, work: Callable[[], object]) -> float:
        """Do a work once; return how long it took."""
        before = self._plain.jobs()
        took = seconds(work)
        if self._plain.jobs() > before:
            self._on_spark.add(name)
        return took

    def computed(self, names: Iterable[str]) -> list[str]:
        """Say where the works of some names were computed."""
        return ["Spark" if name in self._on_spark else "in process" for name in names]
