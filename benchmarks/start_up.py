"""Measure the CPU time that commands take which only read history, start of Python included.

Each runs in its own process, as a person runs it, on a small repository: what is measured is
what is loaded, not what is read.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from arguments import whole_number
from report import Report
from synthetic import SCHEMA, Shape, make_repository, new_table, open_repository, put

from dbt.adapters.vcs.core.model import RelationName

COMMAND = Path(sys.executable).with_name("dbt-vcs")
WORKS = (
    ("--version",),
    ("log",),
    ("status",),
    ("branch", "list"),
    ("tag", "list"),
    ("snapshot", "list"),
    ("runs", "list"),
    ("conflicts",),
    ("show", "main"),
    ("lineage", f"{SCHEMA}.table_0"),
    ("diff", "main", "more"),
)
PROFILES = {
    "profile": "{place}",
    "profile with env_var()": "\"{{{{ env_var('BENCH_REPOSITORY') }}}}\"",
}
"""What profiles say of the repository."""


def main() -> None:
    """Run, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=whole_number, default=10, help="runs each (default 10)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dbt-vcs-bench-") as name:
        folder = Path(name)
        place = folder / "warehouse"
        make(place)
        calls = {" ".join(words): ("-r", str(place), *words) for words in WORKS}
        for project in PROFILES:
            make_project(folder / project, PROFILES[project].format(place=place))
            calls[f"log ({project})"] = ("--project-dir", str(folder / project), "log")
        os.environ["BENCH_REPOSITORY"] = str(place)
        found = {
            name: [cpu(words) for _ in range(options.repeat)] for name, words in calls.items()
        }
    report = summarize(found, options.repeat)
    report.save()
    print(report.markdown())


def make(folder: Path) -> None:
    """Make a repository in which the branch `more` has one table more than `main`."""
    make_repository(folder, Shape(commits=20, branches=5))
    repository = open_repository(folder, fsync=False)
    repository.create_branch("more", repository.branch("main").head, author="benchmark")
    put(repository, "more", {RelationName(SCHEMA, "another"): new_table(repository, 1)})


def make_project(folder: Path, repository: str) -> None:
    """Make a dbt project whose profile says where the repository is."""
    folder.mkdir()
    (folder / "dbt_project.yml").write_text("name: bench\nprofile: bench\n")
    (folder / "profiles.yml").write_text(
        "bench:\n  target: dev\n  outputs:\n    dev:\n      type: vcs\n"
        f"      schema: {SCHEMA}\n      repository: {repository}\n"
    )


def cpu(words: Sequence[str]) -> float:
    """Run a command; its seconds of CPU, in the process and in the kernel for it."""
    process = subprocess.Popen(
        [str(COMMAND), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code != ("diff" in words):
        raise SystemExit(f"{' '.join(words)}: exit code {code}")
    return usage.ru_utime + usage.ru_stime


def summarize(found: dict[str, list[float]], repeat: int) -> Report:
    """Put the least of each into a table: all that is above it is the machine's other work."""
    return Report(
        name="start_up",
        title="Commands that read history, from start to end",
        columns=("command", "seconds of CPU"),
        rows=[[name, f"{min(values):.3f}"] for name, values in found.items()],
        notes=[
            f"The least of {repeat} runs, files in the system's cache.",
            "20 commits, 5 branches; the start of Python is included.",
        ],
        figures=found,
    )


if __name__ == "__main__":
    main()
