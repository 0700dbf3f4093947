import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines.dataframes.hadoop_storage import exact_files, hadoop_root, spark_root


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("/data/warehouse", "file:/data/warehouse"),
        ("/data/a b/{x}/", "file:/data/a b/{x}"),
        ("file:///data/w", "file:/data/w"),
        ("s3://bucket/pre/fix/", "s3a://bucket/pre/fix"),
        ("s3a://bucket/x", "s3a://bucket/x"),
        ("gs://bucket/x", "gs://bucket/x"),
        ("abfss://c@a.dfs.core.windows.net/x", "abfss://c@a.dfs.core.windows.net/x"),
    ],
)
def test_roots(uri: str, root: str) -> None:
    assert spark_root(uri) == root


def test_the_scheme_of_s3_is_a_choice() -> None:
    assert spark_root("s3a://bucket/x", {"spark_scheme": "s3"}) == "s3://bucket/x"
    with pytest.raises(InputError, match="s3a, s3"):
        spark_root("s3://bucket/x", {"spark_scheme": "http"})


def test_azure_needs_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_ACCOUNT_NAME"):
        monkeypatch.delenv(name, raising=False)
    root = spark_root("az://box/a/b", {"AZURE_STORAGE_ACCOUNT_NAME": "acc"})
    assert root == "abfss://box@acc.dfs.core.windows.net/a/b"
    with pytest.raises(InputError, match="account_name"):
        spark_root("az://box/a/b")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "other")
    assert spark_root("az://box/a") == "abfss://box@other.dfs.core.windows.net/a"


def test_memory_is_out_of_reach() -> None:
    with pytest.raises(InputError, match="memory://"):
        spark_root("memory://")
    assert hadoop_root("memory://", {}) == ""
    assert hadoop_root("s3://bucket/x", {}) == "s3a://bucket/x"


def test_wildcards_in_names_are_names() -> None:
    pattern = exact_files("file:/r{1}", "data/t", ["p=a,b/x.parquet", "p=[c]*?/y}\\.parquet"])
    assert pattern == (
        "file:/r\\{1\\}/data/t/{p=a\\,b/x.parquet,p=\\[c\\]\\*\\?/y\\}\\\\.parquet}"
    )


def test_files_right_below_the_root() -> None:
    assert exact_files("file:/r", "", ["data/t/w=x/a.parquet"]) == "file:/r/{data/t/w=x/a.parquet}"
