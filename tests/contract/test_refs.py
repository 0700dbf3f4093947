"""What every ref store must do, whatever lies under it."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from dbt.adapters.vcs.core.codec import encode_record
from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.ids import CommitId, Micros
from dbt.adapters.vcs.core.model import RefMove
from dbt.adapters.vcs.core.store.blobs import Blobs, MemoryBlobs
from dbt.adapters.vcs.core.store.refs import RefStore
from tests.contract.conftest import OpenBlobs
from tests.watched_blobs import RequestBlobs


def move(name: str, number: int, commit: str | None = "c") -> RefMove:
    id = None if commit is None else CommitId(f"{commit}{number}")
    return RefMove(name=name, commit=id, at=Micros(number * 10), by="ann", action="commit")


def advance(refs: RefStore, name: str, moves: int) -> None:
    for number in range(1, moves + 1):
        assert refs.advance("heads", move(name, number), after=number - 1)


def advance_from(refs: RefStore, name: str, first: int, last: int) -> None:
    for number in range(first, last + 1):
        assert refs.advance("heads", move(name, number), after=number - 1)


def test_a_ref_that_never_was_reads_as_nothing(blobs: Blobs) -> None:
    refs = RefStore(blobs)
    assert refs.read("heads", "main") is None
    assert refs.log("heads", "main") == []
    assert refs.names("heads") == []
    assert refs.before("heads", "main", Micros(5)) is None


@pytest.mark.parametrize("moves", [1, 2, 3, 5, 6, 7, 21, 22, 30])
def test_the_last_move_is_found_by_a_newcomer(reopen: OpenBlobs, moves: int) -> None:
    refs = RefStore(reopen())
    advance(refs, "main", moves)
    for reader in (refs, RefStore(reopen())):
        last = reader.read("heads", "main")
        assert last is not None
        assert (last.seq, last.move.commit) == (moves, f"c{moves}")
    assert [ref.seq for ref in RefStore(reopen()).log("heads", "main")] == [*range(moves, 0, -1)]


def test_a_reader_that_remembers_sees_what_others_did(reopen: OpenBlobs) -> None:
    writer, reader = RefStore(reopen()), RefStore(reopen())
    advance(writer, "main", 3)
    assert reader.read("heads", "main").seq == 3
    for number in range(4, 20):
        assert writer.advance("heads", move("main", number), after=number - 1)
        assert reader.read("heads", "main").seq == number


def test_a_move_is_made_once(reopen: OpenBlobs) -> None:
    first, second = RefStore(reopen()), RefStore(reopen())
    advance(first, "main", 2)
    assert first.advance("heads", move("main", 3), after=2)
    assert not second.advance("heads", move("main", 99), after=2)
    assert second.read("heads", "main").move.commit == "c3"


def test_a_repeated_request_has_landed(reopen: OpenBlobs) -> None:
    # A store that answers late makes its client ask twice: the second answer is "is there".
    refs = RefStore(reopen())
    assert refs.advance("heads", move("main", 1), after=0)
    assert refs.advance("heads", move("main", 1), after=0)
    assert len(refs.log("heads", "main")) == 1


def test_a_move_after_one_that_is_not_there_is_refused(reopen: OpenBlobs) -> None:
    refs = RefStore(reopen())
    advance(refs, "main", 2)
    with pytest.raises(DamagedError, match="Move 7"):
        refs.advance("heads", move("main", 8), after=7)
    assert RefStore(reopen()).read("heads", "main").seq == 2


def test_a_deleted_ref_keeps_its_log(blobs: Blobs) -> None:
    refs = RefStore(blobs)
    advance(refs, "old", 2)
    assert refs.advance("heads", move("old", 3, commit=None), after=2)
    assert refs.read("heads", "old").move.commit is None
    assert [ref.move.commit for ref in refs.log("heads", "old")] == [None, "c2", "c1"]


def test_spaces_and_names_stay_apart(blobs: Blobs) -> None:
    refs = RefStore(blobs)
    names = ["main", "Main", "feature/tax", "feature", "a b", "..", "x" * 200, "日本"]
    for name in names:
        advance(refs, name, 1)
    assert refs.advance("tags", move("v1", 1), after=0)
    assert refs.names("heads") == sorted(names)
    assert refs.names("tags") == ["v1"]
    assert [ref.name for ref in refs.read_all("heads")] == sorted(names)
    for name in names:
        assert refs.read("heads", name).name == name


def test_the_move_before_a_moment_is_found(blobs: Blobs) -> None:
    refs = RefStore(blobs)
    advance(refs, "main", 9)
    found = {at: refs.before("heads", "main", Micros(at)) for at in (9, 10, 11, 55, 90, 1_000)}
    assert {at: ref and ref.seq for at, ref in found.items()} == {
        9: None,
        10: 1,
        11: 1,
        55: 5,
        90: 9,
        1_000: 9,
    }


def test_a_record_of_another_ref_is_damage(blobs: Blobs) -> None:
    blobs.create(f"refs/heads/main/{1:020d}", encode_record(move("other", 1)))
    with pytest.raises(DamagedError, match="belongs to the ref 'other'"):
        RefStore(blobs).read("heads", "main")


def test_a_record_that_does_not_parse_is_damage(blobs: Blobs) -> None:
    blobs.create(f"refs/heads/main/{1:020d}", b"{")
    with pytest.raises(DamagedError, match="does not parse"):
        RefStore(blobs).read("heads", "main")


def replaced(blobs: Blobs, seq: int, change: Callable[[bytes], bytes]) -> None:
    path = f"refs/heads/main/{seq:020d}"
    data = change(blobs.get(path))
    blobs.delete(path)
    blobs.create(path, data)


@pytest.mark.parametrize("gone", [*range(1, 9)])
def test_a_missing_move_is_damage_and_nothing_fills_its_place(
    reopen: OpenBlobs, gone: int
) -> None:
    advance(RefStore(reopen()), "main", 9)
    reopen().delete(f"refs/heads/main/{gone:020d}")
    newcomer = RefStore(reopen())
    if gone < 8:
        # What came before the last two moves decides nothing; fsck reads whole logs.
        assert any("comes where move" in text for text in newcomer.check("heads", "main"))
    try:
        last = newcomer.read("heads", "main")
    except DamagedError:
        return
    assert last is not None and last.seq == 9


@pytest.mark.parametrize("gone", [7, 8])
def test_a_gap_near_the_end_is_damage_for_reader_and_writer(reopen: OpenBlobs, gone: int) -> None:
    remembering = RefStore(reopen())
    advance(remembering, "main", gone - 1)
    advance_from(RefStore(reopen()), "main", gone, gone + 1)
    reopen().delete(f"refs/heads/main/{gone:020d}")
    with pytest.raises(DamagedError, match=f"{gone:020d}|where move {gone} should"):
        RefStore(reopen()).read("heads", "main")
    with pytest.raises(DamagedError, match=f"where move {gone} should"):
        remembering.advance("heads", move("main", 99), after=gone - 1)
    assert not reopen().exists(f"refs/heads/main/{gone:020d}")


@pytest.mark.parametrize("seq", [4, 5])
def test_an_edited_move_is_damage(reopen: OpenBlobs, seq: int) -> None:
    advance(RefStore(reopen()), "main", 5)
    replaced(reopen(), seq, lambda data: data.replace(b'"by":"ann"', b'"by":"bob"'))
    with pytest.raises(DamagedError, match="changed after it was written"):
        RefStore(reopen()).read("heads", "main")
    assert len(list(RefStore(reopen()).check("heads", "main"))) == 1


@pytest.mark.parametrize(("grown", "requests"), [(0, 1), (1, 3), (2, 4), (40, 6)])
def test_a_log_that_grew_takes_few_requests_however_much(grown: int, requests: int) -> None:
    blobs = RequestBlobs()
    reader, writer = RefStore(blobs), RefStore(blobs)
    advance(writer, "main", 3)
    assert reader.read("heads", "main")
    advance_from(writer, "main", 4, 3 + grown)
    blobs.requests = 0
    last = reader.read("heads", "main")
    assert last is not None
    assert (last.seq, blobs.requests) == (3 + grown, requests)


class Meeting(MemoryBlobs):
    """Answers some requests only when all of them are there."""

    def __init__(self, *requests: tuple[str, int]) -> None:
        super().__init__()
        self.is_watching = False
        self._requests = {(verb, f"refs/heads/main/{number:020d}") for verb, number in requests}
        self._met = threading.Barrier(len(requests))

    def _meet(self, verb: str, path: str) -> None:
        if (verb, path) in self._requests and self.is_watching:
            self._requests.discard((verb, path))
            self._met.wait(10)

    def get(self, path: str) -> bytes:
        self._meet("get", path)
        return super().get(path)

    def exists(self, path: str) -> bool:
        self._meet("exists", path)
        return super().exists(path)

    def later(self, path: str) -> list[str]:
        self._meet("later", path)
        return super().later(path)


@pytest.mark.parametrize(
    ("grown", "at_once"),
    [
        (1, [("later", 4), ("get", 5)]),
        (40, [("later", 4), ("get", 5)]),
        (40, [("exists", 44), ("get", 43), ("get", 42)]),
    ],
)
def test_what_a_log_that_grew_is_asked_is_asked_at_once(
    grown: int, at_once: list[tuple[str, int]]
) -> None:
    blobs = Meeting(*at_once)
    reader, writer = RefStore(blobs), RefStore(blobs)
    advance(writer, "main", 3)
    assert reader.read("heads", "main")
    advance_from(writer, "main", 4, 3 + grown)
    blobs.is_watching = True
    last = reader.read("heads", "main")
    assert last is not None and last.seq == 3 + grown


class CutOff(MemoryBlobs):
    """Answers with half of each file, when it is told to."""

    is_cutting = False

    def get(self, path: str) -> bytes:
        data = super().get(path)
        return data[: len(data) // 2] if self.is_cutting else data


def test_no_move_follows_bytes_that_were_cut_off_on_the_way() -> None:
    blobs = CutOff()
    # Nothing of a deleted name is remembered, so the move before is read.
    refs = RefStore(blobs)
    advance(refs, "main", 1)
    assert refs.advance("heads", move("main", 2, None), after=1)
    blobs.is_cutting = True
    with pytest.raises(DamagedError):
        refs.advance("heads", move("main", 3), after=2)
    blobs.is_cutting = False
    assert refs.advance("heads", move("main", 3), after=2)
    assert [ref.seq for ref in refs.log("heads", "main")] == [3, 2, 1]


def test_a_move_without_its_seal_is_damage(reopen: OpenBlobs) -> None:
    advance(RefStore(reopen()), "main", 5)
    bare = encode_record(move("main", 99))
    replaced(reopen(), 5, lambda data: bare)
    with pytest.raises(DamagedError, match="doesn't follow"):
        RefStore(reopen()).read("heads", "main")


def test_a_move_that_was_replaced_by_a_whole_one_is_damage(reopen: OpenBlobs) -> None:
    advance(RefStore(reopen()), "main", 5)
    other = RefStore(MemoryBlobs())
    for number in range(1, 5):
        assert other.advance("heads", move("main", 10 * number), after=number - 1)
    stranger = other._blobs.get(f"refs/heads/main/{4:020d}")
    replaced(reopen(), 4, lambda data: stranger)
    with pytest.raises(DamagedError, match="doesn't follow"):
        RefStore(reopen()).read("heads", "main")


def test_a_foreign_file_in_a_log_is_damage(reopen: OpenBlobs) -> None:
    advance(RefStore(reopen()), "main", 3)
    assert reopen().create("refs/heads/main/copy of 3", b"{}")
    with pytest.raises(DamagedError, match="copy of 3"):
        RefStore(reopen()).read("heads", "main")
    assert "copy of 3" in next(RefStore(reopen()).check("heads", "main"))


def test_logs_of_earlier_versions_are_read_and_continued(reopen: OpenBlobs) -> None:
    blobs = reopen()
    for number in (1, 2, 3):
        blobs.create(f"refs/heads/main/{number:020d}", encode_record(move("main", number)))
    refs = RefStore(reopen())
    assert refs.read("heads", "main").seq == 3
    advance_from(refs, "main", 4, 6)
    assert RefStore(reopen()).read("heads", "main").move.commit == "c6"
    assert list(RefStore(reopen()).check("heads", "main")) == []
    replaced(reopen(), 3, lambda data: data.replace(b'"by":"ann"', b'"by":"bob"'))
    assert len(list(RefStore(reopen()).check("heads", "main"))) == 1


def test_a_bad_name_is_refused_before_anything_is_written(blobs: Blobs) -> None:
    for name in ("", "a\nb", "x" * 201, "É" * 100):
        with pytest.raises(InputError):
            RefStore(blobs).advance("heads", move(name, 1), after=0)
    assert list(blobs.walk("refs")) == []


def test_racing_writers_make_one_dense_log(reopen: OpenBlobs) -> None:
    writers, each = 4, 5
    start = threading.Barrier(writers)

    def write(writer: int) -> None:
        refs = RefStore(reopen())
        start.wait()
        for number in range(each):
            record = move("main", 1000 * writer + number)
            last = refs.read("heads", "main")
            while not refs.advance("heads", record, after=last.seq if last else 0):
                last = refs.read("heads", "main")

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    log = RefStore(reopen()).log("heads", "main")
    assert [ref.seq for ref in log] == [*range(writers * each, 0, -1)]
    commits = {ref.move.commit for ref in log}
    assert commits == {f"c{1000 * w + n}" for w in range(writers) for n in range(each)}
