"""Settings of an engine that results depend on, and those that only change how long it takes."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.vcs.core.model import Function, FunctionEntry, RelationName
from dbt.adapters.vcs.credentials import VcsCredentials
from dbt.adapters.vcs.project.reuse_modes import credentials_context
from dbt.adapters.vcs.reuse import engine_context
from dbt.adapters.vcs.reuse.contents import NameContents
from dbt.adapters.vcs.reuse.engine_context import EngineContext


def digest(settings=None, changed=None, server=""):
    return EngineContext.of(settings or {}, server).digest(changed or {})


@pytest.mark.parametrize(
    "setting",
    [
        {"spark.sql.ansi.enabled": "true"},
        {"spark.sql.session.timeZone": "Europe/Berlin"},
        {"spark.sql.caseSensitive": "true"},
        {"spark.sql.files.ignoreCorruptFiles": "true"},
        {"spark.sql.files.ignoreMissingFiles": "true"},
        {"spark.sql.session.collation.default": "UTF8_LCASE"},
        {"spark.sql.legacy.timeParserPolicy": "LEGACY"},
        {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
    ],
    ids=lambda item: next(iter(item)),
)
def test_settings_that_change_rows_count(setting):
    assert digest(setting) != digest()
    assert digest(changed=setting) == digest(setting)


@pytest.mark.parametrize(
    "key",
    [
        "spark.driver.memory",
        "spark.sql.shuffle.partitions",
        "spark.sql.files.maxPartitionBytes",
        "spark.sql.files.openCostInBytes",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.adaptive.enabled",
    ],
)
def test_settings_of_speed_do_not_count(key):
    assert digest({key: "7"}) == digest()


def test_a_server_counts_by_its_address():
    assert len({digest(), digest(server="sc://a"), digest(server="sc://b")}) == 3


def test_a_server_that_the_environment_names_counts_as_well(monkeypatch):
    profile = VcsCredentials(
        repository="w", branch="main", schema="s", database=None, method="connect"
    )
    found = set()
    for url in ("sc://a", "sc://b"):
        monkeypatch.setenv("SPARK_REMOTE", url)
        found.add(credentials_context(profile).engine.server)
    assert found == {"sc://a", "sc://b"}


def test_servers_of_one_host_count_by_their_ports():
    servers = [
        credentials_context(
            VcsCredentials(
                repository="w",
                branch="main",
                schema="s",
                database=None,
                method="connect",
                host="a",
                port=port,
            )
        ).engine.server
        for port in (None, 15002, 15003)
    ]
    assert servers == ["a", "a:15002", "a:15003"]


@pytest.mark.parametrize("line", ["{} true", "{}=true", "  {}\ttrue  ", "{} : true"])
def test_defaults_of_an_installation_count(tmp_path, monkeypatch, line):
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    before = digest()
    text = "# spark.sql.a true\n\n" + line.format("spark.sql.caseSensitive") + "\n"
    (tmp_path / "spark-defaults.conf").write_text(text)
    assert digest() != before
    assert digest() == digest({"spark.sql.caseSensitive": "true"})
    assert digest(server="sc://a") == digest({}, server="sc://a")


@pytest.mark.parametrize(("language", "counts"), [("python", True), ("sql", False)])
def test_the_zone_of_the_machine_counts_for_python(monkeypatch, language, counts):
    """Only Python reads times without a zone in it; Spark's are those of the session."""
    branch: Any = SimpleNamespace(
        entry=lambda _: FunctionEntry(function="f"),
        function=lambda _: Function(text="1", language=language),
    )

    def digest_in(*zone):
        monkeypatch.setattr(time, "tzname", zone)
        return NameContents(branch, {}, {}, lambda: "UTC").of(RelationName("s", "f"))

    assert (digest_in("CET", "CEST") != digest_in("UTC", "UTC")) is counts


def test_the_packages_of_the_machine_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    engine_context._engine_version.cache_clear()
    monkeypatch.setattr(engine_context, "version", lambda name: asked.append(name) or "4.3.0")
    assert [EngineContext.of({}).engine_version for _ in range(3)] == ["4.3"] * 3
    engine_context._engine_version.cache_clear()
    assert asked == ["pyspark"]
