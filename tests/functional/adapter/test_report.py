"""The page that a run of the suite is written to."""

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
    assert "| dbt-vcs: every class of the suite with tests (2 classes) | 5 | 1 | 2 | 2 |" in lines
    assert "| grants | `TestB` | 2 | No users \\| no grants. |" in lines
    assert "| `TestA` | 3 | 1 | 0 | 2 |" in lines
    assert [line for line in lines if line.startswith("### ")] == ["### grants", "### hooks"]
