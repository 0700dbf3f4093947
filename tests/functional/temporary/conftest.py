"""A branch and a plain Spark session side by side, which both get every statement."""

from collections.abc import Iterator
from typing import Any

import pytest

from .pair import Pair


@pytest.fixture(scope="session")
def shared_pair(spark_engine_factory: Any, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Pair(tmp_path_factory.mktemp("temporary"), spark_engine_factory)


@pytest.fixture
def pair(shared_pair: Pair) -> Iterator[Pair]:
    shared_pair.begin()
    yield shared_pair
    shared_pair.end()
