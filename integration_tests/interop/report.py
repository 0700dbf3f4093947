"""Write docs/interop.md: `python -m interop.report RESULTS.xml...`, as pytest's --junitxml."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import Final

from .causes import cause_of
from .fetch import KIT, PYTHON, RUNTIME, TRINO
from .suites import Tried, run_suites

PAGE: Final = Path(__file__).parents[2] / "docs" / "interop.md"
WIDTH: Final = 120
LONGEST: Final = 160
"""Characters of a reason."""


def cases(results: Iterable[Path]) -> Counter[tuple[str, str]]:
    """Return the number of cases of this package by file and outcome."""
    found: Counter[tuple[str, str]] = Counter()
    for case in chain(*(ElementTree.parse(file).iter("testcase") for file in results)):
        failed = case.find("failure") is not None or case.find("error") is not None
        skipped = case.find("skipped") is not None
        parts = case.get("classname", "").split(".")
        file = next(part for part in reversed(parts) if part.startswith("test_"))
        found[file, "failed" if failed else "skipped" if skipped else "passed"] += 1
    return found


def page(results: Sequence[Path], tried: Sequence[Tried]) -> str:
    """Return the page."""
    own = cases(results)
    parts = (_head(), _numbers(own, tried), _refused(results), _reasons(tried), _passed(tried))
    return "\n".join(chain(*parts)) + "\n"


def _head() -> Iterator[str]:
    yield "# Interoperability"
    yield ""
    yield from _paragraph(
        "`make interop` runs other engines at a repository that `dbt-vcs serve` serves, and "
        "writes this page: cases of this package with Spark and Trino, which read and write, and "
        "the tests that Iceberg's clients bring for any catalog. After each statement that Spark "
        "writes with, the rows are those of a plain Iceberg table that got the same statement, in "
        "Spark and in this package. PyIceberg's tests have no hyphens in names here, which "
        "schemas of a repository can't have. How to use each client is on "
        "[its own page](serve.md#clients)."
    )
    yield ""
    yield from _paragraph(f"Versions: {', '.join(_versions())}.")
    yield ""


def _versions() -> Iterator[str]:
    (spark,) = (PYTHON.parents[1] / "lib").glob("python*/site-packages/pyspark-*.dist-info")
    yield f"pyspark {spark.stem.partition('-')[2]}"
    yield Path(RUNTIME[0]).stem.replace("_2.13-", "_2.13 ")
    yield Path(TRINO[0]).name.removesuffix(".tar.gz").replace("r-", "r ")
    kit = re.search(r"iceberg-open-api-([\d.]+)-tests", KIT.read_text())
    assert kit is not None
    yield f"iceberg-open-api {kit[1]} (the compatibility kit)"
    for name in ("pyiceberg", "duckdb"):
        yield f"{name} {version(name)}"


def _numbers(own: Counter[tuple[str, str]], tried: Sequence[Tried]) -> Iterator[str]:
    yield from _table("suite", "tests", "passed", "skipped", "failed")
    for file in sorted({file for file, _ in own}):
        yield _counts(f"`{file}.py`", {outcome: n for (f, outcome), n in own.items() if f == file})
    for suite in dict.fromkeys(each.suite for each in tried):
        yield _counts(suite, Counter(each.outcome for each in tried if each.suite == suite))
    yield ""


def _counts(name: str, found: dict[str, int]) -> str:
    counts = [found.get(outcome, 0) for outcome in ("passed", "skipped", "failed")]
    return _row(name, sum(counts), *counts)


def _reasons(tried: Sequence[Tried]) -> Iterator[str]:
    yield "## What doesn't pass"
    yield ""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each in tried:
        if each.outcome != "passed":
            cause = cause_of(each.reason) or f"Not known: {_short(each.reason)}"
            groups.setdefault((each.outcome, cause, each.suite), []).append(each.test)
    yield from _table("outcome", "why", "suite", "number", "tests")
    for (outcome, cause, suite), tests in sorted(groups.items(), key=_largest_first):
        names = ", ".join(f"`{name}`" for name in sorted(tests))
        yield _row(outcome, cause, suite, len(tests), names)
    yield ""


def _largest_first(group: tuple[tuple[str, str, str], list[str]]) -> tuple[str, int, str]:
    (outcome, cause, suite), tests = group
    return outcome, -len(tests), cause + suite


def _refused(results: Iterable[Path]) -> Iterator[str]:
    """Yield what this package refuses in its own cases, and the sentence that the client shows."""
    found = {
        _sentences(item.get("value", ""))
        for case in chain(*(ElementTree.parse(file).iter("testcase") for file in results))
        for item in case.iter("property")
        if item.get("name") == "refused"
    }
    yield "## What is refused"
    yield ""
    yield from _paragraph(
        "Cases of this package try these, too. Nothing changes, and the client shows the sentence."
    )
    yield ""
    yield from _table("statement", "what the client says")
    for statement, said in sorted(found):
        yield _row(f"`{statement}`", said)
    yield ""


def _sentences(text: str) -> tuple[str, str]:
    """Return a statement on a table `t`, and the server's words in what a client says."""
    statement, _, said = text.partition("\n")
    for pattern, new in (
        (r"\{t\}", "t"),
        (r"'\{s\}'", "'s.t'"),
        (r"\{catalog\}", "vcs"),
        (r"\{between\}", "2026-11-20 12:00:00"),
    ):
        statement = re.sub(pattern, new, statement)
    words = _line(said)
    for sign in ("Exception: ", "Malformed request: "):
        words = words.rpartition(sign)[2]
    return statement, _short(re.sub(r"\bs\.refused_\w+", "s.t", words), 400)


def _line(said: str) -> str:
    """Return the line that has the server's words, or the first one."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for sign in ("Malformed request: ", "can't", "Exception: "):
        told = [line for line in lines if sign in line]
        if told:
            return told[0]
    return lines[-1] if lines else ""


def _passed(tried: Sequence[Tried]) -> Iterator[str]:
    yield "## What passes"
    yield ""
    yield from _table("suite", "tests")
    for suite in dict.fromkeys(each.suite for each in tried):
        names = sorted({t.test for t in tried if (t.suite, t.outcome) == (suite, "passed")})
        yield _row(suite, ", ".join(f"`{name}`" for name in names) or "none")


def _short(reason: str, longest: int = LONGEST) -> str:
    """Return a reason without what differs between runs, such as ids and ports."""
    text = re.sub(r"\b[0-9a-f]{8,}(-[0-9a-f]+)*\b|\b\d{5,}\b", "…", reason)
    text = re.sub(r"(my_iceberg_[a-z]+_)[a-z]+", r"\1…", text)
    text = re.sub(r"/tmp/\S+", "…", text).replace("|", "\\|")
    for sign in "<>[]*_{}":
        text = text.replace(sign, f"\\{sign}")
    return text if len(text) <= longest else f"{text[:longest].rstrip(chr(92))} …"


def _paragraph(text: str) -> Iterator[str]:
    yield from wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _table(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield "|" + "---|" * len(names)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    PAGE.write_text(page([*map(Path, sys.argv[1:])], run_suites()), encoding="utf-8")
