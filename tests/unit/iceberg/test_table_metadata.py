import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import InputError, NotFoundError, UnsupportedError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.iceberg.manifest_lists import number_of
from dbt.adapters.vcs.iceberg.metadata_files import MetadataFile
from tests.unit.iceberg.lake import Lake
from tests.unit.iceberg.readers import duckdb_connection, duckdb_rows, pyiceberg_rows


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture(scope="module")
def duck() -> Any:
    with duckdb_connection() as connection:
        yield connection


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


def agree(lake: Lake, duck: Any, name: str, **options: Any) -> MetadataFile:
    """Check that two other engines read what this package reads."""
    document, expected = lake.document(name, **options), sorted(lake.rows(name), key=repr)
    assert rows_of(pyiceberg_rows(document.location)) == expected
    assert rows_of(duckdb_rows(duck, document.location)) == expected
    return document


def day(number: int) -> datetime.date:
    return datetime.date(2026, 11, number)


def test_other_engines_read_a_partitioned_table_with_deleted_rows(lake: Lake, duck: Any) -> None:
    lake.run("create table s.t (id bigint, v string, p date) partitioned by (p)")
    lake.add("t", [(1, "a", day(1)), (2, "b", day(2)), (3, None, None)])
    lake.add("t", [(4, "x", day(1)), (5, "y", day(1))])
    lake.delete("t", (0, 0), (3, 1))
    agree(lake, duck, "t")


def test_a_renamed_column_and_one_added_later_are_found_in_old_files(
    lake: Lake, duck: Any
) -> None:
    lake.run("create table s.t (id bigint, v string)")
    lake.add("t", [(1, "a")])
    lake.run("alter table s.t rename column v to w")
    lake.run("alter table s.t add columns (v int)")
    lake.add("t", [(2, "b", 7)])
    document = agree(lake, duck, "t")
    assert rows_of(pyiceberg_rows(document.location, "v = 7")) == [(2, "b", 7)]
    assert rows_of(duckdb_rows(duck, document.location, "w = 'a'")) == [(1, "a", None)]


def test_past_commits_are_iceberg_snapshots_with_their_times(lake: Lake, duck: Any) -> None:
    lake.run("create table s.t (id bigint)")
    lake.add("t", [(1,)])
    first = lake.repository.branch("main").head
    lake.add("t", [(2,)])
    metadata = lake.document("t").metadata
    made = [item["snapshot-id"] for item in metadata["snapshots"]]
    shown = lake.repository.tree(first).entry(RelationName("s", "t"))
    assert shown is not None and made[1] == number_of(shown.version)
    assert metadata["snapshots"][2]["parent-snapshot-id"] == made[1]
    at = lake.repository.objects.commit(first).committed_at
    assert metadata["snapshots"][1]["timestamp-ms"] == at // 1000
    location = lake.document("t").location
    assert rows_of(pyiceberg_rows(location, snapshot_id=made[1])) == [(1,)]
    assert rows_of(duckdb_rows(duck, location, snapshot_from_id=made[1])) == [(1,)]


def test_a_version_that_is_shown_again_is_the_same_snapshot(lake: Lake, duck: Any) -> None:
    lake.run("create table s.t (id bigint)")
    lake.add("t", [(1,)])
    lake.run("alter table s.t set tblproperties ('a' = '1')")
    lake.show("t", "main~1")
    metadata = lake.document("t").metadata
    log = [item["snapshot-id"] for item in metadata["snapshot-log"]]
    assert log[-1] == log[-3] == metadata["current-snapshot-id"]
    assert len(metadata["snapshots"]) == 3
    agree(lake, duck, "t")


def test_a_version_after_an_append_writes_one_manifest_and_one_list(lake: Lake) -> None:
    lake.run("create table s.t (id bigint)")
    lake.add("t", [(1,)])
    lake.document("t")
    before = {info.path for info in lake.blobs.walk("iceberg")}
    lake.add("t", [(2,)])
    lake.document("t")
    new = sorted(
        info.path.split("/")[3] for info in lake.blobs.walk("iceberg") if info.path not in before
    )
    assert new == ["lists", "manifests", "metadata"]


def test_the_same_document_is_not_written_again(lake: Lake) -> None:
    lake.run("create table s.t (id bigint)")
    lake.add("t", [(1,)])
    first = lake.document("t")
    before = {info.path for info in lake.blobs.walk("iceberg")}
    again = lake.document("t")
    assert again == first
    assert json.loads(lake.blobs.get(again.path)) == again.metadata
    assert {info.path for info in lake.blobs.walk("iceberg")} == before


def test_branches_and_tags_that_show_a_version_are_refs(lake: Lake) -> None:
    lake.run("create table s.t (id bigint)")
    lake.add("t", [(1,)])
    head = lake.repository.branch("main").head
    lake.repository.create_branch("dev", head, author="ann")
    lake.repository.create_tag("v1", head, author="ann")
    lake.add("t", [(2,)])
    metadata = lake.document("t").metadata
    old = metadata["snapshots"][1]["snapshot-id"]
    assert metadata["refs"] == {
        "main": {"snapshot-id": metadata["current-snapshot-id"], "type": "branch"},
        "dev": {"snapshot-id": old, "type": "branch"},
        "v1": {"snapshot-id": old, "type": "tag"},
    }


@pytest.mark.parametrize(
    "type_", ["interval day", "variant", "string collate UNICODE_CI", "array<interval year>"]
)
def test_a_type_that_iceberg_lacks_is_refused_by_the_columns_name(lake: Lake, type_: str) -> None:
    lake.run(f"create table s.t (id bigint, odd {type_})")
    with pytest.raises(UnsupportedError, match="'odd'"):
        lake.document("t")


def test_what_is_no_table_is_refused(lake: Lake) -> None:
    with pytest.raises(NotFoundError, match="found nothing"):
        lake.document("t")
    lake.run("create table s.t (id bigint)")
    with pytest.raises(InputError, match="expected 2 or 3"):
        lake.document("t", format_version=1)


def test_a_primary_key_becomes_the_identifier_fields_where_asked(lake: Lake, duck: Any) -> None:
    lake.run("create table s.t (id bigint not null, v string, primary key (id))")
    lake.add("t", [(1, "a")])
    schema = agree(lake, duck, "t").metadata["schemas"][-1]
    assert "identifier-field-ids" not in schema
    assert not any(field["required"] for field in schema["fields"])
    lake.run("alter table s.t set tblproperties ('vcs.identifier_fields' = 'TRUE')")
    schema = agree(lake, duck, "t").metadata["schemas"][-1]
    (id, v) = schema["fields"]
    assert schema["identifier-field-ids"] == [id["id"]]
    assert (id["required"], v["required"]) == (True, False)


def test_deletions_are_vectors_in_format_version_3(lake: Lake, duck: Any) -> None:
    lake.run("create table s.t (id bigint, p date) partitioned by (p)")
    lake.add("t", [(number, day(1 + number % 2)) for number in range(20)])
    lake.delete("t", (0, 0), (1, 3))
    first = agree(lake, duck, "t", format_version=3)
    lake.delete("t", (0, 1), (1, 4), (1, 5))
    lake.add("t", [(7, None)])
    metadata = agree(lake, duck, "t", format_version=3).metadata
    rows = [(item["first-row-id"], item["added-rows"]) for item in metadata["snapshots"]]
    assert rows == [(0, 0), (0, 20), (20, 0), (20, 0), (20, 1)]
    assert metadata["next-row-id"] == 21
    old = pyiceberg_rows(first.location, snapshot_id=metadata["snapshots"][2]["snapshot-id"])
    assert old.num_rows == 18


def test_a_filter_finds_rows_by_a_partition_column_that_is_not_selected(lake: Lake) -> None:
    lake.run("create table s.t (id bigint, day date) partitioned by (day)")
    days = [day(20), None]
    lake.add("t", [(1, days[0]), (2, days[1]), (3, days[0])])
    location = lake.document("t").location
    found = [
        pyiceberg_rows(location, where, selected_fields=("id",)).column("id").to_pylist()
        for where in ("day = '2026-11-20'", "day is null", "day > '2026-11-20'")
    ]
    assert found == [[1, 3], [2], []]
