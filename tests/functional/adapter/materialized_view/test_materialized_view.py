"""Materialized views, which Spark has not."""

import pytest
from dbt.tests.adapter.materialized_view import basic, changes

pytestmark = pytest.mark.skip(
    reason="open-source Spark has no materialized views; use incremental models instead"
)


class TestMaterializedViewBasic(basic.MaterializedViewBasic):
    pass


class TestMaterializedViewChangesApply(
    changes.MaterializedViewChangesApplyMixin, changes.MaterializedViewChanges
):
    pass


class TestMaterializedViewChangesContinue(
    changes.MaterializedViewChangesContinueMixin, changes.MaterializedViewChanges
):
    pass


class TestMaterializedViewChangesFail(
    changes.MaterializedViewChangesFailMixin, changes.MaterializedViewChanges
):
    pass
