"""What every store must do."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.store.blobs import LATER, Blobs, next_after
from dbt.adapters.vcs.core.store.opening import open_blobs

# What partition values may put into a path: Spark escapes some of these itself, other writers
# don't. The last two are what an escaped path looks like.
ODD = [
    *"~#?*[]{}'\"^`|<>:&+;$!(@,= \\",
    "é",
    "日本",
    "😀",
    "a b",
    "%",
    "a%20b",
    "%2F",
    ".hidden",
    "a..b",
    "name=__HIVE_DEFAULT_PARTITION__",
]
TRICKS = [
    "",
    "/",
    "/etc/x",
    "../x",
    "a/../../x",
    "a/./b",
    "a//b",
    "a/",
    ".",
    "..",
    "a\x01b",
    "a\n",
]


def test_storing_what_is_there_renews_it(blobs: Blobs) -> None:
    blobs.create("a/b", b"one")
    before = blobs.modified_at("a/b")
    time.sleep(1.1)  # Some stores know whole seconds alone.
    blobs.create_all({"a/b": b"one"})
    after = blobs.modified_at("a/b")
    assert before is not None
    assert after is not None
    assert after > before
    assert [info.modified_at for info in blobs.walk("a")] == [after]
    assert blobs.modified_at("a/c") is None


def test_what_was_created_is_read(blobs: Blobs) -> None:
    assert blobs.create("a/b", b"one")
    assert blobs.get("a/b") == b"one"
    assert blobs.size("a/b") == 3
    assert blobs.exists("a/b")


def test_create_never_replaces(blobs: Blobs) -> None:
    assert blobs.create("a/b", b"one")
    assert not blobs.create("a/b", b"two")
    assert blobs.get("a/b") == b"one"


def test_what_is_replaced_is_read_and_nothing_is_left_beside_it(blobs: Blobs) -> None:
    blobs.replace_all({"a/hint": b"one"})
    assert blobs.get("a/hint") == b"one"
    blobs.replace_all({"a/hint": b"two", "b/hint": b"new"})
    assert blobs.get("a/hint") == b"two"
    assert [info.path for info in blobs.walk("a")] == ["a/hint"]
    assert not list(blobs.unfinished("a"))


def test_many_are_created_at_once_and_none_replaced(blobs: Blobs) -> None:
    blobs.create("a/1", b"there")
    blobs.create_all({})
    blobs.create_all({f"{folder}/{n}": b"new" for folder in "abc" for n in range(20)})
    assert blobs.get("a/1") == b"there"
    assert {blobs.get(f"{folder}/{n}") for folder in "bc" for n in range(20)} == {b"new"}
    assert len(list(blobs.walk("a"))) == 20


def test_empty_and_large_blobs_survive(blobs: Blobs) -> None:
    large = bytes(range(256)) * 40_000
    assert blobs.create("empty", b"")
    assert blobs.create("large", large)
    assert blobs.get("empty") == b""
    assert blobs.get("large") == large


def test_ranges_end_where_the_blob_ends(blobs: Blobs) -> None:
    blobs.create("a", b"0123456789")
    assert blobs.range("a", 2, 3) == b"234"
    assert blobs.range("a", 8, 100) == b"89"
    assert blobs.range("a", 10, 5) == b""
    assert blobs.range("a", 50, 5) == b""


def test_what_is_missing_is_named(blobs: Blobs) -> None:
    blobs.create("a/b", b"one")
    for read in (blobs.get, blobs.size, lambda path: blobs.range(path, 0, 1)):
        with pytest.raises(NotFoundError, match="a/none"):
            read("a/none")
    assert not blobs.exists("a/none")


def test_a_folder_is_no_blob(blobs: Blobs) -> None:
    blobs.create("a/b/c", b"one")
    assert not blobs.exists("a/b")
    with pytest.raises(NotFoundError):
        blobs.get("a/b")


def test_nothing_lies_below_a_blob(blobs: Blobs) -> None:
    blobs.create("a/b", b"one")
    assert not blobs.exists("a/b/c")
    assert blobs.folders("a/b") == []
    for read in (blobs.get, blobs.size, lambda path: blobs.range(path, 0, 1)):
        with pytest.raises(NotFoundError):
            read("a/b/c")


def test_nothing_is_found_in_an_empty_location(blobs: Blobs) -> None:
    assert blobs.folders("a") == []
    assert list(blobs.walk("a")) == []
    assert not blobs.exists("a/b")
    blobs.delete("a/b")
    blobs.sync(["a/b"])


def test_folders_are_the_direct_ones(blobs: Blobs) -> None:
    for path in ("r/a/1", "r/a/2", "r/b/c/1", "r/file", "ra/x/1"):
        blobs.create(path, b"")
    assert blobs.folders("r") == ["a", "b"]


def test_the_top_has_files_and_folders(blobs: Blobs) -> None:
    assert blobs.top() == []
    for path in ("file", "r/a/1", "r/b", "s/1"):
        blobs.create(path, b"")
    assert blobs.top() == ["file", "r", "s"]


def test_walk_goes_all_the_way_down(blobs: Blobs) -> None:
    for path in ("r/a/1", "r/b/c/1", "ra/x"):
        blobs.create(path, path.encode())
    found = list(blobs.walk("r"))
    assert {info.path: info.bytes for info in found} == {"r/a/1": 5, "r/b/c/1": 7}
    assert all(info.modified_at > 1_500_000_000_000_000 for info in found)


def test_delete_removes_and_is_repeatable(blobs: Blobs) -> None:
    blobs.create("a/b", b"one")
    blobs.delete("a/b")
    blobs.delete("a/b")
    assert not blobs.exists("a/b")
    assert blobs.create("a/b", b"two")


@pytest.mark.parametrize("text", ODD)
def test_odd_characters_in_a_path_survive(blobs: Blobs, text: str) -> None:
    path = f"data/t/p={text}/{text}x.parquet"
    assert blobs.create(path, b"one")
    assert not blobs.create(path, b"two")
    assert blobs.get(path) == b"one"
    assert blobs.exists(path)
    assert [info.path for info in blobs.walk("data")] == [path]
    assert [info.path for info in blobs.walk(f"data/t/p={text}")] == [path]
    assert blobs.folders("data/t") == [f"p={text}"]


@pytest.mark.parametrize("path", TRICKS)
def test_a_path_out_of_the_repository_is_refused(blobs: Blobs, path: str) -> None:
    calls = (
        blobs.get,
        blobs.size,
        blobs.exists,
        blobs.delete,
        blobs.folders,
        lambda p: blobs.create(p, b""),
        lambda p: blobs.replace_all({p: b""}),
        lambda p: blobs.create_all({"fine": b"", p: b""}),
        lambda p: list(blobs.walk(p)),
        lambda p: blobs.range(p, 0, 1),
    )
    for call in calls:
        with pytest.raises(InputError, match="not one inside a repository"):
            call(path)


def test_one_of_many_creators_wins(blobs: Blobs) -> None:
    start = threading.Barrier(8)

    def create(number: int) -> bool:
        start.wait()
        return blobs.create("refs/one", str(number).encode())

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(8)))
    assert won.count(True) == 1
    assert blobs.get("refs/one") == str(won.index(True)).encode()


def test_a_reader_sees_all_of_a_blob_or_nothing(blobs: Blobs) -> None:
    data = b"x" * 300_000
    done = threading.Event()
    sizes: set[int] = set()

    def read() -> None:
        while not done.is_set():
            for number in range(10):
                if blobs.exists(f"b/{number}"):
                    sizes.add(len(blobs.get(f"b/{number}")))

    with ThreadPoolExecutor(2) as pool:
        reader = pool.submit(read)
        for number in range(10):
            blobs.create(f"b/{number}", data)
        done.set()
        reader.result()
    assert sizes <= {len(data)}
    assert len(list(blobs.walk("b"))) == 10


def test_later_names_of_a_folder_are_found_in_order(blobs: Blobs) -> None:
    assert blobs.later("logs/a/1") == []
    for name in ("logs/a/1", "logs/a/2", "logs/a/10", "logs/b/3"):
        blobs.create(name, b"x")
    assert blobs.later("logs/a/0") == ["logs/a/1", "logs/a/10", "logs/a/2"]
    assert blobs.later("logs/a/1") == ["logs/a/10", "logs/a/2"]
    assert blobs.later("logs/a/10") == ["logs/a/2"]
    assert blobs.later("logs/a/2") == []
    assert next_after(blobs, "logs/a/0") == "logs/a/1"
    assert next_after(blobs, "logs/a/2") is None


def test_many_later_names_are_the_first_of_them(blobs: Blobs) -> None:
    names = [f"logs/a/{number:020d}" for number in range(LATER + 50)]
    blobs.create_all(dict.fromkeys(names, b"x"))
    found = blobs.later("logs/a/0")
    assert len(found) >= LATER
    assert found == names[: len(found)]


def test_the_ends_of_folders_are_those_that_a_walk_shows(blobs: Blobs) -> None:
    assert blobs.ends("logs") == []
    for name in ("a/1", "a/2", "a/10", "a-b/1", "a=2Fb/7", "stray"):
        blobs.create(f"logs/{name}", name.encode())
    walked = {info.path: info for info in blobs.walk("logs")}
    expected = {"a": ("a/2", 3), "a-b": ("a-b/1", 1), "a=2Fb": ("a=2Fb/7", 1)}
    found = {end.folder: (end.last, end.blobs) for end in blobs.ends("logs")}
    # With the same times and tags: whoever saw a file in one listing knows it in another.
    assert found == {
        name: (walked[f"logs/{last}"], count) for name, (last, count) in expected.items()
    }


def test_the_end_of_a_replaced_file_is_another_one(blobs: Blobs) -> None:
    blobs.create("logs/a/1", b"one")
    before = blobs.ends("logs")
    blobs.replace_all({"logs/a/1": b"two"})
    assert blobs.ends("logs") != before


def test_folders_beside_a_long_one_are_counted(blobs: Blobs) -> None:
    long = [f"logs/b/{number:020d}" for number in range(2 * LATER + 10)]
    some = [f"logs/{name}/{number}" for name in ("a", "b-c", "b0", "c") for number in (1, 2)]
    blobs.create_all(dict.fromkeys([*long, *some], b"x"))
    found = {end.folder: end for end in blobs.ends("logs")}
    assert sorted(found) == ["a", "b", "b-c", "b0", "c"]
    assert {found[name].blobs for name in ("a", "b-c", "b0", "c")} == {2}
    assert found["b"].blobs in (None, len(long))


def test_plain_http_may_be_allowed_in_the_environment(
    s3_options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3_options.items():
        monkeypatch.setenv(f"AWS_{name.upper().removeprefix('AWS_')}", value)
    assert open_blobs("s3://bucket/environment").create("new", b"1")
