"""The version of a release is the same everywhere, and what makes it is pinned."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from dbt.adapters.vcs.__version__ import version

CHECKOUT = Path(__file__).parents[3]


def test_the_dbt_package_has_the_version_of_the_python_package() -> None:
    project = yaml.safe_load((CHECKOUT / "dbt_project.yml").read_text(encoding="utf-8"))
    assert project["version"] == version


def test_the_newest_changes_are_of_this_version() -> None:
    changes = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$", changes, re.MULTILINE)
    assert newest is not None
    assert newest[1] == version


def test_the_page_names_every_file_with_the_version() -> None:
    page = (CHECKOUT / "docs/releasing.md").read_text(encoding="utf-8")
    for file in ("dbt/adapters/vcs/__version__.py", "dbt_project.yml", "CHANGELOG.md"):
        assert f"`{file}`" in page


def test_every_action_is_pinned_by_its_digest() -> None:
    """Who has an action's repository can move a tag, and with it what publishes to PyPI."""
    uses = [
        line.strip()
        for file in (CHECKOUT / ".github/workflows").glob("*.yml")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    pinned = re.compile(r"- uses: [\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert uses
    assert [line for line in uses if not pinned.fullmatch(line)] == []
