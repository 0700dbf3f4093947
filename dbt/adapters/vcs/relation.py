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
    """

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        # Spark's catalog has no regard for case, whether a name is quoted or not.
        return self.path.get_lowered_part(field) == value.lower()
