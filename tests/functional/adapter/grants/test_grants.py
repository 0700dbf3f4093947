"""Grants, which a repository does not keep."""

import pytest
from dbt.tests.adapter.grants.test_incremental_grants import BaseIncrementalGrants
from dbt.tests.adapter.grants.test_invalid_grants import BaseInvalidGrants
from dbt.tests.adapter.grants.test_model_grants import BaseModelGrants
from dbt.tests.adapter.grants.test_seed_grants import BaseSeedGrants
from dbt.tests.adapter.grants.test_snapshot_grants import BaseSnapshotGrants

pytestmark = pytest.mark.skip(
    reason="neither Spark's catalog nor a repository has users or GRANT: access is controlled by "
    "the file system or bucket, and a model with grants gets a warning"
)


class TestIncrementalGrants(BaseIncrementalGrants):
    pass


class TestInvalidGrants(BaseInvalidGrants):
    pass


class TestModelGrants(BaseModelGrants):
    pass


class TestSeedGrants(BaseSeedGrants):
    pass


class TestSnapshotGrants(BaseSnapshotGrants):
    pass
