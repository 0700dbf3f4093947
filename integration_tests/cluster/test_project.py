"""The demo project on real data: built on two workers, changed on a branch, merged."""

from __future__ import annotations

from pathlib import Path

import pytest
from demo.steps import AIRLINE, FEATURE, MAIN, Contents, Demo
from source_rows import Counted, counted

from .drivers import stop_spark
from .spark_cluster import SparkCluster


@pytest.fixture(scope="module")
def source() -> Counted:
    """What the standard library counts in the source."""
    return counted(AIRLINE)


def contents(demo: Demo, branch: str) -> Contents:
    """Read a branch on the cluster, which the next command needs for itself."""
    try:
        return demo.contents(branch)
    finally:
        stop_spark()


def test_it_is_built_changed_and_merged(
    cluster: SparkCluster, source: Counted, tmp_path: Path
) -> None:
    demo = Demo(tmp_path / "demo", print)
    demo.set_up({}, cluster.settings())
    on_main = Contents(
        flights=source.flights,
        late=source.late[15],
        routes=source.routes,
        overview=source.routes,
    )
    built = demo.build_main().output
    assert " ERROR=0 SKIP=0 " in built
    assert contents(demo, MAIN) == on_main

    demo.change_on_a_branch()
    assert contents(demo, FEATURE).late == source.late[30]
    assert contents(demo, MAIN) == on_main

    failed = demo.fail_a_test()
    assert failed.code == 1
    assert contents(demo, FEATURE).routes == source.routes
    demo.mend_and_retry()

    demo.merge()
    merged = contents(demo, MAIN)
    assert (merged.flights, merged.late) == (source.flights, source.late[30])
    assert sum(merged.routes.values()) == sum(source.routes.values())
    assert merged.routes == merged.overview and merged.routes["avoid"] > 0
    demo.shell.vcs("fsck", "--data")
    demo.shell.vcs("gc")
    demo.shell.vcs("fsck", "--data")
