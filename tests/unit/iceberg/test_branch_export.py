from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable
from pyiceberg.view.metadata import ViewMetadata

from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.iceberg.avro_files import open_avro
from dbt.adapters.vcs.iceberg.branch_export import BranchExport, export_branch
from dbt.adapters.vcs.iceberg.export_folder import ExportFolder, export_folder, exported_versions
from dbt.adapters.vcs.iceberg.manifest_files import Spec, manifest_schema
from dbt.adapters.vcs.iceberg.metadata_files import PendingFiles
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import duckdb_connection, duckdb_rows, pyiceberg_rows

T = RelationName("s", "t")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "lake")
    lake.run("create table s.t (id bigint)")
    lake.add("t", [(1,)])
    return lake


def export(lake: Lake, **options: Any) -> BranchExport:
    return export_branch(lake.repository, "main", place=lake.place, **options)


def folder(lake: Lake) -> ExportFolder:
    return export_folder(lake.blobs, "main")


def test_an_exported_branch_is_read_without_a_server(lake: Lake) -> None:
    report = export(lake)
    assert report.written == ("s.t",)
    with duckdb_connection() as duck:
        options = {"allow_moved_paths": "false"}
        assert duckdb_rows(duck, f"{report.location}/s/t", **options).to_pylist() == [{"id": 1}]
    lake.repository.create_tag("v1", report.commit, author="ann")
    lake.add("t", [(2,)])
    export(lake)
    table = StaticTable.from_metadata(f"{report.location}/s/t")
    assert table.scan().to_arrow().to_pylist() == [{"id": 1}, {"id": 2}]
    old = table.snapshot_by_name("v1")
    assert old is not None
    assert table.scan(snapshot_id=old.snapshot_id).to_arrow().to_pylist() == [{"id": 1}]


def test_an_export_writes_what_changed_since_the_last_one(lake: Lake) -> None:
    lake.run("create table s.other (id bigint)")
    export(lake)
    assert export(lake).written == ()
    lake.add("t", [(2,)])
    assert export(lake).written == ("s.t",)
    assert list(folder(lake).versions(T)) == [1, 2]
    assert lake.blobs.get(f"{folder(lake).folder_of(T)}/version-hint.text") == b"2"


def test_a_dropped_table_leaves_the_export(lake: Lake) -> None:
    export(lake)
    lake.run("drop table s.t")
    assert export(lake).removed == ("s.t",)
    assert folder(lake).relations() == set()
    assert exported_versions(lake.blobs) == set()


def test_a_table_that_cant_go_over_leaves_the_export_and_the_others_stay(lake: Lake) -> None:
    lake.run("create table s.other (id bigint)")
    export(lake)
    lake.run("alter table s.t add columns (odd interval day)")
    report = export(lake)
    assert report.removed == ("s.t",)
    assert "'odd'" in report.refused["s.t"]
    assert "'odd'" in export(lake).refused["s.t"]
    assert folder(lake).relations() == {RelationName("s", "other")}
    lake.run("alter table s.t drop column odd")
    report = export(lake)
    assert (report.written, report.refused) == (("s.t",), {})


def test_an_export_that_died_before_the_hint_is_finished_by_the_next(lake: Lake) -> None:
    export(lake)
    lake.add("t", [(2,)])
    export(lake)
    lake.blobs.replace_all({f"{folder(lake).folder_of(T)}/version-hint.text": b"1"})
    export(lake, everything=True)
    assert list(folder(lake).versions(T)) == [1, 2]
    assert lake.blobs.get(f"{folder(lake).folder_of(T)}/version-hint.text") == b"2"


def test_an_export_that_was_overtaken_ends_with_what_the_branch_shows(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[Any] = []
    add = ExportFolder.add

    def overtaken(self: ExportFolder, files: Any) -> set[RelationName]:
        if not others:
            others.append(files)
            lake.run("drop table s.t")
            export(lake)
        return add(self, files)

    monkeypatch.setattr(ExportFolder, "add", overtaken)
    report = export(lake)
    assert (report.written, report.removed) == ((), ("s.t",))
    assert folder(lake).relations() == set()


def test_an_older_export_does_not_replace_a_newer_one(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[Any] = []
    add = ExportFolder.add

    def overtaken(self: ExportFolder, files: Any) -> set[RelationName]:
        if not others:
            others.append(files)
            lake.add("t", [(2,)])
            export(lake)
        return add(self, files)

    monkeypatch.setattr(ExportFolder, "add", overtaken)
    export(lake)
    assert list(folder(lake).versions(T)) == [1]
    location = lake.place.uri(folder(lake).versions(T)[1])
    assert pyiceberg_rows(location).to_pylist() == [{"id": 1}, {"id": 2}]


def test_old_metadata_files_are_deleted(lake: Lake) -> None:
    for number in range(7):
        lake.add("t", [(number,)])
        export(lake)
    assert list(folder(lake).versions(T)) == [3, 4, 5, 6, 7]


def test_the_versions_that_an_export_names_are_known(lake: Lake) -> None:
    export(lake)
    tree = lake.repository.tree(lake.repository.branch("main").head)
    entry = tree.entry(T)
    assert entry is not None and entry.version in exported_versions(lake.blobs)


def test_many_tables_are_written_at_about_the_cost_of_one(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(25):
        lake.run(f"create table s.t{number} (id bigint)")
        lake.add(f"t{number}", [(number,)])
    export(lake)
    for number in range(25):
        lake.add(f"t{number}", [(-number,)])
    rounds: list[int] = []
    create_all = LocalBlobs.create_all

    def counted(self: LocalBlobs, blobs: Any) -> set[str]:
        rounds.append(len(blobs))
        return create_all(self, blobs)

    monkeypatch.setattr(LocalBlobs, "create_all", counted)
    report = export(lake)
    # Manifests, lists, and then what names them.
    assert len(report.written) == 25 and rounds == [25, 25, 25]
    for number in (0, 24):
        location = f"{report.location}/s/t{number}"
        rows = StaticTable.from_metadata(location).scan().to_arrow().to_pylist()
        assert sorted(row["id"] for row in rows) == [-number, number]


def test_an_export_begins_anew_if_another_wrote_a_manifest_with_other_bytes(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, others = PendingFiles.store, []

    def overtaken(self: PendingFiles) -> bool:
        if not others:
            others.append(self)
            (path,) = self._named
            # As another release of a library compresses it.
            schema = manifest_schema(Spec(), 2)
            file = open_avro(self._named[path])
            bare = schema.encoded(schema.records(file))
            header = {key: text.decode() for key, text in file.meta.items()}
            lake.blobs.create(path, schema.file(bare, {**header, "more": "of it"}))
        return store(self)

    monkeypatch.setattr(PendingFiles, "store", overtaken)
    report = export(lake)
    assert report.written == ("s.t",)
    table = StaticTable.from_metadata(f"{report.location}/s/t")
    (manifest,) = table.inspect.manifests().to_pylist()
    path = manifest["path"].removeprefix(lake.place.root + "/")
    assert manifest["length"] == lake.blobs.size(path)
    assert table.scan().to_arrow().to_pylist() == [{"id": 1}]


def test_another_format_version_writes_every_table_again(lake: Lake) -> None:
    lake.add("t", [(2,)])
    lake.delete("t", (0, 0))
    assert export(lake).written == ("s.t",)
    report = export(lake, format_version=3)
    assert report.written == ("s.t",)
    table = StaticTable.from_metadata(f"{report.location}/s/t")
    assert table.format_version == 3
    assert table.scan().to_arrow().to_pylist() == [{"id": 2}]
    with duckdb_connection() as duck:
        assert duckdb_rows(duck, f"{report.location}/s/t").to_pylist() == [{"id": 2}]
    assert export(lake, format_version=3).written == ()
    assert export(lake).written == ("s.t",)


def test_views_have_metadata_files_of_their_own(lake: Lake) -> None:
    lake.view("v", "select id from s.t")
    lake.view("w", "select s.net(id) id from s.t", calls=("s.net",))
    report = export(lake)
    (location,) = report.views.values()
    stored = ViewMetadata.model_validate_json(lake.blobs.get(location.partition("/lake/")[2]))
    assert stored.current_version_id == stored.versions[0].version_id
    assert list(report.views) == ["s.v"] and "s.net" in report.refused["s.w"]
    # Engines take each folder of the export for a table.
    assert folder(lake).relations() == {T}
    again = export(lake)
    assert again.views == {} and "s.net" in again.refused["s.w"]
    lake.view("w", "select id from s.t")
    lake.run("drop view s.v")
    report = export(lake)
    assert list(report.views) == ["s.w"] and report.refused == {}
    state = folder(lake).state()
    assert state is not None and list(state.views) == ["s.w"]


def test_new_rows_take_three_files_however_many_were_there(lake: Lake) -> None:
    for number in range(5):
        lake.add("t", [(number,)])
    export(lake)
    before = {info.path for info in lake.blobs.walk("iceberg")}
    lake.add("t", [(9,)])
    export(lake)
    new = {info.path for info in lake.blobs.walk("iceberg")} - before
    kinds = ("lists", "manifests", "metadata")
    found = [kind for kind in kinds for path in new if f"/{kind}/" in path]
    assert found == list(kinds)
    assert {path.split("/")[3] for path in new if not path.startswith("iceberg/tables")} == {
        "_exported",
        "s",
    }


def test_what_a_purge_overtook_is_taken_back_without_a_hint_to_a_missing_file(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A purge ends between the first attempt and the second.
    purges = iter([0, 1])
    monkeypatch.setattr(lake.repository.maintenance, "settled", lambda: next(purges, 1))
    delete, deleted = lake.blobs.delete, list[str]()

    def looked_at(path: str) -> None:
        delete(path)
        deleted.append(path)
        hint = f"{folder(lake).folder_of(T)}/version-hint.text"
        # This process may die here.
        assert folder(lake).versions(T) or not lake.blobs.exists(hint)

    monkeypatch.setattr(lake.blobs, "delete", looked_at)
    assert export(lake).written == ("s.t",)
    assert [path.rpartition("/")[2] for path in deleted if "/s/t/" in path] == [
        "version-hint.text",
        "v1.metadata.json",
    ]
    assert lake.blobs.get(f"{folder(lake).folder_of(T)}/version-hint.text") == b"1"
