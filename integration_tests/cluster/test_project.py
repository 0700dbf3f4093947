"""The demo project on real data: built on two workers, changed on a branch, merged."""

from __future__ import annotations

from pathlib import Path

from demo.steps import Demo

from .demo_checks import check_demo
from .spark_cluster import SparkCluster


def test_it_is_built_changed_and_merged(cluster: SparkCluster, tmp_path: Path) -> None:
    check_demo(Demo(tmp_path / "demo", print), cluster.settings())
