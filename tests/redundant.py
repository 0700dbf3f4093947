"""Print the tests that take long, and run no line that quicker ones don't run as well.

    make redundant

What it prints may go to the second tier (`tests/second_tier.txt`): the first one still runs each
line that it ran. Whoever adds it looks at each once more: what a test's own processes run isn't
seen, and pairs of features, kills and laws are worth their time although their lines are not new.
"""

import argparse
import heapq
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from coverage.numbits import numbits_to_nums

Line = tuple[int, int]


def main() -> None:
    """Read what a run measured, and print functions with the seconds that they took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("coverage", help="data of coverage, with the test as context")
    parser.add_argument("times", help="the same run as JUnit's XML")
    parser.add_argument("--seconds", type=float, default=1.0, help="leave quicker ones out")
    options = parser.parse_args()
    for path in (options.coverage, options.times):
        if not Path(path).is_file():
            parser.error(f"There is no file {path}; both are made by: make redundant")
    lines, seconds = read_lines(Path(options.coverage)), read_seconds(Path(options.times))
    needed = cheapest(lines, seconds)
    for test in sorted(lines.keys() - needed):
        if seconds[test] >= options.seconds:
            print(f"{test.removeprefix('tests/')}  # {seconds[test]:.1f} s")


def read_lines(path: Path) -> dict[str, set[Line]]:
    """Return the lines that each test runs, beyond those of any import; by function."""
    found: dict[str, set[Line]] = defaultdict(set)
    imported: set[Line] = set()
    query = (
        "select context, file_id, numbits from line_bits join context on context.id = context_id"
    )
    for context, file, bits in sqlite3.connect(path).execute(query):
        place = found[function_of(context.rpartition("|")[0])] if context else imported
        place.update((file, number) for number in numbits_to_nums(bits))
    return {test: lines - imported for test, lines in found.items()}


def read_seconds(path: Path) -> dict[str, float]:
    """Return how long the cases of each function took together."""
    found: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(path).iter("testcase"):
        *folders, file = case.attrib["classname"].partition(".Test")[0].split(".")
        parts = case.attrib["classname"].split(".")[len(folders) + 1 :]
        place = "/".join([*folders, f"{file}.py"])
        found[function_of("::".join([place, *parts, case.attrib["name"]]))] += float(
            case.attrib["time"]
        )
    return found


def function_of(test: str) -> str:
    """Return the function of a case."""
    return test.partition("[")[0]


def cheapest(lines: dict[str, set[Line]], seconds: dict[str, float]) -> set[str]:
    """Return tests that run all lines together, in little time: most new lines a second first."""
    left = set[Line]().union(*lines.values())

    def worth(test: str) -> float:
        return len(lines[test] & left) / max(seconds[test], 0.01)

    def chosen() -> Iterator[str]:
        heap = [(-worth(test), test) for test in lines]
        heapq.heapify(heap)
        while left:
            _, test = heapq.heappop(heap)
            # Others may have run some of its lines since it was put there.
            if heap and -worth(test) > heap[0][0]:
                heapq.heappush(heap, (-worth(test), test))
                continue
            left.difference_update(lines[test])
            yield test

    return set(chosen())


if __name__ == "__main__":
    main()
