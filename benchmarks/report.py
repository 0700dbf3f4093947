"""What a benchmark found, as Markdown for people and JSON for programs."""

import json
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One table of results; ``figures`` holds the raw measurements behind it."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    figures: Mapping[str, object] = field(default_factory=dict)

    def markdown(self) -> str:
        """Lay the report out as a Markdown page."""
        lines = [f"# {self.title}", "", _line(self.columns), _line(["---"] * len(self.columns))]
        lines += [_line(row) for row in self.rows]
        lines += ["", *[f"- {note}" for note in (*self.notes, _machine())]]
        return "\n".join(lines) + "\n"

    def save(self) -> Path:
        """Write ``<name>.md`` and ``<name>.json`` into the folder of results.

        Returns:
            The path of the Markdown file.
        """
        RESULTS.mkdir(parents=True, exist_ok=True)
        content = {**asdict(self), "machine": _machine()}
        (RESULTS / f"{self.name}.json").write_text(json.dumps(content, indent=2) + "\n")
        path = RESULTS / f"{self.name}.md"
        path.write_text(self.markdown(), encoding="utf-8")
        return path


def seconds(work: Callable[[], object]) -> float:
    """Do the work once; how long it took, in seconds of wall time."""
    start = perf_counter()
    work()
    return perf_counter() - start


def median(values: Sequence[float]) -> float:
    """Take the middle of the measurements."""
    return statistics.median(values)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _machine() -> str:
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
