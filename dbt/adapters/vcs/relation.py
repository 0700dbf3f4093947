"""A relation and a column as dbt sees them: dbt-spark's, with logical names and Spark's types."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.base.column import Column
from dbt.adapters.contracts.relation import ComponentName
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.relation import SparkRelation

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model.data_type import FLOATS, INTEGERS, TEXTS, first_word
from dbt.adapters.vcs.sql.syntax.lexer import quote_name
from dbt.adapters.vcs.table.quoting import sql_type


@dataclass(frozen=True, eq=False, repr=False)
class VcsRelation(SparkRelation):
    """A table or view of a branch.

    Names are `schema.identifier` everywhere; the version that they refer to is determined below
    the SQL text, when a statement runs.

    Attributes:
        subquery: A query for some of the rows, which SQL reads instead of all of them; or None.
    """

    subquery: str | None = None

    @property
    def is_bare(self) -> bool:
        """True if its text has no schema, and so refers to the session's.

        It may still have a schema, which its text leaves out.
        """
        return not self.schema or not self.include_policy.schema

    # dbt renders while it parses and compiles, too, and keeps the texts. So names stay logical.
    def render(self) -> str:
        """Return the SQL for the relation; limits and samples are added to it."""
        # Without an alias, which Spark doesn't need, so that a test can add its own.
        return super().render() if self.subquery is None else f"({self.subquery})"

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        # Spark's catalog ignores case, whether a name is quoted or not.
        return self.path.get_lowered_part(field) == value.lower()


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
