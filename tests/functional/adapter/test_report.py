"""The page with the results of a run of the suite."""

import re
from pathlib import Path

from . import report

RESULTS = """
<testsuites><testsuite>
  <testcase classname="adapter.hooks.test_hooks.TestA" name="test_x[1]"/>
  <testcase classname="adapter.hooks.test_hooks.TestA" name="test_x[2]"><failure/></testcase>
  <testcase classname="adapter.hooks.test_hooks.TestA" name="test_y"><error/></testcase>
  <testcase classname="adapter.grants.test_grants.TestB" name="test_x">
    <skipped message="No users | no grants."/>
  </testcase>
  <testcase classname="adapter.grants.test_grants.TestB" name="test_y">
    <skipped message="No users | no grants."/>
  </testcase>
  <testcase classname="adapter.test_completeness" name="test_every_class"/>
</testsuite></testsuites>
"""


def test_the_page_counts_tests_and_gives_each_reason_once(tmp_path: Path) -> None:
    results = tmp_path / "results.xml"
    results.write_text(RESULTS)
    lines = report.page(report.read(results)).splitlines()
    assert "| dbt-vcs: all classes of the suite that have tests (2) | 5 | 1 | 2 | 2 |" in lines
    assert "| grants | `TestB` | 2 | No users \\| no grants. |" in lines
    assert "| `TestA` | 3 | 1 | 0 | 2 |" in lines
    assert [line for line in lines if line.startswith("### ")] == ["### grants", "### hooks"]


def test_the_page_in_the_docs_has_the_words_of_the_report(tmp_path: Path) -> None:
    results = tmp_path / "results.xml"
    results.write_text(RESULTS)
    lines = report.page(report.read(results)).splitlines()
    text = [line for line in lines if not line.startswith(("|", "### ", "Versions: "))]
    words = [line for line in text if line]
    assert max(map(len, words)) <= report.WIDTH
    page = report.PAGE.read_text(encoding="utf-8")
    assert [line for line in words if line not in page.splitlines()] == []
    reasons = set(re.findall(r"^\| \w+ \| `Test\w+` \| \d+ \| (.+) \|$", page, re.MULTILINE))
    marks = "".join(path.read_text() for path in Path(report.__file__).parent.rglob("test_*.py"))
    marks = re.sub(r'"\s+"', "", marks)
    assert [reason for reason in reasons if reason not in marks] == []
