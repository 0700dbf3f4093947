"""Where Spark finds a repository, and what Hadoop is told of its store."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines.dataframes.hadoop_storage import (
    PACKAGES,
    exact_files,
    hadoop_root,
    spark_root,
    storage_settings,
    with_connector,
)

AZURE = "abfss://box@acc.dfs.core.windows.net/a"
HOST = "acc.dfs.core.windows.net"


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    (tmp_path / "hadoop-client-api-3.5.0.jar").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("root", "package"),
    [
        ("s3a://bucket/x", "org.apache.hadoop:hadoop-aws:3.5.0"),
        ("gs://bucket/x", "org.apache.hadoop:hadoop-gcp:3.5.0"),
        (AZURE, "org.apache.hadoop:hadoop-azure:3.5.0"),
    ],
)
def test_the_connector_has_the_version_of_hadoop(root: str, package: str, jars: Path) -> None:
    user = {"spark.master": "yarn"}
    assert with_connector(user, root, jars) == {**user, PACKAGES: package}
    asked = {PACKAGES: "org.example:udfs:1.0"}
    assert with_connector(asked, root, jars) == {PACKAGES: f"org.example:udfs:1.0,{package}"}


@pytest.mark.parametrize(
    ("root", "user"),
    [
        ("file:/data/x", {}),
        ("hdfs://node/x", {}),
        ("s3://bucket/x", {}),
        ("s3a://bucket/x", {PACKAGES: ""}),
        ("s3a://bucket/x", {PACKAGES: "org.apache.hadoop:hadoop-aws:3.4.2"}),
        ("s3a://bucket/x", {"spark.jars": "/opt/hadoop-aws-3.5.0.jar"}),
        ("gs://bucket/x", {"spark.driver.extraClassPath": "/opt/gcs-connector-3.1.jar"}),
    ],
)
def test_no_connector_where_none_is_needed(root: str, user: dict[str, str], jars: Path) -> None:
    assert with_connector(user, root, jars) == user


def test_no_connector_where_spark_has_it(jars: Path, tmp_path: Path) -> None:
    (jars / "hadoop-aws-3.5.0.jar").touch()
    assert with_connector({}, "s3a://bucket/x", jars) == {}
    assert with_connector({}, "s3a://bucket/x", tmp_path / "without") == {}


def test_options_of_s3_become_hadoops() -> None:
    options = {
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_SESSION_TOKEN": "c",
        "AWS_ENDPOINT": "http://localhost:9000",
        "AWS_REGION": "eu-1",
        "AWS_ALLOW_HTTP": "true",
        "unknown": "x",
    }
    expected = {
        "fs.s3a.access.key": "a",
        "fs.s3a.secret.key": "b",
        "fs.s3a.session.token": "c",
        "fs.s3a.endpoint": "http://localhost:9000",
        "fs.s3a.endpoint.region": "eu-1",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.path.style.access": "true",
    }
    assert storage_settings("s3a://bucket/x", options, {}) == expected
    assert storage_settings("s3a://bucket/x", {}, options) == expected


def test_options_win_over_the_environment() -> None:
    environ = {"AWS_REGION": "eu-1", "AWS_DEFAULT_REGION": "eu-2", "HOME": "/home"}
    assert storage_settings("s3a://b", {}, environ) == {"fs.s3a.endpoint.region": "eu-1"}
    found = storage_settings("s3a://b", {"aws_region": "us-1"}, environ)
    assert found == {"fs.s3a.endpoint.region": "us-1"}


def test_a_local_folder_needs_none() -> None:
    assert storage_settings("file:/data/x", {}, {"AWS_ACCESS_KEY_ID": "a"}) == {}


def test_google_takes_a_key_file_or_what_its_libraries_find() -> None:
    assert storage_settings("gs://b", {"google_service_account": "/k.json"}, {}) == {
        "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
        "fs.gs.auth.service.account.json.keyfile": "/k.json",
    }
    environ = {"GOOGLE_APPLICATION_CREDENTIALS": "/user.json"}
    assert storage_settings("gs://b", {}, environ) == {"fs.gs.auth.type": "APPLICATION_DEFAULT"}
    assert storage_settings("gs://b", {"google_skip_signature": "true"}, {}) == {
        "fs.gs.auth.type": "UNAUTHENTICATED"
    }


def test_a_key_in_the_options_is_refused_for_google() -> None:
    with pytest.raises(InputError, match="from a file only") as refused:
        storage_settings("gs://b", {"google_service_account_key": "{private}"}, {})
    assert "private" not in str(refused.value)


def test_azure_takes_a_key_a_signature_or_an_application() -> None:
    account = {"azure_storage_account_name": "acc"}
    assert storage_settings(AZURE, {**account, "azure_storage_account_key": "k"}, {}) == {
        f"fs.azure.account.key.{HOST}": "k"
    }
    assert storage_settings(AZURE, account, {"AZURE_STORAGE_SAS_TOKEN": "s"}) == {
        f"fs.azure.account.auth.type.{HOST}": "SAS",
        f"fs.azure.sas.fixed.token.{HOST}": "s",
    }
    application = {"client_id": "i", "client_secret": "s", "tenant_id": "t"}
    assert storage_settings(AZURE, application, {}) == {
        f"fs.azure.account.auth.type.{HOST}": "OAuth",
        f"fs.azure.account.oauth.provider.type.{HOST}": (
            "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
        ),
        f"fs.azure.account.oauth2.client.id.{HOST}": "i",
        f"fs.azure.account.oauth2.client.secret.{HOST}": "s",
        f"fs.azure.account.oauth2.client.endpoint.{HOST}": (
            "https://login.microsoftonline.com/t/oauth2/token"
        ),
    }
    assert storage_settings(AZURE, account, {}) == {}


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
