"""A repository on disk, and a bench on it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

from .bench import Bench

EngineFactory = Callable[..., SparkEngine]


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    # What Hadoop takes for wildcards, what a URI must escape, and what SQL must quote.
    return LocalBlobs(tmp_path / "k=v" / "ware house,{a}%20'[b]*", fsync=False)


@pytest.fixture
def bench(spark_engine_factory: EngineFactory, blobs: LocalBlobs) -> Bench:
    engine = spark_engine_factory(blobs)
    return Bench(blobs, engine, engine.session("test"))
