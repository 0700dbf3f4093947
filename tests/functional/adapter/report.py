"""Write docs/conformance.md from a run: `python report.py RESULTS.xml`, as pytest's --junitxml."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from textwrap import wrap
from typing import Final

PAGE: Final = Path(__file__).parents[3] / "docs" / "conformance.md"
WIDTH: Final = 120
PACKAGES: Final = ("dbt-tests-adapter", "dbt-core", "dbt-spark", "pyspark")
OUTCOMES: Final = ("passed", "skipped", "failed")

# Counted once by hand, with dbt-spark 1.11.0, dbt-tests-adapter 1.20.0 and PySpark 4.3.0.
BASELINE: Final = (
    ("the classes that dbt-spark itself subclasses, ignoring its skip marks", 84, 2, 62),
    ("the suite's base classes, unchanged", 113, 0, 165),
)


@dataclass
class Group:
    """The results of one group of the suite.

    Attributes:
        classes: Number of tests by outcome, by class.
        reasons: Why tests were skipped, by class, each reason once.
    """

    classes: dict[str, Counter[str]] = field(default_factory=dict)
    reasons: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, outcome: str, reason: str) -> None:
        """Count one test."""
        self.classes.setdefault(name, Counter())[outcome] += 1
        known = self.reasons.setdefault(name, [])
        if reason and reason not in known:
            known.append(reason)

    @property
    def total(self) -> Counter[str]:
        """Number of tests by outcome."""
        return sum(self.classes.values(), Counter[str]())


def read(results: Path) -> dict[str, Group]:
    """Return the groups of a run by name; tests outside of classes are not part of the suite."""
    groups: dict[str, Group] = {}
    for case in ElementTree.parse(results).iter("testcase"):
        *_, group, _, name = ["", "", *case.get("classname", "").split(".")]
        if name.startswith("Test"):
            groups.setdefault(group, Group()).add(name, *_outcome(case))
    return dict(sorted(groups.items()))


def _outcome(case: ElementTree.Element) -> tuple[str, str]:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed", ""
    skipped = case.find("skipped")
    if skipped is not None:
        return "skipped", " ".join(skipped.get("message", "").split())
    return "passed", ""


def page(groups: dict[str, Group]) -> str:
    """Return the page."""
    return "\n".join([*_head(groups), *_skipped(groups), *_classes(groups)]) + "\n"


def _head(groups: dict[str, Group]) -> Iterator[str]:
    classes = sum(len(group.classes) for group in groups.values())
    total = sum((group.total for group in groups.values()), Counter[str]())
    yield "# Conformance"
    yield ""
    yield from _paragraph(
        "These are the results of dbt's own test suite for adapters, run on versioned tables with "
        "the session method. `make conformance` runs the whole suite and writes this page. "
        "`make test-all` runs a part of it."
    )
    yield ""
    yield "Versions: " + ", ".join(f"{name} {version(name)}" for name in PACKAGES) + "."
    yield ""
    yield from _table("", "tests", "passed", "skipped", "failed or error")
    yield _row(f"dbt-vcs: all classes of the suite that have tests ({classes})", *_of(total))
    for name, passed, skipped, failed in BASELINE:
        yield _row(f"plain dbt-spark: {name}", passed + skipped + failed, passed, skipped, failed)
    yield ""
    yield from _paragraph(
        "Some of the suite's models and expected texts are written for Postgres. The subclasses "
        "in `tests/functional/adapter` replace these with Spark SQL. Classes that check the "
        "results of a failed command run with `publish: always`, because otherwise nothing is "
        "published."
    )
    yield ""


def _skipped(groups: dict[str, Group]) -> Iterator[str]:
    yield "## Skipped tests"
    yield ""
    yield from _table("group", "class", "tests", "reason")
    for group_name, group in groups.items():
        for name, reasons in sorted(group.reasons.items()):
            if reasons:
                skipped = group.classes[name]["skipped"]
                yield _row(group_name, f"`{name}`", skipped, "; ".join(map(_cell, reasons)))
    yield ""


def _classes(groups: dict[str, Group]) -> Iterator[str]:
    yield "## Classes"
    for group_name, group in groups.items():
        yield ""
        yield f"### {group_name}"
        yield ""
        yield from _table("class", "tests", *OUTCOMES)
        for name, counts in sorted(group.classes.items()):
            yield _row(f"`{name}`", *_of(counts))
        yield _row("all", *_of(group.total))


def _paragraph(text: str) -> Iterator[str]:
    whole = re.sub("`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    for line in wrap(whole, WIDTH, break_long_words=False, break_on_hyphens=False):
        yield line.replace("\0", " ")


def _of(counts: Counter[str]) -> Iterable[int]:
    return counts.total(), *(counts[outcome] for outcome in OUTCOMES)


def _table(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield "|" + "---|" * len(names)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(read(Path(sys.argv[1]))), encoding="utf-8")
