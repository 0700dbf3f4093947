"""A version of a table: what its manifests list, and what an engine is given to read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import pytest

from dbt.adapters.vcs.core.ids import SegmentId
from dbt.adapters.vcs.core.model import RelationName, Segment, TableEntry
from dbt.adapters.vcs.workspace.table_version import Version
from tests.unit.shelf import Shelf


@pytest.fixture
def shelf() -> Shelf:
    """t has two blocks of two rows; the first has lost one."""
    shelf = Shelf()
    shelf.run("create table s.t (id bigint, name string)")
    shelf.append("t", id=[1, 2], name=["a", "b"])
    shelf.append("t", id=[3, 4], name=["c", "d"])
    shelf.delete("t", (0, 1))
    return shelf


@pytest.fixture
def version(shelf: Shelf) -> Version:
    return Version.of(shelf.repository, shelf.snapshot("t"))


def test_a_version_lists_blocks_and_what_is_deleted_from_them(
    shelf: Shelf, version: Version
) -> None:
    first, second = version.blocks
    assert [first, second] == shelf.blocks("t")
    assert version.deleted == {first.path: 1}
    assert [list(tombstone.targets) for tombstone in version.tombstones] == [[first.path]]


def test_a_version_has_the_id_that_it_is_stored_by(shelf: Shelf, version: Version) -> None:
    entry = shelf.begin().require(RelationName("s", "t"))
    assert isinstance(entry, TableEntry)
    assert version.id == entry.snapshot


def test_manifests_are_read_once_and_only_if_they_are_asked_for(shelf: Shelf) -> None:
    reads: list[SegmentId] = []

    def read(ids: Iterable[SegmentId]) -> Sequence[Segment]:
        asked = list(ids)
        reads.extend(asked)
        return shelf.repository.objects.segments(asked)

    version = Version(snapshot=shelf.snapshot("t"), read=read)
    assert version.id and not reads
    assert version.blocks and version.tombstones and version.mount().files
    assert reads == [ref.id for ref in version.snapshot.segments]


def test_nulls_are_known_unless_deleted_rows_may_have_them(shelf: Shelf) -> None:
    def nulls() -> list[int | None]:
        version = Version.of(shelf.repository, shelf.snapshot("t"))
        return [version.nulls(field) for field in version.snapshot.schema.fields]

    assert nulls() == [0, 0]
    shelf.append("t", id=[5, 6], name=["e", None])
    assert nulls() == [0, 1]
    shelf.delete("t", (2, 0))
    assert nulls() == [0, None]


def test_nulls_of_a_column_that_files_lack_are_not_known(shelf: Shelf) -> None:
    shelf.append("t", id=[5], name=[None])
    version = Version.of(shelf.repository, shelf.snapshot("t"))
    name = version.snapshot.schema.field("name")
    assert version.nulls(name) == 1
    # The file may lack the column, and readers see this value.
    assert version.nulls(msgspec.structs.replace(name, initial="x")) is None
    assert version.nulls(msgspec.structs.replace(name, id="later")) is None


def test_a_mount_of_all_rows_has_the_versions_own_name(version: Version) -> None:
    mount = version.mount()
    assert mount.id == version.id[:32]
    assert mount == version.mount(version.blocks) == version.mount(fields=mount.fields)
    assert mount.files == tuple(block.path for block in version.blocks)
    assert mount.tombstones == version.tombstones


def test_a_mount_of_some_blocks_has_another_name_and_their_tombstones_alone(
    version: Version,
) -> None:
    first, second = (version.mount([block]) for block in version.blocks)
    assert len({version.mount().id, first.id, second.id}) == 3
    assert [list(tombstone.targets) for tombstone in first.tombstones] == [list(first.files)]
    assert second.tombstones == ()


def test_a_mount_of_some_columns_has_another_name(version: Version) -> None:
    some = version.mount(fields=version.snapshot.schema.fields[:1])
    assert [field.name for field in some.fields] == ["id"]
    assert some.id != version.mount().id
    assert some.files == version.mount().files
