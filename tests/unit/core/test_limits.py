"""What a damaged or foreign file can't do: take all memory, or end in an error of Python."""

import hashlib
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from dbt.adapters.vcs.changes.merges.project_rules import read_rules
from dbt.adapters.vcs.commands.options import Settings
from dbt.adapters.vcs.commands.profile import read_target
from dbt.adapters.vcs.commands.reflog import read_reflog
from dbt.adapters.vcs.core.codec import MAX_BYTES, decode, pack, unpack
from dbt.adapters.vcs.core.errors import DamagedError, InputError, VcsError
from dbt.adapters.vcs.core.model import Commit
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from tests.unit.warehouse import Warehouse

MOVE = b'{"action":"create","at":1,"by":"ann","commit":null,"name":"main"%s}'
DEEP = b"[" * 200_000 + b"]" * 200_000
WRONG = {
    "deep": MOVE % (b',"z":' + DEEP),
    "deep objects": MOVE % (b',"z":' + b'{"a":' * 200_000 + b"1" + b"}" * 200_000),
    "no UTF-8": MOVE.replace(b"ann", b"\xff") % b"",
    "half a pair": MOVE.replace(b"ann", rb"\ud800") % b"",
    "late": MOVE.replace(b":1,", b":1" + b"0" * 300 + b",") % b"",
    "early": MOVE.replace(b":1,", b":-9" + b"9" * 18 + b",") % b"",
    "no JSON": b"\x00\x01",
    "empty": b"",
}


def bomb(size: int) -> bytes:
    done = zstandard.ZstdCompressor(level=19).compressobj(size=size)
    piece = b"\0" * 2**20
    return b"".join(done.compress(piece) for _ in range(size // len(piece))) + done.flush()


def test_a_bomb_is_refused_before_it_takes_memory() -> None:
    data = bomb(MAX_BYTES * 2)
    assert len(data) < 20_000
    tracemalloc.start()
    try:
        with pytest.raises(DamagedError, match=r"tree x is damaged.*bytes"):
            unpack(data, "tree x")
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_a_frame_that_does_not_tell_its_size_or_has_a_tail_is_refused() -> None:
    data = b"x" * 10_000
    silent = zstandard.ZstdCompressor(write_content_size=False).compress(data)
    for stored in (silent, pack(data) + b"tail", pack(data)[:-3], b"\x28\xb5\x2f\xfd"):
        with pytest.raises(DamagedError, match="tree x is damaged"):
            unpack(stored, "tree x")
    assert unpack(pack(data), "tree x") == data


def test_what_could_not_be_read_is_not_written() -> None:
    with pytest.raises(InputError, match="at most"):
        pack(bytes(MAX_BYTES + 1))


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG)
def test_a_file_that_is_no_move_is_named(data: bytes) -> None:
    warehouse = Warehouse()
    path = f"refs/heads/main/{1:020d}"
    warehouse.blobs.delete(path)
    warehouse.blobs.create(path, data)
    with pytest.raises(DamagedError, match=path):
        list(read_reflog(Repository.open(warehouse.blobs), "main"))


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG)
def test_a_file_that_is_no_header_is_named(data: bytes) -> None:
    blobs = MemoryBlobs()
    blobs.create("vcs.json", data)
    with pytest.raises(DamagedError, match=r"vcs\.json"):
        Repository.open(blobs)


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG)
def test_an_object_with_the_right_hash_that_is_none_is_named(data: bytes) -> None:
    id = hashlib.sha256(b"vcs1 commit\n" + data).hexdigest()
    with pytest.raises(DamagedError, match=id):
        decode(Commit, id, data)


@pytest.mark.parametrize(
    "text", [b"[" * 50_000, b"a: \xff", b"a: [", b"- " * 30_000, b"a: \x00"], ids=range(5)
)
def test_yaml_that_is_none_is_named(
    text: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vcs.yml").write_bytes(text)
    with pytest.raises(VcsError, match=r"vcs\.yml"):
        read_rules(tmp_path)
    (tmp_path / "dbt_project.yml").write_bytes(text)
    with pytest.raises(VcsError, match=r"dbt_project\.yml"):
        read_target(Settings(project_dir=str(tmp_path)))
