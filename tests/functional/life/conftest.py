"""A fresh shop for each test."""

from pathlib import Path

import pytest

from tests.functional.life.shop import Shop, make_shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return make_shop(tmp_path)
