"""Copies of a dbt project that each engine can build, each in its own folder."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.parquet
import yaml

from dbt.adapters.vcs.engines.session_settings import process_settings

SCHEMA = "analytics"
PLAIN_SPARK = Path(__file__).resolve().with_name("plain_spark.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One copy of a project and the target that builds it."""

    folder: Path
    target: str

    def build(self, loaded_until: str) -> float:
        """Run ``dbt build``; its wall time in seconds, start of Python and of Java included.

        Args:
            loaded_until: where the incremental models stop, as the project's variable says it.
        """
        arguments = ["--target", self.target, "--vars", f"loaded_until: '{loaded_until}'"]
        start = perf_counter()
        run_python(self.folder, "-m", "dbt.cli.main", "--quiet", "build", *arguments)
        return perf_counter() - start

    @property
    def repository(self) -> Path:
        """Where the copy for ``vcs`` keeps its branches."""
        return self.folder / "warehouse"


def plain_output(settings: Mapping[str, str], threads: int = 4) -> dict[str, object]:
    """Return the output of a profile for plain dbt-spark (session, parquet)."""
    return {
        "type": "spark",
        "method": "session",
        "host": "NA",
        "schema": SCHEMA,
        "threads": threads,
        "server_side_parameters": {"spark.sql.session.timeZone": "UTC", **settings},
    }


def vcs_output(threads: int = 4) -> dict[str, object]:
    """Return the output of a profile for ``vcs``, building on ``main``."""
    return {
        "type": "vcs",
        "method": "session",
        "repository": "./warehouse",
        "branch": "main",
        "schema": SCHEMA,
        "threads": threads,
        "spark_config": {"spark.sql.session.timeZone": "UTC"},
    }


def write_profile(folder: Path, profile: str, outputs: Mapping[str, object]) -> None:
    """Give a project's folder a ``profiles.yml``; its first output is the default."""
    content = {profile: {"target": next(iter(outputs)), "outputs": dict(outputs)}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(content), encoding="utf-8")


def settings_of_vcs() -> dict[str, str]:
    """Return what the adapter starts Spark with, its catalog aside.

    Spark's own defaults are for clusters; the comparison should not depend only on that.
    """
    settings = process_settings({})
    for name in ("spark.sql.catalogImplementation", "spark.app.name"):
        del settings[name]
    return settings


def environment_of(folder: Path) -> dict[str, str]:
    """Return the environment in which dbt finds a project's profile, and nothing of others."""
    environment = {**os.environ, "DBT_PROFILES_DIR": str(folder), "PYTHONWARNINGS": "ignore"}
    for name in ("DBT_VCS_REPOSITORY", "DBT_PROJECT_DIR", "DBT_TARGET_PATH", "DBT_LOG_PATH"):
        environment.pop(name, None)
    return environment


def run_python(folder: Path, *arguments: str) -> None:
    """Run Python in a project's folder, whose profile it finds; an error ends the benchmark."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment_of(folder),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed in {folder}:\n{done.stdout}")


def plain_tables(copy: Copy, names: Iterable[str]) -> dict[str, pa.Table]:
    """Read relations that plain dbt-spark built, each named with its schema."""
    names = list(names)
    run_python(copy.folder, str(PLAIN_SPARK), "results", *names)
    return {name: pa.parquet.read_table(copy.folder / f"{name}.parquet") for name in names}


def vcs_tables(copy: Copy, names: Iterable[str]) -> dict[str, pa.Table]:
    """Read relations that ``vcs`` built, each named with its schema, from ``main``."""
    from dbt.adapters.vcs.api import connect

    with connect(str(copy.repository), branch="main", schema=SCHEMA) as branch:
        return {name: branch.sql(f"select * from {name}") for name in names}
