"""What a folder on this machine does beyond the contract of every store."""

import errno
import os
import stat
from pathlib import Path
from typing import IO

import pytest

from dbt.adapters.vcs.core.errors import NotFoundError, StorageError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Block, Segment
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.core.store.objects import ObjectStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "repository"


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that were synced, in order; a file's content counts under its final name."""
    paths: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        paths.append(os.readlink(f"/proc/self/fd/{handle}").partition("#")[0])
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return paths


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc here")


def test_the_folder_is_made_by_the_first_write(root: Path) -> None:
    blobs = LocalBlobs(root)
    with pytest.raises(NotFoundError, match="is not a repository"):
        Repository.open(blobs)
    assert not root.parent.exists()
    blobs.create("a/b", b"one")
    assert (root / "a" / "b").read_bytes() == b"one"
    assert blobs.get("a/b") == b"one"


def test_nothing_but_blobs_is_left(root: Path) -> None:
    blobs = LocalBlobs(root)
    blobs.create("a", b"one")
    blobs.create("a", b"two")
    assert [path.name for path in root.iterdir()] == ["a"]


def test_a_file_is_readable_as_the_umask_says(root: Path) -> None:
    before = os.umask(0o027)
    try:
        LocalBlobs(root).create("a", b"one")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o640


@needs_proc
def test_content_then_name_are_synced(root: Path, synced: list[str]) -> None:
    LocalBlobs(root).create("x/y", b"one")
    assert synced[0] == f"{root}/x/y"
    new_folders = {str(root.parent.parent), str(root.parent), str(root), f"{root}/x"}
    assert set(synced[1:]) == new_folders
    synced.clear()
    LocalBlobs(root).create("x/z", b"one")
    assert synced == [f"{root}/x/z", f"{root}/x"]


@needs_proc
def test_what_is_there_already_has_its_name_synced(root: Path, synced: list[str]) -> None:
    blobs = LocalBlobs(root)
    blobs.create("x/y", b"one")
    synced.clear()
    blobs.create_all({"x/y": b"one", "x/z": b"one"})
    assert synced == [f"{root}/x/z", f"{root}/x"]


@needs_proc
def test_what_was_written_here_is_not_synced_again(root: Path, synced: list[str]) -> None:
    blobs = LocalBlobs(root)
    blobs.create("data/t/w=1/a", b"one")
    blobs.sync(["data/t/w=1/a"])
    synced.clear()
    blobs.create("data/t/w=2/a", b"one")
    written = [f"{root}/data/t/w=2/a", f"{root}/data/t/w=2", f"{root}/data/t"]
    assert sorted(synced) == sorted(written)
    synced.clear()
    blobs.sync(["data/t/w=2/a"])
    assert synced == []
    other = root / "data" / "t" / "w=3"
    other.mkdir()
    (other / "a").write_bytes(b"by Spark")
    blobs.sync(["data/t/w=3/a"])
    assert sorted(synced) == [f"{root}/data/t", f"{root}/data/t/w=3", f"{root}/data/t/w=3/a"]


@needs_proc
def test_tickets_are_not_synced(root: Path, synced: list[str]) -> None:
    LocalBlobs(root).create("turns/main/1", b"")
    assert synced == []


@needs_proc
def test_syncing_can_be_left_out(root: Path, synced: list[str]) -> None:
    blobs = LocalBlobs(root, fsync=False)
    blobs.create("x/y", b"one")
    blobs.sync(["x/y"])
    assert synced == []
    assert blobs.get("x/y") == b"one"


@needs_proc
def test_blocks_are_synced_before_the_segment_that_names_them(
    root: Path, synced: list[str]
) -> None:
    folder = root / "data" / "t" / "w=1"
    folder.mkdir(parents=True)
    (folder / "p.parquet").write_bytes(b"rows")
    path = "data/t/w=1/p.parquet"
    segment = Segment(
        blocks=(
            Block(path=path, rows=1, bytes=4),
            Block(path="data/t/w=1/none.parquet", rows=1, bytes=4),
        )
    )
    store = ObjectStore(LocalBlobs(root))
    id = store.put(segment)
    store.flush()
    written = next(i for i, name in enumerate(synced) if name.endswith(id))
    before = {name for name in synced[:written] if "data" in name}
    assert before == {
        str(folder / "p.parquet"),
        str(folder),
        str(folder.parent),
        str(root / "data"),
    }


def test_a_file_where_the_folder_should_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    blobs = LocalBlobs(tmp_path / "file")
    with pytest.raises(StorageError, match="Not a directory"):
        blobs.create("a/b", b"")
    with pytest.raises((StorageError, NotFoundError)):
        Repository.open(blobs)


def test_a_disk_without_hard_links_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(StorageError, match=r"refused a hard link.*object store"):
        LocalBlobs(root).create("a", b"")
    assert list(root.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_rights_is_told(root: Path) -> None:
    root.mkdir(parents=True)
    root.chmod(0o500)
    with pytest.raises(StorageError, match="No permission to write"):
        LocalBlobs(root).create("a/b", b"")
    root.chmod(0o700)


def test_a_repository_that_can_only_be_read_says_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository.create(LocalBlobs(root), author="ann")

    head = repository.branch("main").head

    def refuse(path: str, mode: str = "w", *_: object) -> IO[bytes]:
        if "r" in mode:
            return open(path, mode)
        raise OSError(errno.EROFS, "Read-only file system", path)

    monkeypatch.setattr("dbt.adapters.vcs.core.store.local.open", refuse, raising=False)
    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(StorageError, match=f"No permission to write in {root} .*Read-only"):
        repository.create_branch("work", head, author="ann")


def test_a_snapshot_id_is_no_path(root: Path) -> None:
    blobs = LocalBlobs(root)
    (root.parent).mkdir(parents=True)
    (root.parent / "secret").write_text("{}")
    with pytest.raises(Exception, match="is no snapshot id"):
        ObjectStore(blobs).snapshot(SnapshotId("../../../secret"))


def test_the_folder_of_a_write_goes_with_its_last_file(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path, fsync=False)
    for path in ("data/t/w=1/a", "data/t/w=1/b", "data/t/w=2/p=x/a", "refs/heads/m/1"):
        blobs.create(path, b"x")
    blobs.delete("data/t/w=1/a")
    assert (tmp_path / "data/t/w=1/b").exists()
    blobs.delete("data/t/w=1/b")
    blobs.delete("data/t/w=1/b")
    blobs.delete("refs/heads/m/1")
    assert sorted(path.name for path in (tmp_path / "data/t").iterdir()) == ["w=2"]
    assert (tmp_path / "refs/heads/m").exists(), "others may be about to write there"


def test_folders_of_partitions_go_with_their_last_file(root: Path) -> None:
    blobs = LocalBlobs(root)
    for path in ("data/t/w=1/p=jane/q=1/a", "data/t/w=1/p=jane/q=2/a", "data/t/w=1/p=kim/b"):
        blobs.create(path, b"x")
    blobs.delete("data/t/w=1/p=jane/q=1/a")
    assert blobs.folders("data/t/w=1/p=jane") == ["q=2"]
    blobs.delete("data/t/w=1/p=jane/q=2/a")
    blobs.delete("data/t/w=1/p=jane/q=2/a")
    assert blobs.folders("data/t/w=1") == ["p=kim"]
    blobs.delete("data/t/w=1/p=kim/b")
    assert (root / "data" / "t").is_dir()
    assert blobs.folders("data/t") == []


def test_a_blob_that_another_writer_created_meanwhile_counts_as_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = LocalBlobs(tmp_path)
    blobs.create("a/b", b"theirs")
    # It looked absent a moment before.
    monkeypatch.setattr(LocalBlobs, "_renew", lambda *_: False)
    assert blobs.create_all({"a/b": b"ours", "a/c": b"ours"}) == {"a/b"}
    assert blobs.get("a/b") == b"theirs"


def test_the_end_of_a_folder_that_is_taken_away_is_not_known(root: Path) -> None:
    blobs = LocalBlobs(root)
    blobs.create_all({"logs/a/1": b"x", "logs/b/1": b"x", "logs/c/1": b"x"})
    # As a listing shows a file that is gone a moment later.
    (root / "logs/b/2").symlink_to("gone")
    (root / "logs/c/2#5").write_bytes(b"of a write under way")
    found = {end.folder: end.blobs for end in blobs.ends("logs")}
    assert found == {"a": 1, "b": None, "c": 1}
