"""The benchmarks of commands still measure what they say."""

import os
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROGRAM = """
from growth import DIMENSIONS, measure

for dimension in DIMENSIONS:
    found = measure(dimension, dimension.sizes[:1], 1)
    print(dimension.name, *found)
"""


def test_commands_are_measured_in_small_repositories() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=BENCHMARKS, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    tables, *_ = done.stdout.splitlines()
    assert tables.startswith("tables") and "fast-forward" in tables


def test_branches_are_measured_as_others_do(tmp_path: Path) -> None:
    """The workloads check what they publish, and end with another status if that is wrong."""
    small = "--scale 0.001 --branches 2 --workers 2 --steps 2 --commits 1 --depths 1 2"
    done = subprocess.run(
        [sys.executable, "-m", "olapbranch", "--results", str(tmp_path), *small.split()],
        cwd=BENCHMARKS,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(BENCHMARKS.parent), str(BENCHMARKS))),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = sorted(path.name for path in tmp_path.glob("*.md"))
    parts = ("creation", "depth", "workloads")
    assert found == [f"olapbranch_{part}.md" for part in parts]
    told = (tmp_path / "olapbranch_workloads.json").read_text()
    assert all(name in told for name in ("write-audit-publish", "data science", "fixing"))
