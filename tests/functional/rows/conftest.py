"""One branch and one engine for all tests here; each test makes its own tables."""

from collections.abc import Iterator
from typing import Any

import pytest

from .shop import Shop


@pytest.fixture(scope="session")
def shop(spark_engine_factory: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with Shop.open(tmp_path_factory.mktemp("rows"), spark_engine_factory) as opened:
        yield opened
