"""A repository on disk, and a bench on it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.core.store.opening import HEADER_PATH
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

from .bench import Bench

EngineFactory = Callable[..., SparkEngine]

_FACTORIES = {
    "session": "spark_engine_factory",
    "adopted": "adopted_engine_factory",
    "connect": "connect_engine_factory",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of modules with `ALL_ENGINES` on each: they are the port's contract."""
    if getattr(metafunc.module, "ALL_ENGINES", False) and "method" in metafunc.fixturenames:
        metafunc.parametrize("method", list(_FACTORIES))


@pytest.fixture
def method() -> str:
    """Return how Spark is reached."""
    return "session"


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    # What Hadoop takes for wildcards, what a URI must escape, and what SQL must quote.
    return LocalBlobs(tmp_path / "k=v" / "ware house,{a}%20'[b]*", fsync=False)


@pytest.fixture
def engine_factory(request: pytest.FixtureRequest, method: str) -> Callable[..., Engine]:
    factory: Callable[..., Engine] = request.getfixturevalue(_FACTORIES[method])

    def make(blobs: LocalBlobs, **arguments: Any) -> Engine:
        if not blobs.exists(HEADER_PATH):
            # A server is asked whether it sees the repository's header.
            blobs.create(HEADER_PATH, b"{}")
        return factory(blobs, **arguments)

    return make


@pytest.fixture
def bench(engine_factory: EngineFactory, blobs: LocalBlobs) -> Bench:
    engine = engine_factory(blobs)
    return Bench(blobs, engine, engine.session("test"))
