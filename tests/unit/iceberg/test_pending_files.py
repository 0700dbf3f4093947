import pytest

from dbt.adapters.vcs.core.errors import DamagedError, NotFoundError
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.iceberg import metadata_files
from dbt.adapters.vcs.iceberg.avro_files import AvroSchema, open_avro, read_avro
from dbt.adapters.vcs.iceberg.metadata_files import PendingFiles

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}


class Ordered(MemoryBlobs):
    """A store that remembers what was stored together."""

    def __init__(self) -> None:
        super().__init__()
        self.rounds: list[set[str]] = []

    def create_all(self, blobs: object) -> set[str]:
        assert isinstance(blobs, dict)
        self.rounds.append(set(blobs))
        return super().create_all(blobs)


def test_what_a_list_names_is_stored_before_it_and_all_at_once() -> None:
    blobs = Ordered()
    files = PendingFiles(blobs)
    files.add_list("lists/1", b"l")
    files.add("manifests/1", b"m")
    files.add("manifests/2", b"n")
    assert (files.get("lists/1"), files.use("manifests/1"), blobs.rounds) == (b"l", 1, [])
    assert files.store()
    assert blobs.rounds == [{"manifests/1", "manifests/2"}, {"lists/1"}]
    assert files.get("lists/1") == blobs.get("lists/1") == b"l"


def test_many_bytes_dont_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_files, "_HELD", 10)
    blobs = Ordered()
    files = PendingFiles(blobs)
    files.add("manifests/1", b"x" * 11)
    assert blobs.rounds == [{"manifests/1"}]
    assert files.store() and files.use("manifests/1") == 11


def test_no_list_is_stored_of_a_manifest_that_another_process_wrote_otherwise() -> None:
    blobs = MemoryBlobs()
    files = PendingFiles(blobs)
    files.add("manifests/1", b"mine")
    files.add_list("lists/1", b"4 bytes")
    blobs.create("manifests/1", b"theirs")
    assert not files.store()
    with pytest.raises(NotFoundError):
        files.get("lists/1")
    # Made again, from what is there.
    assert files.use("manifests/1") == 6
    files.add_list("lists/1", b"6 bytes")
    assert files.store() and blobs.get("lists/1") == b"6 bytes"


def test_the_same_bytes_of_another_process_are_as_good() -> None:
    blobs = MemoryBlobs()
    files = PendingFiles(blobs)
    files.add("manifests/1", b"same")
    blobs.create("manifests/1", b"same")
    assert files.store()


def test_a_list_is_found_by_the_version_that_its_name_begins_with() -> None:
    blobs = MemoryBlobs()
    files = PendingFiles(blobs)
    blobs.create("lists/ab-1.avro", b"")
    files.add_list("lists/cd-1.avro", b"")
    assert files.any_list("lists/ab-") == "lists/ab-1.avro"
    assert files.any_list("lists/cd-") == "lists/cd-1.avro"
    assert files.any_list("lists/aa-") is None


def test_a_file_of_another_writer_is_read_by_its_own_schema() -> None:
    wide = {"name": "b", "type": "int", "default": 0}
    fields = [{"name": "a", "type": "int"}, wide]
    other = AvroSchema({**SCHEMA, "fields": fields})
    records = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    data = other.file(other.encoded(records), {"told": "ü"})
    file = open_avro(data)
    assert AvroSchema(SCHEMA).records(file) == other.records(file) == read_avro(data) == records
    assert file.meta["told"] == "ü".encode()


def test_a_file_without_records_is_read_back() -> None:
    schema = AvroSchema(SCHEMA)
    data = schema.file([], {})
    assert schema.records(open_avro(data)) == read_avro(data) == []


@pytest.mark.parametrize("data", [b"", b"PAR1", b"Obj\x01\x02\xff\xff\x7f"])
def test_a_file_that_is_none_of_avros_is_damage(data: bytes) -> None:
    with pytest.raises(DamagedError, match="delete the folder iceberg"):
        open_avro(data)


def test_many_bytes_of_lists_dont_wait_but_come_after_what_they_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata_files, "_HELD", 10)
    blobs = Ordered()
    files = PendingFiles(blobs)
    files.add("manifests/1", b"m")
    files.add_list("lists/1", b"x" * 6)
    assert blobs.rounds == []
    files.add_list("lists/2", b"x" * 6)
    assert blobs.rounds == [{"manifests/1"}, {"lists/1", "lists/2"}]
    assert files.get("lists/2") == b"x" * 6
    files.add_list("lists/3", b"x")
    assert files.store()
    assert blobs.rounds[-1] == {"lists/3"}


def test_lists_of_another_processes_manifests_are_not_stored_however_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata_files, "_HELD", 10)
    blobs = MemoryBlobs()
    files = PendingFiles(blobs)
    files.add("manifests/1", b"mine")
    blobs.create("manifests/1", b"theirs")
    for number in range(4):
        files.add_list(f"lists/{number}", b"x" * 8)
    assert not files.store()
    assert list(blobs.walk("lists")) == []
    files.add_list("lists/0", b"y")
    assert files.store() and blobs.get("lists/0") == b"y"
