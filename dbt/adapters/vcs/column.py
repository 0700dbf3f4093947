"""A column with Spark's type names."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.base.column import Column
from dbt.adapters.spark.column import SparkColumn

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model.data_type import FLOATS, INTEGERS, TEXTS, first_word
from dbt.adapters.vcs.sql.syntax.literals import quote_name
from dbt.adapters.vcs.table.quoting import sql_type


@dataclass
class VcsColumn(SparkColumn):
    """dbt-spark's column, which answers what kind of type it has; packages use this."""

    @property
    def quoted(self) -> str:
        """The name in backticks; dbt-spark doesn't double those inside it."""
        return quote_name(self.column)

    @property
    def ddl_type(self) -> str:
        """The type for DDL, which means the same in each session; `data_type` is as dbt has it."""
        try:
            return sql_type(self.dtype)
        except InputError:
            return self.dtype

    def is_string(self) -> bool:
        """Return whether it holds text, of any length or collation."""
        return self._kind in TEXTS

    def is_integer(self) -> bool:
        """Return whether it holds whole numbers of a fixed size."""
        return self._kind in INTEGERS

    def is_float(self) -> bool:
        """Return whether it holds floating-point numbers."""
        return self._kind in FLOATS

    def is_numeric(self) -> bool:
        """Return whether it holds decimals, of any precision."""
        return self._kind == "decimal"

    def can_expand_to(self, other_column: Column) -> bool:
        """Return False: strings have no size, and a varchar keeps its declared size."""
        return False

    @property
    def _kind(self) -> str:
        """Spark's base name of the type: `decimal` for `dec(10,2)`, `string` for a collated one.

        Packages also create columns with types that Spark doesn't have.
        """
        return first_word(self.dtype)
