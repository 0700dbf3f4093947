"""What `dbt docs generate` finds of models, seeds, sources and single relations."""

from collections.abc import Mapping
from typing import Any

import pytest
from dbt.tests.adapter.basic import expected_catalog
from dbt.tests.adapter.basic.test_docs_generate import (
    BaseDocsGenerate,
    BaseDocsGenReferences,
)
from dbt.tests.adapter.basic.test_get_catalog_for_single_relation import (
    BaseGetCatalogForSingleRelation,
)
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, TableMetadata

TYPES = {
    "id_type": "bigint",
    "text_type": "string",
    "time_type": "timestamp",
    "view_type": "view",
    "table_type": "table",
}


class Statistics:
    """Equal to any statistics, if the named ones are among those that dbt shows."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Mapping)
        shown = {key for key, value in other.items() if _part(value, "include")}
        return set(self._names) <= shown

    __hash__ = None

    def __repr__(self) -> str:
        return f"Statistics{self._names}"


def _part(item: Any, name: str) -> Any:
    return item[name] if isinstance(item, Mapping) else getattr(item, name)


OF_TABLE = Statistics("rows", "bytes", "last_modified", "commit")
OF_VIEW = Statistics("commit", "committed_at")


class TestDocsGenerate(BaseDocsGenerate):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project):
        return expected_catalog.base_expected_catalog(
            project, role=None, model_stats=OF_VIEW, seed_stats=OF_TABLE, **TYPES
        )


class TestDocsGenReferences(BaseDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project):
        return expected_catalog.expected_references_catalog(
            project,
            role=None,
            model_stats=OF_TABLE,
            seed_stats=OF_TABLE,
            view_summary_stats=OF_VIEW,
            bigint_type="bigint",
            **TYPES,
        )


class TestGetCatalogForSingleRelation(BaseGetCatalogForSingleRelation):
    @pytest.fixture(scope="class")
    def expected_catalog_my_seed(self, project):
        return _expected(project, "my_seed", "table", OF_TABLE)

    @pytest.fixture(scope="class")
    def expected_catalog_my_view_model(self, project):
        return _expected(project, "my_view_model", "view", OF_VIEW)


def _expected(project: Any, name: str, kind: str, stats: Statistics) -> CatalogTable:
    columns = {
        "id": TYPES["id_type"],
        "first_name": TYPES["text_type"],
        "email": TYPES["text_type"],
        "ip_address": TYPES["text_type"],
        "updated_at": TYPES["time_type"],
    }
    return CatalogTable(
        metadata=TableMetadata(type=kind, schema=project.test_schema, name=name),
        columns={
            column: ColumnMetadata(type=type, index=index, name=column)
            for index, (column, type) in enumerate(columns.items(), start=1)
        },
        stats=stats,
    )
