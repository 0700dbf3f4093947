"""What the parts of the paper's evaluation share."""

from dataclasses import dataclass
from functools import cached_property

from changesets import SIZES
from parquet_tables import ParquetTables
from versioned import Versioned

BASE = "base"
"""The plain table of lineitem as it was loaded."""


@dataclass(frozen=True)
class Setting:
    """Both sides, loaded with lineitem.

    Attributes:
        plain: Plain Parquet tables, `base` among them.
        versioned: The repository, `main` with lineitem with a key and without.
        scale: The scale factor.
        repeat: How many rounds.
        total: Rows of lineitem.
        chosen: Names of the change sets to measure; empty for all.
    """

    plain: ParquetTables
    versioned: Versioned
    scale: float
    repeat: int
    total: int
    chosen: tuple[str, ...] = ()

    @cached_property
    def columns(self) -> list[str]:
        """The columns of lineitem."""
        return self.plain.columns(BASE)

    @property
    def sizes(self) -> dict[str, int]:
        """The rows of each change set to measure; four of one must fit the table."""
        return {
            name: rows
            for name, rows in SIZES.items()
            if 4 * rows <= self.total and (not self.chosen or name in self.chosen)
        }

    def named(self, name: str) -> str:
        """Return a report's name at this scale."""
        return f"{name}_sf{self.scale:g}"

    def titled(self, title: str) -> str:
        """Return a report's title at this scale."""
        return f"{title}: lineitem SF {self.scale:g}, {self.total:,} rows"
