from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines.session_settings import (
    is_local,
    process_settings,
    session_settings,
    without_secrets,
)


def test_the_user_wins_over_every_default() -> None:
    user = {"spark.ui.enabled": "true", "spark.sql.session.timeZone": "Europe/Berlin"}
    settings = process_settings(user)
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.sql.session.timeZone"] == "Europe/Berlin"
    assert settings["spark.master"] == "local[*]"


def test_a_cluster_keeps_its_own_host_and_memory() -> None:
    settings = process_settings({"spark.master": "spark://host:7077"})
    assert "spark.driver.host" not in settings
    assert "spark.driver.memory" not in settings
    assert "spark.sql.shuffle.partitions" not in settings


@pytest.mark.parametrize(
    ("master", "partitions"), [("local[4]", "8"), ("local", "2"), ("local[1000]", "200")]
)
def test_shuffle_partitions_follow_the_cores(master: str, partitions: str) -> None:
    settings = session_settings({"spark.master": master}, {}, "/w")
    assert settings["spark.sql.shuffle.partitions"] == partitions


def test_driver_memory_is_a_sensible_share() -> None:
    memory = process_settings({})["spark.driver.memory"]
    assert 1024 <= int(memory.removesuffix("m")) <= 8 * 1024


def test_a_process_without_pages_forgets_past_statements_early() -> None:
    key = "spark.sql.ui.retainedExecutions"
    assert int(process_settings({})[key]) < 100
    assert key not in process_settings({"spark.ui.enabled": "true"})
    assert process_settings({key: "500"})[key] == "500"


@pytest.mark.parametrize(
    ("user", "size"),
    [
        ({}, "2m"),
        ({"spark.master": "local[3]"}, "2m"),
        ({"spark.buffer.pageSize": "8m"}, "8m"),
        # More memory than 8,192 such pages.
        ({"spark.driver.memory": "60g"}, None),
        ({"spark.memory.offHeap.enabled": "true"}, None),
        ({"spark.master": "yarn"}, None),
    ],
)
def test_pages_are_small_where_the_memory_is_known(user: dict[str, str], size: str | None) -> None:
    assert process_settings(user).get("spark.buffer.pageSize") == size


VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")


COLLECTOR = "-XX:+UseParallelGC"
TIERS = (
    "-XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=2400 "
    "-XX:Tier4CompileThreshold=60000 -XX:Tier4BackEdgeThreshold=160000"
)


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ("-XX:+UseG1GC", TIERS),
        ("-XX:TieredStopAtLevel=1", COLLECTOR),
        ("-XX:-TieredCompilation", COLLECTOR),
        ("-XX:Tier4BackEdgeThreshold=7", COLLECTOR),
        ("-XX:CompileThresholdScaling=2", COLLECTOR),
        ("-Xint", COLLECTOR),
    ],
)
def test_one_garbage_collector_is_named_and_when_methods_are_compiled(
    monkeypatch: pytest.MonkeyPatch, chosen: str, left: str
) -> None:
    key = "spark.driver.defaultJavaOptions"
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name in ("SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    assert process_settings({})[key] == f"{COLLECTOR} {TIERS}"
    assert process_settings({"spark.driver.extraJavaOptions": chosen})[key] == left
    assert key not in process_settings({"spark.master": "yarn"})
    for name in VARIABLES:
        monkeypatch.setenv(name, f"-Xss4m {chosen}")
        assert process_settings({})[key] == left
        monkeypatch.setenv(name, f"{chosen} -XX:+UseSerialGC -Xint")
        assert key not in process_settings({})
        monkeypatch.delenv(name)


def test_a_file_of_settings_may_have_named_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "own.conf"
    file.write_text("spark.driver.extraJavaOptions -XX:+UseG1GC\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {file} pyspark-shell")
    assert process_settings({})["spark.driver.defaultJavaOptions"] == TIERS


def test_an_installed_spark_may_have_named_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    file = tmp_path / "spark-defaults.conf"
    file.write_text("spark.driver.extraJavaOptions -XX:+UseG1GC\n")
    assert process_settings({})["spark.driver.defaultJavaOptions"].endswith(TIERS)
    file.write_text("spark.driver.defaultJavaOptions -Dfile.encoding=UTF-8\n")
    found = process_settings({})["spark.driver.defaultJavaOptions"]
    assert found == f"-Dfile.encoding=UTF-8 {COLLECTOR} {TIERS}"
    own = {"spark.driver.defaultJavaOptions": "-Xss4m"}
    assert process_settings(own)["spark.driver.defaultJavaOptions"] == "-Xss4m"


def test_another_catalog_is_refused() -> None:
    with pytest.raises(InputError, match="catalogImplementation is 'hive'"):
        process_settings({"spark.sql.catalogImplementation": "hive"})


def test_a_session_takes_sql_and_hadoop_settings_and_credentials() -> None:
    settings = session_settings(
        {
            "spark.master": "local[1]",
            "spark.sql.ansi.enabled": "true",
            "spark.hadoop.fs.s3a.threads.max": "7",
        },
        {"fs.s3a.secret.key": "SK"},
        "/w",
    )
    assert settings["spark.sql.ansi.enabled"] == "true"
    assert settings["fs.s3a.threads.max"] == "7"
    assert settings["fs.s3a.secret.key"] == "SK"
    assert "spark.master" not in settings


def test_secrets_stay_off_the_command_line() -> None:
    settings = {
        "spark.hadoop.fs.s3a.secret.key": "s",
        "spark.hadoop.fs.s3a.access.key": "a",
        "spark.authenticate.secret": "s",
        "spark.hadoop.fs.azure.account.key.x.dfs.core.windows.net": "k",
        "spark.ssl.keyStorePassword": "p",
        "spark.master": "local",
    }
    assert without_secrets(settings) == {"spark.master": "local"}


@pytest.mark.parametrize("master", ["local", "local[*]", "local[3]", "local[3, 2]"])
def test_local_masters(master: str) -> None:
    assert is_local(master)


@pytest.mark.parametrize("master", ["yarn", "spark://h:1", "local-cluster[2,1,1024]", "k8s://x"])
def test_other_masters(master: str) -> None:
    assert not is_local(master)
