"""The Spark that PySpark would start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbt.adapters.vcs.core.errors import EngineError


def ensure_spark_home(env: Mapping[str, str], version: str) -> None:
    """Check that SPARK_HOME, if set, is a Spark that this PySpark can use.

    Raises:
        EngineError: It is another minor version, or not a Spark at all.
    """
    home = env.get("SPARK_HOME")
    if not home:
        return
    found = [jar.stem.rpartition("-")[2] for jar in spark_jars(env).glob("spark-core_*.jar")]
    if any(_minor(one) == _minor(version) for one in found):
        return
    what = f"Spark {found[0]}" if found else "no Spark"
    raise EngineError(
        f"SPARK_HOME is {home}, where there is {what}; PySpark here is {version}. Unset "
        "SPARK_HOME, or install the PySpark of that version."
    )


def spark_jars(env: Mapping[str, str]) -> Path:
    """Return the folder of the jars of the Spark that PySpark would start."""
    import pyspark

    return Path(env.get("SPARK_HOME") or Path(pyspark.__file__).parent, "jars")


def _minor(version: str) -> tuple[str, ...]:
    return tuple(version.split(".")[:2])
