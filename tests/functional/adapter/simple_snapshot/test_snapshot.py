from __future__ import annotations

from dbt.tests.adapter.simple_snapshot import test_snapshot as snapshot

from ..dialect import SpeaksPostgres


class TestSnapshot(SpeaksPostgres, snapshot.TestSnapshot):
    pass


class TestSnapshotCheck(SpeaksPostgres, snapshot.TestSnapshotCheck):
    pass
