"""What the parts of the paper's evaluation share."""

from dataclasses import dataclass
from functools import cached_property

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
    """

    plain: ParquetTables
    versioned: Versioned
    scale: float
    repeat: int
    total: int

    @cached_property
    def columns(self) -> list[str]:
        """The columns of lineitem."""
        return self.plain.columns(BASE)

    def named(self, name: str) -> str:
        """Return a report's name at this scale."""
        return f"{name}_sf{self.scale:g}"

    def titled(self, title: str) -> str:
        """Return a report's title at this scale."""
        return f"{title}: lineitem SF {self.scale:g}, {self.total:,} rows"
