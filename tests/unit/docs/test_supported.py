"""The table of supported versions says what the jobs of CI run."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
FENCE = re.compile(r"^```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^\| `([\w-]+)` \| ([^|]+) \| ([^|]+) \| (\d+) \|", re.MULTILINE)


def workflow() -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]


def ran(job: dict[str, Any], action: str, key: str) -> set[str]:
    """Return the versions that a job gives to an action, over its matrix."""
    (step,) = [step for step in job["steps"] if action in step.get("uses", "")]
    asked = step["with"][key]
    matrix = re.fullmatch(r"\$\{\{ matrix\.(\w+) \}\}", asked)
    return set(job["strategy"]["matrix"][matrix[1]]) if matrix else {asked}


def series(text: str) -> list[str]:
    return re.findall(r"\d+\.\d+", text)


def test_the_table_says_what_each_job_runs() -> None:
    text = (ROOT / "docs/supported.md").read_text()
    told = {
        job: (series(dbt), set(series(python)), {java})
        for job, dbt, python, java in TABLE.findall(text)
    }
    makefile = (ROOT / "Makefile").read_text()
    below = re.search(r"^DBT_CORE \?= dbt-core<1\.(\d+)$", makefile, re.MULTILINE)
    assert below
    usual = [f"1.{int(below[1]) - 1}"]
    jobs = {name: job for name, job in workflow().items() if name != "lint"}
    assert told == {
        name: (
            [re.match(r"\d+\.\d+", item)[0] for item in job["strategy"]["matrix"]["dbt"]]  # type: ignore[index]
            if "dbt" in job.get("strategy", {}).get("matrix", {})
            else usual,
            ran(job, "setup-python", "python-version"),
            ran(job, "setup-java", "java-version"),
        )
        for name, job in jobs.items()
    }


def test_what_is_supported_is_what_the_package_asks_for() -> None:
    text = (ROOT / "docs/supported.md").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    asked = dict(re.findall(r'^    "(dbt-core|pyspark)(.+)",$', project, re.MULTILINE))
    (python,) = re.findall(r'^requires-python = ">=(.+)"$', project, re.MULTILINE)
    told = dict(
        re.findall(r"^\| (dbt-core|Spark \(PySpark\)|Python|Java) \| (.*) \|$", text, re.M)
    )
    (low, high) = re.findall(r"\d+(?:\.\d+)?", asked["dbt-core"])
    assert told["dbt-core"].startswith(f"{low} and newer, below {high};")
    assert re.findall(r"\d+", asked["pyspark"])[0] == told["Spark (PySpark)"]
    assert told["Python"] == f"{python} and newer"
    (java,) = re.findall(r"Spark needs Java (\d+) or newer", (ROOT / "Makefile").read_text())
    assert told["Java"].startswith(f"{java} and newer;")


def test_the_own_host_runs_what_the_first_jobs_run() -> None:
    (call,) = re.findall(r"^exec make --keep-going (.+)$", (ROOT / ".ci/run").read_text(), re.M)
    makefile = (ROOT / "Makefile").read_text()
    (parts,) = re.findall(r"^test-all: (.+?) ##", makefile, re.MULTILINE)
    ran = [step["run"] for name in ("lint", "test") for step in workflow()[name]["steps"][-1:]]
    assert ran == ["make lint", "make test-all"]
    assert call.split() == ["lint", *parts.split(), "SHARE=3"]


def test_the_series_of_dbt_are_those_that_make_runs() -> None:
    makefile = (ROOT / "Makefile").read_text()
    versions = re.search(r"^VERSIONS \?= (.+)$", makefile, re.MULTILINE)
    assert versions
    assert versions[1].split() == workflow()["dbt-versions"]["strategy"]["matrix"]["dbt"]


def test_all_that_installs_names_the_series_of_dbt_that_pip_can_build() -> None:
    makefile = (ROOT / "Makefile").read_text()
    pin = re.search(r"^DBT_CORE \?= (\S+)$", makefile, re.MULTILINE)
    assert pin
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    jobs = [
        file for folder in ("integrations", ".github") for file in (ROOT / folder).rglob("*.yml")
    ]
    texts = [
        *(
            fence[1]
            for page in pages
            for fence in FENCE.finditer(page.read_text(encoding="utf-8"))
        ),
        *(job.read_text(encoding="utf-8") for job in jobs),
    ]
    install = re.compile(r"pip install (?:\S+ )*?'?(?:dbt-vcs|\.)\b")
    lines = [line for text in texts for line in text.splitlines() if install.search(line)]
    assert len(lines) > 8
    assert [line for line in lines if f"'{pin[1]}'" not in line] == []
