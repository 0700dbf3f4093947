from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import EngineError
from dbt.adapters.vcs.engines.java import ensure_spark_home


def spark_of(folder: Path, version: str) -> str:
    (folder / "jars").mkdir()
    (folder / "jars" / f"spark-core_2.13-{version}.jar").touch()
    return str(folder)


def test_no_spark_home() -> None:
    ensure_spark_home({}, "4.3.0")
    ensure_spark_home({"SPARK_HOME": ""}, "4.3.0")


def test_the_same_minor_version(tmp_path: Path) -> None:
    ensure_spark_home({"SPARK_HOME": spark_of(tmp_path, "4.3.2")}, "4.3.0")


@pytest.mark.parametrize("version", ["3.5.1", "4.0.0"])
def test_another_version(tmp_path: Path, version: str) -> None:
    with pytest.raises(EngineError, match=f"there is Spark {version}; PySpark here is 4.3.0"):
        ensure_spark_home({"SPARK_HOME": spark_of(tmp_path, version)}, "4.3.0")


def test_a_folder_that_is_no_spark(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="there is no Spark"):
        ensure_spark_home({"SPARK_HOME": str(tmp_path / "gone")}, "4.3.0")
