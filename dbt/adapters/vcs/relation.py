"""A relation as dbt sees it: dbt-spark's, its names left logical."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.contracts.relation import ComponentName
from dbt.adapters.spark.relation import SparkRelation


@dataclass(frozen=True, eq=False, repr=False)
class VcsRelation(SparkRelation):
    """A table or view of a branch.

    Names stay `schema.identifier` everywhere; which version they stand for is settled below the
    SQL text, when a statement runs.

    Attributes:
        subquery: A query for some of the rows, which a text reads instead of all; or None.
    """

    subquery: str | None = None

    @property
    def is_bare(self) -> bool:
        """True if its text names no schema, and so means one of the session's.

        It may know a schema all the same, which its text leaves out.
        """
        return not self.schema or not self.include_policy.schema

    def render(self) -> str:
        """Return what stands for the relation in a text; limits and samples come on top."""
        # Without an alias, which Spark doesn't need, so that a test may give its own.
        return super().render() if self.subquery is None else f"({self.subquery})"

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        # Spark's catalog has no regard for case, whether a name is quoted or not.
        return self.path.get_lowered_part(field) == value.lower()
