import pytest

from verbs.warehouse import Warehouse


@pytest.fixture
def warehouse() -> Warehouse:
    return Warehouse()
