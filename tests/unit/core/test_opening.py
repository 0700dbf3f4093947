"""From a URI to its store."""

import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import InputError, StorageError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import MemoryBlobs
from dbt.adapters.vcs.core.store.cloud import CloudBlobs
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.core.store.opening import open_blobs


def test_local_locations_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    expected = {
        "warehouse": tmp_path / "warehouse",
        "./a/../warehouse": tmp_path / "warehouse",
        "~/warehouse": tmp_path / "home" / "warehouse",
        f"{tmp_path}/warehouse": tmp_path / "warehouse",
        f"file://{tmp_path}/warehouse": tmp_path / "warehouse",
        f"file://localhost{tmp_path}/warehouse": tmp_path / "warehouse",
        f"file:{tmp_path}/warehouse": tmp_path / "warehouse",
        f"file://{tmp_path}/a%20b": tmp_path / "a b",
        "odd name, #1 [x] %20": tmp_path / "odd name, #1 [x] %20",
        "a:b": tmp_path / "a:b",
    }
    for uri, path in expected.items():
        blobs = open_blobs(uri)
        assert isinstance(blobs, LocalBlobs)
        assert blobs.root == path
        assert blobs.uri == str(path)
    assert list(tmp_path.iterdir()) == []


def test_memory_is_new_each_time() -> None:
    one, two = open_blobs("memory://"), open_blobs("memory://")
    assert isinstance(one, MemoryBlobs)
    one.create("a", b"")
    assert not two.exists("a")


@pytest.mark.parametrize(
    ("uri", "options", "shown"),
    [
        ("s3://bucket/a/b/", {"aws_region": "x"}, "s3://bucket/a/b"),
        ("s3a://bucket/a", {"aws_skip_signature": "true"}, "s3a://bucket/a"),
        ("gs://bucket/a", {}, "gs://bucket/a"),
        ("az://box/a", {"azure_storage_account_name": "acc"}, "az://box/a"),
        ("abfss://box@acc.dfs.core.windows.net/a", {}, "abfss://box@acc.dfs.core.windows.net/a"),
        ("s3://bucket/a", {"spark_scheme": "s3"}, "s3://bucket/a"),
    ],
)
def test_object_stores_are_opened_without_asking_them(
    uri: str, options: dict[str, str], shown: str
) -> None:
    blobs = open_blobs(uri, options)
    assert type(blobs) is CloudBlobs
    assert blobs.uri == shown


@pytest.mark.parametrize(
    ("uri", "options", "message"),
    [
        ("hdfs://host/x", {}, r"scheme hdfs://.*Use a local path, file://, s3://"),
        ("https://host/x?sig=secret", {}, r"repository https://host/x has the scheme"),
        ("file://host/x", {}, r"three slashes: file:///host/x"),
        ("", {}, "location is empty"),
        ("a\0b", {}, "location is empty"),
        ("~nobody-of-that-name/x", {}, "no usable path"),
        ("warehouse", {"aws_region": "x"}, "`fsync`"),
        ("warehouse", {"fsync": "maybe"}, "expected true or false"),
        ("s3://bucket/x", {"aws_nonsense": "hidden"}, r"aws_nonsense.*Check the location"),
        ("s3://bucket/x", {"aws_secret_access_key": "hidden"}, "Missing AccessKeyId"),
        ("az://box/a", {}, "Account must be specified"),
    ],
)
def test_what_can_not_be_opened_is_told(
    uri: str, options: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(InputError, match=message) as caught:
        open_blobs(uri, options)
    assert "secret" not in str(caught.value)
    assert "hidden" not in str(caught.value)
    assert "Debug source" not in str(caught.value)


def test_a_request_to_delete_is_sent_once() -> None:
    # A client that repeats it for a minute would delete what was needed again meanwhile.
    asked: list[str] = []

    class Busy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_DELETE = do_POST

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = {
        "aws_endpoint": f"http://127.0.0.1:{server.server_port}",
        "allow_http": "true",
        "aws_region": "eu-central-1",
        "aws_access_key_id": "a",
        "aws_secret_access_key": "b",
    }
    try:
        with pytest.raises(StorageError):
            open_blobs("s3://bucket/folder", options).delete("objects/a")
    finally:
        server.shutdown()
        server.server_close()
    assert len(asked) == 1


@pytest.mark.parametrize("first", ["git", "repository"])
def test_git_ignores_a_repository(tmp_path: Path, first: str) -> None:
    git = shutil.which("git")
    assert git is not None
    warehouse = tmp_path / "data" / "warehouse"
    if first == "git":
        subprocess.run([git, "init", "-q", tmp_path], check=True)
    Repository.create(open_blobs(str(warehouse)), author="ann")
    if first == "repository":
        subprocess.run([git, "init", "-q", tmp_path], check=True)
    told = subprocess.run(
        [git, "-C", tmp_path, "status", "--porcelain", "--untracked-files=all"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert told.stdout == ""
    assert (warehouse / "vcs.json").exists()
