"""A relation as dbt sees it: dbt-spark's, with logical names."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.contracts.relation import ComponentName
from dbt.adapters.spark.relation import SparkRelation


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

    def render(self) -> str:
        """Return the SQL for the relation; limits and samples are added to it."""
        # Without an alias, which Spark doesn't need, so that a test can add its own.
        return super().render() if self.subquery is None else f"({self.subquery})"

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        # Spark's catalog ignores case, whether a name is quoted or not.
        return self.path.get_lowered_part(field) == value.lower()
