import pytest

from tests.unit.warehouse import Warehouse


@pytest.fixture
def warehouse() -> Warehouse:
    return Warehouse()
