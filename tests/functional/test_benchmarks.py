"""The benchmarks of commands still measure what they say."""

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
