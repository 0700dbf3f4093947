"""Statements with which Spark itself would write over the repository's files."""

from pathlib import Path

import pytest

from dbt.adapters.vcs.api import Client, connect
from dbt.adapters.vcs.core.errors import ReadOnlyError, UnsupportedError

from ..clients import SPARK, client

pytestmark = pytest.mark.spark

__all__ = ["client"]


def files_of(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


def test_no_statement_reaches_the_repository(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.sql("create table shop.a as select 1 as id")
    root, out = tmp_path / "warehouse", tmp_path / "out"
    (tmp_path / "link").symlink_to(root)
    monkeypatch.chdir(tmp_path)
    before = files_of(root)
    client.sql(f"set place = {root}/refs/heads")
    client.sql(f"set words = insert overwrite directory '{root}/refs'")
    for text in (
        f"insert overwrite directory '{root}/refs/heads' using parquet select 1 as id",
        f"insert overwrite directory '{tmp_path}' using parquet select 1 as id",
        f"insert overwrite directory '{tmp_path}/link/data' using parquet select 1 as id",
        f"insert overwrite directory '{tmp_path}/x/../warehouse' using parquet select 1 as id",
        "insert overwrite directory '${place}' using parquet select 1 as id",
        "${words} using parquet select 1 as id",
        "from range(1) ${words} using parquet select 1 as id",
    ):
        with pytest.raises(UnsupportedError):
            client.sql(text)
    client.sql(f"create temporary view v using parquet options (path '{root}/data')")
    with pytest.raises(UnsupportedError, match="temporary view"):
        client.sql("insert overwrite v select 2 as id")
    assert files_of(root) == before
    client.sql(f"insert overwrite directory '{out}' using parquet select 7 as id")
    assert client.sql(f"select * from parquet.`{out}`").to_pylist() == [{"id": 7}]
    reader = connect(str(root), branch="main@{1}", schema="shop", spark=SPARK)
    with reader, pytest.raises(ReadOnlyError):
        reader.sql(f"insert overwrite directory '{out}' using parquet select 8 as id")
    assert client.sql(f"select * from parquet.`{out}`").to_pylist() == [{"id": 7}]
    assert client.sql("select * from shop.a").to_pylist() == [{"id": 1}]


def test_a_place_is_completed_with_the_sessions_settings(client: Client, tmp_path: Path) -> None:
    session = client._connection.session()
    assert session.place(f"{tmp_path}/a/../b") == f"file:{tmp_path}/b"
    assert session.place("file:///x") in ("file:/x", "file:///x")
    assert session.place("nosuch://bucket/x") == "nosuch://bucket/x"
    client.sql("set fs.defaultFS = nosuch://bucket")
    assert session.place("/x") == "/x"
