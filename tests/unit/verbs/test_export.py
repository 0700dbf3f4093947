import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.retention import DAY
from dbt.adapters.vcs.iceberg import avro_files, manifest_files
from dbt.adapters.vcs.iceberg.metadata_place import FOLDER
from dbt.adapters.vcs.merges.export_rules import ExportRule
from dbt.adapters.vcs.verbs.erasing.purge import PurgeRequest, purge
from dbt.adapters.vcs.verbs.upkeep.export import export, export_after
from dbt.adapters.vcs.verbs.upkeep.fsck import check_repository
from dbt.adapters.vcs.verbs.upkeep.gc import collect
from tests.unit.warehouse import Warehouse

RULE = ExportRule(pattern="main")
A = RelationName("shop", "a")


def paths(warehouse: Warehouse, folder: str) -> set[str]:
    return {info.path for info in warehouse.blobs.walk(folder)}


def test_a_collection_keeps_the_rows_that_an_export_names(warehouse: Warehouse) -> None:
    warehouse.put(a="old")
    warehouse.put(a="new")
    export(warehouse.repository, "main")
    named = paths(warehouse, "data")
    warehouse.put(b="other")
    warehouse.clock.now += 30 * DAY
    collect(warehouse.repository, author="ann")
    assert named <= paths(warehouse, "data")
    # Today's history is shorter.
    export(warehouse.repository, "main", everything=True)
    collect(warehouse.repository, author="ann")
    assert len(named - paths(warehouse, "data")) == 1


def test_an_export_is_no_damage_and_can_be_deleted(warehouse: Warehouse) -> None:
    warehouse.put(a="old")
    first = export(warehouse.repository, "main")
    assert check_repository(warehouse.repository).orphans == 0
    for path in paths(warehouse, FOLDER):
        warehouse.blobs.delete(path)
    assert export(warehouse.repository, "main") == first


def test_a_purge_takes_metadata_with_bounds_of_erased_rows_along(warehouse: Warehouse) -> None:
    warehouse.put(a="old")
    export(warehouse.repository, "main")
    purge(warehouse.repository, PurgeRequest(relation="shop.a", where="id = 3"), author="ann")
    assert paths(warehouse, FOLDER) == set()
    assert export(warehouse.repository, "main").written == ("shop.a",)


def test_a_failing_export_is_a_warning_with_the_next_step(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse.put(a="old")

    def missing() -> None:
        raise InputError("A package is missing.")

    monkeypatch.setattr(avro_files, "fastavro", missing)
    manifest_files.manifest_schema.cache_clear()

    said: list[str] = []
    export_after(warehouse.repository, "main", RULE, said.append)
    (text,) = said
    assert "A package is missing." in text and "dbt-vcs export --branch main" in text


def test_any_failure_of_an_export_is_a_warning(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("the disk left")

    monkeypatch.setattr("dbt.adapters.vcs.verbs.upkeep.export.export_branch", fail)
    said: list[str] = []
    export_after(warehouse.repository, "main", RULE, said.append)
    assert "OSError: the disk left" in said[0]
