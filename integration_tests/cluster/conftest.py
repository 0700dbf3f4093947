"""A cluster of two workers, whole again before each test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from tests.guardian import pytest_configure  # noqa: F401 - a hook

from .drivers import Open, driver
from .spark_cluster import SparkCluster

WORKERS = 2

# Python functions run in the workers' Python, whose minor version has to be this one's.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def cluster(_cluster: SparkCluster) -> SparkCluster:
    """The cluster, with all workers and without an application."""
    _cluster.mend(WORKERS)
    return _cluster


@pytest.fixture(scope="module")
def opened(cluster: SparkCluster) -> Iterator[Open]:
    """What opens branches, in one application for the module."""
    with driver(cluster.settings()) as opened:
        yield opened
