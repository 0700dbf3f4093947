"""Build the sdist and the wheel into dist/, install only the wheel, and build a project with it.

Run by `make smoke`, with the Python to install into. It needs no package, and Java for Spark.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
PROJECT = {
    "dbt_project.yml": "name: smoke\nversion: 1.0.0\nprofile: smoke\n",
    "profiles.yml": (
        "smoke: {target: dev, outputs: {dev: {type: vcs, method: session,"
        " repository: ./warehouse, branch: main, schema: analytics, threads: 2}}}\n"
    ),
    "seeds/cities.csv": "id,name\n1,Oslo\n2,Lima\n3,\n",
    "models/named.sql": "select * from {{ ref('cities') }} where name is not null\n",
    "models/named.yml": (
        "models: [{name: named, columns: [{name: id, data_tests: [unique, not_null]}]}]\n"
    ),
}


def run(*words: str | Path, folder: Path) -> str:
    """Run a command and return what it prints; end this script if it fails."""
    ran = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def installed(folder: Path) -> Path:
    """Return the folder of commands of a new environment that holds nothing but our wheel."""
    dist = CHECKOUT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    for name in ("build", "user"):
        venv.create(folder / name, with_pip=True)
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    build, user = (folder / name / "bin" / "python" for name in ("build", "user"))
    run(build, *pip, "hatchling", folder=folder)
    run(build, "-m", "hatchling", "build", "--directory", dist, folder=CHECKOUT)
    (wheel,) = dist.glob("*.whl")
    # As in the Makefile: with newer ones more than PyPI has to be reached.
    run(user, *pip, wheel, "dbt-core<1.12", folder=folder)
    return folder / "user" / "bin"


def check(commands: Path, project: Path) -> None:
    """Build the project with the installed commands, and count what the repository holds."""
    for name, text in PROJECT.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    run(commands / "dbt", "build", "--profiles-dir", ".", folder=project)
    commits = json.loads(run(commands / "dbt-vcs", "log", "--json", folder=project))
    assert [commit["message"] for commit in commits][:1] == ["dbt build --target dev"], commits
    show = run(commands / "dbt-vcs", "show", "main", folder=project)
    assert "analytics.named" in show and "analytics.cities" in show, show
    run(commands / "dbt-vcs", "review", "main~1..main", folder=project)
    assert "</html>" in (project / "review.html").read_text(encoding="utf-8")


def main() -> None:
    """Do all of it, and say what was built."""
    with tempfile.TemporaryDirectory(prefix="smoke-") as scratch:
        folder = Path(scratch)
        commands = installed(folder)
        version = run(commands / "dbt-vcs", "--version", folder=folder).strip()
        check(commands, folder / "project")
    built = ", ".join(sorted(path.name for path in (CHECKOUT / "dist").iterdir()))
    sys.stdout.write(f"{version} built a project; in dist/: {built}\n")


if __name__ == "__main__":
    main()
