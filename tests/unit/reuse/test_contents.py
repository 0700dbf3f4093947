"""External files count by their contents, and whatever Hadoop finds by a pattern counts."""

from __future__ import annotations

import os

import pytest

from dbt.adapters.vcs.core.ids import Micros
from dbt.adapters.vcs.core.store.blobs import BlobInfo, MemoryBlobs
from dbt.adapters.vcs.reuse import contents
from dbt.adapters.vcs.reuse.contents import NotReusableError, files_digest


@pytest.fixture
def folder(tmp_path):
    """A folder with files, one of them below a linked folder that also leads back up."""
    for name in ("in/a.csv", "in/x.csv", "in/^.csv", "in/.d/h.csv", "real/b.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    (tmp_path / "in/p=1").symlink_to(tmp_path / "real")
    (tmp_path / "real/up").symlink_to(tmp_path / "in")
    return tmp_path


def digest(path):
    return files_digest(str(path), {})


@pytest.mark.parametrize(
    ("location", "changed"),
    [
        ("in", "real/b.csv"),
        ("in/*.csv", "in/a.csv"),
        ("in/?.csv", "in/^.csv"),
        ("in/*", "in/.d/h.csv"),
        ("in/p=*", "real/b.csv"),
        ("in/[^x].csv", "in/a.csv"),
        ("in/[!x].csv", "in/x.csv"),
        ("in/{a,b}.csv", "in/a.csv"),
        ("{in/a,real/b}.csv", "real/b.csv"),
        ("i\\n/a.csv", "in/a.csv"),
    ],
)
def test_what_spark_reads_counts_by_its_contents(folder, location, changed):
    before = digest(folder / location)
    file = folder / changed
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    file.write_text("2")
    os.utime(file, ns=times)
    assert digest(folder / location) != before
    file.write_text("1")
    assert digest(folder / location) == before


def test_what_a_plain_pattern_does_not_find_counts_for_nothing(folder):
    before = digest(folder / "in/a*.csv")
    (folder / "in/x.csv").write_text("2")
    assert digest(folder / "in/a*.csv") == before


def test_a_link_to_another_folder_is_a_change(folder):
    before = digest(folder / "in")
    (folder / "in/p=1").rename(folder / "in/p=2")
    assert digest(folder / "in") != before


def test_of_large_files_both_ends_and_the_time_count(folder):
    file = folder / "in/large.csv"

    def digest_with(place, time=0):
        content = bytearray(3 << 20)
        content[place] = 1
        file.write_bytes(content)
        os.utime(file, ns=(0, time))
        return digest(file)

    middle = digest_with(1 << 20)
    assert middle == digest_with(2 << 20)
    assert len({middle, digest_with(0), digest_with(-1), digest_with(1 << 20, time=1)}) == 4


def test_nothing_and_too_much_is_no_digest(folder, monkeypatch):
    with pytest.raises(NotReusableError, match="there are no files"):
        digest(folder / "in/z*.csv")
    monkeypatch.setattr(contents, "_MANY", 2)
    with pytest.raises(NotReusableError, match="more than 2 files"):
        digest(folder / "in")


def test_an_object_counts_by_the_tag_of_its_store(monkeypatch):
    blobs = MemoryBlobs()
    monkeypatch.setattr(contents, "open_blobs", lambda *_: blobs)
    info = BlobInfo("d/a.csv", 1, Micros(0))
    found = []
    for tag in ("x", "y"):
        monkeypatch.setattr(blobs, "walk", lambda _, tag=tag: iter([info._replace(tag=tag)]))
        found.append(files_digest("s3://bucket/d/", {}))
    assert found[0] != found[1]
