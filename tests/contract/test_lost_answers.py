"""A store whose answer to a write was lost: the client asks again, and finds its own bytes."""

import pyarrow as pa
import pytest

from dbt.adapters.vcs.core.errors import InputError, StorageError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.table.files.parquet import parquet_bytes, write_rows
from tests.contract.faulty import FaultyBlobs, lost


class Repeating(FaultyBlobs):
    """Each write arrives, its answer is lost, and the client's second try finds it there."""

    def create(self, path: str, data: bytes) -> bool:
        super().create(path, data)
        return self._inner.create(path, data)


class Ignoring(FaultyBlobs):
    """A store that writes over what is there, and says that it created it."""

    def create(self, path: str, data: bytes) -> bool:
        self._inner.delete(path)
        return super().create(path, data)


ROWS = pa.table({"a": [1, 2]})


def test_a_data_file_whose_answer_was_lost_is_ones_own() -> None:
    blobs = Repeating(MemoryBlobs())
    (path,) = write_rows(blobs, ROWS, folder="data/t/w=x1")
    assert blobs.get(path) == parquet_bytes(ROWS, "data/t/w=x1")


def test_a_data_file_that_arrived_before_the_store_failed_is_ones_own() -> None:
    def fail(number: int, path: str) -> None:
        raise lost()

    (path,) = write_rows(
        FaultyBlobs(inner := MemoryBlobs(), after=fail), ROWS, folder="data/t/w=x1"
    )
    assert inner.get(path) == parquet_bytes(ROWS, "data/t/w=x1")
    with pytest.raises(StorageError):
        write_rows(FaultyBlobs(MemoryBlobs(), before=fail), ROWS, folder="data/t/w=x1")


def test_a_file_with_other_bytes_in_its_place_is_refused() -> None:
    blobs = MemoryBlobs()
    write_rows(blobs, ROWS, folder="data/t/w=x1")
    with pytest.raises(InputError, match="already exists"):
        write_rows(blobs, pa.table({"a": [3, 4]}), folder="data/t/w=x1")


def test_a_repository_is_created_and_written_although_each_answer_is_lost() -> None:
    repository = Repository.create(Repeating(MemoryBlobs()), author="ann")
    head = repository.branch("main").head
    assert repository.create_branch("dev", head, author="ann").head == head
    repository.create_tag("v1", head, author="ann")
    repository.delete_branch("dev", author="ann")
    assert [ref.move.action for ref in repository.refs.log("heads", "dev")] == ["delete", "create"]


def test_a_store_that_ignores_put_if_absent_is_refused_by_the_first_write_of_a_process() -> None:
    inner = MemoryBlobs()
    Repository.create(inner, author="ann")
    files = {info.path: inner.get(info.path) for info in inner.walk("refs")}
    header = inner.get("vcs.json")
    repository = Repository.open(Ignoring(inner))
    head = repository.branch("main").head
    for _ in range(2):
        with pytest.raises(StorageError, match="ignores put-if-absent"):
            repository.create_branch("dev", head, author="ann")
    assert {info.path: inner.get(info.path) for info in inner.walk("refs")} == files
    assert inner.get("vcs.json") == header


def test_the_store_is_probed_once_by_a_process() -> None:
    inner = MemoryBlobs()
    Repository.create(inner, author="ann")
    paths: list[str] = []

    class Noting(FaultyBlobs):
        def create(self, path: str, data: bytes) -> bool:
            paths.append(path)
            return super().create(path, data)

    repository = Repository.open(Noting(inner))
    head = repository.branch("main").head
    assert paths == []
    for name in ("a", "b", "c"):
        repository.create_branch(name, head, author="ann")
    assert paths.count("vcs.json") == 1
