"""What is known before an engine starts: methods, the address of a server, defaults of Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.engines import factory
from dbt.adapters.vcs.engines.methods import (
    METHODS,
    ServerAddress,
    address_of,
    check_method,
    default_settings,
    installed_defaults,
    method_of,
    url_of,
    with_remote,
)


def test_each_known_method_has_an_engine() -> None:
    assert tuple(factory._MAKERS) == METHODS


@pytest.mark.parametrize("method", ["thrift", "http", "odbc"])
def test_a_method_of_sql_only_is_refused_with_the_way_round(method: str) -> None:
    with pytest.raises(InputError) as raised:
        check_method(method)
    told = str(raised.value)
    assert told.startswith(f"method: {method} is not supported by type: vcs: ")
    for way in ("start-connect-server.sh", "method: connect with host: sc://", "spark.master"):
        assert way in told


@pytest.mark.parametrize(
    ("method", "end"),
    [
        ("sesion", "; did you mean session?"),
        ("Connect", "; did you mean connect?"),
        ("livy", "; expected session or connect."),
        ("", "; expected session or connect."),
    ],
)
def test_another_method_is_unknown(method: str, end: str) -> None:
    with pytest.raises(InputError) as raised:
        check_method(method)
    assert str(raised.value) == f"method: {method} is unknown to type: vcs{end}"


def test_an_address_needs_the_method_of_a_server() -> None:
    settings = {"spark.remote": "sc://spark.example.com"}
    assert method_of(settings) == "connect"
    check_method("connect", settings)
    with pytest.raises(InputError, match="needs method: connect; the profile has method: session"):
        check_method("session", settings)


NOTHING = {"host": None, "port": None, "token": None, "user": None, "use_ssl": False}


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ({"host": "sc://spark:15002"}, "sc://spark:15002"),
        ({"host": "spark"}, "sc://spark"),
        ({"host": "spark", "port": 443, "use_ssl": True}, "sc://spark:443/;use_ssl=true"),
        ({"host": "spark", "token": "a=b;c"}, "sc://spark/;token=a%3Db%3Bc;use_ssl=true"),
        ({"host": "sc://[::1]", "port": 443, "user": "ann"}, "sc://[::1]:443/;user_id=ann"),
        (
            {"host": "sc://spark:1/;x-org=7", "token": "t"},
            "sc://spark:1/;x-org=7;token=t;use_ssl=true",
        ),
    ],
)
def test_what_a_profile_says_is_one_address(said: dict[str, object], url: str) -> None:
    assert with_remote({}, **{**NOTHING, **said}) == {"spark.remote": url}  # type: ignore[arg-type]
    assert address_of({"spark.remote": url}).url == url


def test_a_token_is_in_no_text_of_an_address() -> None:
    address = ServerAddress(url_of("spark", token="s3cr=t"))
    assert address.token == "s3cr=t"
    assert "s3cr" not in f"{address} {address!r}"
    assert str(address) == "sc://spark"


@pytest.mark.parametrize(
    "url", ["spark:15002", "http://spark", "sc://", "sc://spark/path", "sc://s/;token", "sc://s:x"]
)
def test_a_wrong_address_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(InputError, match=r"sc://host:15002") as caught:
        address_of({"spark.remote": url})
    assert url == "sc://" or url not in str(caught.value)


def test_an_address_is_given_once() -> None:
    with pytest.raises(InputError, match="port is 2"):
        url_of("sc://spark:1", port=2)
    with pytest.raises(InputError, match="set one of them"):
        with_remote({"spark.remote": "sc://a"}, **{**NOTHING, "host": "b"})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="go with host"):
        with_remote({}, **{**NOTHING, "token": "t"})  # type: ignore[arg-type]


def test_a_missing_address_says_where_to_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    with pytest.raises(InputError, match="set host"):
        address_of({})
    monkeypatch.setenv("SPARK_REMOTE", "sc://there")
    assert str(address_of({})) == "sc://there"


FILE = "spark-defaults.conf"


@pytest.mark.parametrize("line", ["{} true", "{}=true", "  {}\ttrue  ", "{} : true"])
def test_lines_are_those_of_javas_properties(tmp_path: Path, line: str) -> None:
    text = "# spark.sql.a true\n\n" + line.format("spark.sql.caseSensitive") + "\n"
    (tmp_path / FILE).write_text(text)
    found = installed_defaults({"SPARK_CONF_DIR": str(tmp_path)})
    assert found == {"spark.sql.caseSensitive": "true"}


def test_the_installed_spark_has_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / FILE).write_text("spark.sql.ansi.enabled true\n")
    assert installed_defaults({"SPARK_HOME": str(tmp_path)}) == {"spark.sql.ansi.enabled": "true"}


def test_without_a_file_there_are_none(tmp_path: Path) -> None:
    assert installed_defaults({"SPARK_CONF_DIR": str(tmp_path)}) == {}


def test_arguments_of_the_launcher_are_settings(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("spark.sql.ansi.enabled true\nspark.a installed\n")
    own = tmp_path / "my own.conf"
    own.write_text("spark.driver.extraJavaOptions -XX:+UseG1GC\nspark.a file\n")
    env = {"SPARK_CONF_DIR": str(tmp_path)}
    assert default_settings(env) == installed_defaults(env)

    def found(arguments: str) -> dict[str, str]:
        return default_settings({**env, "PYSPARK_SUBMIT_ARGS": f"{arguments} pyspark-shell"})

    of_file = {"spark.driver.extraJavaOptions": "-XX:+UseG1GC", "spark.a": "file"}
    assert found(f"--properties-file '{own}'") == of_file
    assert found(f"--master local --properties-file='{own}' --conf spark.a=b=c -c spark.b=1") == {
        **of_file,
        "spark.a": "b=c",
        "spark.b": "1",
    }
    assert found(f"--load-spark-defaults --properties-file '{own}'") == {
        **installed_defaults(env),
        **of_file,
    }
    assert found("--driver-java-options -Xss4m")["spark.driver.extraJavaOptions"] == "-Xss4m"
    options = found("--driver-java-options '-Xss4m -XX:+UseSerialGC'")
    assert options["spark.driver.extraJavaOptions"] == "-Xss4m -XX:+UseSerialGC"


@pytest.mark.parametrize("arguments", ["--conf", "--properties-file", "'", "--properties-file no"])
def test_the_launcher_itself_rejects_bad_arguments(tmp_path: Path, arguments: str) -> None:
    env = {"SPARK_CONF_DIR": str(tmp_path), "PYSPARK_SUBMIT_ARGS": arguments}
    assert default_settings(env) == {}
