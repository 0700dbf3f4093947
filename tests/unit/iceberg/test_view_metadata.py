import pytest

from dbt.adapters.vcs.core.errors import UnsupportedError
from dbt.adapters.vcs.core.ids import ViewId
from dbt.adapters.vcs.core.model import RelationName, View, ViewColumn, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.metadata_files import place_of
from dbt.adapters.vcs.iceberg.table_metadata import view_metadata
from tests.unit.warehouse import Warehouse


def put(warehouse: Warehouse, view: View) -> None:
    id = ViewId(warehouse.repository.objects.put(view))
    warehouse.put(v=ViewEntry(view=id))


def test_a_view_goes_over_with_its_query_and_columns(warehouse: Warehouse) -> None:
    columns = (ViewColumn(name="id", type="bigint", comment="the key"),)
    text = "select id from shop.orders"
    put(warehouse, View(text=text, columns=columns, comment="all"))
    repository: Repository = warehouse.repository
    place = place_of(repository)
    found = view_metadata(repository, warehouse.head(), RelationName("shop", "v"), place=place)
    (version,) = found.metadata["versions"]
    assert version["representations"] == [{"type": "sql", "sql": text, "dialect": "spark"}]
    (column,) = found.metadata["schemas"][0]["fields"]
    assert (column["name"], column["type"], column["doc"]) == ("id", "long", "the key")
    assert found.metadata["properties"] == {"comment": "all"}


def test_a_view_that_calls_a_function_is_refused_by_the_functions_name(
    warehouse: Warehouse,
) -> None:
    put(warehouse, View(text="select shop.net(1)", columns=(), calls=("shop.net",)))
    place = place_of(warehouse.repository)
    with pytest.raises(UnsupportedError, match=r"shop\.net"):
        view_metadata(
            warehouse.repository, warehouse.head(), RelationName("shop", "v"), place=place
        )
