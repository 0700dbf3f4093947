"""Settings of an installed Spark: where its file is, and what counts as a line of it."""

from pathlib import Path

import pytest

from dbt.adapters.vcs.engines.installed_spark import installed_defaults

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
