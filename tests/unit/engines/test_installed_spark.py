"""Settings of an installed Spark: where its file is, and what counts as a line of it."""

from pathlib import Path

import pytest

from dbt.adapters.vcs.engines.methods import default_settings, installed_defaults

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
