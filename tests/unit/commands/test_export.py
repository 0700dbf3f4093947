import pytest

from dbt.adapters.vcs.changes.merges.project_rules import ExportRule
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.garbage import is_stale
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.commands.purge import PurgeRequest, purge
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.plan.collect import Needed
from dbt.adapters.vcs.core.retention import DAY
from dbt.adapters.vcs.iceberg import avro_files, manifest_files
from dbt.adapters.vcs.iceberg.avro_files import open_avro
from dbt.adapters.vcs.iceberg.export_folder import HINT, export_folder
from dbt.adapters.vcs.iceberg.exports import export, export_after
from dbt.adapters.vcs.iceberg.manifest_files import read_list
from dbt.adapters.vcs.iceberg.metadata_files import FOLDER, place_of
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


def test_a_table_leaves_an_export_without_showing_older_versions(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("old", "newer", "newest"):
        warehouse.put(a=name)
        export(warehouse.repository, "main")
    folder = export_folder(warehouse.repository.blobs, "main")
    assert list(folder.versions(A)) == [1, 2, 3]
    delete, seen = warehouse.blobs.delete, []

    def looked_at(path: str) -> None:
        delete(path)
        # A reader without the hint takes the highest number.
        seen.append(max(folder.versions(A), default=None))
        assert not warehouse.blobs.exists(f"{folder.folder_of(A)}/{HINT}")

    monkeypatch.setattr(warehouse.blobs, "delete", looked_at)
    assert folder.remove(A)
    assert seen == [3, 3, 3, None]


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

    def missing(name: str) -> None:
        raise InputError(f"A package is missing: {name}.")

    monkeypatch.setattr(avro_files, "iceberg_extra", missing)
    manifest_files.manifest_schema.cache_clear()

    said: list[str] = []
    export_after(warehouse.repository, "main", RULE, said.append)
    (text,) = said
    assert "A package is missing: fastavro." in text and "dbt-vcs export --branch main" in text


def test_any_failure_of_an_export_is_a_warning(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("the disk left")

    monkeypatch.setattr("dbt.adapters.vcs.iceberg.exports.export_branch", fail)
    said: list[str] = []
    export_after(warehouse.repository, "main", RULE, said.append)
    assert "OSError: the disk left" in said[0]


def named_files(warehouse: Warehouse) -> set[str]:
    """Return the lists and manifests that the exported table's metadata names."""
    root = place_of(warehouse.repository).root + "/"
    shown = export_folder(warehouse.blobs, "main")
    versions = shown.versions(A)
    metadata = shown.metadata(versions[max(versions)])
    assert metadata is not None
    found: set[str] = set()
    for snapshot in metadata["snapshots"]:
        listed = snapshot["manifest-list"].removeprefix(root)
        manifests = read_list(open_avro(warehouse.blobs.get(listed)))
        found |= {listed, *(m["manifest_path"].removeprefix(root) for m in manifests)}
    return found


def test_a_collection_deletes_metadata_of_versions_that_are_not_kept(
    warehouse: Warehouse,
) -> None:
    for number in range(7):
        warehouse.put(a=f"version {number}")
        export(warehouse.repository, "main")
    warehouse.put(a="last")
    warehouse.clock.now += 30 * DAY
    export(warehouse.repository, "main", everything=True)
    before = paths(warehouse, f"{FOLDER}/tables")
    dry = collect(warehouse.repository, author="ann", dry_run=True)
    report = collect(warehouse.repository, author="ann")
    after = paths(warehouse, f"{FOLDER}/tables")
    assert dry.metadata == report.metadata == len(before) - len(after) > 7
    assert named_files(warehouse) <= after
    assert sum("/lists/" in path for path in after) < sum("/lists/" in path for path in before)


def test_a_collection_keeps_young_metadata_and_what_the_retention_keeps(
    warehouse: Warehouse,
) -> None:
    for number in range(3):
        warehouse.put(a=f"version {number}")
        export(warehouse.repository, "main")
    warehouse.clock.now += 2 * DAY
    before = paths(warehouse, FOLDER)
    assert collect(warehouse.repository, author="ann").metadata == 0
    assert paths(warehouse, FOLDER) == before
    assert named_files(warehouse) <= before


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tables/t/lists/k/{old}-c-r.avro", True),
        ("tables/t/lists/k/{new}-c-r.avro", False),
        ("tables/t/manifests/{old}-d-deletes.avro", True),
        ("tables/t/manifests/{new}-d.avro", False),
        ("tables/t/manifests/removed-d-d.avro", False),
        ("tables/t/deletes/d.parquet", False),
        ("tables/t/metadata/d/{old}/d.metadata.json", True),
        ("tables/t/metadata/d/{new}/d.metadata.json", False),
        ("tables/gone/deletes/d.parquet", True),
        ("views/{new}/d.metadata.json", False),
        ("views/{old}/d.metadata.json", True),
        ("export/main/s/t/metadata/v1.metadata.json", False),
    ],
)
def test_metadata_is_stale_with_what_it_is_about(path: str, expected: bool) -> None:
    old, new = "0" * 64, "1" * 64
    kept = Needed(objects={("view", new)}, whole={"t", new})
    assert is_stale(f"{FOLDER}/{path}".format(old=old, new=new), kept) is expected
