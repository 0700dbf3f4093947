"""A repository in a folder that the machines of a cluster see, or don't."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

# Executors have working directories of their own, so this folder is another one for each.
OWN = "/proc/self/cwd/repository"
SCRIPT = """
import sys
from pathlib import Path
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.engines.port import Destination
from dbt.adapters.vcs.engines.spark.engine import SparkEngine

settings = {
    "spark.master": "local-cluster[2,1,512]",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.testing.reservedMemory": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
blobs = LocalBlobs(Path(sys.argv[1]))
Repository.create(blobs, author="ann")
engine = SparkEngine(blobs, settings=settings)
try:
    session = engine.session("test")
    written = session.write(
        "select id from range(0, 100, 1, 4)", Destination(folder="data/t/w=x1")
    )
    print(sum(footer.rows for footer in written.footers.values()), "rows")
except InputError as error:
    print(error)
engine.close()
"""


def run(folder: Path, repository: str) -> str:
    """Run statements on a cluster of two executors on this machine; return what is printed."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, repository],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_shared_folder_is_a_repository_of_a_cluster(tmp_path: Path) -> None:
    assert run(tmp_path, str(tmp_path / "ware house,{a}")) == "100 rows\n"


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs Linux")
def test_a_folder_that_executors_do_not_see_is_refused_before_anything_runs(
    tmp_path: Path,
) -> None:
    said = run(tmp_path, OWN)
    assert f"The repository is the folder file:{OWN} of this machine" in said
    assert "local-cluster[2,1,512]), where an executor doesn't find its header" in said
    assert "Nothing was computed. Every machine of the cluster must see" in said
    assert not (tmp_path / "repository" / "data").exists()
