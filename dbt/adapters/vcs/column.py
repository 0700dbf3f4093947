"""A column, which knows Spark's names of types."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.base.column import Column
from dbt.adapters.spark.column import SparkColumn

from dbt.adapters.vcs.core.model.data_type import FLOATS, INTEGERS, TEXTS, first_word


@dataclass
class VcsColumn(SparkColumn):
    """dbt-spark's column; packages ask it what kind of type it has."""

    def is_string(self) -> bool:
        """Tell whether it holds text, whatever its length or collation."""
        return self._kind in TEXTS

    def is_integer(self) -> bool:
        """Tell whether it holds whole numbers of a fixed size."""
        return self._kind in INTEGERS

    def is_float(self) -> bool:
        """Tell whether it holds floating-point numbers."""
        return self._kind in FLOATS

    def is_numeric(self) -> bool:
        """Tell whether it holds decimals, whatever their precision."""
        return self._kind == "decimal"

    def can_expand_to(self, other_column: Column) -> bool:
        """Return False: strings have no size, and a varchar keeps the one it was given."""
        return False

    @property
    def _kind(self) -> str:
        """Spark's name of the type alone: `decimal` of `dec(10,2)`, `string` of a collated one.

        Packages also make columns of types that aren't Spark's.
        """
        return first_word(self.dtype)
