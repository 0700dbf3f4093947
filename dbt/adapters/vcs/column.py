"""A column, which knows Spark's names of types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dbt.adapters.base.column import Column
from dbt.adapters.spark.column import SparkColumn

_STRINGS: Final = frozenset({"string", "varchar", "char", "character"})
_INTEGERS: Final = frozenset(
    {"tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"}
)
_FLOATS: Final = frozenset({"float", "real", "double"})
_DECIMALS: Final = frozenset({"decimal", "dec", "numeric"})


@dataclass
class VcsColumn(SparkColumn):
    """dbt-spark's column; packages ask it what kind of type it has."""

    def is_string(self) -> bool:
        """Tell whether it holds text, whatever its length or collation."""
        return self._type in _STRINGS

    def is_integer(self) -> bool:
        """Tell whether it holds whole numbers of a fixed size."""
        return self._type in _INTEGERS

    def is_float(self) -> bool:
        """Tell whether it holds floating-point numbers."""
        return self._type in _FLOATS

    def is_numeric(self) -> bool:
        """Tell whether it holds decimals, whatever their precision."""
        return self._type in _DECIMALS

    def can_expand_to(self, other_column: Column) -> bool:
        """Return False: strings have no size, and a varchar keeps the one it was given."""
        return False

    @property
    def _type(self) -> str:
        """Name of the type alone: `decimal` of `decimal(10,2)`, `string` of a collated one."""
        return self.dtype.lower().partition("(")[0].partition(" ")[0]
